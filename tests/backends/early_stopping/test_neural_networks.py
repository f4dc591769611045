"""Neural networks are stopped within an epoch, but not within the first."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from fake_stop_signal import questions
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.stop_signal import StopSignal

X = np.random.default_rng(0).normal(size=(100, 3))
Y = (X[:, 0] > 0).astype(int)
NETWORK = MLPClassifier((4,), batch_size=10, max_iter=50, tol=0, n_iter_no_change=100, random_state=0)


def fit(learner, stop_signal):
    find_early_stopping(learner)(learner, X, Y, stop_signal, {})
    return learner


def test_the_time_is_checked_at_every_batch_from_the_second_epoch_on():
    # An epoch has ten batches: the fit stops in the third epoch.
    model = fit(clone(NETWORK), questions(17))

    assert model.n_iter_ == len(model.loss_curve_) == 2
    assert model.t_ == 200
    assert np.isfinite(model.loss_)


def test_weights_of_an_unfinished_epoch_are_kept():
    models = [fit(clone(NETWORK), questions(seconds)) for seconds in (15, 16)]

    assert models[0].n_iter_ == models[1].n_iter_
    assert not np.array_equal(models[0].coefs_[0], models[1].coefs_[0])


@pytest.mark.parametrize("seconds", [0, 6, 17])
def test_stopping_early_shows_no_warning(seconds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(clone(NETWORK), questions(seconds))


def test_too_few_iterations_show_a_warning():
    with pytest.warns(ConvergenceWarning, match="Maximum iterations"):
        fit(clone(NETWORK).set_params(max_iter=3), StopSignal(1e6))


def test_with_early_stopping_the_best_epoch_is_kept():
    model = fit(clone(NETWORK).set_params(early_stopping=True, learning_rate_init=0.5), questions(200))

    assert model.best_validation_score_ == max(model.validation_scores_)
    assert len(model.validation_scores_) == model.n_iter_ < 50


def test_an_interrupt_by_the_user_still_warns():
    class Interrupted(StopSignal):
        def seconds_left(self):
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted by user"):
        fit(clone(NETWORK), Interrupted(0))


def test_lbfgs_stops_by_its_own_rule():
    learner = clone(NETWORK).set_params(solver="lbfgs", tol=0.01, max_iter=200)
    plain = clone(learner).fit(X, Y)

    model = fit(learner, StopSignal(1e6))

    assert model.n_iter_ == plain.n_iter_ < 200
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_a_network_without_the_overridden_method_cannot_be_stopped(monkeypatch):
    monkeypatch.delattr(next(kind for kind in MLPClassifier.__mro__ if "_backprop" in vars(kind)), "_backprop")

    assert find_early_stopping(clone(NETWORK)) is None
    assert find_early_stopping(clone(NETWORK).set_params(solver="lbfgs")) is not None
