"""Who carries a prediction."""

import numpy as np
from _gallery import save

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import NeighborsDisplay

data = load_congress()
new = np.arange(len(data.time)) == 901  # the row to predict, kept from fit
train = data.X[~new]
forest = CensoredQuantileForest(300, default_quantiles=[0.1, 0.5, 0.97], random_state=0)
forest.fit(train, data.time[~new], data.event[~new])

explanation = forest.explain(data.X[new])
print(explanation)

# The rows can be looked up in the training data.
print(train.iloc[explanation.rows[:3]])

save(NeighborsDisplay(explanation).plot().figure_, "neighbors")
