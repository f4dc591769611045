"""
Where it loses: every row fits in the time
==========================================

With three times the time of a plain fit, nothing is gained by choosing rows. The first small fits and the start of a
process take time, and some rows are kept back for the estimate. The table is letter, if `FITWITHIN_DATA` names a folder
with it, else a synthetic one of the same shape.
"""

import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from fitwithin import TimeConstrainedClassifier

table = Path(os.environ.get("FITWITHIN_DATA", "")) / "letter.parquet"
if table.exists():
    frame = pd.read_parquet(table)
    X, y = frame.drop(columns="target").to_numpy("float32"), frame["target"].to_numpy(str)
else:
    X, y = make_classification(20_000, n_features=16, n_informative=12, n_classes=26, class_sep=2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=6_000, random_state=0)
learner = RandomForestClassifier(30, random_state=0)

start = time.monotonic()
plain = learner.fit(X_train, y_train)
plain_seconds = time.monotonic() - start
clf = TimeConstrainedClassifier(learner, time_limit=max(3.0, 3 * plain_seconds), random_state=0).fit(X_train, y_train)

seconds = {"plain fit": plain_seconds, "fitwithin": clf.time_used_}
scores = {"plain fit": plain.score(X_test, y_test), "fitwithin": clf.score(X_test, y_test)}
for name in seconds:
    print(f"{name}: {seconds[name]:.1f} s, accuracy {scores[name]:.3f}")
print(f"{clf.n_rows_trained_:,} of {clf.n_rows_in_:,} rows; stopped by: {clf.stop_reason_}")

# %%
# What the seconds and the rows kept back buy: a deadline that holds even if the learner hangs, and an estimate of the
# score without a test set. If you need neither, call the learner's own `fit`.

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.bar_label(left.bar(list(seconds), list(seconds.values()), color=["0.6", "C0"]), fmt="%.1f s", padding=3)
left.set(ylabel="seconds", ylim=(0, 1.2 * max(seconds.values())))
right.bar_label(right.bar(list(scores), list(scores.values()), color=["0.6", "C0"]), fmt="%.3f", padding=3)
right.set(ylabel="accuracy on test rows", ylim=(0, 1.15))
