"""Who carries a prediction."""

from _gallery import save

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import NeighborsDisplay

data = load_congress()
forest = CensoredQuantileForest(300, default_quantiles=[0.1, 0.5, 0.97], random_state=0)
forest.fit(data.X, data.time, data.event)

member = data.X.iloc[901]
explanation = forest.explain(member)
print(explanation)

# The rows can be looked up in the training data.
print(data.X.iloc[explanation.rows[:3]])

save(NeighborsDisplay(explanation).plot().figure_, "neighbors")
