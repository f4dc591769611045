"""Comparison, tables and goals of the regression benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from _accuracy_summary import Spread
from _regression_data import DATASETS
from _regression_runs import DOUBLING, FITWITHIN, PLAIN, SHARES, RegressionRun
from _report import Goal, MarkdownTable
from fitwithin_paper.study.significance import Direction, Tally

DIFFERENCE = 0.005
"""Least difference in R2 that is a win or a loss: half a per cent of the target's variance. It was set before the first
run, as the least that a user would act on. The range of the plain fit over the seeds stands beside it in the table."""

LATE_SECONDS = 0.1
"""Seconds that a fit may return after its deadline."""

_SHARE_NAMES = {0.25: "1/4", 0.5: "1/2"}


@dataclass(frozen=True)
class Comparison:
    """fitwithin against another way, by pair.

    Parameters
    ----------
    rival : str
        The other way.
    share : float
        Limit as a share of the plain fit's time.
    differences : Spread
        R2 of fitwithin minus that of the rival, means over the seeds, for the pairs on which both have a model.
    tally : Tally
        Wins, ties and losses of fitwithin. No model is a loss.
    """

    rival: str
    share: float
    differences: Spread
    tally: Tally


@dataclass(frozen=True, eq=False)
class RegressionFindings:
    """All runs of the benchmark."""

    runs: Sequence[RegressionRun]

    @cached_property
    def pairs(self) -> Mapping[str, RegressionRun]:
        """The first run of each pair."""
        first: dict[str, RegressionRun] = {}
        for run in self.runs:
            first.setdefault(run.pair, run)
        return first

    def select_runs(self, pair: str, way: str, share: float | None = None) -> list[RegressionRun]:
        """Return the runs of a way on a pair, one for each seed; the plain fit has no share."""
        wanted = None if way == PLAIN else share
        return [run for run in self.runs if (run.pair, run.way, run.share) == (pair, way, wanted)]

    def mean_r2(self, pair: str, way: str, share: float | None = None) -> float | None:
        """Return the mean R2 over the seeds; None unless every seed has a model."""
        found = [run.r2 for run in self.select_runs(pair, way, share)]
        known = [r2 for r2 in found if r2 is not None]
        return fmean(known) if known and len(known) == len(found) else None

    def compare(self, rival: str, share: float) -> Comparison:
        """Compare fitwithin at a share of the plain fit's time with a rival at the same, or with the plain fit."""
        scores = {pair: (self.mean_r2(pair, FITWITHIN, share), self.mean_r2(pair, rival, share)) for pair in self.pairs}
        differences = {
            pair: ours - theirs for pair, (ours, theirs) in scores.items() if ours is not None and theirs is not None
        }
        return Comparison(rival, share, Spread(differences), Tally.count(_decide(*both) for both in scores.values()))

    def late_seconds(self) -> Spread:
        """Return the seconds from the deadline to the return, for every fit with a limit."""
        late = {
            f"{run.pair}, {run.way} at {_SHARE_NAMES[run.share]}, seed {run.seed}": run.late_seconds
            for run in self.runs
            if run.share is not None
        }
        return Spread({name: seconds for name, seconds in late.items() if seconds is not None})


def _decide(ours: float | None, theirs: float | None) -> Direction:
    if ours is None or theirs is None:
        return "tie" if ours is theirs else "loss" if ours is None else "win"
    if abs(ours - theirs) <= DIFFERENCE:
        return "tie"
    return "win" if ours > theirs else "loss"


def make_pair_table(findings: RegressionFindings) -> MarkdownTable:
    """Return one line for each pair, with means over the seeds."""
    limited = [(way, share) for share in SHARES for way in (FITWITHIN, DOUBLING)]
    rows = []
    for pair, first in findings.pairs.items():
        plain = findings.select_runs(pair, PLAIN)
        scores = [run.r2 for run in plain if run.r2 is not None]
        rows.append(
            [
                f"{first.dataset}: {DATASETS[first.dataset].predicted}",
                first.learner,
                f"{first.train_rows:,} x {first.columns}",
                f"{fmean(run.seconds for run in plain):.1f}",
                f"{fmean(scores):.4f}",
                f"{max(scores) - min(scores):.4f}",
                *(_format_r2(findings.mean_r2(pair, way, share)) for way, share in limited),
            ]
        )
    columns = ("data set", "learner", "training rows", "plain fit (s)", "plain fit", "its range over the seeds")
    ways = (f"{way}, {_SHARE_NAMES[share]}" for way, share in limited)
    return MarkdownTable("R2 on the test rows", (*columns, *ways), rows)


def make_comparison_table(findings: RegressionFindings) -> MarkdownTable:
    """Return wins, ties, losses and differences against each way at each limit."""
    found = [findings.compare(rival, share) for rival in (DOUBLING, PLAIN) for share in SHARES]
    rows = [[one.rival, _SHARE_NAMES[one.share], _format_tally(one.tally), *_format_spread(one)] for one in found]
    columns = ("fitwithin against", "limit", f"wins / ties / losses by {DIFFERENCE:g}", "median", "mean", "worst pair")
    return MarkdownTable("Difference in R2", columns, rows)


def make_run_table(findings: RegressionFindings) -> MarkdownTable:
    """Return one line for each run."""
    rows = [
        [
            run.pair,
            str(run.seed),
            run.way,
            "" if run.limit is None else f"{run.limit:.2f}",
            f"{run.seconds:.2f}",
            "" if run.late_seconds is None else f"{run.late_seconds:+.3f}",
            "" if run.rows is None else f"{run.rows:,}",
            _format_r2(run.r2),
            "no model in time" if run.r2 is None else run.stop or "",
        ]
        for run in findings.runs
    ]
    columns = ("pair", "seed", "way", "limit (s)", "seconds", "return - limit (s)")
    return MarkdownTable("Every run", (*columns, "rows of the model", "R2", "stopped by"), rows)


def make_goals(findings: RegressionFindings) -> list[Goal]:
    """Return the goals: on time, always a model, and not worse than random rows."""
    return [_make_late_goal(findings), _make_model_goal(findings), *_make_doubling_goals(findings)]


def _make_late_goal(findings: RegressionFindings) -> Goal:
    late = findings.late_seconds()
    name, seconds = late.largest
    text = (
        f"no fit with a limit returns more than {LATE_SECONDS:g} s after it; "
        f"median {late.median:+.3f} s, worst {seconds:+.3f} s ({name}), {len(late)} fits"
    )
    return Goal(text, seconds <= LATE_SECONDS)


def _make_model_goal(findings: RegressionFindings) -> Goal:
    without = [run for run in findings.runs if run.way == FITWITHIN and run.r2 is None]
    return Goal(f"every fit of fitwithin has a model; {len(without)} have none", not without)


def _make_doubling_goals(findings: RegressionFindings) -> list[Goal]:
    goals = []
    for share in SHARES:
        found = findings.compare(DOUBLING, share)
        median, mean, worst = _format_spread(found)
        text = (
            f"with {_SHARE_NAMES[share]} of the plain fit's time, not worse than doubling by more than {DIFFERENCE:g} "
            f"R2 in the median of the pairs; median {median}, mean {mean}, worst {worst}"
        )
        goals.append(Goal(text, bool(found.differences) and found.differences.median >= -DIFFERENCE))
    return goals


def _format_r2(r2: float | None) -> str:
    return "no model" if r2 is None else f"{r2:.4f}"


def _format_tally(tally: Tally) -> str:
    return f"{tally.wins} / {tally.ties} / {tally.losses}"


def _format_spread(found: Comparison) -> tuple[str, str, str]:
    """Return the median, the mean and the worst pair."""
    if not found.differences:
        return "unknown", "unknown", "unknown"
    name, worst = found.differences.smallest
    return f"{found.differences.median:+.4f}", f"{found.differences.mean:+.4f}", f"{worst:+.4f} ({name})"
