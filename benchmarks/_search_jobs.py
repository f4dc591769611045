"""Jobs: candidates tried with two learners at a time against one, and "auto" with two against every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from _accuracy_goals import WinLossGoal
from _accuracy_plan import Pair
from _accuracy_rivals import Rival
from _accuracy_summary import Contest
from _report import Goal, MarkdownTable
from _search_findings import compare_methods, select_runs
from _search_format import format_percent, format_points
from _search_learners import LEARNERS, make_learners
from _search_log import RunKey, SearchRun
from _search_methods import FULL, OwnMethod, make_classifier, make_search
from _search_part import JOBS, Bench

ONE_JOB, TWO_JOBS = "search, n_jobs=1", "search, n_jobs=2"
AUTO_TWO_JOBS = "auto, n_jobs=2"

# Time limit of the searches in full trainings, and the number of pairs that they run on.
_SEARCH_FACTOR = 2.0
_SEARCH_PAIRS = 4

# Candidates tried with two learners at a time, as a multiple of those with one.
_SETTINGS_GOAL = 1.7

# Share of the pairs on which auto with two learners at a time may lose against every row.
_LOSSES_GOAL = 0.05


def make_job_methods() -> dict[str, Rival]:
    """Return the methods of this part."""
    return {
        ONE_JOB: OwnMethod(lambda task: make_search(make_learners(task.learner), task)),
        TWO_JOBS: OwnMethod(lambda task: make_search(make_learners(task.learner), task, n_jobs=2)),
        AUTO_TWO_JOBS: OwnMethod(lambda task: make_classifier(LEARNERS[task.learner](), task, n_jobs=2)),
    }


class JobsPart:
    """Two learners at a time on two cores.

    Parameters
    ----------
    full : Rival
        A fit on every row, which measures T.
    methods : mapping of str to Rival
        Both searches, and auto.
    """

    name = JOBS

    def __init__(self, full: Rival, methods: Mapping[str, Rival]) -> None:
        self._full = full
        self._methods = methods

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        for number, pair in enumerate(pairs):
            for seed in bench.seeds:
                full = bench.run_full(pair, seed, self._full)
                if full.fit_seconds is None:
                    continue
                runs = [(AUTO_TWO_JOBS, 1.0)]
                if number < _SEARCH_PAIRS:
                    runs += [(ONE_JOB, _SEARCH_FACTOR), (TWO_JOBS, _SEARCH_FACTOR)]
                for name, factor in runs:
                    key = RunKey(self.name, pair.dataset, pair.learner, name, factor, seed)
                    bench.run_method(key, pair, self._methods[name], factor * full.fit_seconds)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        return [_make_settings_table(mine), _make_auto_table(_compare_auto(runs))] if mine else []

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        goals = []
        ratios = measure_settings_ratios(select_runs(runs, self.name))
        if ratios:
            mean = fmean(ratios.values())
            text = (
                f"n_jobs=2 tries at least {_SETTINGS_GOAL:g} x the candidates of n_jobs=1 in the same time; "
                f"{mean:.2f} x on average of {len(ratios)} pairs, at least {min(ratios.values()):.2f}"
            )
            goals.append(Goal(text, mean >= _SETTINGS_GOAL))
        contest = _compare_auto(runs)
        if contest.duels:
            found = WinLossGoal(FULL, 0.0, _LOSSES_GOAL).evaluate(contest)
            goals.append(Goal(f"{AUTO_TWO_JOBS} {found.text}", found.met))
        return goals


def _compare_auto(runs: Sequence[SearchRun]) -> Contest:
    return compare_methods(select_runs(runs, JOBS), AUTO_TWO_JOBS, FULL)


def measure_settings_ratios(runs: Sequence[SearchRun]) -> dict[tuple[str, str], float]:
    """Return by pair the candidates tried with two learners at a time as a multiple of those with one."""
    ratios = {}
    for pair in dict.fromkeys((run.dataset, run.learner) for run in runs):
        one, two = (_count_settings(runs, pair, method) for method in (ONE_JOB, TWO_JOBS))
        if one and two:
            ratios[pair] = two / one
    return ratios


def _count_settings(runs: Sequence[SearchRun], pair: tuple[str, str], method: str) -> float:
    found = [run.settings or 0 for run in runs if (run.dataset, run.learner) == pair and run.method == method]
    return fmean(found) if found else 0.0


def _make_settings_table(runs: Sequence[SearchRun]) -> MarkdownTable:
    rows = [
        [*pair, *(f"{_count_settings(runs, pair, method):.1f}" for method in (ONE_JOB, TWO_JOBS)), f"{ratio:.2f}"]
        for pair, ratio in measure_settings_ratios(runs).items()
    ]
    columns = ("data set", "learner", "candidates, n_jobs=1", "candidates, n_jobs=2", "ratio")
    return MarkdownTable(f"Candidates tried in {_SEARCH_FACTOR:g} T, mean over the seeds", columns, rows)


def _make_auto_table(contest: Contest) -> MarkdownTable:
    rows = [
        [
            *duel.pair,
            format_percent(duel.first),
            format_percent(duel.second),
            format_points(duel.difference),
            duel.result,
        ]
        for duel in contest.duels
    ]
    columns = ("data set", "learner", f"{AUTO_TWO_JOBS} (%)", "every row (%)", "difference (points)", "result")
    return MarkdownTable("auto with two learners at a time against every row, T", columns, rows)
