"""Linear models that are stopped keep their own stopping rule and warnings."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss

from fake_stop_signal import questions
from fitwithin.backends._early_stopping.registry import find_early_stopping
from fitwithin.backends._early_stopping.solvers import fit_sgd
from fitwithin.backends._early_stopping.stop_signal import StopSignal
from fitwithin.testing import FakeClock

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 6))
Y = np.where(X[:, 0] + X[:, 1] + RNG.normal(size=len(X)) > 0, "yes", "no")
ENOUGH = 1e6
LBFGS = LogisticRegression(tol=1e-9)


def fit(learner, stop_signal, **params):
    find_early_stopping(learner)(learner, X, Y, stop_signal, params)
    return learner


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_more_time_gives_a_better_model(solver):
    learner = LogisticRegression(solver=solver, tol=1e-9, max_iter=50, random_state=0)
    best = log_loss(Y, clone(learner).fit(X, Y).predict_proba(X))

    losses = [log_loss(Y, fit(clone(learner), questions(seconds)).predict_proba(X)) for seconds in (0, 8, 16, 60)]

    assert losses[0] > losses[1] >= losses[2] - 1e-3
    assert losses[-1] == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("solver", ["newton-cg", "sag", "saga"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stopped_solver_estimates_its_skipped_seconds(solver):
    stop_signal = questions(4)

    model = fit(LogisticRegression(solver=solver, tol=1e-12, max_iter=50, random_state=0), stop_signal)

    assert model.n_iter_[0] < 50
    assert stop_signal.skipped_seconds > 0


def test_a_solver_that_converged_skipped_nothing():
    stop_signal = StopSignal(ENOUGH)

    fit(LogisticRegression(solver="saga", max_iter=500, random_state=0), stop_signal)

    assert stop_signal.skipped_seconds == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stopped_lbfgs_reaches_an_equally_good_model():
    learner = clone(LBFGS).set_params(max_iter=30)
    best = log_loss(Y, clone(learner).fit(X, Y).predict_proba(X))

    fit(learner, questions(10))

    assert 3 < learner.n_iter_[0] <= 30
    assert log_loss(Y, learner.predict_proba(X)) == pytest.approx(best, rel=0.01)
    assert (learner.max_iter, learner.warm_start) == (30, False)


@pytest.mark.parametrize("solver", ["sag", "saga"])
def test_a_solver_that_would_lose_its_state_only_starts_anew(solver):
    learner = LogisticRegression(solver=solver, max_iter=80, tol=1e-9, random_state=0)

    model = fit(clone(learner), questions(30))

    assert 2 < model.n_iter_[0] < 80
    with pytest.warns(ConvergenceWarning):
        plain = clone(learner).set_params(max_iter=int(model.n_iter_[0])).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


SGD = SGDClassifier(random_state=0, loss="log_loss")


@pytest.mark.parametrize("settings", [{}, {"early_stopping": True}, {"learning_rate": "adaptive", "eta0": 0.1}])
def test_sgd_stops_by_its_own_rule(settings):
    learner = clone(SGD).set_params(**settings)
    plain = clone(learner).fit(X, Y)

    model = fit(learner, StopSignal(ENOUGH))

    assert model.n_iter_ == plain.n_iter_ < 1000
    assert model.t_ == plain.t_
    np.testing.assert_array_equal(model.coef_, plain.coef_)


class EpochsByTheClock:
    """A learner whose `fit` takes a second and 0.1 s an iteration, and whose `partial_fit` takes a second."""

    max_iter, warm_start, random_state = 1000, False, 0

    def __init__(self, clock):
        self.clock = clock

    def fit(self, X, y):
        self.clock.advance(1 + 0.1 * self.max_iter)
        self.n_iter_ = self.max_iter

    def partial_fit(self, X, y):
        self.clock.advance(1)


@pytest.mark.parametrize("seconds", [5.0, 20.0, 50.0])
def test_sgd_is_in_time_although_epochs_that_continue_are_slower(seconds):
    stop_signal = StopSignal(seconds, clock=(clock := FakeClock()))
    learner = EpochsByTheClock(clock)

    fit_sgd(learner, None, None, stop_signal, {})

    assert -1 <= stop_signal.seconds_left() < 0.5 * seconds
    assert stop_signal.skipped_seconds > 0
    assert stop_signal.setup_seconds == pytest.approx(1.0, abs=0.2)
    assert learner.max_iter == 1000


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_stopped_sgd_reaches_an_equally_good_model():
    learner = clone(SGD).set_params(max_iter=40)
    best = clone(learner).fit(X, Y).score(X, Y)

    model = fit(learner, questions(12))

    assert 10 < model.n_iter_ <= 40
    assert model.t_ == 1 + model.n_iter_ * len(X)
    assert model.score(X, Y) > best - 0.02


@pytest.mark.parametrize("learner", [SGD, LogisticRegression(solver="saga", tol=1e-3)])
def test_the_users_generator_gives_the_same_model(learner):
    ours, plain = np.random.RandomState(0), np.random.RandomState(0)

    model = fit(clone(learner).set_params(random_state=ours), StopSignal(ENOUGH))

    other = clone(learner).set_params(random_state=plain).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert model.random_state is ours
    assert ours.randint(10**9) == plain.randint(10**9)


def test_sgd_starts_from_the_users_coefficients():
    start = RNG.normal(size=(1, X.shape[1]))

    model = fit(clone(SGD), StopSignal(ENOUGH), coef_init=start.copy())

    np.testing.assert_array_equal(model.coef_, clone(SGD).fit(X, Y, coef_init=start.copy()).coef_)


def test_a_fit_that_continues_an_earlier_one_is_not_stopped():
    learner = clone(SGD).set_params(warm_start=True).fit(X, Y)
    plain = clone(SGD).set_params(warm_start=True).fit(X, Y).fit(X, Y)

    fit(learner, StopSignal(0))

    np.testing.assert_array_equal(learner.coef_, plain.coef_)


UNCONVERGED = [LBFGS, LogisticRegression(solver="saga", tol=1e-9, random_state=0), clone(SGD).set_params(tol=1e-12)]


@pytest.mark.parametrize("learner", UNCONVERGED)
def test_stopping_early_shows_no_warning(learner):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(clone(learner), questions(6))


@pytest.mark.parametrize("learner", UNCONVERGED)
def test_too_few_iterations_show_one_warning(learner):
    with pytest.warns(ConvergenceWarning) as seen:
        fit(clone(learner).set_params(max_iter=4), StopSignal(ENOUGH))

    assert len(seen) == 1


@pytest.mark.skipif(
    not hasattr(sklearn.linear_model, "PassiveAggressiveClassifier"), reason="gone in scikit-learn 1.10"
)
@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
def test_passive_aggressive_learners_can_be_stopped():
    learner = sklearn.linear_model.PassiveAggressiveClassifier(random_state=0, max_iter=60)

    model = fit(clone(learner), StopSignal(ENOUGH))

    np.testing.assert_array_equal(model.coef_, clone(learner).fit(X, Y).coef_)
    assert 1 < fit(clone(learner), questions(6)).n_iter_ <= 60
    regressor = sklearn.linear_model.PassiveAggressiveRegressor(random_state=0, max_iter=60)
    find_early_stopping(regressor)(regressor, X, X[:, 0], StopSignal(ENOUGH), {})
    np.testing.assert_array_equal(regressor.coef_, clone(regressor).fit(X, X[:, 0]).coef_)


def test_a_stopped_sgd_regressor_is_still_good():
    learner = SGDRegressor(random_state=0, max_iter=100, tol=1e-6)
    y = X @ np.arange(1, 7) + 0.1 * RNG.normal(size=len(X))

    find_early_stopping(learner)(learner, X, y, questions(12), {})

    assert learner.score(X, y) > 0.99
