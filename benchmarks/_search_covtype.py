"""Covtype: what a search over LightGBM's hyperparameters reaches with one thread in 18 and in 60 seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from _accuracy_plan import Pair
from _accuracy_rivals import Rival
from _report import Goal, MarkdownTable
from _search_findings import select_runs
from _search_format import format_megabytes, format_percent, format_seconds, mean_accuracy
from _search_log import RunKey, SearchRun
from _search_part import Bench

# Seconds; a fit on every row takes about 18 s and reaches .855.
_LIMITS = (18.0, 60.0)


class CovtypePart:
    """Covtype; the limit in seconds is the factor, because T is one second here.

    FLAML's portfolio was mined on this data set, so there is no goal.

    Parameters
    ----------
    methods : mapping of str to Rival
        The search, and others to run beside it.
    """

    name = "covtype"

    def __init__(self, methods: Mapping[str, Rival]) -> None:
        self._methods = methods

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for seed in bench.seeds:
                for limit in _LIMITS:
                    for name, method in self._methods.items():
                        key = RunKey(self.name, pair.dataset, pair.learner, name, limit, seed)
                        bench.run_method(key, pair, method, limit)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        rows = []
        for method, limit in dict.fromkeys((run.method, run.factor) for run in mine):
            found = [run for run in mine if (run.method, run.factor) == (method, limit)]
            accuracies = ", ".join(format_percent(run.accuracy) for run in found)
            sizes = ", ".join(f"{run.rows or 0:,}" for run in found)
            rows.append(
                [
                    method,
                    f"{limit:g}",
                    format_percent(mean_accuracy(found)),
                    accuracies,
                    format_seconds(run.seconds for run in found),
                    sizes,
                    format_megabytes(run.memory for run in found),
                    "; ".join(run.params or "" for run in found),
                ]
            )
        columns = ("method", "limit (s)", "test accuracy (%)", "each seed", "seconds: mean, largest")
        more = ("rows of the model", "peak memory beyond the data (MB)", "hyperparameters")
        return [MarkdownTable("covtype, which FLAML's portfolio knows, LightGBM, one thread", (*columns, *more), rows)]

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        return []
