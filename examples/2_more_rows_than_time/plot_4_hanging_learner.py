"""
A learner that never comes back
===============================

:class:`~fitwithin.testing.AwkwardClassifier` is naive Bayes that misbehaves on purpose, on more than a given number of
rows. Here, on more than 2,500 rows, it ignores SIGTERM and SIGINT and sleeps for an hour. It runs in a process of its
own, which is killed at the deadline.
"""

import os
import time

import matplotlib.pyplot as plt
import numpy as np

from fitwithin import TimeConstrainedClassifier
from fitwithin.testing import AwkwardClassifier

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "20s")

X = np.random.default_rng(0).random((50_000, 5))
y = (X.sum(axis=1) > 2.5).astype(int)
# The first fit of a program starts a process, which takes a second or more. This short fit does it beforehand.
TimeConstrainedClassifier(AwkwardClassifier("ignores signals", above=100_000), time_limit=60).fit(X[:500], y[:500])

learner = AwkwardClassifier("ignores signals", above=2_500)
clf = TimeConstrainedClassifier(learner, time_limit=LIMIT, random_state=0)

start = time.monotonic()
clf.fit(X, y)
took = time.monotonic() - start
print(f"fit returned after {took:.3f} s of {clf.time_limit_:g}; stopped by: {clf.stop_reason_}")
print(f"the model was trained on {clf.n_rows_trained_:,} rows; its accuracy is {clf.score(X, y):.3f}")

# %%
# `history_` has the fits that ended, but not the one that was killed.

_, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
begun = 0.0
for finished in clf.history_:
    ax.barh(0, finished.elapsed - begun, left=begun, color="C0", edgecolor="white", height=0.5)
    begun = finished.elapsed
ax.barh(0, took - begun, left=begun, color="C3", hatch="//", edgecolor="white", height=0.5)
ax.axvline(clf.time_limit_, color="0.3", linestyle="--")
ax.annotate("deadline", (clf.time_limit_, 0.42), (-4, 0), textcoords="offset points", ha="right", va="center")
ax.text((begun + took) / 2, 0, "hangs", ha="center", va="center", bbox={"facecolor": "white", "edgecolor": "none"})
ax.annotate(f"{len(clf.history_)} finished rounds", (0.05, -0.45), va="center")
ax.set(xlabel="seconds since the start of fit", yticks=[], ylim=(-0.7, 0.6), xlim=(0, 1.08 * clf.time_limit_))
