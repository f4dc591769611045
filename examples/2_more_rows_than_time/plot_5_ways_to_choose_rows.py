"""
Four ways to choose rows
========================

The same data and the same three seconds, with training rows chosen in four ways, named by the parameter `teacher`:

- `"auto"`, the default;
- `"tct"`, the method of the paper, which adds rows that the last model got wrong;
- `"double"`, progressive sampling: random subsamples that double;
- `"sgd"`, one model that goes on learning from small random batches. It needs a learner with `partial_fit`.

One data set and one seed show how to compare, not which way is best. The benchmarks do that.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier

X, y = make_classification(
    450_000, n_features=20, n_informative=10, n_classes=5, n_clusters_per_class=2, class_sep=1.5, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=50_000, random_state=0)
# The first fit of a program starts a process, which takes a second or more. This short fit does it beforehand.
TimeConstrainedClassifier(DecisionTreeClassifier(), time_limit=60).fit(X[:500], y[:500])

rows, scores = {}, {}
for teacher in ("auto", "tct", "double", "sgd"):
    learner = SGDClassifier() if teacher == "sgd" else DecisionTreeClassifier()
    clf = TimeConstrainedClassifier(learner, time_limit=3, teacher=teacher, random_state=0)
    clf.fit(X_train, y_train)
    rows[teacher], scores[teacher] = clf.n_rows_trained_, clf.score(X_test, y_test)
    print(f"{teacher:6}  {rows[teacher]:7,} rows  {scores[teacher]:.3f}  {clf.time_used_:.2f} s, {clf.stop_reason_}")

# %%
# The model of `"sgd"` is linear, because trees have no `partial_fit`. The other models are trees.

_, ax = plt.subplots(layout="constrained")
bars = ax.bar(list(scores), list(scores.values()), color=["C0", "C1", "C2", "0.6"])
ax.bar_label(bars, [f"{scores[name]:.3f}\n{rows[name]:,} rows" for name in scores], padding=3)
ax.set(ylabel="accuracy on 50,000 test rows", ylim=(0, 1.15 * max(scores.values())))
