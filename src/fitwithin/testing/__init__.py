"""Small real fakes and the contract suites that every backend, pool and teacher passes."""

from ._clock import FakeClock

__all__ = ["FakeClock"]
