"""The row numbers of the chosen model."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier, TimeConstrainedSearch

RNG = np.random.default_rng(0)
X = RNG.random((5000, 4))
Y = (X[:, 0] + X[:, 1] + RNG.normal(0, 0.2, 5000) > 1).astype(int)


def a_classifier(**settings):
    settings = {"time_limit": 30, "backend": "inline", "random_state": 0} | settings
    return TimeConstrainedClassifier(DecisionTreeClassifier(max_depth=5), **settings)


@pytest.mark.parametrize("teacher", ["auto", "tct", "double"])
@pytest.mark.parametrize("backend", ["inline", "process"])
def test_the_same_rows_give_the_same_model_without_a_clock(teacher, backend):
    stop = {"on_round": lambda finished: finished.rows > 1000}
    clf = a_classifier(teacher=teacher, backend=backend, **stop).fit(X, Y)

    rows = clf.training_rows_
    again = clone(clf.best_estimator_).fit(X[rows], Y[rows])

    assert len(rows) == clf.n_rows_trained_
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()


def test_held_out_rows_are_others_and_give_the_estimate():
    clf = a_classifier(on_round=lambda finished: finished.rows > 1000).fit(X, Y)

    sets = [clf.training_rows_, clf.validation_rows_, clf.holdout_rows_]
    assert all(len(rows) for rows in sets)
    assert len(np.unique(np.concatenate(sets))) == sum(map(len, sets))
    assert clf.score(X[clf.holdout_rows_], Y[clf.holdout_rows_]) == pytest.approx(clf.score_estimate_[0])


def test_they_are_empty_if_a_last_fit_took_them():
    # The labels of a chessboard, which more rows learn better.
    clf = a_classifier().fit(X, (X[:, :2] * 8).astype(int).sum(axis=1) % 2)

    assert clf.training_rows_.tolist() == list(range(5000))
    assert len(clf.validation_rows_) == len(clf.holdout_rows_) == 0


def test_those_of_a_validation_set_are_numbers_of_its_rows():
    clf = a_classifier().fit(X[:4000], Y[:4000], X_val=X[4000:], y_val=Y[4000:])

    assert sorted([*clf.validation_rows_, *clf.holdout_rows_]) == list(range(1000))
    holdout = 4000 + clf.holdout_rows_
    assert clf.score(X[holdout], Y[holdout]) == pytest.approx(clf.score_estimate_[0])


def test_a_search_has_them_and_partial_fit_has_none():
    search = TimeConstrainedSearch(
        DecisionTreeClassifier(), {"max_depth": [2, 5]}, time_limit=4, backend="inline", random_state=0
    )
    sgd = TimeConstrainedClassifier(SGDClassifier(), teacher="sgd", time_limit=2, backend="inline", random_state=0)

    assert len(search.fit(X, Y).training_rows_) == search.n_rows_trained_
    assert sgd.fit(X, Y).training_rows_ is sgd.validation_rows_ is sgd.holdout_rows_ is None
