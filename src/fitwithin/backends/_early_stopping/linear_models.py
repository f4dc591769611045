"""Linear models that go over the rows again and again, and have to be told beforehand how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fitwithin.backends._early_stopping.base import StopSignal
from fitwithin.backends._early_stopping.steps import (
    ENDLESS,
    LastWarned,
    OneMore,
    advance_until,
    in_one_go,
    kept,
    rewinding,
)

Fit = Callable[[], object]
"""Fit the learner as it is."""


GoOn = Callable[[int], object]
"""So many iterations more, from where the last ones led."""


_SHARE, _LAST_SHARE = 1 / 2, 2 / 3


def fit_logistic_regression(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Logistic regression, each solver in its own way; the same model as without us if there is time enough.

    `lbfgs` calls back after every iteration, from scikit-learn 1.9 on; before that it is fitted in parts, see
    `fit_in_parts`, and so are the others. `sag` and `saga` do not go on from a part, since they would forget the
    gradients of all rows: one more iteration of `saga` undoes ten. Nor does `newton-cholesky`, which gets lost with
    more than two classes in scikit-learn 1.6. `newton-cg` remembers nothing from one iteration to the next, so that
    none is repeated; since they get slower, a part is at most three times as long as all before it. Each starts its
    line search anew, which may show in the last digits.
    """

    def fit() -> None:
        learner.fit(X, y, **params)

    if learner.solver == "lbfgs" and hasattr(learner, "set_callbacks"):
        _fit_calling_back(learner, fit, stop_signal)
    elif learner.solver == "newton-cg":
        fit_in_parts(learner, fit, stop_signal, warmly(learner, fit), fresh=1, growth=3)
    else:
        fit_in_parts(learner, fit, stop_signal, warmly(learner, fit) if learner.solver == "lbfgs" else None)


def warmly(learner: Any, fit: Fit) -> GoOn:
    """A way to go on for a learner whose `warm_start` keeps what there is."""

    def go_on(iterations: int) -> None:
        learner.warm_start, learner.max_iter = True, iterations
        fit()

    return go_on


def can_go_on(learner: Any) -> bool:
    """Whether the solver takes the coefficients of a fit before, as liblinear does not."""
    return bool(learner.solver != "liblinear")


def fit_sgd(learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
    """Stochastic gradient descent in parts, see `fit_in_parts`, for the sake of its own stopping rule.

    What `partial_fit` adds in the end, epoch by epoch, has no rule but the time. It would start with the first learning
    rate again where that is adaptive, and so is left out there.
    """
    if "coef_init" in params or "intercept_init" in params:
        # The learner changes these in place, so it can start from them only once.
        learner.fit(X, y, **params)
        return
    weights = {name: value for name, value in params.items() if name == "sample_weight"}

    def go_on(epochs: int) -> None:
        for _ in range(epochs):
            learner.partial_fit(X, y, **weights)
        learner.n_iter_ = epochs

    adaptive = getattr(learner, "learning_rate", None) == "adaptive"
    fit_in_parts(learner, lambda: learner.fit(X, y, **params), stop_signal, None if adaptive else go_on)


def fit_in_parts(
    learner: Any, fit: Fit, stop_signal: StopSignal, go_on: GoOn | None, *, fresh: int = 2, growth: int = ENDLESS
) -> None:
    """Fit for one iteration, for its price; then from the start again, for as many as half of the time allows; go on.

    A fit from the start keeps all that the solver remembers, and its own test for the end: with time enough it gives
    the same model as without us. It is the only one then, but for the first iteration, which it repeats. Where it is
    cut short, others follow that go on from there, each for half of the time that is left; or none, if there is no way
    to go on, and it gets two thirds.

    Parameters
    ----------
    learner : estimator
        With `max_iter`, `warm_start`, `random_state` and `n_iter_`.
    fit : callable
        Fits it as it is.
    stop_signal : StopSignal
        What is left.
    go_on : callable or None
        Adds iterations; None if there is no way.
    fresh : int, default=2
        How many calls begin from the start.
    growth : int, optional
        See `advance_until`.
    """
    if in_one_go(learner, learner.max_iter):
        fit()
        return
    parts = _Parts(learner, fit, go_on, fresh)
    most, share = learner.max_iter, _SHARE if go_on is not None else _LAST_SHARE
    with kept(learner, "max_iter", "warm_start", "random_state"):
        iteration = advance_until(stop_signal, most, parts.advance, share=share, growth=growth)
    # Where there is no way to go on, nobody else knows that more was wanted.
    stop_signal.skipped_seconds = parts.end() * iteration


class _Parts:
    """The calls of a fit in parts, and the iterations of all of them."""

    def __init__(self, learner: Any, fit: Fit, go_on: GoOn | None, fresh: int) -> None:
        self._learner, self._fit, self._go_on, self._fresh = learner, fit, go_on, fresh
        self._most = learner.max_iter
        self._rewind = rewinding(learner.random_state)
        self._calls = LastWarned()
        self._done = 0
        self._converged = False

    def advance(self, iterations: int) -> bool:
        """Go on to so many; whether more would be of use, and can be had."""
        if self._fresh > 0:
            self._start(iterations)
        else:
            self._add(iterations - self._done)
        self._converged = self._done < iterations
        return not self._converged and (self._fresh > 0 or self._go_on is not None)

    def _start(self, iterations: int) -> None:
        self._fresh -= 1
        self._rewind()
        self._learner.warm_start, self._learner.max_iter = False, iterations
        self._calls(self._fit)
        self._done = iterations_of(self._learner)

    def _add(self, iterations: int) -> None:
        go_on = self._go_on
        assert go_on is not None
        # With a number it would meet the rows in the same order every time.
        self._learner.random_state = check_random_state(self._learner.random_state)
        self._calls(lambda: go_on(iterations))
        self._done += min(iterations, iterations_of(self._learner))

    def end(self) -> int:
        """Write down all iterations; repeat the warnings, but that the fit did not converge if we ended it.

        The iterations that were left out then.
        """
        learner = self._learner
        learner.n_iter_ = np.full_like(learner.n_iter_, self._done) if np.ndim(learner.n_iter_) else self._done
        cut = not self._converged and self._done < self._most
        self._calls.repeat(unless=lambda warning: cut and issubclass(warning.category, ConvergenceWarning))
        return self._most - self._done if cut else 0


def iterations_of(learner: Any) -> int:
    """Iterations of the last call, of the slowest of several classes."""
    return int(np.max(learner.n_iter_))


class _Stop:
    """Ends L-BFGS between two iterations; one of scikit-learn's callbacks."""

    def __init__(self, stop_signal: StopSignal, most: int) -> None:
        self._one_more = OneMore(stop_signal, most)
        self.is_over = False

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to tidy up."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Before an iteration that is not the first: scikit-learn 1.9 lets through what scipy takes for a stop."""
        is_iteration = context.max_subtasks == 0
        if is_iteration and context.task_id > 0 and not self._one_more():
            self.is_over = True
            raise StopIteration

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Not here: it is called once more after the last iteration, when scipy does not listen."""


def _fit_calling_back(learner: Any, fit: Fit, stop_signal: StopSignal) -> None:
    stop = _Stop(stop_signal, learner.max_iter)
    # There is no public way to ask for the user's.
    users = getattr(learner, "_skl_callbacks", [])
    calls = LastWarned()
    learner.set_callbacks(*users, stop)
    try:
        calls(fit)
    finally:
        learner.set_callbacks(*users)
    calls.repeat(unless=lambda warning: stop.is_over and issubclass(warning.category, ConvergenceWarning))
