"""List: three learners in one search against a search of each alone, at the same limit."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from _accuracy_plan import Pair
from _accuracy_rivals import Rival
from _report import Goal, MarkdownTable
from _search_findings import select_runs
from _search_format import format_percent, format_points, mean_accuracy
from _search_log import RunKey, SearchRun
from _search_methods import SEARCH
from _search_pairs import list_single_learners
from _search_part import Bench

# Largest difference to the best learner alone, and the share of the data sets on which it has to hold.
_LARGEST_GAP = 0.003
_LEAST_SHARE = 0.8


class ListPart:
    """A list of learners; the pairs' seconds are the limits.

    Parameters
    ----------
    search : Rival
        The search.
    """

    name = "list"

    def __init__(self, search: Rival) -> None:
        self._search = search

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for seed in bench.seeds:
                for each in (pair, *list_single_learners(pair)):
                    key = RunKey(self.name, pair.dataset, each.learner, SEARCH, 1.0, seed)
                    bench.run_method(key, each, self._search, pair.seconds)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        datasets = list(dict.fromkeys(run.dataset for run in mine))
        rows = [_make_row(dataset, [run for run in mine if run.dataset == dataset]) for dataset in datasets]
        columns = ("data set", "limit (s)", "list (%)", "each alone (%)", "list - best (points)")
        return [MarkdownTable("A list of learners against each alone", columns, rows)] if rows else []

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        gaps = measure_gaps(select_runs(runs, self.name))
        if not gaps:
            return []
        held = fmean(gap is not None and gap >= -_LARGEST_GAP for gap in gaps.values())
        text = (
            f"list of learners: within {100 * _LARGEST_GAP:.1f} points of the best one alone on {_LEAST_SHARE:.0%} of "
            f"the data sets; on {held:.0%} of {len(gaps)}"
        )
        return [Goal(text, held >= _LEAST_SHARE)]


def measure_gaps(runs: Sequence[SearchRun]) -> dict[str, float | None]:
    """Return by data set the accuracy of the list minus that of the best learner alone; None without a model."""
    gaps: dict[str, float | None] = {}
    for dataset in dict.fromkeys(run.dataset for run in runs):
        by_learner = _mean_by_learner([run for run in runs if run.dataset == dataset])
        alone = [accuracy for learner, accuracy in by_learner.items() if "+" not in learner and accuracy is not None]
        together = [accuracy for learner, accuracy in by_learner.items() if "+" in learner]
        if alone and together:
            gaps[dataset] = None if together[0] is None else together[0] - max(alone)
    return gaps


def _mean_by_learner(runs: Sequence[SearchRun]) -> dict[str, float | None]:
    learners = dict.fromkeys(run.learner for run in runs)
    return {learner: mean_accuracy([run for run in runs if run.learner == learner]) for learner in learners}


def _make_row(dataset: str, runs: Sequence[SearchRun]) -> list[str]:
    by_learner = _mean_by_learner(runs)
    together = [accuracy for learner, accuracy in by_learner.items() if "+" in learner]
    alone = [f"{name} {format_percent(found)}" for name, found in by_learner.items() if "+" not in name]
    return [
        dataset,
        f"{runs[0].limit or 0.0:g}",
        format_percent(together[0] if together else None),
        ", ".join(alone),
        format_points(measure_gaps(runs).get(dataset)),
    ]
