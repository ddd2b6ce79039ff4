"""All displays on one sheet, with a few curves and with many."""

import matplotlib.pyplot as plt
from _gallery import save

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import (
    EstimatingFunctionDisplay,
    ImportanceDisplay,
    LeafSizePathDisplay,
    NeighborsDisplay,
    QuantileFanDisplay,
    SurvivalCurvesDisplay,
)

data = load_congress()
forest = CensoredQuantileForest(200, default_quantiles=[0.1, 0.5, 0.9], random_state=0)
forest.fit(data.X, data.time, data.event)

figure, axes = plt.subplots(4, 2, figsize=(11, 13), layout="constrained")
few, many, member = data.X.iloc[[7, 446, 829]], data.X.iloc[:300], data.X.iloc[901]
SurvivalCurvesDisplay.from_estimator(forest, few, ax=axes[0, 0])
SurvivalCurvesDisplay.from_estimator(forest, many, ax=axes[0, 1])
EstimatingFunctionDisplay.from_estimator(forest, few, ax=axes[1, 0])
EstimatingFunctionDisplay.from_estimator(forest, many, ax=axes[1, 1])
QuantileFanDisplay.from_estimator(forest, data.X, "age_at_entry", ax=axes[2, 0])
QuantileFanDisplay.from_estimator(forest, data.X, "party", ax=axes[2, 1])
ImportanceDisplay.from_estimator(forest, n_repeats=2, random_state=0, ax=axes[3, 0])
NeighborsDisplay.from_estimator(forest, member, ax=axes[3, 1])
save(figure, "displays")

save(LeafSizePathDisplay.from_estimator(forest).figure_, "leaf_size_path")
