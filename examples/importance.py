"""Which features matter, and for which quantiles."""

from _gallery import save

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import ImportanceDisplay

data = load_congress()
forest = CensoredQuantileForest(300, random_state=0).fit(data.X, data.time, data.event)

importance = forest.oob_importance([0.1, 0.5, 0.9], random_state=0)
for name, mean, error in zip(
    importance.feature_names, importance.mean[:, 1], importance.std_error[:, 1], strict=True
):
    print(f"{name:<15}{mean:7.3f} +- {error:.3f}")

# Features that say the same thing are spared when shuffled alone: shuffle them together.
groups = {"who": ["gender", "age_at_entry"], "where": ["state", "chamber"]}
together = forest.oob_importance(groups=groups, random_state=0)
for name, mean in zip(together.feature_names, together.mean[:, 0], strict=True):
    print(f"{name:<15}{mean:7.3f}")

# How much of the splitting each feature does: at no cost, but without quantiles or errors.
print(forest.split_importance().round(3))

save(ImportanceDisplay(importance).plot().figure_, "importance")
