"""Tables and goals of the accuracy benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from _accuracy_plan import HALVES
from _accuracy_summary import AUTO, DOUBLE, FULL, Contest, Findings
from _report import Goal, MarkdownTable

# Share of the pairs on which auto at a quarter of T is to reach double at T.
QUARTER_GOAL = 0.7

# Mean share of the limit that the overhead may take.
OVERHEAD_GOAL = 0.05

# Shortest and longest T in seconds that a pair should have.
_SHORTEST_T = 3.0
_LONGEST_T = 60.0


@dataclass(frozen=True)
class WinLossGoal:
    """Goal against a rival, as shares of the pairs at T.

    Parameters
    ----------
    rival : str
        Name of the rival.
    wins, losses : float
        Least share of wins, and largest share of losses.
    """

    rival: str
    wins: float
    losses: float

    def evaluate(self, contest: Contest, whose: str) -> Goal:
        """Return whether the contest reached the goal."""
        tally = contest.tally
        wins, losses = tally.wins / tally.pairs, tally.losses / tally.pairs
        text = (
            f"{whose}: against {self.rival} at least {self.wins:.0%} wins and at most {self.losses:.0%} losses; "
            f"it has {wins:.0%} and {losses:.0%} of {tally.pairs} pairs"
        )
        return Goal(text, wins >= self.wins and losses <= self.losses)


WIN_LOSS_GOALS = (
    WinLossGoal(DOUBLE, 0.7, 0.05),
    WinLossGoal(FULL, 0.4, 0.1),
    WinLossGoal("tct", 0.4, 0.05),
    WinLossGoal("tct_al", 0.4, 0.05),
)


def split_by_half(findings: Findings) -> list[Findings]:
    """Return the findings of each half that was run, and of both if there are two."""
    parts = [Findings(findings.lines, half) for half in HALVES]
    run = [part for part in parts if part.pairs]
    return [*run, findings] if len(run) > 1 else run


def make_goals(findings: Findings) -> list[Goal]:
    """Return all goals for one half or both."""
    whose = findings.half
    contests = [(goal, findings.contest(AUTO, goal.rival)) for goal in WIN_LOSS_GOALS]
    reached = [goal.evaluate(contest, whose) for goal, contest in contests if contest.duels]
    return [
        *reached,
        *_make_mean_goal(findings, whose),
        *_make_quarter_goal(findings, whose),
        *_make_overhead_goal(findings, whose),
    ]


def _make_mean_goal(findings: Findings, whose: str) -> Iterator[Goal]:
    lead = findings.contest(AUTO, FULL).difference
    if lead is not None:
        said = f"mean accuracy not below {FULL}'s (the moonshot: 1.0 point above)"
        yield Goal(f"{whose}: {said}; it is {100 * lead:+.2f} points", lead >= 0)


def _make_quarter_goal(findings: Findings, whose: str) -> Iterator[Goal]:
    found = findings.compare_at_quarter()
    if found:
        share = fmean(ours >= theirs for ours, theirs in found.values())
        text = (
            f"{whose}: at a quarter of T at least {DOUBLE}'s accuracy at T on {QUARTER_GOAL:.0%} of the pairs; "
            f"on {share:.0%} of {len(found)}"
        )
        yield Goal(text, share >= QUARTER_GOAL)


def _make_overhead_goal(findings: Findings, whose: str) -> Iterator[Goal]:
    found = findings.overhead_shares()
    if found:
        above = sum(share > OVERHEAD_GOAL for share in found)
        text = (
            f"{whose}: at most {OVERHEAD_GOAL:.0%} of the limit as our own overhead; on average {fmean(found):.1%}, "
            f"at most {max(found):.1%}, above the goal in {above} of {len(found)} runs"
        )
        yield Goal(text, fmean(found) <= OVERHEAD_GOAL)


def make_contest_table(findings: Findings) -> MarkdownTable:
    """Return the table of auto against every rival, at every share of T."""
    rows = [
        _make_contest_row(findings, contest)
        for share in findings.shares
        for rival in findings.rivals
        if rival != AUTO and (contest := findings.contest(AUTO, rival, share)).duels
    ]
    columns = ("rival", "limit", "pairs", "wins", "ties", "losses", "wins (%)", "losses (%)")
    more = ("mean difference (points)", "rival's real time / limit, mean", "largest")
    return MarkdownTable(f"{AUTO} against each rival, {_describe_half(findings)}", (*columns, *more), rows)


def _make_contest_row(findings: Findings, contest: Contest) -> list[str]:
    tally, time_ratios = contest.tally, findings.time_ratios(contest.second, contest.share)
    return [
        contest.second,
        _format_share(contest.share),
        str(tally.pairs),
        *map(str, (tally.wins, tally.ties, tally.losses)),
        *(f"{100 * count / tally.pairs:.0f}" for count in (tally.wins, tally.losses)),
        _format_points(contest.difference),
        *([f"{fmean(time_ratios):.2f}", f"{max(time_ratios):.2f}"] if time_ratios else ["", ""]),
    ]


def make_learner_table(findings: Findings) -> MarkdownTable:
    """Return the table of auto against every rival at T, by learner."""
    rivals = [rival for rival in findings.rivals if rival != AUTO]
    contests = {rival: findings.contest(AUTO, rival) for rival in rivals}
    rows = [
        [learner, *(_format_contest(contests[rival].select_learner(learner)) for rival in rivals)]
        for learner in findings.learners
    ]
    title = f"{AUTO} by learner, T, {_describe_half(findings)}: wins-ties-losses and mean difference in points"
    return MarkdownTable(title, ("learner", *rivals), rows)


def _format_contest(contest: Contest) -> str:
    tally = contest.tally
    return f"{tally.wins}-{tally.ties}-{tally.losses} {_format_points(contest.difference)}" if tally.pairs else ""


def make_loss_table(findings: Findings) -> MarkdownTable:
    """Return the table of the pairs on which auto loses."""
    lost = [
        (rival, duel)
        for share in findings.shares
        for rival in findings.rivals
        for duel in findings.contest(AUTO, rival, share).duels
        if duel.result == "loss"
    ]
    rows = [
        [
            findings.pairs[duel.pair]["half"],
            *duel.pair,
            rival,
            _format_share(duel.share),
            _format_percent(duel.first),
            _format_percent(duel.second),
            _format_points(duel.difference),
        ]
        for rival, duel in sorted(lost, key=lambda each: each[1].difference or -1.0)
    ]
    columns = ("half", "data set", "learner", "rival", "limit", f"{AUTO} (%)", "rival (%)", "difference (points)")
    return MarkdownTable(f"Where {AUTO} loses", columns, rows)


def make_pair_table(findings: Findings) -> MarkdownTable:
    """Return the table of all pairs, with accuracies at T, and of auto also below T."""
    rows = [
        [
            line["half"],
            *pair,
            f"{line['rows']:,} of {line['of']:,}",
            _format_seconds(findings.mean_limit(pair)),
            *(_format_percent(findings.accuracy(pair, rival)) for rival in findings.rivals),
            *(_format_percent(findings.accuracy(pair, AUTO, share)) for share in findings.shares[1:]),
        ]
        for pair, line in findings.pairs.items()
    ]
    below = [f"{AUTO}, {_format_share(share)}" for share in findings.shares[1:]]
    columns = ("half", "data set", "learner", "training rows", "T (s)", *findings.rivals, *below)
    return MarkdownTable(
        "Every pair: test accuracy in %, mean over the seeds, limit T unless another is named", columns, rows
    )


def make_variant_table(findings: Findings, variants: Sequence[str]) -> MarkdownTable:
    """Return the table of auto and its ablations, at T."""
    rows = []
    for variant in (name for name in variants if name in findings.rivals):
        lead = findings.contest(variant, AUTO) if variant != AUTO else None
        against = [findings.contest(variant, rival) for rival in (DOUBLE, FULL, "tct")]
        rows.append([variant, "" if lead is None else _format_contest(lead), *map(_format_contest, against)])
    title = f"Ablations, T, {_describe_half(findings)}: wins-ties-losses and mean difference in points"
    return MarkdownTable(
        title, ("variant", f"against {AUTO}", f"against {DOUBLE}", f"against {FULL}", "against tct"), rows
    )


def make_problem_table(findings: Findings) -> MarkdownTable:
    """Return the table of runs without a model, and of pairs whose T is too short or too long."""
    rows = [
        [
            fit["dataset"],
            fit["learner"],
            f"{fit['rival']}, {_format_share(fit['share'])}, seed {fit['seed']}",
            fit["error"],
        ]
        for rival in findings.rivals
        for fit in findings.all_fits(rival)
        if fit["accuracy"] is None
    ]
    for pair in findings.pairs:
        limit = findings.mean_limit(pair)
        if limit is not None and not _SHORTEST_T <= limit <= _LONGEST_T:
            rows.append([*pair, FULL, f"T is {limit:.1f} s, not between {_SHORTEST_T:g} and {_LONGEST_T:g} s"])
    title = "Runs without a model, and limits that are too short or too long"
    return MarkdownTable(title, ("data set", "learner", "run", "what"), rows)


def make_conditions_table(findings: Findings) -> MarkdownTable:
    """Return the table of the benchmark's starts: date, code, load."""
    rows = []
    starts = [line for line in findings.lines if line["kind"] == "start"]
    for number, start in enumerate(starts, 1):
        loads = [line["load"] for line in findings.lines if line["kind"] == "fit" and line["session"] == number]
        loads = [load for load in loads if load is not None]
        spread = f"{fmean(loads):.1f}, at most {max(loads):.1f}" if loads else ""
        halves_run = " and ".join(start["halves"])
        rows.append([str(number), start["machine"]["date"], halves_run, start["code"], str(len(loads)), spread])
    columns = ("start", "when", "halves", "code", "runs", "load average before a run")
    return MarkdownTable("Starts of the benchmark", columns, rows)


def _describe_half(findings: Findings) -> str:
    return "both halves" if findings.half == "both" else f"{findings.half} half"


def _format_share(share: float) -> str:
    return "T" if share == 1 else f"{share:g} T"


def _format_percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _format_points(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.2f}"


def _format_seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
