"""Fakes for tests, and the contract suites that every backend and teacher passes."""

from fitwithin.testing._backends import BackendContract, KillableBackendContract
from fitwithin.testing._clock import FakeClock
from fitwithin.testing._learners import TROUBLES, AwkwardClassifier, HungryClassifier
from fitwithin.testing._teachers import check_teacher

__all__ = [
    "TROUBLES",
    "AwkwardClassifier",
    "BackendContract",
    "FakeClock",
    "HungryClassifier",
    "KillableBackendContract",
    "check_teacher",
]
