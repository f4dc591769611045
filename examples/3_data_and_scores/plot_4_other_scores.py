"""
When accuracy is not what counts
================================

About one row in fifty is positive, so a model that never predicts the positive class has an accuracy of 98 %. `scoring`
takes the name of any scikit-learn scorer. The best model is chosen by this score, and `score_estimate_` estimates it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer

from fitwithin import TimeConstrainedClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(50_000, 5))
y = (X[:, 0] + 0.4 * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 2.4).astype(int)
X_test, y_test = X[20_000:], y[20_000:]
print(f"{y.mean():.1%} of the rows are positive")

# %%
# Three scores: each estimate with its interval, and the score on 30,000 test rows.

names = ["accuracy", "balanced_accuracy", "average_precision"]
_, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, name in enumerate(names):
    clf = TimeConstrainedClassifier(
        LogisticRegression(), scoring=name, time_limit=20, backend="inline", random_state=0
    ).fit(X[:20_000], y[:20_000])
    estimate, low, high = clf.score_estimate_
    tested = get_scorer(name)(clf, X_test, y_test)
    print(f"{name:18} {estimate:.3f} [{low:.3f}, {high:.3f}], test rows {tested:.3f}, {clf.n_rows_trained_:,} rows")
    ax.errorbar(estimate, place, xerr=[[estimate - low], [high - estimate]], fmt="o", capsize=4, color="C0")
    ax.plot(tested, place, "x", color="C1", markersize=9, markeredgewidth=2)
ax.plot([], [], "-o", color="C0", label="estimate, 95 % interval")
ax.plot([], [], "x", color="C1", label="30,000 test rows")
ax.set_yticks(range(3), names)
ax.set(xlabel="score", ylim=(2.5, -0.9))
ax.legend(loc="upper left", ncols=2)
