"""
First steps
===========

Wrap your classifier in :class:`~fitwithin.TimeConstrainedClassifier`, and say how long `fit` may take. The table is
covtype, if `FITWITHIN_DATA` names a folder with it, else a synthetic one of the same shape.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from fitwithin import TimeConstrainedClassifier, viz

LIMIT = os.environ.get("FITWITHIN_EXAMPLE_LIMIT", "60s")

table = Path(os.environ.get("FITWITHIN_DATA", "")) / "covtype.parquet"
if table.exists():
    frame = pd.read_parquet(table)
    X, y = frame.drop(columns="target").to_numpy("float32"), frame["target"].to_numpy()
else:
    X, y = make_classification(581_012, n_features=54, n_informative=12, n_classes=7, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=50_000, random_state=0)

clf = TimeConstrainedClassifier(RandomForestClassifier(), time_limit=LIMIT, random_state=0)
clf.fit(X_train, y_train)

# %%
# The limit covers the whole of `fit`, from checking the input to bringing the model back. The estimate and its 95 %
# interval come from rows of the training data that `fit` held out, not from the test set.

estimate, low, high = clf.score_estimate_
print(f"stopped by: {clf.stop_reason_}, after {clf.time_used_:.2f} s")
print(f"trained on {clf.n_rows_trained_:,} of {clf.n_rows_in_:,} rows")
print(f"accuracy {estimate:.3f} [{low:.3f}, {high:.3f}], on the test set {clf.score(X_test, y_test):.3f}")

# %%
# `best_estimator_` is the fitted forest itself.

clf.best_estimator_

# %%
# The rounds, as a table and as a picture. A round is one fit and the predictions of its model.

_, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
viz.learning_curve(clf, ax)
clf.history_
