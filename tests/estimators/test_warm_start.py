"""`warm_start`: the next fit goes on where the last one ended."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from checkpoint_fits import TimedTree, make_fit, make_rows


def refit(clf, X, y, **settings):
    """Fit again on a clock that goes on."""
    return clf.set_params(**settings).fit(X, y)


def test_the_next_fit_goes_on_with_a_new_limit():
    X, y = make_rows()
    clf = make_fit(warm_start=True, time_limit=5).fit(X, y)
    n_rounds, n_rows, used = len(clf.history_), clf.n_rows_trained_, clf.time_used_

    refit(clf, X, y, time_limit=20)

    assert len(clf.history_) > n_rounds
    assert clf.n_rows_trained_ >= n_rows
    assert clf.time_limit_ == used + 20
    assert used < clf.time_used_ <= used + 20
    assert clf.history_[n_rounds].rows > n_rows
    elapsed = [one.elapsed for one in clf.history_]
    assert elapsed == sorted(elapsed)


def test_lost_seconds_are_those_of_the_last_call():
    X, y = make_rows()
    clf = make_fit(warm_start=True, time_limit=5, teacher="double").fit(X, y)
    clf.lost_seconds_ = 77.0

    refit(clf, X, y, time_limit=1000)

    assert clf.stop_reason_ == "all rows"
    assert clf.lost_seconds_ == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("teacher", ["auto", "tct"])
def test_the_next_fit_never_returns_a_worse_model_by_its_validation_rows(teacher, seed):
    X, y = make_rows(6000, seed)
    clf = make_fit(
        TimedTree(max_depth=2, random_state=0), warm_start=True, time_limit=2, teacher=teacher, random_state=seed
    )
    clf.fit(X, y)
    for _ in range(4):
        before = clf._kept_state[1].best
        refit(clf, X, y)
        after = clf._kept_state[1].best
        if after.number != before.number and teacher == "auto":
            assert after.estimate.value >= before.estimate.value
        elif after.number != before.number:
            assert after.estimate.low > before.estimate.low


def test_a_fit_that_had_all_rows_returns_its_model_again():
    X, y = make_rows(3000)
    clf = make_fit(warm_start=True, time_limit=100).fit(X, y)
    assert clf.stop_reason_ == "all rows"
    model, used = clf.best_estimator_, clf.time_used_

    refit(clf, X, y)

    assert clf.best_estimator_ is model
    assert clf.time_used_ == used


@pytest.mark.parametrize("change", ["rows", "learner", "no warm start"])
def test_other_rows_or_another_learner_begin_again(change):
    X, y = make_rows()
    clf = make_fit(warm_start=True, time_limit=5).fit(X, y)
    if change == "rows":
        X, y = X[1:], y[1:]
    elif change == "learner":
        clf.set_params(estimator__max_depth=3)
    else:
        clf.set_params(warm_start=False)

    clf.fit(X, y)

    assert clf.time_limit_ == 5
    assert clf.history_[0].number == 1
    assert clf.history_[0].predicted_fit is None
    assert hasattr(clf, "_kept_state") == clf.warm_start


def test_a_clone_begins_again_and_a_pickle_goes_on():
    X, y = make_rows()
    clf = make_fit(warm_start=True, time_limit=5, backend="inline").fit(X, y)
    n_rounds = len(clf.history_)

    assert not hasattr(clone(clf), "_kept_state")
    restored = pickle.loads(pickle.dumps(clf))
    assert len(refit(restored, X, y, time_limit=5).history_) >= n_rounds
    assert restored.time_limit_ > 5


def test_a_warm_start_with_a_checkpoint_goes_on_in_memory_and_in_the_file(tmp_path):
    X, y = make_rows()
    clf = make_fit(warm_start=True, checkpoint=tmp_path / "fit.ckpt", time_limit=5).fit(X, y)
    used = clf.time_used_
    refit(clf, X, y, time_limit=20)
    assert clf.time_limit_ == used + 20

    other = make_fit(warm_start=True, checkpoint=tmp_path / "fit.ckpt", time_limit=clf.time_used_).fit(X, y)

    assert other.history_ == clf.history_
    np.testing.assert_array_equal(other.predict(X), clf.predict(X))
