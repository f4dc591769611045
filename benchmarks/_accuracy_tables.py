"""The tables and the goals of the benchmark of accuracy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from _accuracy_plan import HALVES
from _accuracy_summary import AUTO, DOUBLE, FULL, Contest, Findings
from _report import Goal, MarkdownTable

QUARTER_GOAL, OVERHEAD_GOAL = 0.7, 0.05
_SHORTEST, _LONGEST = 3.0, 60.0


@dataclass(frozen=True)
class WinLossGoal:
    """What is to be reached against a rival, as shares of the pairs at T.

    Parameters
    ----------
    rival : str
        Against whom.
    wins, losses : float
        At least, and at most.
    """

    rival: str
    wins: float
    losses: float

    def goal(self, contest: Contest, whose: str) -> Goal:
        """Whether it was reached."""
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
    """Each half that was run, and both if there are two."""
    parts = [Findings(findings.lines, half) for half in HALVES]
    run = [part for part in parts if part.pairs]
    return [*run, findings] if len(run) > 1 else run


def make_goals(findings: Findings) -> list[Goal]:
    """Everything that is to be shown, for one half or both."""
    whose = findings.half
    contests = [(bar, findings.contest(AUTO, bar.rival)) for bar in WIN_LOSS_GOALS]
    reached = [bar.goal(contest, whose) for bar, contest in contests if contest.duels]
    return [*reached, *_mean_goal(findings, whose), *_quarter_goal(findings, whose), *_overhead_goal(findings, whose)]


def _mean_goal(findings: Findings, whose: str) -> Iterator[Goal]:
    lead = findings.contest(AUTO, FULL).difference
    if lead is not None:
        said = f"mean accuracy not below {FULL}'s (the moonshot: 1.0 point above)"
        yield Goal(f"{whose}: {said}; it is {100 * lead:+.2f} points", lead >= 0)


def _quarter_goal(findings: Findings, whose: str) -> Iterator[Goal]:
    found = findings.quarter()
    if found:
        share = fmean(ours >= theirs for ours, theirs in found.values())
        text = (
            f"{whose}: at a quarter of T at least {DOUBLE}'s accuracy at T on {QUARTER_GOAL:.0%} of the pairs; "
            f"on {share:.0%} of {len(found)}"
        )
        yield Goal(text, share >= QUARTER_GOAL)


def _overhead_goal(findings: Findings, whose: str) -> Iterator[Goal]:
    found = findings.overheads()
    if found:
        above = sum(share > OVERHEAD_GOAL for share in found)
        text = (
            f"{whose}: at most {OVERHEAD_GOAL:.0%} of the limit as our own overhead; on average {fmean(found):.1%}, "
            f"at most {max(found):.1%}, above the goal in {above} of {len(found)} runs"
        )
        yield Goal(text, fmean(found) <= OVERHEAD_GOAL)


def make_contest_table(findings: Findings) -> MarkdownTable:
    """Auto against everyone, at every share of T."""
    rows = [
        _contest_row(findings, contest)
        for share in findings.shares
        for rival in findings.rivals
        if rival != AUTO and (contest := findings.contest(AUTO, rival, share)).duels
    ]
    columns = ("rival", "limit", "pairs", "wins", "ties", "losses", "wins (%)", "losses (%)")
    more = ("mean difference (points)", "rival's real time / limit, mean", "largest")
    return MarkdownTable(f"{AUTO} against each rival, {_named(findings)}", (*columns, *more), rows)


def _contest_row(findings: Findings, contest: Contest) -> list[str]:
    tally, slowness = contest.tally, findings.slowness(contest.second, contest.share)
    return [
        contest.second,
        _share(contest.share),
        str(tally.pairs),
        *map(str, (tally.wins, tally.ties, tally.losses)),
        *(f"{100 * count / tally.pairs:.0f}" for count in (tally.wins, tally.losses)),
        _points(contest.difference),
        *([f"{fmean(slowness):.2f}", f"{max(slowness):.2f}"] if slowness else ["", ""]),
    ]


def make_learner_table(findings: Findings) -> MarkdownTable:
    """Auto against everyone at T, learner by learner."""
    rivals = [rival for rival in findings.rivals if rival != AUTO]
    contests = {rival: findings.contest(AUTO, rival) for rival in rivals}
    rows = [
        [learner, *(_brief(contests[rival].of_learner(learner)) for rival in rivals)] for learner in findings.learners
    ]
    title = f"{AUTO} by learner, T, {_named(findings)}: wins-ties-losses and mean difference in points"
    return MarkdownTable(title, ("learner", *rivals), rows)


def _brief(contest: Contest) -> str:
    tally = contest.tally
    return f"{tally.wins}-{tally.ties}-{tally.losses} {_points(contest.difference)}" if tally.pairs else ""


def make_loss_table(findings: Findings) -> MarkdownTable:
    """Every pair on which auto loses to somebody."""
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
            _share(duel.share),
            _percent(duel.first),
            _percent(duel.second),
            _points(duel.difference),
        ]
        for rival, duel in sorted(lost, key=lambda each: each[1].difference or -1.0)
    ]
    columns = ("half", "data set", "learner", "rival", "limit", f"{AUTO} (%)", "rival (%)", "difference (points)")
    return MarkdownTable(f"Where {AUTO} loses", columns, rows)


def make_pair_table(findings: Findings) -> MarkdownTable:
    """Every pair, with the accuracies at T and those of auto below."""
    rows = [
        [
            line["half"],
            *pair,
            f"{line['rows']:,} of {line['of']:,}",
            _seconds(findings.limit(pair)),
            *(_percent(findings.accuracy(pair, rival)) for rival in findings.rivals),
            *(_percent(findings.accuracy(pair, AUTO, share)) for share in findings.shares[1:]),
        ]
        for pair, line in findings.pairs.items()
    ]
    below = [f"{AUTO}, {_share(share)}" for share in findings.shares[1:]]
    columns = ("half", "data set", "learner", "training rows", "T (s)", *findings.rivals, *below)
    return MarkdownTable(
        "Every pair: test accuracy in %, mean over the seeds, limit T unless another is named", columns, rows
    )


def make_variant_table(findings: Findings, variants: Sequence[str]) -> MarkdownTable:
    """Auto and the same with a piece left out, at T."""
    rows = []
    for variant in (name for name in variants if name in findings.rivals):
        lead = findings.contest(variant, AUTO) if variant != AUTO else None
        against = [findings.contest(variant, rival) for rival in (DOUBLE, FULL, "tct")]
        rows.append([variant, "" if lead is None else _brief(lead), *map(_brief, against)])
    title = f"Ablations, T, {_named(findings)}: wins-ties-losses and mean difference in points"
    return MarkdownTable(
        title, ("variant", f"against {AUTO}", f"against {DOUBLE}", f"against {FULL}", "against tct"), rows
    )


def make_problem_table(findings: Findings) -> MarkdownTable:
    """Runs without a model, and pairs whose T is not what it should be."""
    rows = [
        [fit["dataset"], fit["learner"], f"{fit['rival']}, {_share(fit['share'])}, seed {fit['seed']}", fit["error"]]
        for rival in findings.rivals
        for fit in findings.all_fits(rival)
        if fit["accuracy"] is None
    ]
    for pair in findings.pairs:
        limit = findings.limit(pair)
        if limit is not None and not _SHORTEST <= limit <= _LONGEST:
            rows.append([*pair, FULL, f"T is {limit:.1f} s, not between {_SHORTEST:g} and {_LONGEST:g} s"])
    title = "Runs without a model, and limits that are too short or too long"
    return MarkdownTable(title, ("data set", "learner", "run", "what"), rows)


def make_conditions_table(findings: Findings) -> MarkdownTable:
    """Each start of the benchmark: when, with which code, beside what."""
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


def _named(findings: Findings) -> str:
    return "both halves" if findings.half == "both" else f"{findings.half} half"


def _share(share: float) -> str:
    return "T" if share == 1 else f"{share:g} T"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _points(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.2f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
