"""Tables of the accuracy benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from _accuracy_summary import AUTO, DOUBLE, FULL, Contest, Findings, PairKey, Spread, find_lost_seconds, format_share
from _report import MarkdownTable

# Shortest and longest T in seconds that a pair should have.
_SHORTEST_T = 3.0
_LONGEST_T = 60.0


def make_contest_table(findings: Findings) -> MarkdownTable:
    """Return the table of auto against every rival, at every share of T."""
    rows = [
        _make_contest_row(findings, contest)
        for share in findings.shares
        for rival in findings.rivals
        if rival != AUTO and (contest := findings.contest(AUTO, rival, share)).duels
    ]
    columns = ("rival", "limit", "pairs", "wins", "ties", "losses", "wins (%)", "losses (%)")
    more = ("mean difference (points)", "median", "worst pair", "rival's real time / limit, mean", "largest")
    return MarkdownTable(f"{AUTO} against each rival, {findings.list_name} list", (*columns, *more), rows)


def _make_contest_row(findings: Findings, contest: Contest) -> list[str]:
    tally, time_ratios = contest.tally, findings.time_ratios(contest.second, contest.share)
    return [
        contest.second,
        format_share(contest.share),
        str(tally.pairs),
        *map(str, (tally.wins, tally.ties, tally.losses)),
        *(f"{100 * count / tally.pairs:.0f}" for count in (tally.wins, tally.losses)),
        _format_points(contest.difference),
        *_format_median_and_worst(contest.spread),
        *([f"{fmean(time_ratios):.2f}", f"{max(time_ratios):.2f}"] if time_ratios else ["", ""]),
    ]


def _format_median_and_worst(differences: Spread) -> list[str]:
    if not differences:
        return ["", ""]
    name, worst = differences.smallest
    return [_format_points(differences.median), f"{_format_points(worst)} {name}"]


def make_learner_table(findings: Findings) -> MarkdownTable:
    """Return the table of auto against every rival at T, by learner."""
    rivals = [rival for rival in findings.rivals if rival != AUTO]
    contests = {rival: findings.contest(AUTO, rival) for rival in rivals}
    rows = [
        [learner, *(_format_contest(contests[rival].select_learner(learner)) for rival in rivals)]
        for learner in findings.learners
    ]
    title = f"{AUTO} by learner, T, {findings.list_name} list: wins-ties-losses and mean difference in points"
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
            *duel.pair,
            rival,
            format_share(duel.share),
            _format_percent(duel.first),
            _format_percent(duel.second),
            _format_points(duel.difference),
        ]
        for rival, duel in sorted(lost, key=lambda each: each[1].difference or -1.0)
    ]
    columns = ("data set", "learner", "rival", "limit", f"{AUTO} (%)", "rival (%)", "difference (points)")
    return MarkdownTable(f"Where {AUTO} loses", columns, rows)


def make_pair_table(findings: Findings) -> MarkdownTable:
    """Return the table of all pairs, with accuracies at T, and of auto also at the other limits."""
    other_shares = [share for share in findings.shares if share != 1]
    others = [f"{AUTO}, {format_share(share)}" for share in other_shares]
    rows = [
        [
            *pair,
            f"{line['rows']:,} of {line['of']:,}",
            _format_seconds(findings.mean_limit(pair)),
            *(_format_percent(findings.accuracy(pair, rival)) for rival in findings.rivals),
            *(_format_percent(findings.accuracy(pair, AUTO, share)) for share in other_shares),
        ]
        for pair, line in findings.pairs.items()
    ]
    columns = ("data set", "learner", "training rows", "T (s)", *findings.rivals, *others)
    return MarkdownTable(
        "Every pair: test accuracy in %, mean over the seeds, limit T unless another is named", columns, rows
    )


def make_run_table(findings: Findings) -> MarkdownTable:
    """Return the table of what auto did with its time on every pair, at every limit."""
    rows = [
        [*pair, format_share(share), *_describe_runs(findings, pair, share)]
        for pair in findings.pairs
        for share in findings.shares
        if findings.fits(pair, AUTO, share)
    ]
    columns = ("data set", "learner", "limit", "seconds", "used (s)", "fits", "rows / rows of the full fit")
    more = ("without a model (% of the limit)", "overhead (%)", "late (s)")
    return MarkdownTable(f"What {AUTO} did with its time: each seed", (*columns, *more), rows)


def _describe_runs(findings: Findings, pair: PairKey, share: float) -> list[str]:
    fits, of = findings.fits(pair, AUTO, share), findings.pairs[pair]["rows"]
    return [
        ", ".join(f"{fit['limit']:.1f}" for fit in fits),
        ", ".join(f"{fit['seconds']:.1f}" for fit in fits),
        ", ".join(str(fit["rounds"] or 0) for fit in fits),
        ", ".join(f"{(fit['rows'] or 0) / of:.2f}" for fit in fits),
        ", ".join(_format_percent_of(find_lost_seconds(fit), fit["limit"]) for fit in fits),
        ", ".join(_format_percent_of(fit["overhead"], fit["limit"]) for fit in fits),
        ", ".join(f"{fit['seconds'] - fit['limit']:+.2f}" for fit in fits),
    ]


def make_variant_table(findings: Findings, variants: Sequence[str]) -> MarkdownTable:
    """Return the table of auto and its ablations, at T."""
    rows = []
    for variant in (name for name in variants if name in findings.rivals):
        lead = findings.contest(variant, AUTO) if variant != AUTO else None
        against = [findings.contest(variant, rival) for rival in (DOUBLE, FULL, "tct")]
        rows.append([variant, "" if lead is None else _format_contest(lead), *map(_format_contest, against)])
    title = f"Ablations, T, {findings.list_name} list: wins-ties-losses and mean difference in points"
    return MarkdownTable(
        title, ("variant", f"against {AUTO}", f"against {DOUBLE}", f"against {FULL}", "against tct"), rows
    )


def make_problem_table(findings: Findings) -> MarkdownTable:
    """Return the table of runs without a model, and of pairs whose T is too short or too long."""
    rows = [
        [
            fit["dataset"],
            fit["learner"],
            f"{fit['rival']}, {format_share(fit['share'])}, seed {fit['seed']}",
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
        rows.append([str(number), start["machine"]["date"], start["list"], start["code"], str(len(loads)), spread])
    columns = ("start", "when", "list", "code", "runs", "load average before a run")
    return MarkdownTable("Starts of the benchmark", columns, rows)


def _format_percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _format_percent_of(value: float | None, of: float) -> str:
    return "?" if value is None else f"{100 * value / of:.1f}"


def _format_points(value: float | None) -> str:
    return "" if value is None else f"{100 * value:+.2f}"


def _format_seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
