"""Race: a search against "auto" with the learner's own settings, every row, and FLAML with the same learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from _accuracy_goals import WinLossGoal
from _accuracy_plan import Pair
from _accuracy_rivals import Rival
from _accuracy_summary import Contest, format_share
from _report import Goal, MarkdownTable
from _search_findings import compare_methods, select_runs
from _search_format import format_megabytes, format_percent, format_points, format_seconds, mean_accuracy
from _search_log import RunKey, SearchRun
from _search_methods import AUTO, FLAML, FULL, SEARCH
from _search_part import RACE, Bench

# Real time of FLAML as a multiple of its limit, on an idle machine; only predicts how long the benchmark takes.
_FLAML_MULTIPLE = 1.25

_GOALS = (
    WinLossGoal(AUTO, 0.4, 0.05, share=1.0),
    WinLossGoal(AUTO, 0.6, 0.02, share=4.0),
    WinLossGoal(FLAML, 0.5, 0.15, share=1.0),
    WinLossGoal(FLAML, 0.5, 0.15, share=4.0),
)

# Least mean difference to a fit on every row, by the multiple of T.
_MEAN_GOALS: Mapping[float, float] = {1.0: 0.01, 4.0: 0.02}


class RacePart:
    """The race.

    Parameters
    ----------
    methods : mapping of str to Rival
        The methods; a fit on every row is one of them.
    """

    name = RACE

    def __init__(self, methods: Mapping[str, Rival]) -> None:
        self._methods = methods

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for seed in bench.seeds:
                full = bench.run_full(pair, seed, self._methods[FULL])
                if full.fit_seconds is not None:
                    self._run_limits(bench, pair, seed, full.fit_seconds)

    def _run_limits(self, bench: Bench, pair: Pair, seed: int, full_seconds: float) -> None:
        names = [name for name, method in self._methods.items() if name != FULL and method.applies(pair.learner)]
        for number, factor in enumerate(bench.factors):
            # None is always first.
            turn = (seed + number) % max(1, len(names))
            for name in names[turn:] + names[:turn]:
                limit = factor * full_seconds
                key = RunKey(self.name, pair.dataset, pair.learner, name, factor, seed)
                expected = _FLAML_MULTIPLE * limit if name == FLAML else limit
                bench.run_method(key, pair, self._methods[name], limit, expected=expected)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        factors = sorted({run.factor for run in mine if run.method == SEARCH})
        return [_make_contest_table(mine, factors), _make_pair_table(mine, factors), _make_cost_table(mine, factors)]

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        mine = select_runs(runs, self.name)
        contests = [(goal, compare_methods(mine, SEARCH, goal.rival, goal.share)) for goal in _GOALS]
        found = [goal.evaluate(contest) for goal, contest in contests if contest.duels]
        means = [(compare_methods(mine, SEARCH, FULL, factor), least) for factor, least in _MEAN_GOALS.items()]
        return found + [_make_mean_goal(contest, least) for contest, least in means if contest.duels]


def _make_mean_goal(contest: Contest, least: float) -> Goal:
    difference = contest.difference
    text = (
        f"against every row, {format_share(contest.share)}: at least {100 * least:+.1f} points on average; "
        f"{format_points(difference) or 'unknown'} on {len(contest.duels)} pairs, {len(contest.losses)} losses"
    )
    return Goal(text, difference is not None and difference >= least)


def _make_contest_table(runs: Sequence[SearchRun], factors: Sequence[float]) -> MarkdownTable:
    rows = []
    for factor in factors:
        for rival in (AUTO, FULL, FLAML):
            contest = compare_methods(runs, SEARCH, rival, factor)
            if contest.duels:
                tally, spread = contest.tally, contest.spread
                name, worst = spread.smallest if spread else ("", None)
                counts = (tally.pairs, tally.wins, tally.ties, tally.losses)
                shares = (f"{100 * count / tally.pairs:.0f}" for count in (tally.wins, tally.losses))
                points = (format_points(contest.difference), f"{format_points(worst)} {name}")
                rows.append([rival, format_share(factor), *map(str, counts), *shares, *points])
    columns = ("rival", "limit", "pairs", "wins", "ties", "losses", "wins (%)", "losses (%)")
    return MarkdownTable("Search against each rival", (*columns, "mean difference (points)", "worst pair"), rows)


def _make_pair_table(runs: Sequence[SearchRun], factors: Sequence[float]) -> MarkdownTable:
    limited = [(method, factor) for factor in factors for method in (SEARCH, AUTO, FLAML)]
    rows = []
    for dataset, learner in dict.fromkeys((run.dataset, run.learner) for run in runs):
        mine = [run for run in runs if (run.dataset, run.learner) == (dataset, learner)]
        full = select_runs(mine, RACE, FULL)
        cells = [
            format_percent(mean_accuracy([run for run in mine if (run.method, run.factor) == each])) for each in limited
        ]
        sizes = [f"{full[0].train_rows or 0:,}", format_seconds(run.fit_seconds for run in full)] if full else ["", ""]
        rows.append([dataset, learner, *sizes, format_percent(mean_accuracy(full)), *cells])
    names = (f"{method}, {format_share(factor)}" for method, factor in limited)
    columns = ("data set", "learner", "training rows", "T (s): mean, largest", FULL, *names)
    return MarkdownTable("Every pair: test accuracy in %, mean over the seeds", columns, rows)


def _make_cost_table(runs: Sequence[SearchRun], factors: Sequence[float]) -> MarkdownTable:
    rows = []
    for factor in factors:
        for method in (SEARCH, AUTO, FLAML):
            mine = [run for run in runs if (run.method, run.factor) == (method, factor)]
            ratios = [run.seconds / run.limit for run in mine if run.seconds and run.limit]
            if ratios:
                late = [run.late for run in mine]
                settings = [float(run.settings) for run in mine if run.settings is not None]
                cells = [f"{sum(ratios) / len(ratios):.2f}", f"{max(ratios):.2f}", format_seconds(late)]
                more = [format_megabytes(run.memory for run in mine), format_seconds(settings)]
                rows.append([method, format_share(factor), str(len(mine)), *cells, *more])
    columns = ("method", "limit", "runs", "real time / limit, mean", "largest", "late (s): mean, largest")
    more_columns = ("peak memory beyond the data, largest (MB)", "settings tried: mean, largest")
    return MarkdownTable("Real time and memory", (*columns, *more_columns), rows)
