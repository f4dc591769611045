"""The learner of a fit: what it must have, and what the teacher needs of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import clone

from fitwithin.teachers import Teacher


def clone_learner(learner: Any, check_kind: Callable[[Any], None]) -> Any:
    """Return a clone of a learner that can fit and predict.

    Parameters
    ----------
    learner : estimator
        The user's learner.
    check_kind : callable
        Refuses a regressor in a classifier, and the other way round.

    Raises
    ------
    TypeError
        If it is no learner, or one of the other kind.
    """
    missing = [name for name in ("fit", "predict") if not callable(getattr(learner, name, None))]
    if missing or isinstance(learner, type):
        raise TypeError(
            f"estimator must be an object with fit and predict, such as DecisionTreeClassifier(); got {learner!r}"
            + (f", which has no {' and no '.join(missing)}." if missing else ", a class: add parentheses.")
        )
    if hasattr(learner, "__sklearn_tags__"):
        check_kind(learner)
    return clone(learner, safe=False)


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
