"""A live display of a session, on a terminal or in a tracker."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column

from fitwithin._core.budget import Budget
from fitwithin._core.records import Round
from fitwithin._session.session import Watcher

ShowProgress = Literal["auto"] | bool
"""Whether to show a display; "auto" shows it where a person looks on."""


def display(progress: ShowProgress, budget: Budget) -> AbstractContextManager[Watcher | None]:
    """The display that the user wants, to be entered; None where nothing is shown.

    Raises
    ------
    ValueError
        If `progress` is neither "auto" nor a truth value.
    """
    if not isinstance(progress, bool) and progress != "auto":
        raise ValueError(f'progress must be "auto", True or False; got {progress!r}.')
    console = Console(stderr=True)
    if progress is True or (progress == "auto" and (console.is_terminal or console.is_jupyter)):
        return ProgressDisplay(budget, console)
    return nullcontext()


class _TimeBar(ProgressColumn):
    """The share of the time limit that is gone, read off the budget whenever the display is drawn."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget

    def render(self, task: Task) -> ProgressBar:
        return ProgressBar(total=self._budget.seconds, completed=self._budget.elapsed(), width=16)


class _TimeText(_TimeBar):
    def render(self, task: Task) -> str:  # type: ignore[override]  # rich renders plain text as well
        return f"{self._budget.elapsed():.1f} of {self._budget.seconds:g} s"


def _one_line(text: str, style: str) -> TextColumn:
    return TextColumn(text, style=style, markup=False, table_column=Column(no_wrap=True))


class ProgressDisplay:
    """A bar over the time, the round, the rows taught, the estimate, and what is going on now.

    Parameters
    ----------
    budget : Budget
        The time that is shown.
    console : rich.console.Console
        Where to draw.
    """

    def __init__(self, budget: Budget, console: Console) -> None:
        columns = (
            _TimeBar(budget),
            _TimeText(budget),
            _one_line("{task.fields[result]}", "green"),
            _one_line("{task.fields[activity]}", "dim"),
        )
        self._progress = Progress(*columns, console=console, refresh_per_second=10)
        self._task: TaskID = self._progress.add_task("", total=None, result="", activity="starting")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._progress.update(self._task, activity="")
        self._progress.stop()

    def doing(self, activity: str, rows: int) -> None:
        """Show what the learner is doing."""
        self._progress.update(self._task, activity=f"{activity} {rows:,} rows")

    def round_over(self, finished: Round) -> None:
        """Show the newest round."""
        result = f"round {finished.number}: {finished.rows:,} rows"
        if finished.estimate is not None:
            result += f", {finished.estimate:.3f} [{finished.low:.3f}, {finished.high:.3f}]"
        self._progress.update(self._task, result=result)
