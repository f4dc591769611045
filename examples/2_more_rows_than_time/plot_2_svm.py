"""
A kernel SVM, whose time grows with the square of the rows
==========================================================

`SVC` cannot stop early, and a fit on 80,000 rows would take minutes. fitwithin finds how many rows it can train on
within a minute.
"""

import os

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fitwithin import TimeConstrainedClassifier, viz

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "60s")

X, y = make_classification(
    90_000, n_features=15, n_informative=8, n_classes=3, n_clusters_per_class=4, class_sep=1.3, random_state=0
)
learner = make_pipeline(StandardScaler(), SVC())
clf = TimeConstrainedClassifier(learner, time_limit=LIMIT, random_state=0).fit(X[:80_000], y[:80_000])

estimate, low, high = clf.score_estimate_
print(f"{clf.n_rows_trained_:,} of {clf.n_rows_in_:,} rows in {clf.time_used_:.1f} s; stopped by: {clf.stop_reason_}")
print(f"accuracy {estimate:.3f} [{low:.3f}, {high:.3f}], on test rows {clf.score(X[80_000:], y[80_000:]):.3f}")

# %%
# Left: the score of each model. Right: what each fit was expected to take, and what it took.

_, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
viz.learning_curve(clf, left)
_ = viz.fit_times(clf, right)
