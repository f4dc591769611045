"""Tables and goals of the benchmark with limits of minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from _minutes_ways import CALLBACK, DOUBLING, FITWITHIN, PLAIN, SIZED
from _report import Goal, MarkdownTable

# Difference in accuracy that is a win or a loss: a quarter of a point, as in the replay of recorded fits.
_CLEAR = 0.0025

# Seconds that a fit with a limit may be late; a rival that is later than this share of its limit had no model in time.
_LATE_SECONDS = 0.1
_LATE_SHARE = 0.05

_RIVALS = (SIZED, DOUBLING, CALLBACK, PLAIN)


@dataclass(frozen=True)
class MinutesRun:
    """One run: a way on a pair with a limit, or the plain fit, whose ratio and limit are None."""

    pair: str
    way: str
    ratio: float | None
    limit: float | None
    seconds: float
    rows: int
    accuracy: float | None
    seed: int = 0
    scale: float = 1.0
    stop: str = ""
    load: float | None = None

    @property
    def late_seconds(self) -> float:
        """Seconds from the deadline to the return."""
        return 0.0 if self.limit is None else self.seconds - self.limit

    @property
    def is_in_time(self) -> bool:
        """Whether there is a model, at most 5 % of the limit late; the plain fit has no limit."""
        return self.accuracy is not None and (self.limit is None or self.late_seconds <= _LATE_SHARE * self.limit)


def make_pair_table(runs: Sequence[MinutesRun], descriptions: Mapping[str, str]) -> MarkdownTable:
    """Return one line for each pair and limit: accuracy, and seconds where they are more than the limit."""
    plain = {run.pair: run for run in runs if run.way == PLAIN}
    lines = []
    for pair, full in plain.items():
        ratios = sorted({run.ratio for run in runs if run.pair == pair and run.ratio is not None})
        for ratio in ratios:
            of_ratio = {run.way: run for run in runs if (run.pair, run.ratio) == (pair, ratio)}
            ways = [_format_run(of_ratio.get(way)) for way in (FITWITHIN, SIZED, DOUBLING, CALLBACK)]
            limit = next(run.limit for run in of_ratio.values())
            first = [descriptions[pair], f"{limit:.0f}", f"{ratio:g}"]
            lines.append([*first, *ways, f"{_format_accuracy(full)} in {full.seconds:.0f} s"])
    columns = ("data set, learner", "T (s)", "T / t_full", FITWITHIN, SIZED, DOUBLING, CALLBACK, "plain fit, no limit")
    return MarkdownTable("Accuracy on test rows, rows of the model, and how late where it was late", columns, lines)


def _format_accuracy(run: MinutesRun) -> str:
    return "no model" if run.accuracy is None else f"{100 * run.accuracy:.2f} %"


def _format_run(run: MinutesRun | None) -> str:
    if run is None:
        return ""
    late = f", **{run.late_seconds:.1f} s late**" if run.late_seconds > _LATE_SECONDS else ""
    rows = "" if run.accuracy is None else f", {run.rows:,}"
    return f"{_format_accuracy(run)}{rows}{late}"


def make_comparison(runs: Sequence[MinutesRun]) -> MarkdownTable:
    """Return wins, ties and losses of fitwithin against each rival, by limit."""
    ratios = sorted({run.ratio for run in runs if run.ratio is not None})
    lines = [[rival, *(_count(runs, rival, ratio) for ratio in ratios)] for rival in _RIVALS]
    columns = ("rival", *(f"T = {ratio:g} t_full" for ratio in ratios))
    return MarkdownTable("fitwithin: wins / ties / losses by 0.25 points, and the mean difference", columns, lines)


def _count(runs: Sequence[MinutesRun], rival: str, ratio: float) -> str:
    """Compare on each pair; a model that is over 5 % late is none, but it counts for the plain fit."""
    outcomes, differences = [0, 0, 0], []
    for ours in (run for run in runs if run.way == FITWITHIN and run.ratio == ratio):
        wanted = None if rival == PLAIN else ratio
        theirs = next((r for r in runs if (r.pair, r.way, r.ratio) == (ours.pair, rival, wanted)), None)
        if theirs is None:
            continue
        if ours.accuracy is not None and theirs.accuracy is not None and ours.is_in_time and theirs.is_in_time:
            difference = ours.accuracy - theirs.accuracy
            differences.append(difference)
            outcomes[0 if difference > _CLEAR else 2 if difference < -_CLEAR else 1] += 1
        elif ours.is_in_time != theirs.is_in_time:
            outcomes[0 if ours.is_in_time else 2] += 1
    mean = f", {100 * sum(differences) / len(differences):+.2f}" if differences else ""
    return " / ".join(map(str, outcomes)) + mean if sum(outcomes) else ""


def make_goals(runs: Sequence[MinutesRun]) -> list[Goal]:
    """Return the goals: in time, with a model, and every row where they fit."""
    ours = [run for run in runs if run.way == FITWITHIN]
    latest = max(run.late_seconds for run in ours)
    missing = sum(run.accuracy is None for run in ours)
    plain = {run.pair: run.accuracy for run in runs if run.way == PLAIN}
    roomy = [run for run in ours if run.ratio is not None and run.ratio > 1]
    behind = [(plain[run.pair] or 0.0) - (run.accuracy or 0.0) for run in roomy]
    goals = [
        Goal(f"no fit is more than {_LATE_SECONDS} s late; at most {latest:+.3f} s", latest <= _LATE_SECONDS),
        Goal(f"every fit has a model; {missing} of {len(ours)} have none", not missing),
    ]
    if behind:
        text = f"T > t_full: at most 0.25 points below the plain fit; at most {100 * max(behind):.2f}"
        goals.append(Goal(text, max(behind) <= _CLEAR))
    return goals
