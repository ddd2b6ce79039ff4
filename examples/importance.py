"""Which features matter, and for which quantiles."""

from _gallery import save

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import ImportanceDisplay

data = load_congress()
forest = CensoredQuantileForest(300, random_state=0).fit(data.X, data.time, data.event)
print(f"the forest saves {forest.oob_score():.1%}, scored up to {forest.horizon_:g} years")

# What is lost of that when a feature is shuffled.
importance = forest.oob_importance(random_state=0)
for name, mean, error in zip(
    importance.feature_names, importance.mean, importance.std_error, strict=True
):
    print(f"{name:<15}{mean:7.2%} +- {error:.2%}")

# Features that say the same thing are spared when shuffled alone: shuffle them together.
groups = {"who": ["gender", "age_at_entry"], "where": ["state", "chamber"]}
together = forest.oob_importance(groups=groups, random_state=0)
for name, mean in zip(together.feature_names, together.mean, strict=True):
    print(f"{name:<15}{mean:7.2%}")

# On request for single quantiles: the increase of their pinball loss, in years.
by_level = forest.oob_importance([0.1, 0.5, 0.9], random_state=0)
for name, means in zip(by_level.feature_names, by_level.mean, strict=True):
    print(f"{name:<15}" + "".join(f"{mean:8.3f}" for mean in means))

# How much of the splitting each feature does: at no cost, but without errors.
print(forest.split_importance().round(3))

save(ImportanceDisplay(importance).plot().figure_, "importance")
