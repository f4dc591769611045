"""Fit within a deadline: the best model that a learner can build by then, whatever the learner does."""

from fitwithin._classifier import TimeConstrainedClassifier
from fitwithin._core.exceptions import (
    CheckpointWarning,
    FitwithinError,
    LearnerFailed,
    LearnerFailedWarning,
    NoModelInMemory,
    NoModelInTime,
)
from fitwithin._core.records import Round
from fitwithin._regressor import TimeConstrainedRegressor
from fitwithin._search import TimeConstrainedSearch

__all__ = [
    "CheckpointWarning",
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

__version__ = "0.1.0"
