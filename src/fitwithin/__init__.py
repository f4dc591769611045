"""A time limit for `fit` of scikit-learn style estimators, which returns on time with the best model by then."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from fitwithin import backends, teachers, testing, viz  # noqa: F401  # public modules, imported when they are first used
    from fitwithin._classifier import TimeConstrainedClassifier
    from fitwithin._core.exceptions import (
        CheckpointWarning,
        DataSetWarning,
        FitwithinError,
        LearnerFailed,
        LearnerFailedWarning,
        NoModelInMemory,
        NoModelInTime,
    )
    from fitwithin._core.rounds import Round
    from fitwithin._regressor import TimeConstrainedRegressor
    from fitwithin._search import TimeConstrainedSearch
    from fitwithin._session.forecast import Forecast

__all__ = [
    "CheckpointWarning",
    "DataSetWarning",
    "FitwithinError",
    "Forecast",
    "LearnerFailed",
    "LearnerFailedWarning",
    "NoModelInMemory",
    "NoModelInTime",
    "Round",
    "TimeConstrainedClassifier",
    "TimeConstrainedRegressor",
    "TimeConstrainedSearch",
]

__version__ = "0.3.0"

_MODULES = {
    "Forecast": "fitwithin._session.forecast",
    "Round": "fitwithin._core.rounds",
    "TimeConstrainedClassifier": "fitwithin._classifier",
    "TimeConstrainedRegressor": "fitwithin._regressor",
    "TimeConstrainedSearch": "fitwithin._search",
}


def __getattr__(name: str) -> _typing.Any:
    # Importing scikit-learn takes a second or two, which the command line does not always need.
    if name in ("backends", "teachers", "testing", "viz"):
        return _importlib.import_module(f"fitwithin.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'fitwithin' has no attribute {name!r}", name=name)
    value = getattr(_importlib.import_module(_MODULES.get(name, "fitwithin._core.exceptions")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
