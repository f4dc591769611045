"""Goals of the accuracy benchmark, each with what was measured and its worst pair or run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from _accuracy_summary import AUTO, DOUBLE, FULL, Contest, Duel, Findings, Spread, format_share
from _report import Goal

# Share of the limit that may go into fits that left no model: mean over the runs, and worst run.
LOST_MEAN_GOAL = 0.03
LOST_WORST_GOAL = 0.2

# Rows of auto's model at T as a share of those that one fit takes in T: median over the runs, and worst run.
ROWS_MEDIAN_GOAL = 0.7
ROWS_WORST_GOAL = 0.4

# Share of the pairs on which auto at a quarter of T is to reach double at T.
QUARTER_GOAL = 0.5

# Share of the limit that the overhead may take: mean over the runs, and worst run.
OVERHEAD_MEAN_GOAL = 0.04
OVERHEAD_WORST_GOAL = 0.08

# The same for shorter limits, in the median.
OVERHEAD_SHORT_GOAL = 0.08

# Limits in seconds from which the first two count.
OVERHEAD_LEAST_LIMIT = 10.0

# Seconds that a run may return after its deadline.
LATE_GOAL = 0.1


@dataclass(frozen=True)
class WinLossGoal:
    """Goal against a rival, as shares of the pairs.

    Parameters
    ----------
    rival : str
        Name of the rival.
    wins, losses : float
        Least share of wins, and largest share of losses.
    share : float, default=1.0
        Time limit of auto, and of a rival that has one, as a share of T.
    worst_loss : float or None, default=None
        Largest loss on a single pair, as a difference in accuracy.
    mean : float or None, default=None
        Least mean difference in accuracy.
    """

    rival: str
    wins: float
    losses: float
    share: float = 1.0
    worst_loss: float | None = None
    mean: float | None = None

    def evaluate(self, contest: Contest) -> Goal:
        """Return whether the contest reached the goal."""
        tally = contest.tally
        wins, losses = tally.wins / tally.pairs, tally.losses / tally.pairs
        text = (
            f"against {self.rival}, {format_share(self.share)}: {self._describe()}; "
            f"it has {wins:.0%} wins and {losses:.0%} losses of {tally.pairs} pairs; "
            f"difference {_format_differences(contest.spread)}{_list_losses(contest)}"
        )
        return Goal(text, wins >= self.wins and losses <= self.losses and self._holds_differences(contest))

    def _describe(self) -> str:
        losses = f"at most {self.losses:.0%} losses" if self.losses else "no loss"
        text = f"at least {self.wins:.0%} wins and {losses}" if self.wins else losses
        if self.worst_loss is not None:
            text += f", none of more than {100 * self.worst_loss:.1f} points"
        return text if self.mean is None else f"{text}, {100 * self.mean:+.1f} points on average"

    def _holds_differences(self, contest: Contest) -> bool:
        # A loss without a model has no difference, and is larger than any.
        drops = [1.0 if duel.difference is None else -duel.difference for duel in contest.losses]
        if self.worst_loss is not None and max(drops, default=0.0) > self.worst_loss:
            return False
        return self.mean is None or (len(contest.spread) > 0 and contest.spread.mean >= self.mean)


WIN_LOSS_GOALS = (
    WinLossGoal(DOUBLE, 0.7, 0.03, worst_loss=0.01),
    WinLossGoal("tct", 0.45, 0.05, worst_loss=0.01),
    WinLossGoal(FULL, 0.3, 0.1, mean=0.005),
    WinLossGoal(FULL, 0.0, 0.0, share=4.0),
)


def make_goals(findings: Findings) -> list[Goal]:
    """Return all goals that have a run."""
    contests = [(goal, findings.contest(AUTO, goal.rival, goal.share)) for goal in WIN_LOSS_GOALS]
    return [
        *_make_lost_goals(findings),
        *_make_rows_goal(findings),
        *(goal.evaluate(contest) for goal, contest in contests if contest.duels),
        *_make_more_time_goals(findings),
        *_make_quarter_goal(findings),
        *_make_overhead_goal(findings),
        *_make_late_goal(findings),
    ]


def _make_lost_goals(findings: Findings) -> Iterator[Goal]:
    for share in findings.shares:
        lost = findings.lost_shares(share)
        if lost:
            text = (
                f"in fits that left no model, {format_share(share)}: at most {LOST_MEAN_GOAL:.0%} of the limit on "
                f"average and {LOST_WORST_GOAL:.0%} in any run; {_format_shares(lost, lost.largest)}"
            )
            yield Goal(text, lost.mean <= LOST_MEAN_GOAL and lost.largest[1] <= LOST_WORST_GOAL)


def _make_rows_goal(findings: Findings) -> Iterator[Goal]:
    contest = findings.contest(AUTO, FULL)
    higher = [duel.pair for duel in contest.duels if (duel.difference or 0.0) > 0]
    rows = findings.row_shares(left_out=higher)
    if rows:
        strict = findings.row_shares(left_out=[duel.pair for duel in contest.duels if duel.result == "win"])
        text = (
            f"rows of the model, T, as a share of those that one fit takes in T: at least {ROWS_MEDIAN_GOAL:g} in the "
            f"median and {ROWS_WORST_GOAL:g} in any run; without the {len(higher)} pairs on which {AUTO} is more "
            f"accurate: median {rows.median:.2f}, mean {rows.mean:.2f}, worst {rows.smallest[1]:.2f} "
            f"({rows.smallest[0]}); without its wins by the test only: {_format_rows(strict)}"
        )
        yield Goal(text, rows.median >= ROWS_MEDIAN_GOAL and rows.smallest[1] >= ROWS_WORST_GOAL)


def _make_more_time_goals(findings: Findings) -> Iterator[Goal]:
    for more, less in ((1.0, 0.25), (4.0, 1.0)):
        contest = findings.contest(AUTO, AUTO, more, second_share=less)
        if contest.duels:
            worse = contest.losses
            text = (
                f"{format_share(more)} gives no worse model than {format_share(less)}; worse on {len(worse)} of "
                f"{len(contest.duels)} pairs; difference {_format_differences(contest.spread)}{_list_losses(contest)}"
            )
            yield Goal(text, not worse)


def _make_quarter_goal(findings: Findings) -> Iterator[Goal]:
    contest = findings.contest(AUTO, DOUBLE, 0.25, second_share=1.0)
    if contest.duels:
        # At least as accurate is the stricter of the two: it is never a loss.
        as_high = fmean(_is_as_high(duel) for duel in contest.duels)
        no_loss = fmean(duel.result != "loss" for duel in contest.duels)
        text = (
            f"at a quarter of T at least {DOUBLE}'s accuracy at T on {QUARTER_GOAL:.0%} of the pairs; on {as_high:.0%} "
            f"of {len(contest.duels)}, and no loss by the test on {no_loss:.0%}; "
            f"difference {_format_differences(contest.spread)}"
        )
        yield Goal(text, as_high >= QUARTER_GOAL)


def _make_overhead_goal(findings: Findings) -> Iterator[Goal]:
    found = findings.overhead_shares(OVERHEAD_LEAST_LIMIT)
    if found:
        text = (
            f"overhead, limits of {OVERHEAD_LEAST_LIMIT:g} s and more: at most {OVERHEAD_MEAN_GOAL:.0%} of the "
            f"limit on average and {OVERHEAD_WORST_GOAL:.0%} in any run; {_format_shares(found, found.largest)}"
        )
        yield Goal(text, found.mean <= OVERHEAD_MEAN_GOAL and found.largest[1] <= OVERHEAD_WORST_GOAL)
    short = findings.overhead_shares(below_limit=OVERHEAD_LEAST_LIMIT)
    if short:
        text = (
            f"overhead, limits below {OVERHEAD_LEAST_LIMIT:g} s: at most {OVERHEAD_SHORT_GOAL:.0%} of the limit in the "
            f"median; {_format_shares(short, short.largest)}"
        )
        yield Goal(text, short.median <= OVERHEAD_SHORT_GOAL)


def _make_late_goal(findings: Findings) -> Iterator[Goal]:
    late = findings.late_seconds()
    if late:
        count = sum(seconds > LATE_GOAL for seconds in late.values.values())
        name, seconds = late.largest
        text = (
            f"never late by more than {LATE_GOAL:g} s; {count} of {len(late)} runs; median {late.median:+.2f} s, "
            f"mean {late.mean:+.2f} s, worst {seconds:+.3f} s ({name})"
        )
        yield Goal(text, count == 0)


def _is_as_high(duel: Duel) -> bool:
    """Return whether the first rival is at least as accurate, or the only one with a model."""
    return duel.result == "win" if duel.difference is None else duel.difference >= 0


def _format_shares(spread: Spread, worst: tuple[str, float]) -> str:
    return f"mean {spread.mean:.1%}, median {spread.median:.1%}, worst {worst[1]:.1%} ({worst[0]}), {len(spread)} runs"


def _format_rows(spread: Spread) -> str:
    return f"median {spread.median:.2f}, worst {spread.smallest[1]:.2f}" if spread else "none"


def _format_differences(spread: Spread) -> str:
    if not spread:
        return "unknown"
    name, worst = spread.smallest
    return (
        f"{100 * spread.mean:+.2f} points on average, {100 * spread.median:+.2f} in the median, "
        f"{100 * worst:+.2f} at worst ({name})"
    )


def _list_losses(contest: Contest) -> str:
    if not contest.losses:
        return ""
    named = (f"{duel.name} {_format_loss(duel.difference)}" for duel in contest.losses)
    return f"; losses: {'; '.join(named)}"


def _format_loss(difference: float | None) -> str:
    return "without a model" if difference is None else f"{100 * difference:+.2f}"
