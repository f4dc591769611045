"""The learner of a fit: what it must have, what the teacher needs of it, its seeds and its tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import Tags, check_random_state, get_tags

from fitwithin.teachers import Teacher

MAX_SEED = 2**31 - 1
"""Largest seed that every random generator takes."""

RandomState = int | np.random.RandomState | None
"""The estimator's parameter `random_state`."""


LearnerKind = Literal["classifier", "regressor"]
"""What an estimator expects of its learner."""


def clone_learner(learner: Any, kind: LearnerKind | None = None, name: str = "estimator") -> Any:
    """Return a clone of a learner that can fit and predict.

    Parameters
    ----------
    learner : estimator
        The user's learner.
    kind : {"classifier", "regressor"}, optional
        Refuse a learner of the other kind.
    name : str, default="estimator"
        The argument that it came as.

    Raises
    ------
    TypeError
        If it is no learner, or one of the other kind.
    """
    missing = [method for method in ("fit", "predict") if not callable(getattr(learner, method, None))]
    if missing or isinstance(learner, type):
        raise TypeError(
            f"{name} must be an object with fit and predict, such as DecisionTreeClassifier(); got {learner!r}"
            + (f", which has no {' and no '.join(missing)}." if missing else ", a class: add parentheses.")
        )
    if kind is not None and hasattr(learner, "__sklearn_tags__"):
        found = "regressor" if is_regressor(learner) else "classifier" if is_classifier(learner) else kind
        if found != kind:
            raise TypeError(f"{name} must be a {kind}; got the {found} {learner!r}.")
    _refuse_other_tasks(learner)
    return clone(learner, safe=False)


def _refuse_other_tasks(learner: Any) -> None:
    """Raise a TypeError for a learner that ranks, or predicts survival times."""
    params = learner.get_params(deep=False) if hasattr(learner, "get_params") else {}
    objective = str(params.get("objective") or params.get("loss_function") or "").lower()
    if type(learner).__name__.endswith("Ranker") or re.search("rank|survival|cox|^aft|pairlogit", objective):
        raise TypeError(
            f"estimator must be a classifier or a regressor; got {learner!r}. Ranking and survival analysis are not "
            "supported: rows are drawn and scored one by one, without their queries or censoring times."
        )


def prevent_log_files(learner: Any) -> None:
    """Keep CatBoost from writing a folder of logs in the working folder, unless the user asked for one."""
    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    for part in (learner, *parameters.values()):
        if type(part).__module__.startswith("catboost.") and not {"allow_writing_files", "train_dir"} & set(
            part.get_params()
        ):
            part.set_params(allow_writing_files=False)


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


def draw_seeds(random_state: RandomState, learner: Any) -> tuple[int | None, int, np.random.Generator]:
    """Draw the seeds of a fit; with a random state, also for every `random_state` of the learner that is None.

    Returns
    -------
    int or None
        For learners that use the global random state; None if the user set no random state.
    int
        For scoring: one for all models of a fit, so that intervals from resamples do not differ by chance.
    numpy.random.Generator
        For every choice of rows.
    """
    random = check_random_state(random_state)
    seed = None if random_state is None else int(random.randint(MAX_SEED))
    if seed is not None:
        fill_random_states(learner, random)
    scoring = int(random.randint(MAX_SEED)) if seed is None else seed
    return seed, scoring, np.random.default_rng(random.randint(MAX_SEED))


def fill_random_states(learner: Any, random: np.random.RandomState) -> None:
    """Set every `random_state` of the learner and its parts that is None."""
    if not hasattr(learner, "get_params"):
        return
    parameters = learner.get_params(deep=True)
    unset = [name for name in sorted(parameters) if name.split("__")[-1] == "random_state" and parameters[name] is None]
    if unset:
        learner.set_params(**{name: int(random.randint(MAX_SEED)) for name in unset})


def inherit_tags(tags: Tags, learner: Any) -> Tags:
    """Return an estimator's tags with the learner's own, as far as they apply."""
    if hasattr(learner, "__sklearn_tags__"):
        own = get_tags(learner)
        kept = {
            "input_tags": ("allow_nan", "sparse", "string", "categorical"),
            "classifier_tags": ("multi_class", "poor_score"),
            "regressor_tags": ("poor_score",),
        }
        for group, names in kept.items():
            mine, theirs = getattr(tags, group), getattr(own, group)
            for name in () if mine is None or theirs is None else names:
                setattr(mine, name, getattr(theirs, name))
    return tags
