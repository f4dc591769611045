"""The scikit-learn face: parameters in, fitted attributes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from . import teachers
from ._budget import Budget
from ._cost import CostModel
from ._messages import OnRound
from ._pools import Array, ArrayPool, Labels
from ._progress import ShowProgress, display
from ._session import Outcome, Session
from ._time_limit import TimeLimit, seconds_of
from .backends import Backend, Inline, Process, Seat
from .teachers import Deck, Teacher

_TEACHERS: Mapping[str, Callable[[], Teacher]] = {
    "auto": teachers.Auto,
    "tct": teachers.TCT,
    "double": teachers.Double,
    "full": teachers.Full,
}
_BACKENDS: Mapping[str, Callable[[], Backend]] = {"process": Process, "inline": Inline}


def _learner_has(method: str) -> Callable[[TimeConstrainedClassifier], bool]:
    def has(self: TimeConstrainedClassifier) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self._learner(), method)
        return True

    return has


class TimeConstrainedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """The most accurate classifier that a learner can build from the data by a deadline.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn style classifier; None stands for `HistGradientBoostingClassifier`.
    time_limit : int, float, timedelta or str, default=60
        Seconds, a `timedelta`, or text such as ``"90s"``, ``"15m"``, ``"1h30m"``. It covers the
        whole of `fit`.
    teacher : str or Teacher, default="auto"
        Which rows to teach: "auto", "tct", "double", "full", or an object of `fitwithin.teachers`.
    backend : {"process", "inline"} or Backend, default="process"
        Where the learner runs. Only "process" can stop a running fit.
    progress : "auto" or bool, default="auto"
        Whether to show a live display; "auto" shows it on a terminal or in a notebook.
    on_round : callable, optional
        Called with each finished `Round`; returning True stops early and keeps the best model.
    random_state : int, RandomState or None, default=None
        Seed of every choice of rows. If it is set, it also fills in whatever `random_state` the
        learner leaves at None.

    Attributes
    ----------
    best_estimator_ : classifier
        The fitted learner itself.
    history_ : list of Round
        Every finished round.
    stop_reason_ : str
        "time", "all rows", "no mistakes", "on_round", "interrupted" or "learner failed".
    time_used_ : float
        Seconds from the first line of `fit` to its return.
    n_rows_taught_ : int
        Rows behind `best_estimator_`.
    score_estimate_ : tuple of float or None
        (estimate, low, high) of its accuracy, from rows that were never taught and never examined
        before; None if it sat no such exam.
    classes_ : array
        The labels, sorted.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : array of str
        Their names, if X had any.

    Examples
    --------
    >>> from fitwithin import TimeConstrainedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_classification(20_000, random_state=0)
    >>> clf = TimeConstrainedClassifier(DecisionTreeClassifier(), time_limit=20, random_state=0)
    >>> clf.fit(X, y).stop_reason_
    'all rows'
    >>> clf.time_used_ < 20
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        time_limit: TimeLimit = 60,
        teacher: str | Teacher = "auto",
        backend: str | Backend = "process",
        progress: ShowProgress = "auto",
        on_round: OnRound | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.time_limit = time_limit
        self.teacher = teacher
        self.backend = backend
        self.progress = progress
        self.on_round = on_round
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train the best model that the time allows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The pool's features. They are not copied whole, and not checked for gaps: the learner
            says what it can take.
        y : array-like of shape (n_rows,)
            The labels.

        Returns
        -------
        TimeConstrainedClassifier
            This object, fitted.

        Raises
        ------
        NoModelInTime
            If nothing could be trained by the deadline.
        LearnerFailed
            If the learner's process died in its first round.
        """
        backend: Backend = _named("backend", self.backend, _BACKENDS, "open")
        budget = Budget(seconds_of(self.time_limit), clock=backend.clock)
        teacher: Teacher = _named("teacher", self.teacher, _TEACHERS, "teach")
        with backend.open(budget) as seat, display(self.progress, budget) as shown:
            session = Session(
                teacher, seat, budget, CostModel(), () if shown is None else (shown,), on_round=self.on_round
            )
            outcome = session.run(self._seated(seat, X, y))
        self._remember(outcome)
        self.time_used_ = budget.elapsed()
        return self

    def _seated(self, seat: Seat, X: Any, y: Any) -> Deck:
        """Check the input, seat the learner before its pool, and shuffle the deck."""
        learner = self._checked_learner()
        pool = ArrayPool(self._features(X, y), Labels.encode(y))
        self.classes_ = pool.y.classes
        random = check_random_state(self.random_state)
        seed = None if self.random_state is None else int(random.randint(2**31 - 1))
        if seed is not None:
            _fill_random_states(learner, random)
        seat.welcome(learner, pool, seed)
        return Deck(len(pool), np.random.default_rng(random.randint(2**31 - 1)), strata=pool.y.codes)

    def _remember(self, outcome: Outcome) -> None:
        estimate = outcome.estimate
        self.best_estimator_ = outcome.model
        self.history_ = outcome.history
        self.stop_reason_ = outcome.stop_reason
        self.n_rows_taught_ = outcome.rows
        self.score_estimate_ = None if estimate is None else (estimate.value, estimate.low, estimate.high)

    def _learner(self) -> Any:
        return HistGradientBoostingClassifier() if self.estimator is None else self.estimator

    def _checked_learner(self) -> Any:
        learner = self._learner()
        missing = [name for name in ("fit", "predict") if not callable(getattr(learner, name, None))]
        if missing or isinstance(learner, type):
            raise TypeError(
                f"estimator must be an object with fit and predict, such as DecisionTreeClassifier(); got {learner!r}"
                + (f", which has no {' and no '.join(missing)}." if missing else ", a class: add parentheses.")
            )
        if hasattr(learner, "__sklearn_tags__") and is_regressor(learner):
            raise TypeError(f"estimator must be a classifier; got the regressor {learner!r}.")
        return clone(learner, safe=False)

    def _features(self, X: Any, y: Any = None) -> Array:
        """X as an array, looked at but not read: gaps are the learner's business."""
        checks = {"ensure_all_finite": False, "dtype": "numeric"}
        if y is None:
            features: Array = validate_data(self, X, reset=False, **checks)
        else:
            features, _ = validate_data(self, X, y, multi_output=True, **checks)
        # A frame with columns of text comes through as objects, which no other process could read.
        return features.astype(np.float64) if features.dtype.hasobject else features

    def predict(self, X: Any) -> Array:
        """The labels that the best model gives.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to classify.
        """
        return self._ask("predict", X)

    @available_if(_learner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities, one column for each of `classes_`, if the learner gives any.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to classify.
        """
        return self._ask("predict_proba", X)

    @available_if(_learner_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities, if the learner gives any.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to classify.
        """
        return self._ask("predict_log_proba", X)

    @available_if(_learner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """The learner's scores, if it has any.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows to classify.
        """
        return self._ask("decision_function", X)

    def _ask(self, method: str, X: Any) -> Array:
        check_is_fitted(self)
        answer: Array = getattr(self.best_estimator_, method)(self._features(X))
        return answer

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a best model."""
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Tags:
        """The learner's own abilities, as far as they come through."""
        tags = super().__sklearn_tags__()
        if not hasattr(self._learner(), "__sklearn_tags__"):
            return tags
        learner = get_tags(self._learner())
        tags.input_tags.allow_nan = learner.input_tags.allow_nan
        if learner.classifier_tags is not None:
            tags.classifier_tags.multi_class = learner.classifier_tags.multi_class
            tags.classifier_tags.poor_score = learner.classifier_tags.poor_score
        return tags


def _named(parameter: str, value: Any, known: Mapping[str, Callable[[], Any]], method: str) -> Any:
    """The object that a parameter names, or is."""
    if isinstance(value, str) and value in known:
        return known[value]()
    if not isinstance(value, str) and callable(getattr(value, method, None)) and not isinstance(value, type):
        return value
    names = ", ".join(f'"{name}"' for name in known)
    raise ValueError(f"{parameter} must be one of {names}, or an object with a method {method!r}; got {value!r}.")


def _fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Give every part of the learner that has no seed one of ours."""
    if not hasattr(learner, "get_params"):
        return
    parameters = learner.get_params(deep=True)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(2**31 - 1)) for name in unset})
