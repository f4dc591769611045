"""What is known of families of learners: how they are stopped early, and what their fits cost; and the user's own."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

from fitwithin._core.cost import LearnerTraits
from fitwithin.backends._early_stopping import ensembles, solvers
from fitwithin.backends._early_stopping.ensembles import pass_validation_set
from fitwithin.backends._early_stopping.stop_signal import StopSignal, preserve_attributes


class EarlyStoppingFit(Protocol):
    """A function that fits a learner and stops when its stop signal says so.

    It takes at least one step, even if the time is up. It leaves an ordinary fitted learner with the user's parameters.
    With enough time the result equals that of the learner's own `fit`.
    """

    def __call__(self, learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any]) -> None:
        """Fit the learner in place; `params` holds the other arguments of its `fit`."""


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
    """Return whether the learner can stop early, and knows the number of its steps before it begins."""
    return _find(learner)[1]


def find_early_stopping(learner: Any) -> EarlyStoppingFit | None:
    """Return the function that fits this learner and can stop early; None if there is none."""
    return _find(learner)[0]


def find_traits(learner: Any) -> LearnerTraits:
    """Return what is known of a learner, or of the last step of a pipeline; the defaults if it is not listed."""
    return next((known.traits for known in _list_families(find_inner_learner(learner))), LearnerTraits())


def _list_families(learner: Any) -> list[_KnownLearner]:
    names = map(name_family, type(learner).__mro__)
    return [KNOWN_LEARNERS[name] for name in names if name in KNOWN_LEARNERS]


def _find(learner: Any) -> tuple[EarlyStoppingFit | None, bool]:
    """Return the function that fits this learner and can stop early, or None, and whether it knows its steps."""
    classes = [cls for cls in type(learner).__mro__ if _uses_fit_of(learner, cls)]
    for cls in classes:
        if cls in _REGISTERED:
            return _REGISTERED[cls]
    for cls in classes:
        known = KNOWN_LEARNERS.get(name_family(cls))
        if known is None or known.fit is None or not known.condition(learner):
            continue
        if known.inner is None:
            return known.fit, known.knows_steps
        inner_fit, inner_knows_steps = _find(known.inner(learner))
        if inner_fit is not None:
            return functools.partial(known.fit, inner_fit=inner_fit), inner_knows_steps
    return None, False


def find_inner_learner(learner: Any) -> Any:
    """Return the learner inside of wrappers: the last step of a pipeline, and so on."""
    inner = next((known.inner for known in _list_families(learner) if known.inner is not None), None)
    return learner if inner is None else find_inner_learner(inner(learner))


def _uses_fit_of(learner: Any, cls: type) -> bool:
    """Return whether the learner has the `fit` of this class; a `fit` that the user wrote may do anything."""
    has_own_fit = "fit" in getattr(learner, "__dict__", {})
    return not has_own_fit and getattr(type(learner), "fit", None) is getattr(cls, "fit", None)


def name_family(cls: type) -> str:
    """Return the name that a library's classifier, regressor and ranker have in common."""
    name = re.sub(r"(Classifier|Regressor|Ranker)$", "", cls.__qualname__)
    return f"{cls.__module__.partition('.')[0]}.{name}"


@dataclass(frozen=True)
class _KnownLearner:
    """What is known of a family of learners; the functions import its library when they are called."""

    traits: LearnerTraits = field(default_factory=LearnerTraits)
    fit: Callable[..., None] | None = None  # that of a wrapper also takes the `inner_fit` of the learner inside
    condition: Callable[[Any], bool] = lambda _: True  # whether a learner's settings allow `fit`
    # Returns the learner inside a wrapper. Its fit travels along: another process does not know the registered ones.
    inner: Callable[[Any], Any] | None = None
    knows_steps: bool = True  # solvers that converge do not: their largest number of steps says little


def fit_pipeline(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any], *, inner_fit: EarlyStoppingFit
) -> None:
    """Fit the pipeline by its own `fit`, as metadata routing asks, and stop its last step as if it stood alone."""
    last = learner.steps[-1][1]

    @functools.wraps(last.fit)
    def fit_last_step(X: Any, y: Any = None, **others: Any) -> Any:
        # The call below needs the method that this function replaces.
        del last.fit
        inner_fit(last, X, y, stop_signal, pass_validation_set(last, others, y, learner[:-1]))
        return last

    with preserve_attributes(last, "fit"):
        last.fit = fit_last_step
        learner.fit(X, y, **params)


def fit_label_encoded_classifier(
    learner: Any, X: Any, y: Any, stop_signal: StopSignal, params: Mapping[str, Any], *, inner_fit: EarlyStoppingFit
) -> None:
    """Encode the labels, and stop the inner classifier as if it stood alone."""
    codes = learner.encode_labels(y)
    inner_fit(learner.estimator_, X, codes, stop_signal, params)


_BOOSTER = LearnerTraits(
    0.9, 0.15, 0.0, spread=0.1, worth_share=0.8, least_share=0.5, oversampling_pays=True, later_step_cost=0.8
)
_FOREST = LearnerTraits(1.05, 0.25, spread=0.1, worth_share=0.6)
_TREE = LearnerTraits(1.1, spread=0.05)
_SOLVER = LearnerTraits(1.2, 0.6, model_growing_share=0.0, spread=0.35, worth_share=0.6)
_LINEAR = LearnerTraits(1.05, model_growing_share=0.0, spread=0.3, worth_share=0.6)
_SGD = LearnerTraits(1.05, model_growing_share=0.0, spread=0.12, worth_share=0.6)
_NETWORK = LearnerTraits(0.95, 0.6, model_growing_share=0.0, spread=0.12, worth_share=0.6)
_SVM = LearnerTraits(1.75, spread=0.2, exam_growth=0.5)
_LAZY = LearnerTraits(1.0, spread=0.15, exam_growth=0.8)

_GRADIENT_DESCENT = _KnownLearner(_SGD, solvers.fit_sgd, knows_steps=False)

KNOWN_LEARNERS = {
    "lightgbm.LGBM": _KnownLearner(_BOOSTER, ensembles.fit_lightgbm),
    "xgboost.XGB": _KnownLearner(_BOOSTER, ensembles.fit_xgboost),
    # On a GPU it calls no callbacks.
    "catboost.CatBoost": _KnownLearner(
        _BOOSTER, ensembles.fit_catboost, lambda learner: learner.get_params().get("task_type", "CPU").upper() == "CPU"
    ),
    "sklearn.GradientBoosting": _KnownLearner(_BOOSTER, ensembles.fit_gradient_boosting),
    # The fit overrides this private method.
    "sklearn.HistGradientBoosting": _KnownLearner(
        _BOOSTER, ensembles.fit_hist_boosting, lambda learner: hasattr(learner, "_should_stop")
    ),
    **dict.fromkeys(("sklearn.RandomForest", "sklearn.ExtraTrees"), _KnownLearner(_FOREST, ensembles.fit_forest)),
    # It refuses `warm_start` together with an out-of-bag score.
    "sklearn.Bagging": _KnownLearner(_FOREST, ensembles.fit_bagging, lambda learner: not learner.oob_score),
    **dict.fromkeys(("sklearn.DecisionTree", "sklearn.ExtraTree"), _KnownLearner(_TREE)),
    # `liblinear` has no iterations of all classes.
    "sklearn.LogisticRegression": _KnownLearner(
        _SOLVER, solvers.fit_in_several_calls, lambda learner: bool(learner.solver != "liblinear"), knows_steps=False
    ),
    **dict.fromkeys(("sklearn.SGD", "sklearn.Perceptron", "sklearn.PassiveAggressive"), _GRADIENT_DESCENT),
    **dict.fromkeys(("sklearn.LinearSVC", "sklearn.LinearSVR", "sklearn.Ridge"), _KnownLearner(_LINEAR)),
    # The fit overrides this private method, except for `lbfgs`.
    "sklearn.MLP": _KnownLearner(
        _NETWORK,
        solvers.fit_neural_network,
        lambda learner: learner.solver == "lbfgs" or hasattr(learner, "_backprop"),
        knows_steps=False,
    ),
    **dict.fromkeys(("sklearn.SVC", "sklearn.NuSVC", "sklearn.SVR", "sklearn.NuSVR"), _KnownLearner(_SVM)),
    **dict.fromkeys(("sklearn.KNeighbors", "sklearn.RadiusNeighbors", "sklearn.GaussianNB"), _KnownLearner(_LAZY)),
    "sklearn.Pipeline": _KnownLearner(
        fit=fit_pipeline, inner=lambda learner: learner.steps[-1][1] if learner.steps else None
    ),
    "fitwithin.LabelEncoded": _KnownLearner(fit=fit_label_encoded_classifier, inner=attrgetter("estimator")),
}
"""Families of learners by the name of their library and their class; `name_family` makes it."""
