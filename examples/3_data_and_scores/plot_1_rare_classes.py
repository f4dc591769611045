"""
Oversampling and rare classes
=============================

`TCT` adds some rows that the last model got wrong; this is called oversampling. A model is most often wrong on rare
classes, so they get more than their share of the training rows. `Double` takes random rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from fitwithin import TimeConstrainedClassifier, viz
from fitwithin.teachers import TCT, Double

X, y = make_classification(
    70_000, n_features=12, n_informative=8, n_classes=4, weights=[0.8, 0.14, 0.04, 0.02], class_sep=1.1, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=20_000, stratify=y, random_state=0)
fitted = {}
for teacher in (TCT(alpha=0.3), Double()):
    # Both stop at the same number of training rows, long before the time limit.
    fitted[type(teacher).__name__] = TimeConstrainedClassifier(
        RandomForestClassifier(15),
        time_limit=60,
        teacher=teacher,
        backend="inline",
        on_round=lambda finished: finished.rows >= 4_000,
        random_state=0,
    ).fit(X_train, y_train)

# %%
# The number of rows is the same, but the shares of the classes differ, and so do the recalls. Oversampling has a
# price: the predicted probabilities no longer match the shares of the classes in the data.

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
viz.class_shares(fitted["TCT"], left)
places = np.arange(4)
for shift, (name, clf) in zip((-0.2, 0.2), fitted.items(), strict=True):
    recalls = recall_score(y_test, clf.predict(X_test), average=None)
    bars = right.bar(places + shift, recalls, 0.38, label=f"{name}, {clf.n_rows_trained_:,} rows")
    right.bar_label(bars, fmt="%.2f", fontsize="small")
    print(f"{name:6}  accuracy {clf.score(X_test, y_test):.4f}, recalls {np.round(recalls, 2)}")
shares = np.bincount(y_train) / len(y_train)
right.set_xticks(places, [f"class {k}\n{share:.0%} of rows" for k, share in enumerate(shares)])
right.set(ylabel="recall on test rows", ylim=(0, 1.2))
right.legend(loc="upper right")
