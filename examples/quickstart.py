"""The quick start of README.md; a test keeps the two the same."""

import numpy as np

from cqrf import CensoredQuantileForest
from cqrf.datasets import load_congress

data = load_congress()  # data.event is False for those who still serve: their time is censored
new = np.isin(np.arange(len(data.time)), [0, 500, 900])  # three members, kept from fit
forest = CensoredQuantileForest(random_state=0)
forest.fit(data.X[~new], data.time[~new], data.event[~new])

members = data.X[new]
print(forest.predict(members))  # median years in Congress
print(forest.predict(members, quantiles=[0.1, 0.5, 0.9]))
print(forest.identified(members, quantiles=[0.1, 0.5, 0.9]))  # False: only a bound is known
print(forest.predict_survival_function(members, times=[2, 6, 12]))  # P(T > t)
print(forest.predict(members, conditional_after=6.0))  # median, given six years already served
print(forest.oob_score(), forest.horizon_)  # share of Kaplan-Meier's Brier score saved, up to there
