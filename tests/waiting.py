"""Waiting for another process, which sends no event."""

import time


def wait_until(condition, seconds=10.0):
    """Wait until a condition holds; return whether it did in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
