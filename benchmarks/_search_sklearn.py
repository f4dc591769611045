"""Scikit-learn's searches: a search of ours in the time that each of them took, over the same space."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # makes HalvingRandomSearchCV importable
from sklearn.model_selection import HalvingRandomSearchCV, RandomizedSearchCV

from _accuracy_goals import WinLossGoal
from _accuracy_plan import Pair
from _accuracy_rivals import Outcome, Rival, RivalTask
from _accuracy_summary import Contest
from _peak_memory import measure_peak_memory
from _report import Goal, MarkdownTable
from _search_findings import compare_methods, rename_method, select_runs
from _search_format import format_megabytes, format_percent, format_points, format_seconds, mean_accuracy
from _search_learners import LEARNERS
from _search_log import RunKey, SearchRun
from _search_methods import SEARCH, OwnMethod, make_search
from _search_part import Bench
from _search_spaces import has_space, make_space

HALVING, RANDOMIZED = "HalvingRandomSearchCV", "RandomizedSearchCV"

# Settings that each search of scikit-learn tries, and parts of its cross-validation.
_N_ITER = 20
_CV = 3

# Trainings that each takes, on all rows of the pair; only predicts how long the benchmark takes.
_TRAININGS: Mapping[str, float] = {HALVING: 30.0, RANDOMIZED: 60.0}

# Seconds between samples of the memory.
_MEMORY_PERIOD_SECONDS = 0.2


@dataclass(frozen=True)
class SklearnMethod:
    """A search of scikit-learn, without a limit.

    Parameters
    ----------
    name : str
        Name of its class.
    """

    name: str

    def applies(self, learner: str) -> bool:
        return has_space(learner)

    def run(self, task: RivalTask) -> Outcome:
        search = self._make_search(task)
        with warnings.catch_warnings():
            # Halving warns of classes that its first rows lack, learners of too few iterations.
            warnings.simplefilter("ignore")
            with measure_peak_memory(_MEMORY_PERIOD_SECONDS) as memory:
                start = time.perf_counter()
                search.fit(*task.train)
                seconds = time.perf_counter() - start
            accuracy = float(search.score(*task.test))
        found = {"rows": task.rows.n_train, "settings": len(search.cv_results_["params"])}
        return Outcome(
            seconds, accuracy, stop="all settings", memory=memory.pss, params=str(search.best_params_), **found
        )

    def _make_search(self, task: RivalTask) -> Any:
        learner, space = LEARNERS[task.learner](), make_space(task.learner)
        common: dict[str, Any] = {"cv": _CV, "random_state": task.seed, "n_jobs": 1}
        if self.name == HALVING:
            # By default it begins with a dozen rows, and the last of so few settings never see them all.
            common["min_resources"] = "exhaust"
            return HalvingRandomSearchCV(learner, dict(space), n_candidates=_N_ITER, **common)
        return RandomizedSearchCV(learner, dict(space), n_iter=_N_ITER, **common)


def make_same_space_search() -> OwnMethod:
    """Return the search of ours over the same space."""
    return OwnMethod(
        lambda task: make_search(LEARNERS[task.learner](), task, param_distributions=dict(make_space(task.learner)))
    )


class SklearnPart:
    """Searches of scikit-learn, and ours in the time of each.

    Parameters
    ----------
    search : Rival
        Our search over the same space.
    rivals : mapping of str to Rival
        Searches of scikit-learn by name.
    """

    name = "sklearn"

    def __init__(self, search: Rival, rivals: Mapping[str, Rival]) -> None:
        self._search = search
        self._rivals = rivals

    def run(self, bench: Bench, pairs: Sequence[Pair]) -> None:
        for pair in pairs:
            for seed in bench.seeds:
                for name, rival in self._rivals.items():
                    key = RunKey(self.name, pair.dataset, pair.learner, name, 1.0, seed)
                    expected = _TRAININGS.get(name, 1.0) * pair.seconds
                    found = bench.run_method(key, pair, rival, None, expected=expected)
                    if found.accuracy is not None or found.error is None:
                        own = RunKey(self.name, pair.dataset, pair.learner, name_own_run(name), 1.0, seed)
                        bench.run_method(own, pair, self._search, found.seconds)

    def make_tables(self, runs: Sequence[SearchRun]) -> list[MarkdownTable]:
        mine = select_runs(runs, self.name)
        return [_make_pair_table(mine)] if mine else []

    def make_goals(self, runs: Sequence[SearchRun]) -> list[Goal]:
        mine = select_runs(runs, self.name)
        contests = [compare_with(mine, rival) for rival in (HALVING, RANDOMIZED)]
        return [WinLossGoal(contest.second, 0.7, 0.05).evaluate(contest) for contest in contests if contest.duels]


def name_own_run(rival: str) -> str:
    """Return the name of our search in the time of a rival.

    Examples
    --------
    >>> name_own_run("RandomizedSearchCV")
    'search in the time of RandomizedSearchCV'
    """
    return f"{SEARCH} in the time of {rival}"


def compare_with(runs: Sequence[SearchRun], rival: str) -> Contest:
    """Compare our search with a search of scikit-learn that took as long."""
    own = name_own_run(rival)
    renamed = [rename_method(run, SEARCH) if run.method == own else run for run in runs if run.method in (own, rival)]
    return compare_methods(renamed, SEARCH, rival)


def _make_pair_table(runs: Sequence[SearchRun]) -> MarkdownTable:
    rows = []
    for rival in (HALVING, RANDOMIZED):
        for duel in compare_with(runs, rival).duels:
            pair = [run for run in runs if (run.dataset, run.learner) == duel.pair]
            theirs = [run for run in pair if run.method == rival]
            ours = [run for run in pair if run.method == name_own_run(rival)]
            times = (format_seconds(run.seconds for run in each) for each in (theirs, ours))
            memory = (format_megabytes(run.memory for run in each) for each in (theirs, ours))
            points = (format_percent(mean_accuracy(theirs)), format_percent(mean_accuracy(ours)))
            rows.append([*duel.pair, rival, *times, *points, format_points(duel.difference), duel.result, *memory])
    columns = ("data set", "learner", "rival", "its seconds: mean, largest", "ours", "its accuracy (%)", "ours (%)")
    more = ("difference (points)", "result", "its memory (MB)", "ours (MB)")
    return MarkdownTable(
        f"Searches of scikit-learn over the same space, n_iter={_N_ITER}, cv={_CV}; limit: the time they took",
        (*columns, *more),
        rows,
    )
