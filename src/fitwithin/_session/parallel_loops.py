"""Several loops of one session: each in a thread of its own, and all but their learners' work under one lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from fitwithin._core.exceptions import OutOfTime
from fitwithin._core.records import StopReason
from fitwithin._session.learner_loop import LEARNER_FAILURES, LearnerLoop
from fitwithin.teachers import Requests

_LOOK_SECONDS = 0.1
"""Longest wait without a look at the clock, or for an interrupt, which some systems do not wake a thread up for."""

Outcome = StopReason | BaseException
"""Why a loop ended."""


class ParallelLoops:
    """Run loops side by side until the first one ends.

    A first loop that ends for lack of time leaves the others the time until the deadline. If any loop fails, or its
    round makes the user say stop, all end; only a learner that fails beside the first loop before there is a model
    leaves that loop to go on alone.

    `first` is the loop of the first generator; the others get runners that are siblings of its own.
    """

    def __init__(self, first: LearnerLoop, requests: Sequence[Requests]) -> None:
        siblings = [(first.runner.open_sibling(), first.tracker.open_loop()) for _ in requests[1:]]
        self._loops = [first, *(LearnerLoop(first.session, *sibling) for sibling in siblings)]
        self._requests = requests
        self._condition = threading.Condition()
        self._is_over = threading.Event()
        self._outcomes: dict[LearnerLoop, Outcome] = {}
        self._n_begun = 0
        self._waiting: set[LearnerLoop] = set()
        # The loop that ended the session.
        self.deciding = first
        for loop in self._loops:
            loop.released, loop.wait = self.released, partial(self.wait, loop)

    def run(self) -> StopReason:
        """Return why the session ends, or raise what one of the loops raised."""
        threads = [
            threading.Thread(target=self._drive, args=(number,), name=f"fitwithin-loop-{number + 1}", daemon=True)
            for number in range(len(self._loops))
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

    def _drive(self, number: int) -> None:
        loop = self._loops[number]
        with self._condition:
            # ParallelLoops begin in their order, so that what they ask for first does not depend on the system.
            self._condition.wait_for(lambda: self._n_begun == number)
            self._n_begun += 1
            self._condition.notify_all()
            try:
                outcome: Outcome = loop.carry_out(self._requests[number])
            except BaseException as error:
                outcome = error
            self._note_end(loop, outcome)

    def _note_end(self, loop: LearnerLoop, outcome: Outcome) -> None:
        """Note how a loop ended, and whether this ends the session."""
        self._outcomes[loop] = outcome
        self._note_call()
        if self._is_over.is_set():
            return
        is_first = loop is self._loops[0]
        fails_early = isinstance(outcome, LEARNER_FAILURES) and not is_first and loop.session.selector.best is None
        has_failed = isinstance(outcome, BaseException) and not isinstance(outcome, OutOfTime) and not fails_early
        is_out_of_time = outcome == "time" or isinstance(outcome, OutOfTime)
        if has_failed or outcome == "on_round" or (is_first and not is_out_of_time):
            self.deciding = loop
            self._is_over.set()
        elif len(self._outcomes) == len(self._loops):
            self._is_over.set()

    def _end(self, threads: Sequence[threading.Thread]) -> None:
        """Stop the learners that are still at work, and wait for their loops."""
        self._is_over.set()
        for loop in self._loops:
            if loop not in self._outcomes:
                loop.runner.stop()
        for thread in threads:
            thread.join()
        for loop in self._loops[1:]:
            loop.abandon_round()
            self._loops[0].tracker.lost_seconds += loop.tracker.lost_seconds
            loop.runner.__exit__()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let the other loops go on; when it is this loop's turn again, raise `OutOfTime` if the session is over."""
        self._condition.release()
        try:
            yield
        finally:
            self._condition.acquire()
        self._note_call()
        if self._is_over.is_set():
            raise OutOfTime

    def _note_call(self) -> None:
        """Wake up the loops that wait for others; until they have looked, none counts as waiting."""
        self._waiting.clear()
        self._condition.notify_all()

    def wait(self, loop: LearnerLoop) -> None:
        """Let a loop wait until another one's learner has done something; see `Wait`."""
        self._waiting.add(loop)
        self._condition.notify_all()
        while loop in self._waiting:
            if self._is_over.is_set() or loop.budget.is_spent:
                raise OutOfTime
            is_idle = len(self._outcomes) + len(self._waiting) == len(self._loops)
            if is_idle and loop is self._loops[0]:
                # What it does next, if only in the teacher, may be what the others wait for.
                self._note_call()
                return
            if is_idle and self._loops[0] in self._outcomes:
                raise OutOfTime
            self._condition.wait(min(loop.budget.remaining(), _LOOK_SECONDS))
