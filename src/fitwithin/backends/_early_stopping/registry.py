"""The learners that can be stopped early: those that the user registered, and those that fitwithin knows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

from fitwithin.backends._early_stopping import ensembles, solvers
from fitwithin.backends._early_stopping.steps import override_method
from fitwithin.backends._early_stopping.stop_signal import StopSignal
from fitwithin.backends._early_stopping.validation_set import transform_validation_set


class EarlyStoppingFit(Protocol):
    """A function that fits a learner and stops when its stop signal says so.

    It takes at least one step, even if the time is up. It leaves an ordinary fitted learner with the user's parameters.
    With enough time the result equals that of the learner's own `fit`.
    """

    def __call__(self, learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
        """Fit the learner in place; `params` holds the other arguments of its `fit`."""
        ...


_REGISTERED: dict[type, tuple[EarlyStoppingFit, bool]] = {}


def register_early_stopping(learner_class: type, early_stopping: EarlyStoppingFit, *, knows_steps: bool = True) -> None:
    """Let fitwithin stop learners of this class early.

    Parameters
    ----------
    learner_class : type
        Class of the learner. Subclasses are included, except those that define their own `fit`. A registered class
        takes precedence over the learners that fitwithin knows.
    early_stopping : callable(learner, X, y, stop_signal, params)
        Fits the learner in place and stops when the time is up; see `StopSignal`. `params` holds the other arguments of
        the learner's `fit`, such as `sample_weight`. The process backend pickles this function with cloudpickle.
    knows_steps : bool, default=True
        Whether it uses `StopSignal.steps`. Otherwise the time of a complete fit cannot be projected from a few steps.

    Raises
    ------
    TypeError
        If `learner_class` is not a class, or `early_stopping` cannot be called.

    Examples
    --------
    >>> from fitwithin.backends import StopSignal, register_early_stopping
    >>> class Counter:
    ...     def fit(self, X, y):
    ...         self.steps_ = 1000
    >>> def fit_counter(learner, X, y, stop_signal, params):
    ...     for step in stop_signal.steps(1000):
    ...         learner.steps_ = step + 1
    >>> register_early_stopping(Counter, fit_counter)
    >>> counter = Counter()
    >>> fit_counter(counter, None, None, StopSignal(0), {})
    >>> counter.steps_
    1
    """
    if not isinstance(learner_class, type) or not callable(early_stopping):
        raise TypeError(
            f"Got {learner_class!r} and {early_stopping!r}; register_early_stopping takes a class and a callable."
        )
    _REGISTERED[learner_class] = early_stopping, knows_steps


def knows_steps(learner: Any) -> bool:
    """Return whether the learner can stop early, and knows the number of its steps before it begins.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import SGDClassifier
    >>> knows_steps(RandomForestClassifier()), knows_steps(SGDClassifier())
    (True, False)
    """
    return _find(learner)[1]


def find_early_stopping(learner: Any) -> EarlyStoppingFit | None:
    """Return the function that fits this learner and can stop early; None if there is none.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> find_early_stopping(RandomForestClassifier()) is None
    False
    >>> find_early_stopping(DecisionTreeClassifier()) is None
    True
    """
    return _find(learner)[0]


def _find(learner: Any) -> tuple[EarlyStoppingFit | None, bool]:
    """Return the function that fits this learner and can stop early, or None, and whether it knows its steps."""
    classes = [cls for cls in type(learner).__mro__ if _uses_fit_of(learner, cls)]
    for cls in classes:
        if cls in _REGISTERED:
            return _REGISTERED[cls]
    for cls in classes:
        known = _KNOWN_LEARNERS.get(name_family(cls))
        found = (None, False) if known is None else known.find(learner)
        if found[0] is not None:
            return found
    return None, False


def find_inner_learner(learner: Any) -> Any:
    """Return the learner inside of wrappers: the last step of a pipeline, and so on.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> find_inner_learner(make_pipeline(StandardScaler(), SVC()))
    SVC()
    """
    for cls in type(learner).__mro__:
        known = _KNOWN_LEARNERS.get(name_family(cls))
        if known is not None and known.inner is not None:
            return find_inner_learner(known.inner(learner))
    return learner


def _uses_fit_of(learner: Any, cls: type) -> bool:
    """Return whether the learner has the `fit` of this class; a `fit` that the user wrote may do anything."""
    has_own_fit = "fit" in getattr(learner, "__dict__", {})
    return not has_own_fit and getattr(type(learner), "fit", None) is getattr(cls, "fit", None)


def name_family(cls: type) -> str:
    """Return the name that a library's classifier, regressor and ranker have in common."""
    name = cls.__qualname__
    for kind in ("Classifier", "Regressor", "Ranker"):
        name = name.removesuffix(kind)
    return f"{cls.__module__.partition('.')[0]}.{name}"


@dataclass(frozen=True)
class _KnownLearner:
    """The functions that stop a family of learners; they import its library when they are called.

    Parameters
    ----------
    fit : callable
        An early-stopping fit; of a wrapper, one that takes the `inner_fit` of the learner inside.
    condition : callable or None
        Returns whether a learner's settings allow it; None if all do.
    inner : callable or None
        Returns the learner inside a wrapper, which is the one to stop. Its fit travels with the wrapper's, since
        another process does not know the learners that were registered in this one.
    knows_steps : bool
        False for solvers that converge: their largest number of steps says little.
    """

    fit: Callable[..., None]
    condition: Callable[[Any], bool] | None = None
    inner: Callable[[Any], Any] | None = None
    knows_steps: bool = True

    def find(self, learner: Any) -> tuple[EarlyStoppingFit | None, bool]:
        if self.condition is not None and not self.condition(learner):
            return None, False
        fit = self.fit
        if self.inner is None:
            return fit, self.knows_steps
        inner_fit, inner_knows_steps = _find(self.inner(learner))
        if inner_fit is None:
            return None, False
        return functools.partial(fit, inner_fit=inner_fit), inner_knows_steps


def fit_pipeline(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any], *, inner_fit: EarlyStoppingFit
) -> None:
    """Fit the pipeline by its own `fit`, and stop its last step as if it stood alone.

    Caching, metadata routing and callbacks work as in a plain fit. The steps before the last cannot be stopped.
    """
    last = learner.steps[-1][1]

    @functools.wraps(last.fit)
    def fit_last_step(X: Any, y: Any = None, **others: Any) -> Any:
        # The call below needs the method that this function replaces.
        del last.fit
        inner_fit(last, X, y, stop_signal, transform_validation_set(learner, others))
        return last

    with override_method(last, "fit", fit_last_step):
        learner.fit(X, y, **params)


def get_last_step(learner: Any) -> Any:
    """Return the last step of a pipeline; None if it has no steps."""
    return learner.steps[-1][1] if learner.steps else None


def fit_label_encoded_classifier(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any], *, inner_fit: EarlyStoppingFit
) -> None:
    """Encode the labels, and stop the inner classifier as if it stood alone."""
    codes = learner.encode_labels(y)
    inner_fit(learner.estimator_, X, codes, stop_signal, params)


_FOREST = _KnownLearner(ensembles.fit_forest)
_SGD = _KnownLearner(solvers.fit_sgd, knows_steps=False)

_KNOWN_LEARNERS = {
    "lightgbm.LGBM": _KnownLearner(ensembles.fit_lightgbm),
    "xgboost.XGB": _KnownLearner(ensembles.fit_xgboost),
    "catboost.CatBoost": _KnownLearner(ensembles.fit_catboost, condition=ensembles.can_stop_catboost),
    "sklearn.GradientBoosting": _KnownLearner(ensembles.fit_gradient_boosting),
    "sklearn.HistGradientBoosting": _KnownLearner(
        ensembles.fit_hist_gradient_boosting, condition=ensembles.can_stop_hist_gradient_boosting
    ),
    "sklearn.RandomForest": _FOREST,
    "sklearn.ExtraTrees": _FOREST,
    "sklearn.Bagging": _KnownLearner(ensembles.fit_bagging, condition=ensembles.can_stop_bagging),
    "sklearn.LogisticRegression": _KnownLearner(
        solvers.fit_logistic_regression, condition=solvers.can_stop_logistic_regression, knows_steps=False
    ),
    "sklearn.SGD": _SGD,
    "sklearn.Perceptron": _SGD,
    "sklearn.PassiveAggressive": _SGD,
    "sklearn.MLP": _KnownLearner(
        solvers.fit_neural_network, condition=solvers.can_stop_neural_network, knows_steps=False
    ),
    "sklearn.Pipeline": _KnownLearner(fit_pipeline, inner=get_last_step),
    "fitwithin.LabelEncoded": _KnownLearner(fit_label_encoded_classifier, inner=attrgetter("estimator")),
}
