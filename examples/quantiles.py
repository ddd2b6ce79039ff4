"""Quantiles and curves: all answers of one fit, and how they hang together."""

import numpy as np
from _gallery import save

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress
from cqrf.plot import EstimatingFunctionDisplay, QuantileFanDisplay, SurvivalCurvesDisplay

data = load_congress()
new = np.arange(len(data.time)) % 5 == 1  # rows to predict, kept from fit
forest = CensoredQuantileForest(300, random_state=0)
forest.fit(data.X[~new], data.time[~new], data.event[~new])
members = data.X[new].iloc[[77, 174, 166]]

print(forest.predict(members, quantiles=[0.1, 0.5, 0.9]))
print(forest.identified(members, quantiles=[0.1, 0.5, 0.9]))
print(forest.predict_interval(members, coverage=0.8))
print(forest.predict_survival_function(members, times=[2, 6, 12]))
print(forest.predict_rmst(members, horizon=12.0))

# Several answers about the same rows: leaves are found once, and nothing is solved twice.
law = forest.distribution(members, conditional_after=6.0)
print(law.quantile([0.1, 0.5, 0.9]), law.identified([0.1, 0.5, 0.9]))
print(law.survival([8, 12]), law.mean_residual_life(horizon=12.0))

names = [f"{row.chamber}, entered {row.entry_year}" for row in members.itertuples()]
curves = SurvivalCurvesDisplay.from_estimator(forest, members, labels=names)
curves.ax_.set_xlabel("years in Congress")
save(curves.figure_, "curves")

# The median is where the estimating function first reaches zero.
save(EstimatingFunctionDisplay.from_estimator(forest, members, 0.5).figure_, "equation")

# How the quantiles change with one feature, averaged over members.
fan = QuantileFanDisplay.from_estimator(forest, data.X[new], "age_at_entry")
fan.ax_.set_ylabel("years in Congress")
save(fan.figure_, "fan")
