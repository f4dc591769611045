"""The arguments of a fit and its learner: what is refused, what goes to the learner and to the rows, and the seeds."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import get_routing_for_object, process_routing
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from fitwithin._core.cores import count_jobs
from fitwithin._core.exceptions import join_names
from fitwithin._core.target import Array, Labels
from fitwithin._pools.tables import find_input_kind, read_texts, split_validation_frame, take_named_columns
from fitwithin.backends import Backend, Inline, Process
from fitwithin.teachers import ParallelTeacher, Teacher
from fitwithin.teachers._registry import TEACHERS

T = TypeVar("T")

MAX_SEED = 2**31 - 1  # the largest one that every random generator takes
Validation = Literal["random", "last"]

# Least share of the rows of a class that have a weight; zeros on purpose, such as those of other folds, leave more.
_MIN_WEIGHTED_SHARE = 0.01
_LOG_PARAMETERS = {"allow_writing_files", "train_dir"}  # of CatBoost


@dataclass(frozen=True, eq=False)
class FitArguments:
    """What the user passed to `fit`, and the estimator's parameter `validation`."""

    X: Any
    y: Any
    sample_weight: Any
    params: Mapping[str, Any]  # of the learner's `fit`
    validation: Validation = "random"
    groups: Any = None
    X_val: Any = None
    y_val: Any = None

    def __post_init__(self) -> None:
        if self.validation not in ("random", "last"):
            raise ValueError(f'validation must be "random" or "last"; got {self.validation!r}.')
        if (self.X_val is None) != (self.y_val is None):
            found, missing = ("X_val", "y_val") if self.y_val is None else ("y_val", "X_val")
            raise ValueError(f"Got {found} without {missing}; rows for validation need both. Pass {missing} too.")
        given = {"groups": self.groups, "X_val": self.X_val}
        choices = ['validation="last"'] if self.validation == "last" else []
        choices += [name for name, value in given.items() if value is not None]
        if len(choices) > 1:
            advice = f'Leave out {choices[-1]}, or set validation="random".'
            if choices == ["groups", "X_val"]:
                advice = "Leave out groups, and see to it that no group has rows in both X and X_val."
            raise ValueError(f"Got both {' and '.join(choices)}; each of them chooses the validation rows. {advice}")

    def split_frames(self) -> FitArguments:
        """Return them with texts as an array, and values in place of columns' names, which data sets on disk keep."""
        texts = None if isinstance(self.y, str) else read_texts(self.X)
        if texts is None and find_input_kind(self.X) != "table":
            return self
        X_val, y_val = self.X_val, self.y_val
        if texts is not None:
            return replace(self, X=texts, X_val=X_val if X_val is None or (more := read_texts(X_val)) is None else more)
        if X_val is not None:
            X_val, y_val = split_validation_frame(X_val, y_val, self.sample_weight)
        named = {"target": self.y, "weights": self.sample_weight, "group": self.groups}
        X, columns = take_named_columns(self.X, named)
        y, sample_weight, groups = columns.values()
        return replace(self, X=X, y=y, sample_weight=sample_weight, groups=groups, X_val=X_val, y_val=y_val)


def can_resume(estimator: Any) -> bool:
    """Whether a later fit of an estimator may resume this one, or this one an earlier one."""
    return estimator.checkpoint is not None or estimator.warm_start


def route_fit_params(estimator: Any, learners: Sequence[Any], given: FitArguments) -> dict[str, Any]:
    """Return the arguments of the learners' `fit`, the same for all; raise for a learner that does not take one."""
    params, groups, is_routed = dict(given.params), given.groups, get_config()["enable_metadata_routing"]
    if given.sample_weight is not None:
        params["sample_weight"] = given.sample_weight
    if is_routed:
        if groups is not None and get_routing_for_object(learners[0]).consumes("fit", ["groups"]):
            # The groups are for this estimator; a learner that asks for them, such as a search, gets them too.
            params["groups"] = groups
        params = dict(process_routing(estimator, "fit", **params).estimator.fit)
    elif given.params:
        raise ValueError(
            f"{', '.join(given.params)} can be passed to fit only by metadata routing: call "
            "sklearn.set_config(enable_metadata_routing=True) and set_fit_request on the estimator."
        )
    for learner in learners:
        is_taken = partial(has_fit_parameter, learner)
        taken = get_routing_for_object(learner).consumes("fit", params) if is_routed else filter(is_taken, params)
        if refused := set(params).difference(taken):
            names = join_names(sorted(refused))
            raise TypeError(
                f"The learner {type(learner).__name__} {'requests' if is_routed else 'takes'} no {names} in its fit. "
                f"Choose another one, or leave out {names}."
            )
    return params


def split_fit_params(params: Mapping[str, Any], n_rows: int) -> tuple[dict[str, Array], dict[str, Any]]:
    """Split the arguments of `fit` into those with one entry for each row and all others."""
    row_params: dict[str, Array] = {}
    fit_params: dict[str, Any] = {}
    for name, value in params.items():
        if name == "sample_weight":
            row_params[name] = _validate_weights(value, n_rows)
        elif isinstance(value, list | tuple | np.ndarray) and len(value) == n_rows:
            row_params[name] = np.asarray(value)
            if row_params[name].dtype.hasobject:
                raise TypeError(
                    f"{name} holds Python objects; an argument with one entry for each row must hold numbers, or text "
                    "only. Convert it to an array of one type."
                )
        else:
            fit_params[name] = value
    return row_params, fit_params


def _validate_weights(sample_weight: Any, n_rows: int) -> Array:
    is_number = isinstance(sample_weight, Real)
    weights = np.full(n_rows, float(sample_weight)) if is_number else column_or_1d(sample_weight, dtype=np.float64)
    if len(weights) != n_rows:
        raise ValueError(
            f"sample_weight has {len(weights)} entries for {n_rows} rows; it must have one entry for each row."
        )
    if not np.isfinite(weights).all() or weights.sum() <= 0:
        raise ValueError(
            f"sample_weight sums to {weights.sum()}; weights must be finite numbers with a sum greater than zero."
        )
    return weights


def warn_of_weightless_classes(labels: Labels, n_weighted: Array) -> None:
    """Warn of classes with few rows that have a weight other than 0; a class without any is left out on purpose."""
    found = np.flatnonzero((n_weighted > 0) & (n_weighted < _MIN_WEIGHTED_SHARE * labels.counts))
    if len(found):
        names = join_names(
            f"{n_weighted[i]:,} of {labels.counts[i]:,} rows of the class {labels.classes[i]}" for i in found
        )
        warnings.warn(
            f"Few rows have a sample_weight other than 0: {names}. Other rows count for nothing, in training and in "
            "scores. Leave them out, or check the weights.",
            stacklevel=2,
        )


def clone_learner(learner: Any, regression: bool, name: str = "estimator") -> Any:
    """Return a clone of a learner, which came as the argument `name`; it writes no files by itself."""
    missing = [method for method in ("fit", "predict") if not callable(getattr(learner, method, None))]
    if missing or isinstance(learner, type):
        raise TypeError(
            f"{name} must be an object with fit and predict, such as DecisionTreeClassifier(); got {learner!r}"
            + (f", which has no {' and no '.join(missing)}." if missing else ", a class: add parentheses.")
        )
    if hasattr(learner, "__sklearn_tags__") and (is_classifier if regression else is_regressor)(learner):
        expected, found = ("regressor", "classifier") if regression else ("classifier", "regressor")
        raise TypeError(f"{name} must be a {expected}; got the {found} {learner!r}.")
    cloned = clone(learner, safe=False)
    params = _list_parameters(cloned)
    _refuse_other_tasks(cloned, params)
    for part in (cloned, *params.values()):
        # It would write a folder of logs in the working folder; the user may have asked for one.
        if type(part).__module__.startswith("catboost.") and not _LOG_PARAMETERS & part.get_params().keys():
            part.set_params(allow_writing_files=False)
    return cloned


def _list_parameters(learner: Any) -> dict[str, Any]:
    return learner.get_params(deep=True) if hasattr(learner, "get_params") else {}


def _refuse_other_tasks(learner: Any, params: Mapping[str, Any]) -> None:
    """Raise a TypeError for a learner that ranks, or predicts survival times."""
    objectives = [str(value) for name, value in params.items() if re.search("(^|__)(objective|loss_function)$", name)]
    found = [text for text in objectives if re.search("rank|survival|cox|^aft|pairlogit", text.lower())]
    found += [name for part in (learner, *params.values()) if (name := type(part).__name__).endswith("Ranker")]
    if found:
        raise TypeError(
            f"estimator must be a classifier or a regressor; got {found[0]}. Ranking and survival analysis are not "
            "supported: rows are drawn and scored one by one, without their queries or censoring times."
        )


def validate_teacher(teacher: Teacher, learner: Any, *, regression: bool) -> None:
    """Refuse a teacher that needs more of the learner than it has."""
    name = type(teacher).__name__
    if regression and getattr(teacher, "classes_only", False):
        raise ValueError(
            f"The teacher {name} works with classes only; for a regressor use the teacher 'tct' or 'double'."
        )
    missing = [method for method in getattr(teacher, "needs", ()) if not hasattr(learner, method)]
    if missing:
        raise TypeError(
            f"The teacher {name} needs a learner with {' and '.join(missing)}, which {type(learner).__name__} does "
            "not have; choose another learner, or the teacher 'tct', which needs fit and predict only."
        )


def validate_fit_params(teacher: Teacher, fit_params: Mapping[str, Any]) -> None:
    """Refuse arguments of fit without one entry for each row, if the teacher's lessons cannot take them."""
    if fit_params and "partial_fit" in getattr(teacher, "needs", ()):
        raise ValueError(
            f"{', '.join(fit_params)}: got arguments of fit without one entry for each row, which partial_fit "
            "cannot take. Leave them out, or choose another teacher."
        )


def draw_seeds(random_state: Any, learner: Any) -> tuple[int | None, int, np.random.Generator]:
    """Draw the seeds for the learner, None without a random state, for scoring, and for every choice of rows."""
    random = check_random_state(random_state)
    seed = None if random_state is None else int(random.randint(MAX_SEED))
    if seed is not None:
        fill_random_states(learner, random)
    # One for all models, so that intervals from resamples do not differ by chance.
    scoring = int(random.randint(MAX_SEED)) if seed is None else seed
    return seed, scoring, np.random.default_rng(random.randint(MAX_SEED))


def fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Set every `random_state` of the learner and its parts that is None."""
    parameters = _list_parameters(learner)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(MAX_SEED)) for name in unset})


def find_backend(backend: str | Backend) -> Backend:
    """Return the backend that a parameter names, or is."""
    return _resolve("backend", backend, {"process": Process, "inline": Inline}, "open")


def find_teacher(teacher: str | Teacher) -> Teacher:
    """Return the teacher that a parameter names, or is."""
    return _resolve("teacher", teacher, TEACHERS, "teach")


def count_learners(teacher: Teacher, n_jobs: int | None) -> int:
    """Return the learners that are at work at the same time: at most as many as the teacher has work for."""
    n_learners = 1 if n_jobs is None else count_jobs(n_jobs)
    if not isinstance(teacher, ParallelTeacher):
        return 1
    return n_learners if teacher.max_learners is None else min(n_learners, teacher.max_learners)


def _resolve(parameter: str, value: str | T, known: Mapping[str, Callable[[], T]], method: str) -> T:
    if isinstance(value, str) and value in known:
        return known[value]()
    if not isinstance(value, str) and callable(getattr(value, method, None)) and not isinstance(value, type):
        return value
    names = ", ".join(f'"{name}"' for name in known)
    raise ValueError(f"{parameter} must be one of {names}, or an object with a method {method!r}; got {value!r}.")
