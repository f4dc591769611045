"""Race: a search at limits of 20 and 60 s against the learner's own hyperparameters, FLAML, AutoGluon and a vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from _accuracy_goals import WinLossGoal
from _accuracy_plan import Pair
from _accuracy_rivals import Rival
from _accuracy_summary import Contest, format_share
from _report import Goal, MarkdownTable
from _search_findings import compare_methods, select_runs
from _search_format import format_megabytes, format_percent, format_points, format_seconds, mean_accuracy
from _search_log import RunKey, SearchRun
from _search_methods import AUTO, AUTOGLUON, FLAML, FLAML_BUDGET, SEARCH, SEARCH_AS_LONG, VOTE
from _search_part import RACE, Bench

# Real time of FLAML as a multiple of its limit, on an idle machine; only predicts how long the benchmark takes.
_FLAML_MULTIPLE = 1.25

# The vote and AutoGluon are compared at the longer limit only.
_LONG = 3.0
_LONG_ONLY = (VOTE, AUTOGLUON)

# Who is compared with whom; FLAML takes longer than its limit, so the search gets that time too.
_CONTESTS = ((SEARCH, AUTO), (SEARCH_AS_LONG, FLAML), (SEARCH, FLAML_BUDGET), (SEARCH, AUTOGLUON), (VOTE, SEARCH))

_GOALS = (
    (SEARCH, WinLossGoal(AUTO, 0.45, 0.05, share=1.0)),
    (SEARCH, WinLossGoal(AUTO, 0.6, 0.02, share=_LONG)),
    (SEARCH_AS_LONG, WinLossGoal(FLAML, 0.5, 0.15, share=1.0)),
    (SEARCH_AS_LONG, WinLossGoal(FLAML, 0.5, 0.15, share=_LONG)),
    (SEARCH, WinLossGoal(AUTOGLUON, 0.45, 0.2, share=_LONG)),
    (VOTE, WinLossGoal(SEARCH, 0.3, 0.02, share=_LONG, mean=0.002)),
)


class RacePart:
    """The race; a pair's seconds are T, its shorter limit.

    Parameters
    ----------
    methods : mapping of str to Rival
        The methods.
    """

    name = RACE

    def __init__(self, methods: Mapping[str, Rival]) -> None:
        self._methods = methods

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for seed in bench.seeds:
                self._run_limits(bench, pair, seed)

    def _run_limits(self, bench: Bench, pair: Pair, seed: int) -> None:
        names = [name for name, method in self._methods.items() if method.applies(pair.learner)]
        for number, factor in enumerate(bench.factors):
            # None is always first, but the search that gets FLAML's time follows it.
            turn = (seed + number) % max(1, len(names))
            for name in sorted(names[turn:] + names[:turn], key=lambda name: name == SEARCH_AS_LONG):
                if factor >= _LONG or name not in _LONG_ONLY:
                    self._run_method(bench, pair, RunKey(self.name, pair.dataset, pair.learner, name, factor, seed))

    def _run_method(self, bench: Bench, pair: Pair, key: RunKey) -> None:
        limit = key.factor * pair.seconds
        expected = _FLAML_MULTIPLE * limit if key.method in (FLAML, SEARCH_AS_LONG) else limit
        if key.method == SEARCH_AS_LONG:
            if FLAML not in self._methods:
                return
            flaml = bench.recorder.find(replace(key, method=FLAML))
            if flaml is None or flaml.error is not None or not flaml.seconds:
                return
            limit = flaml.seconds
        bench.run_method(key, pair, self._methods[key.method], limit, expected=expected)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        factors = sorted({run.factor for run in mine if run.method == SEARCH})
        return [_make_contest_table(mine, factors), _make_pair_table(mine, factors), _make_cost_table(mine, factors)]

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        mine = select_runs(runs, self.name)
        contests = [(name, goal, compare_methods(mine, name, goal.rival, goal.share)) for name, goal in _GOALS]
        return [_name_goal(name, goal.evaluate(contest)) for name, goal, contest in contests if contest.duels]


def _name_goal(method: str, goal: Goal) -> Goal:
    return goal if method == SEARCH else Goal(f"{method} {goal.text}", goal.met)


def _make_contest_table(runs: Sequence[SearchRun], factors: Sequence[float]) -> MarkdownTable:
    contests = [(*names, compare_methods(runs, *names, factor)) for factor in factors for names in _CONTESTS]
    rows = [[name, rival, *_describe_contest(contest)] for name, rival, contest in contests if contest.duels]
    columns = ("method", "rival", "limit", "pairs", "wins", "ties", "losses", "wins (%)", "losses (%)")
    points = ("mean difference (points)", "median", "worst pair")
    return MarkdownTable("Each method against each rival, T = 20 s", (*columns, *points), rows)


def _describe_contest(contest: Contest) -> list[str]:
    tally, spread = contest.tally, contest.spread
    name, worst = spread.smallest if spread else ("", None)
    counts = (tally.pairs, tally.wins, tally.ties, tally.losses)
    shares = (f"{100 * count / tally.pairs:.0f}" for count in (tally.wins, tally.losses))
    median = format_points(spread.median if spread else None)
    points = (format_points(contest.difference), median, f"{format_points(worst)} {name}")
    return [format_share(contest.share), *map(str, counts), *shares, *points]


def _make_pair_table(runs: Sequence[SearchRun], factors: Sequence[float]) -> MarkdownTable:
    present = {(run.method, run.factor) for run in runs}
    methods = (AUTO, SEARCH, VOTE, FLAML, SEARCH_AS_LONG, FLAML_BUDGET, AUTOGLUON)
    columns = [(method, factor) for factor in factors for method in methods if (method, factor) in present]
    rows = []
    for dataset, learner in dict.fromkeys((run.dataset, run.learner) for run in runs):
        mine = [run for run in runs if (run.dataset, run.learner) == (dataset, learner)]
        found = [[run for run in mine if (run.method, run.factor) == each] for each in columns]
        rows.append([dataset, learner, f"{mine[0].train_rows or 0:,}", *map(_format_accuracy, found)])
    names = (f"{method}, {format_share(factor)}" for method, factor in columns)
    title = "Every pair: test accuracy in %, mean over the seeds, T = 20 s"
    return MarkdownTable(title, ("data set", "learner", "training rows", *names), rows)


def _format_accuracy(runs: Sequence[SearchRun]) -> str:
    return format_percent(mean_accuracy(runs))


def _make_cost_table(runs: Sequence[SearchRun], factors: Sequence[float]) -> MarkdownTable:
    rows = []
    for factor in factors:
        for method in dict.fromkeys(run.method for run in runs):
            mine = [run for run in runs if (run.method, run.factor) == (method, factor)]
            ratios = [run.seconds / run.limit for run in mine if run.seconds and run.limit]
            if ratios:
                late = [run.late for run in mine]
                settings = [float(run.settings) for run in mine if run.settings is not None]
                cells = [f"{sum(ratios) / len(ratios):.2f}", f"{max(ratios):.2f}", format_seconds(late)]
                more = [format_megabytes(run.memory for run in mine), format_seconds(settings)]
                rows.append([method, format_share(factor), str(len(mine)), *cells, *more])
    columns = ("method", "limit", "runs", "real time / limit, mean", "largest", "late (s): mean, largest")
    more_columns = ("peak memory beyond the data, largest (MB)", "candidates tried: mean, largest")
    return MarkdownTable("Real time and memory", (*columns, *more_columns), rows)
