"""What other packages are asked for, asked here."""

import numpy as np
from sklearn.model_selection import cross_val_score, train_test_split

from cqrf import CensoredQuantileForest, Surv
from cqrf.datasets import load_congress
from cqrf.metrics import concordance_index

# A table in which time and event are two columns, as lifelines and R's formulas take it.
data = load_congress()
table = data.X.assign(years=data.time, has_left=data.event)
train, test = train_test_split(table, test_size=0.2, random_state=0)
X, X_new = train[data.feature_names], test[data.feature_names]

# grf's order: features, times, events. scikit-survival's: features and one outcome.
forest = CensoredQuantileForest(300, random_state=0)
forest.fit(X, train["years"], train["has_left"])
y = Surv.from_dataframe("has_left", "years", train)
print(cross_val_score(forest, X, y, cv=3))

# lifelines' predict_percentile(p=0.9) and predict_median.
print(forest.predict(X_new, quantiles=[0.1, 0.5], unreached="inf")[:3])

# lifelines' predict_median(conditional_after=6): what is left after six years.
print(forest.predict(X_new, 0.5, conditional_after=6.0)[:3] - 6.0)

# lifelines' predict_survival_function, transposed; grf's predictions at failure.times.
times = [2.0, 6.0, 12.0]
print(forest.predict_survival_function(X_new, times=times)[:3])

# grf's Nelson-Aalen curves; the logarithm is minus the chf of randomForestSRC.
print(np.exp(-forest.predict_cumulative_hazard_function(X_new, times=times))[:3])

# predict of scikit-survival, predicted of randomForestSRC: higher for earlier events.
risk = forest.predict_risk(X_new)
print(concordance_index(test["years"], -risk, event=test["has_left"]))

# predict(forest) of grf, predicted.oob of randomForestSRC: rows of fit, without themselves.
print(forest.oob_predict(quantiles=[0.1, 0.5])[:3])
