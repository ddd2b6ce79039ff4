"""All displays on one sheet, with a few curves and with many."""

import matplotlib.pyplot as plt
import numpy as np
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
new = np.arange(len(data.time)) % 5 == 1  # rows to predict, kept from fit
forest = CensoredQuantileForest(200, default_quantiles=[0.1, 0.5, 0.9], random_state=0)
forest.fit(data.X[~new], data.time[~new], data.event[~new])

figure, axes = plt.subplots(4, 2, figsize=(11, 13), layout="constrained")
many = data.X[new]
few, member = many.iloc[[77, 174, 166]], many.iloc[180]
SurvivalCurvesDisplay.from_estimator(forest, few, ax=axes[0, 0])
SurvivalCurvesDisplay.from_estimator(forest, many, ax=axes[0, 1])
EstimatingFunctionDisplay.from_estimator(forest, few, ax=axes[1, 0])
EstimatingFunctionDisplay.from_estimator(forest, many, ax=axes[1, 1])
QuantileFanDisplay.from_estimator(forest, many, "age_at_entry", ax=axes[2, 0])
QuantileFanDisplay.from_estimator(forest, many, "party", ax=axes[2, 1])
ImportanceDisplay.from_estimator(forest, n_repeats=2, random_state=0, ax=axes[3, 0])
NeighborsDisplay.from_estimator(forest, member, ax=axes[3, 1])
save(figure, "displays")

save(LeafSizePathDisplay.from_estimator(forest).figure_, "leaf_size_path")
