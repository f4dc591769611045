"""
Stop your own learner early
===========================

Any object with `fit` and `predict` is a learner. One that trains step by step can stop early and keep the steps that it
has taken, so that its last fit is not lost at the deadline. Register a function for that with
:func:`~fitwithin.backends.register_early_stopping`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from fitwithin import TimeConstrainedClassifier
from fitwithin.backends import register_early_stopping


class GradientDescent(ClassifierMixin, BaseEstimator):
    """Logistic regression by gradient descent, for two classes."""

    def __init__(self, steps=1_000):
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
        for _ in range(self.steps):
            self.step(X, codes)
        return self

    def predict(self, X):
        return self.classes_[(X @ self.coef_ > 0).astype(int)]


def fit_gradient_descent(learner, X, y, stop_signal, params):  # noqa: ARG001  # `fit` of this learner takes no others
    """Take at least one step, and stop when the time is up."""
    codes = learner.begin(X, y)
    for _ in stop_signal.steps(learner.steps):
        learner.step(X, codes)


register_early_stopping(GradientDescent, fit_gradient_descent)

# %%
# Train it with four time limits. A fit that would take too long stops early, and its model is kept.

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 200)).astype(np.float32)
y = (X @ rng.normal(size=200) + 10 * rng.normal(size=len(X)) > 0).astype(int)
limits = (0.5, 1, 2, 4)
_, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for position, limit in enumerate(limits):
    clf = TimeConstrainedClassifier(GradientDescent(), time_limit=limit, backend="inline", random_state=0)
    clf.fit(X[:80_000], y[:80_000])
    score, steps = clf.score(X[80_000:], y[80_000:]), clf.best_estimator_.steps_taken_
    summary = f"{clf.n_rows_trained_:,} rows, {steps:,} of 1,000 steps: {score:.3f}"
    print(f"limit {limit} s, used {clf.time_used_:.2f} s: {summary}")
    ax.barh(position, clf.time_used_, color="C0", alpha=0.4)
    ax.vlines(limit, position - 0.4, position + 0.4, color="C3")
    ax.text(limit + 0.08, position, summary, va="center", fontsize="small")
ax.set_yticks(range(len(limits)), [f"{limit} s" for limit in limits])
ax.set(xlabel="seconds used, with the limit in red", ylabel="limit", xlim=(0, 7))
ax.set_title("Rows, steps, and accuracy on test rows")
