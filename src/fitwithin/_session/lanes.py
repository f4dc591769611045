"""Several lanes of one session: each in a thread of its own, and all but their learners' work under one lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fitwithin._core.exceptions import LearnerDied, LearnerRaised, OutOfMemory, OutOfTime
from fitwithin._core.records import StopReason
from fitwithin._session.lane import Lane
from fitwithin.teachers import Requests

_LOOK_SECONDS = 0.1
"""Longest wait without a look at the clock, or for an interrupt, which some systems do not wake a thread up for."""

_LEARNER_FAILURES = (LearnerRaised, LearnerDied, OutOfMemory)

Outcome = StopReason | BaseException
"""Why a lane ended."""


class Lanes:
    """Run lanes side by side until the first one ends.

    A first lane that ends for lack of time leaves the others the time until the deadline. If any lane fails, or its
    round makes the user say stop, all end; only a learner that fails beside the first lane before there is a model
    leaves that lane to go on alone.

    Parameters
    ----------
    first : Lane
        The lane of the first generator.
    requests : sequence of generator
        One for each lane; the other lanes get runners that are siblings of the first one's.

    Attributes
    ----------
    deciding : Lane
        The lane that ended the session.
    """

    def __init__(self, first: Lane, requests: Sequence[Requests]) -> None:
        self._lanes = [first, *(first.open_sibling() for _ in requests[1:])]
        self._requests = requests
        self._condition = threading.Condition()
        self._is_over = threading.Event()
        self._outcomes: dict[Lane, Outcome] = {}
        self._n_begun = 0
        self._n_waiting = 0
        self._n_calls = 0
        self.deciding = first
        for lane in self._lanes:
            lane.turns = _Turns(self, lane)

    def run(self) -> StopReason:
        """Return why the session ends, or raise what one of the lanes raised."""
        threads = [
            threading.Thread(
                target=self._drive, args=(number, lane, requests), name=f"fitwithin-lane-{number}", daemon=True
            )
            for number, (lane, requests) in enumerate(zip(self._lanes, self._requests, strict=True), 1)
        ]
        for thread in threads:
            thread.start()
        try:
            # This thread gets the interrupts; the learners are other processes, or at least other threads.
            while not self._is_over.wait(_LOOK_SECONDS):
                pass
        finally:
            self._end(threads)
        outcome = self._outcomes[self.deciding]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _drive(self, number: int, lane: Lane, requests: Requests) -> None:
        with self._condition:
            # Lanes begin in their order, so that what they ask for first does not depend on the system.
            self._condition.wait_for(lambda: self._n_begun == number - 1)
            self._n_begun = number
            self._condition.notify_all()
            outcome: Outcome
            try:
                outcome = lane.carry_out(requests)
            except BaseException as error:
                outcome = error
            self._note_end(lane, outcome)

    def _note_end(self, lane: Lane, outcome: Outcome) -> None:
        """Note how a lane ended, and whether this ends the session."""
        self._outcomes[lane] = outcome
        self._note_call()
        if self._is_over.is_set():
            return
        is_first = lane is self._lanes[0]
        fails_early = isinstance(outcome, _LEARNER_FAILURES) and not is_first and not lane.has_best_model
        has_failed = isinstance(outcome, BaseException) and not isinstance(outcome, OutOfTime) and not fails_early
        is_out_of_time = outcome == "time" or isinstance(outcome, OutOfTime)
        if has_failed or outcome == "on_round" or (is_first and not is_out_of_time):
            self.deciding = lane
            self._is_over.set()
        elif len(self._outcomes) == len(self._lanes):
            self._is_over.set()

    def _end(self, threads: Sequence[threading.Thread]) -> None:
        """Stop the learners that are still at work, and wait for their lanes."""
        self._is_over.set()
        for lane in self._lanes:
            if lane not in self._outcomes:
                lane.runner.stop()
        for thread in threads:
            thread.join()
        for lane in self._lanes[1:]:
            lane.abandon_round()
            self._lanes[0].tracker.lost_seconds += lane.tracker.lost_seconds
            lane.runner.__exit__()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let the other lanes go on; when it is this lane's turn again, raise `OutOfTime` if the session is over."""
        self._condition.release()
        try:
            yield
        finally:
            self._condition.acquire()
        self._note_call()
        if self._is_over.is_set():
            raise OutOfTime

    def _note_call(self) -> None:
        """Wake up the lanes that wait for others."""
        self._n_calls += 1
        self._condition.notify_all()

    def wait(self, lane: Lane) -> None:
        """Let a lane wait until another one's learner has done something; see `Wait`."""
        n_calls = self._n_calls
        self._n_waiting += 1
        self._condition.notify_all()
        try:
            while self._n_calls == n_calls:
                if self._is_over.is_set() or lane.budget.is_spent:
                    raise OutOfTime
                if len(self._outcomes) + self._n_waiting == len(self._lanes):
                    # No lane is at work.
                    if lane is self._lanes[0]:
                        return
                    if self._lanes[0] in self._outcomes:
                        raise OutOfTime
                self._condition.wait(min(lane.budget.remaining(), _LOOK_SECONDS))
        finally:
            self._n_waiting -= 1


class _Turns:
    """The turns that one of several lanes takes."""

    def __init__(self, lanes: Lanes, lane: Lane) -> None:
        self._lanes = lanes
        self._lane = lane
        self.released = lanes.released

    def wait(self) -> None:
        self._lanes.wait(self._lane)
