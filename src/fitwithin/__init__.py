"""Train a scikit-learn style estimator within a time limit, and get the best model by then."""

import typing as _typing

from fitwithin._core.lazy_exports import make_getattr as _make_getattr

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

__all__ = [
    "CheckpointWarning",
    "DataSetWarning",
    "FitwithinError",
    "LearnerFailed",
    "LearnerFailedWarning",
    "NoModelInMemory",
    "NoModelInTime",
    "Round",
    "TimeConstrainedClassifier",
    "TimeConstrainedRegressor",
    "TimeConstrainedSearch",
]

__version__ = "0.2.0"

# Importing scikit-learn takes a second or two, which the command line does not always need.
__getattr__ = _make_getattr(
    "fitwithin",
    {
        **{name: f"fitwithin.{name}" for name in ("backends", "teachers", "testing", "viz")},
        **dict.fromkeys(
            [
                "CheckpointWarning",
                "DataSetWarning",
                "FitwithinError",
                "LearnerFailed",
                "LearnerFailedWarning",
                "NoModelInMemory",
                "NoModelInTime",
            ],
            "fitwithin._core.exceptions",
        ),
        "Round": "fitwithin._core.rounds",
        "TimeConstrainedClassifier": "fitwithin._classifier",
        "TimeConstrainedRegressor": "fitwithin._regressor",
        "TimeConstrainedSearch": "fitwithin._search",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
