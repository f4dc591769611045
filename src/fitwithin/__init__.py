"""Fit within a deadline: the best model that a learner can build by then, whatever the learner does."""

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.exceptions import (
    FitwithinError,
    LearnerFailed,
    LearnerFailedWarning,
    NoModelInMemory,
    NoModelInTime,
)
from fitwithin._core.records import Round
from fitwithin._regressor import TimeConstrainedRegressor

__all__ = [
    "FitwithinError",
    "LearnerFailed",
    "LearnerFailedWarning",
    "NoModelInMemory",
    "NoModelInTime",
    "Round",
    "TimeConstrainedClassifier",
    "TimeConstrainedRegressor",
]

__version__ = "0.1.0"
