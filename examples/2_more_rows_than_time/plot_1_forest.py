"""
A forest with too many rows
===========================

300 trees on 450,000 rows take minutes. The limit is 30 seconds. fitwithin is compared with progressive sampling: random
subsamples, each twice as large as the one before, until the same limit. Both are scored on the same test rows.
"""

import os

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from fitwithin import TimeConstrainedClassifier

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "30s")

X, y = make_classification(
    470_000, n_features=20, n_informative=12, n_classes=4, n_clusters_per_class=4, class_sep=1.2, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=20_000, random_state=0)
# The first fit of a program starts a process, which takes a second or more. This short fit does it beforehand.
TimeConstrainedClassifier(RandomForestClassifier(), time_limit=60).fit(X[:500], y[:500])

fits = {}
for name, teacher in {"fitwithin": "auto", "progressive sampling": "double"}.items():
    clf = TimeConstrainedClassifier(RandomForestClassifier(300), time_limit=LIMIT, teacher=teacher, random_state=0)
    # With a validation set, every model has a score on the same rows, whichever way its training rows were chosen.
    fits[name] = clf.fit(X_train, y_train, X_val=X_test[:10_000], y_val=y_test[:10_000])
    accuracy = clf.score(X_test[10_000:], y_test[10_000:])
    print(f"{name}: {clf.n_rows_trained_:,} rows, {clf.time_used_:.1f} s, accuracy {accuracy:.3f} on other test rows")

# %%
# Accuracy of the best model so far, as steps. A line begins with the first model.

_, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, clf in fits.items():
    best = [finished for finished in clf.history_ if finished.best and finished.estimate is not None]
    times = [finished.elapsed for finished in best] + [clf.time_used_]
    scores = [finished.estimate for finished in best] + [best[-1].estimate]
    ax.step(times, scores, where="post", marker="o", markevery=range(len(best)), label=name)
ax.axvline(clf.time_limit_, color="0.4", linestyle="--", label="deadline")
ax.set(xlabel="seconds since the start of fit", ylabel="accuracy on validation rows", xlim=(0, 1.08 * clf.time_limit_))
_ = ax.legend(loc="upper left")
