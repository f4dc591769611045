"""
Your own learner, asked to stop
===============================

Any object with `fit` and `predict` is a learner. One that goes step by step can be asked to stop with what it has: tell
the library how, by :func:`~fitwithin.backends.register_stopping`. A lesson at the end of the time is then not lost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import register_stopping


class GradientDescent(ClassifierMixin, BaseEstimator):
    """Logistic regression by a few thousand plain steps, for two classes."""

    def __init__(self, steps=3_000):
        self.steps = steps

    def begin(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.coef_, self.steps_taken_ = np.zeros(X.shape[1]), 0
        return codes

    def step(self, X, codes):
        self.coef_ += X.T @ (codes - 1 / (1 + np.exp(-X @ self.coef_))) / len(X)
        self.steps_taken_ += 1

    def fit(self, X, y):
        codes = self.begin(X, y)
        while self.steps_taken_ < self.steps:
            self.step(X, codes)
        return self

    def predict(self, X):
        return self.classes_[(X @ self.coef_ > 0).astype(int)]


def fit_while_there_is_time(learner, X, y, patience, params):  # noqa: ARG001  # this fit takes no others
    """At least one step, at most as many as in a plain fit, none when the time is over."""
    codes = learner.begin(X, y)
    learner.step(X, codes)
    while learner.steps_taken_ < learner.steps and not patience.over():
        learner.step(X, codes)


register_stopping(GradientDescent, fit_while_there_is_time)

# %%
# With three limits. Lessons that take too long to end are cut short, and their models count.

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 30)) * np.geomspace(1, 0.05, 30)
y = (X @ (rng.normal(size=30) / np.geomspace(1, 0.05, 30)) + rng.normal(size=len(X)) > 0).astype(int)
_, ax = plt.subplots(layout="constrained")
for limit in (0.5, 1, 2):
    clf = TimeConstrainedClassifier(GradientDescent(), time_limit=limit, backend="inline", random_state=0)
    clf.fit(X[:80_000], y[:80_000])
    score = clf.score(X[80_000:], y[80_000:])
    model = clf.best_estimator_
    print(f"limit {limit} s, used {clf.time_used_:.2f} s: {clf.n_rows_taught_:,} rows, {model.steps_taken_:,} steps")
    ax.plot([limit, limit, clf.time_used_], [0.5, score, score], color="0.7", zorder=1)
    ax.scatter(clf.time_used_, score, zorder=2)
    label = f"{clf.n_rows_taught_:,} rows\n{model.steps_taken_:,} of 3,000 steps"
    ax.annotate(label, (limit, score), (6, -28), textcoords="offset points")
ax.set(xlabel="seconds: used (point), limit (line)", ylabel="held-out accuracy", xlim=(0, 2.8), ylim=(0.5, None))
