"""
Regression
==========

:class:`~fitwithin.TimeConstrainedRegressor` works in the same way as the classifier. The score is R2 unless `scoring`
says otherwise. A predicted value is never exactly right, so where training rows are chosen by mistakes, the 20 % of
predicted rows with the largest errors count as wrong.
"""

import os

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor

from fitwithin import TimeConstrainedRegressor, viz

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "20s")

X, y = make_friedman1(220_000, n_features=10, noise=1.0, random_state=0)
X_test, y_test = X[200_000:], y[200_000:]

reg = TimeConstrainedRegressor(HistGradientBoostingRegressor(), time_limit=LIMIT, random_state=0)
reg.fit(X[:200_000], y[:200_000])

print(f"{reg.n_rows_trained_:,} rows in {reg.time_used_:.2f} s; stopped by: {reg.stop_reason_}")
print(f"R2 with its interval {reg.score_estimate_}, on test rows {reg.score(X_test, y_test):.3f}")

# %%
# Left: the score over time. Right: predictions for test rows; the noise has a standard deviation of 1.

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
viz.learning_curve(reg, left)
right.hexbin(y_test, reg.predict(X_test), gridsize=50, cmap="Blues", mincnt=1)
right.axline((15, 15), slope=1, color="0.3", linestyle="--")
right.set(xlabel="true value", ylabel="predicted value")
