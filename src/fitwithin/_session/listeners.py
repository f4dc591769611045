"""What listens to a session: the live display on a terminal or in a notebook, and the log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from fitwithin._core.budget import Budget
from fitwithin._core.log import LOGGER
from fitwithin._core.memory_limit import format_bytes
from fitwithin._core.rounds import Round
from fitwithin._session.result import SessionResult
from fitwithin.backends._early_stopping.registry import find_inner_learner

DescribeCandidate = Callable[[int], str]  # the learner and hyperparameters of a candidate of a search, by its number
ShowProgress = Literal["auto"] | bool


class ProgressDisplay(Progress):
    """Show a bar over the time, the last round or in a search the best one, and the current activity."""

    def __init__(self, budget: Budget, console: Console, describe_candidate: DescribeCandidate = str) -> None:
        columns = (
            BarColumn(bar_width=16),
            TextColumn("{task.completed:.1f} of {task.total:g} s"),
            TextColumn("{task.fields[result]}", "green", markup=False, table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[activity]}", "dim", markup=False, table_column=Column(no_wrap=True)),
        )
        self._budget, self._describe_candidate = budget, describe_candidate
        self._tried: set[int] = set()
        self._best = "no model yet"
        self._settings: dict[str, str] = {}
        super().__init__(*columns, console=console, refresh_per_second=10)
        self._bar: TaskID = self.add_task("", total=budget.seconds, result="", activity="starting")

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bar, and below it the lines of a search, if there is one."""
        for task in self.tasks:
            task.completed = self._budget.elapsed()
        yield from super().get_renderables()
        for name, settings in self._settings.items():
            yield Text(f"  {name + ':':<8} {settings}", no_wrap=True, overflow="ellipsis")

    def stop(self) -> None:
        """End the display, and leave its last state."""
        self._settings.pop("trying", None)
        self.update(self._bar, activity="")
        super().stop()

    def on_activity(self, activity: str, rows: int, candidate: int | None = None) -> None:
        """Show the current activity, and in a search the candidate that is tried."""
        if candidate is not None:
            self._tried.add(candidate)
            self._settings.setdefault("leading", "no model yet")
            self._settings["trying"] = self._describe_candidate(candidate)
        self.update(self._bar, activity=f"{activity} {rows:,} rows")

    def on_round(self, finished: Round) -> None:
        """Show the last round, or in a search the best one."""
        score = _describe_score(finished.estimate, finished.low, finished.high, ", ", 3)
        if finished.candidate is None:
            memory = "" if finished.peak_memory is None else f", {format_bytes(finished.peak_memory)}"
            self.update(self._bar, result=f"round {finished.number}: {finished.rows:,} rows{score}{memory}")
            return
        if finished.best:
            self._settings["leading"] = self._describe_candidate(finished.candidate)
            self._best = f"best of {finished.rows:,} rows{score}"
        count = "1 candidate" if len(self._tried) == 1 else f"{len(self._tried):,} candidates"
        self.update(self._bar, result=f"{count}, {self._best}")


def show_progress(
    progress: ShowProgress, budget: Budget, describe_candidate: DescribeCandidate = str
) -> AbstractContextManager[ProgressDisplay | None]:
    """Return the live display that the user wants, as a context manager; None where nothing is shown."""
    if not isinstance(progress, bool) and progress != "auto":
        raise ValueError(f'progress must be "auto", True or False; got {progress!r}.')
    console = Console(stderr=True)
    if progress is True or (progress == "auto" and (console.is_terminal or console.is_jupyter)):
        return ProgressDisplay(budget, console, describe_candidate)
    return nullcontext()


@dataclass(frozen=True)
class SessionLog:
    """Log a session at INFO: one line for its start, one for each round, one for its end."""

    budget: Budget
    describe_candidate: DescribeCandidate = str

    def on_start(self, learners: Sequence[Any], n_rows: int) -> None:
        """Log the learner, or all learners of a search, the rows and the limit."""
        names = ", ".join(type(find_inner_learner(one)).__name__ for one in learners)
        LOGGER.info("Fitting %s on up to %s rows within %g s.", names, f"{n_rows:,}", self.budget.seconds)

    def on_activity(self, activity: str, rows: int, candidate: int | None = None) -> None:
        """Log nothing: a round tells enough."""

    def on_round(self, finished: Round) -> None:
        """Log rows, score and seconds of a round, in a search also the learner and its hyperparameters."""
        candidate = "" if finished.candidate is None else f"{self.describe_candidate(finished.candidate)}; "
        score = _describe_score(finished.estimate, finished.low, finished.high) or "no score"
        LOGGER.info(
            f"Round {finished.number}: {candidate}{finished.rows:,} rows, {score}"
            f"{', the best so far' if finished.best else ''}, {finished.seconds_fit:.1f} s of training, "
            f"{finished.elapsed:.1f} s since the start."
        )

    def on_end(self, result: SessionResult) -> None:
        """Log why the session ended, and the model that it returns."""
        estimate, lost = result.record.fresh_estimate, result.seconds_lost
        score = "no score" if estimate is None else _describe_score(estimate.value, estimate.low, estimate.high)
        LOGGER.info(
            f"Ended after {self.budget.elapsed():.1f} s ({result.stop_reason}): a model of {result.record.n_rows:,} "
            f"rows, {score}{f'; {lost:.1f} s went into fits that left no model' if lost else ''}."
        )


Listener = ProgressDisplay | SessionLog


def _describe_score(
    value: float | None, low: float | None, high: float | None, prefix: str = "score ", n_digits: int = 4
) -> str:
    """Return a score and its interval, as far as they are known."""
    if value is None or low is None or high is None:
        return ""
    ends = f" [{low:.{n_digits}f}, {high:.{n_digits}f}]" if math.isfinite(low) else ""
    return f"{prefix}{value:.{n_digits}f}{ends}"
