"""Runs of the search benchmark as the lines that the accuracy benchmark compares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from _accuracy_summary import Contest, Findings
from _search_log import SearchRun
from fitwithin_paper.study.result_log import ResultLine


def select_runs(runs: Iterable[SearchRun], part: str, *methods: str) -> list[SearchRun]:
    """Return the runs of a part, or those of some of its methods."""
    return [run for run in runs if run.part == part and (not methods or run.method in methods)]


def make_findings(runs: Sequence[SearchRun]) -> Findings:
    """Return the runs as findings; methods are its rivals, and factors its shares of T."""
    return Findings([*_make_pair_lines(runs), *map(_make_fit_line, runs)])


def compare_methods(runs: Sequence[SearchRun], first: str, second: str, factor: float = 1.0) -> Contest:
    """Compare two methods on all pairs that both ran on, by the paper's test on means over the seeds both have."""
    firsts, seconds = (_index_runs(runs, method, factor) for method in (first, second))
    # A rival that ran with fewer seeds is compared on those.
    kept = [run for key, run in (firsts | seconds).items() if _without_method(key) in _common_keys(firsts, seconds)]
    return make_findings(kept).contest(first, second, factor)


_RunIndex = dict[tuple[str, str, int, str], SearchRun]


def _index_runs(runs: Sequence[SearchRun], method: str, factor: float) -> _RunIndex:
    # A fit on every row has no limit, and stands for every factor.
    chosen = (run for run in runs if run.method == method and (run.factor == factor or run.limit is None))
    return {(run.dataset, run.learner, run.seed, method): run for run in chosen}


def _without_method(key: tuple[str, str, int, str]) -> tuple[str, str, int]:
    return key[:3]


def _common_keys(firsts: _RunIndex, seconds: _RunIndex) -> set[tuple[str, str, int]]:
    return set(map(_without_method, firsts)) & set(map(_without_method, seconds))


def _make_pair_lines(runs: Sequence[SearchRun]) -> Iterator[ResultLine]:
    pairs = {(run.dataset, run.learner): run for run in runs}
    for (dataset, learner), run in pairs.items():
        names = {"kind": "pair", "list": run.list_name, "dataset": dataset, "learner": learner}
        yield {**names, "rows": run.train_rows, "test_rows": run.test_rows}


def _make_fit_line(run: SearchRun) -> ResultLine:
    names = {"kind": "fit", "dataset": run.dataset, "learner": run.learner, "rival": run.method, "seed": run.seed}
    figures = {"share": run.factor, "limit": run.limit, "seconds": run.seconds, "accuracy": run.accuracy}
    return {**names, **figures, "fit_seconds": run.fit_seconds, "stop": run.stop, "error": run.error}


def rename_method(run: SearchRun, method: str) -> SearchRun:
    """Return the run under another name of its method."""
    return replace(run, method=method)
