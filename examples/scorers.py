"""Choosing a forest by a score, and what the scores say of it."""

import sklearn
from _gallery import save
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

from cqrf import CensoredQuantileForest, Surv
from cqrf.datasets import make_aft
from cqrf.metrics import (
    SCORERS,
    d2_censored_pinball_score,
    make_quantile_scorer,
    quantile_calibration,
)
from cqrf.plot import CalibrationDisplay

data = make_aft(600, n_features=5, random_state=0)
y = Surv.from_arrays(data.event, data.time)
folds = KFold(4, shuffle=True, random_state=0)

# All scores at once, on min(T, h).
forest = CensoredQuantileForest(100, random_state=0).fit(data.X, y)
print(f"scored up to h = {forest.horizon_:.2f}; the last time is {data.time.max():.2f}")
scores = cross_validate(forest, data.X, y, scoring=SCORERS, cv=folds)
for name in SCORERS:
    print(f"{name:<28}{scores[f'test_{name}'].mean():7.3f}")

# A search by the default score: the share of Kaplan-Meier's integrated Brier score that is saved.
search = GridSearchCV(forest, {"min_samples_split": [20, 60, 600]}, cv=folds).fit(data.X, y)
print(search.best_params_, search.cv_results_["mean_test_score"].round(3))

# Level by level, out-of-bag. A level is known as far as its quantiles lie before h.
levels = [0.1, 0.5, 0.9]
predicted = forest.oob_predict(levels, unreached="inf")
saved = d2_censored_pinball_score(y, predicted, levels, multioutput="raw_values")
used = quantile_calibration(y, predicted, levels).n_used
for level, share, rows in zip(levels, saved, used, strict=True):
    print(f"{level:.0%} times: {share:.1%} of the loss saved; {rows} of {len(y)} before h")

# Plain times and events: metadata routing hands the events on, to `fit` and to the score.
with sklearn.config_context(enable_metadata_routing=True):
    routed = cross_val_score(
        CensoredQuantileForest(100, random_state=0).set_fit_request(event=True),
        data.X,
        data.time,
        scoring=make_quantile_scorer().set_score_request(event=True),
        cv=folds,
        params={"event": data.event},
    )
print(routed.round(3), (routed == scores["test_brier_skill"]).all())

# Are the quantiles calibrated? Train on three quarters, look at the last one.
train, test = next(folds.split(data.X))
forest.fit(data.X[train], y[train])
display = CalibrationDisplay.from_estimator(forest, data.X[test], y[test])
save(display.figure_, "calibration")
