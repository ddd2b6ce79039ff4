"""Choosing a forest by the scores of its quantiles."""

import warnings

from _gallery import save
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from cqrf import CensoredQuantileForest, Surv
from cqrf.datasets import make_aft
from cqrf.metrics import SCORERS, make_quantile_scorer
from cqrf.plot import CalibrationDisplay

data = make_aft(600, n_features=5, random_state=0)
y = Surv.from_arrays(data.event, data.time)
folds = KFold(4, shuffle=True, random_state=0)
warnings.filterwarnings("ignore", "some test times lie beyond the reach")

# All scores at once.
forest = CensoredQuantileForest(100, random_state=0)
scores = cross_validate(forest, data.X, y, scoring=SCORERS, cv=folds)
for name in SCORERS:
    print(f"{name:<28}{scores[f'test_{name}'].mean():.3f}")

# A search for the forest whose outer quantiles are best.
search = GridSearchCV(
    forest,
    {"criterion": ["distribution", "mse"]},
    scoring=make_quantile_scorer("d2", quantiles=[0.1, 0.9]),
    cv=folds,
)
search.fit(data.X, y)
print(search.best_params_, round(search.best_score_, 3))

# Are the quantiles calibrated? Train on three quarters, look at the last one.
train, test = next(folds.split(data.X))
forest.fit(data.X[train], y[train])
display = CalibrationDisplay.from_estimator(forest, data.X[test], y[test])
save(display.figure_, "calibration")
