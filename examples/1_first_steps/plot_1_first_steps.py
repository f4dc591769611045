"""
First steps
===========

Wrap your classifier in :class:`~fitwithin.TimeConstrainedClassifier`, and say how long `fit` may take.
"""

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from fitwithin import TimeConstrainedClassifier

X, y = make_classification(100_000, n_features=20, n_informative=10, class_sep=1.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=20_000, random_state=0)

clf = TimeConstrainedClassifier(RandomForestClassifier(), time_limit="4s", random_state=0)
clf.fit(X_train, y_train)

# %%
# The limit covers the whole of `fit`, from checking the input to bringing the model back. The estimate and its 95 %
# interval come from rows of the training data that `fit` held out, not from the test set.

print(f"stopped by: {clf.stop_reason_}, after {clf.time_used_:.2f} s")
print(f"trained on {clf.n_rows_trained_:,} of {clf.n_rows_in_:,} rows")
print(f"accuracy, low and high end of its interval: {clf.score_estimate_}")
print(f"accuracy on the test set: {clf.score(X_test, y_test):.3f}")

# %%
# `best_estimator_` is the fitted forest itself.

clf.best_estimator_

# %%
# The rounds. A round is one fit and the predictions of its model.

clf.history_
