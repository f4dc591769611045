"""The estimator that searches over learners and settings."""

from fitwithin._search.estimator import TimeConstrainedSearch

__all__ = ["TimeConstrainedSearch"]
