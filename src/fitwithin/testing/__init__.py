"""Small real fakes and the contract suites that every backend, pool and teacher passes."""

from ._backends import BackendContract, KillableBackendContract
from ._clock import FakeClock
from ._learners import TROUBLES, AwkwardClassifier
from ._teachers import check_teacher

__all__ = ["TROUBLES", "AwkwardClassifier", "BackendContract", "FakeClock", "KillableBackendContract", "check_teacher"]
