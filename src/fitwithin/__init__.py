"""Fit within a deadline: the best model that a learner can build by then, whatever the learner does."""

from ._estimator import TimeConstrainedClassifier
from ._exceptions import LearnerFailed, NoModelInTime
from ._messages import Round

__all__ = ["LearnerFailed", "NoModelInTime", "Round", "TimeConstrainedClassifier"]
__version__ = "0.1.0"
