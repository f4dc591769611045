"""A fake clock, learners that misbehave on purpose, and the tests that every backend and teacher must pass."""

from fitwithin.testing._backend_contract import BackendContract
from fitwithin.testing._clock import FakeClock
from fitwithin.testing._killable_contract import KillableBackendContract
from fitwithin.testing._learners import FAULTS, AwkwardClassifier, HungryClassifier
from fitwithin.testing._teachers import check_teacher

__all__ = [
    "FAULTS",
    "AwkwardClassifier",
    "BackendContract",
    "FakeClock",
    "HungryClassifier",
    "KillableBackendContract",
    "check_teacher",
]
