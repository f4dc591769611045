"""
What other limits would have given
==================================

`history_` has the time and the score of every model. So one call of `fit` also shows what a shorter limit would have
given. Here `teacher="tct"`, the method of the paper, chooses the training rows: twice as many each time.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

from fitwithin import TimeConstrainedClassifier

X, y = make_classification(
    120_000, n_features=20, n_informative=12, n_classes=4, n_clusters_per_class=2, class_sep=1.3, random_state=0
)
clf = TimeConstrainedClassifier(ExtraTreesClassifier(30), time_limit=4, teacher="tct", random_state=0).fit(X, y)
for finished in clf.history_:
    print(
        f"{finished.elapsed:5.2f} s  {finished.rows:6,} rows  accuracy {finished.estimate:.3f}  best: {finished.best}"
    )

# %%
# Each step is a model that became the best one. A limit anywhere on a step would have returned that model: a fit that
# does not end in time is cut off, or not begun. With a limit before the first step, `fit` raises `NoModelInTime`.

best = [finished for finished in clf.history_ if finished.best]
times = [finished.elapsed for finished in best]
scores = [finished.estimate for finished in best]
_, ax = plt.subplots(layout="constrained")
ax.step([*times, clf.time_used_], [*scores, scores[-1]], where="post")
ax.plot(times, scores, "o", color="C0")
for finished in best:
    ax.annotate(f"{finished.rows:,}", (finished.elapsed, finished.estimate), (5, -12), textcoords="offset points")
ax.axvspan(0, times[0], color="0.9")
middle = sum(ax.get_ylim()) / 2
ax.text(times[0] / 2, middle, "no model", ha="center", va="center", rotation=90, color="0.3")
ax.margins(x=0.12)
ax.set(xlabel="limit, seconds", ylabel="estimated accuracy", title="Training rows at each step")
ax.set_xlim(left=0)
