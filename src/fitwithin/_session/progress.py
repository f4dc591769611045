"""The live display of a fit, on a terminal or in a notebook."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.progress_bar import ProgressBar
from rich.table import Column

from fitwithin._core.budget import Budget
from fitwithin._core.memory_limit import format_bytes
from fitwithin._core.records import Round


class _TimeBar(ProgressColumn):
    """A bar that shows the used share of the time limit."""

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
    """Show a bar over the time, the last round with its rows, estimate and memory, and the current activity.

    Parameters
    ----------
    budget : Budget
        The time limit.
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

    def on_activity(self, activity: str, rows: int) -> None:
        """Show the current activity."""
        self._progress.update(self._task, activity=f"{activity} {rows:,} rows")

    def on_round(self, finished: Round) -> None:
        """Show the last round."""
        result = f"round {finished.number}: {finished.rows:,} rows"
        if finished.estimate is not None:
            result += f", {finished.estimate:.3f} [{finished.low:.3f}, {finished.high:.3f}]"
        if finished.peak_memory is not None:
            result += f", {format_bytes(finished.peak_memory)}"
        self._progress.update(self._task, result=result)
