"""Fit within a deadline: the best model that a learner can build by then, whatever the learner does."""

from ._classifier import TimeConstrainedClassifier
from ._exceptions import LearnerFailed, NoModelInTime
from ._messages import Round
from ._regressor import TimeConstrainedRegressor

__all__ = ["LearnerFailed", "NoModelInTime", "Round", "TimeConstrainedClassifier", "TimeConstrainedRegressor"]
__version__ = "0.1.0"
