"""
A frame with categories and missing values
==========================================

A frame reaches the learner as a frame, with its column names, types and categories. A learner that takes categorical
columns and missing values, such as scikit-learn's histogram boosting, gets them as they are.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance

from fitwithin import TimeConstrainedClassifier

rng = np.random.default_rng(0)
rows = 60_000
X = pd.DataFrame(
    {
        "age": rng.integers(18, 90, rows).astype(float),
        "city": pd.Categorical(rng.choice(["Oslo", "Lima", "Pune", "Kobe", "Bonn"], rows)),
        "plan": pd.Categorical(rng.choice(["free", "basic", "plus"], rows, p=[0.6, 0.3, 0.1])),
        "visits": rng.poisson(3, rows),
        "noise": rng.normal(size=rows),
    }
)
pull = X["age"] / 40 + X["city"].isin(["Lima", "Pune"]) * 1.5 + (X["plan"] == "plus") * 2 + X["visits"] / 5
y = np.where(pull + rng.logistic(size=rows) > 3.2, "stays", "leaves")
X.loc[rng.random(rows) < 0.1, "age"] = np.nan

clf = TimeConstrainedClassifier(
    HistGradientBoostingClassifier(categorical_features="from_dtype"), time_limit=4, random_state=0
).fit(X[:50_000], y[:50_000])
print(f"{clf.n_rows_trained_:,} rows, accuracy {clf.score(X[50_000:], y[50_000:]):.3f} on test rows")
print(f"columns: {list(clf.feature_names_in_)}")

# %%
# The fitted object is an estimator like any other, so scikit-learn's `permutation_importance` takes it.

found = permutation_importance(clf, X[50_000:53_000], y[50_000:53_000], n_repeats=3, random_state=0)
order = np.argsort(found.importances_mean)
_, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(X.columns[order], found.importances_mean[order], xerr=found.importances_std[order])
ax.set_xlabel("accuracy lost when the column is shuffled")
