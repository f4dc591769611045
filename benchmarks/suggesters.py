"""Compare ways of suggesting settings with the same seconds of fits: ours, FLAML's CFO, Optuna's TPE, random draws."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from statistics import fmean, median
from typing import Any, Protocol

import lightgbm
import numpy as np

from _options import add_data_option, require_data
from _report import RESULTS, Environment, MarkdownTable, write_report
from fitwithin.teachers._search.frugal_suggester import FrugalSuggester
from fitwithin.teachers._search.ready_spaces import DataShape, find_ready_space
from fitwithin.teachers._search.space import LEAVES, STEP_COUNTS, Choice, IntRange, Settings, Space, strip_prefix
from fitwithin_paper.study.dataset_sources import load_dataset
from fitwithin_paper.study.preprocessing import prepare_dataset

DATASETS = ("covtype", "unsw_nb15_82k", "weatheraus")
"""Data sets of the tuning pairs."""

N_ROWS = 10_000
"""Training rows: those of a search's first subset."""

_VALIDATION_ROWS = 3_000
_TEST_ROWS = 20_000
# Seconds of one fit, as a share of all; then it counts as failed.
_MAX_SHARE = 0.2
_FAILED_LOSS = 1e9


class Suggester(Protocol):
    """Source of settings to try next."""

    def ask(self) -> Settings | None: ...

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None: ...


class RandomSuggester:
    """The cheap settings, then draws at random."""

    def __init__(self, space: Space, seed: int) -> None:
        random = np.random.RandomState(seed)
        self._next = chain([space.complete({}, random)], (space.sample(random) for _ in count()))

    def ask(self) -> Settings:
        return next(self._next)

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None: ...


class OwnSuggester(FrugalSuggester):
    """That of a search, which needs no seconds."""

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float = 0.0) -> None:
        super().tell(settings, score)


class FlamlSuggester:
    """FLAML's CFO, behind the same ask and tell."""

    def __init__(self, space: Space, seed: int) -> None:
        from flaml import CFO, tune

        def make_domain(one: Any) -> Any:
            if isinstance(one, Choice):
                return tune.choice(list(one.values))
            if isinstance(one, IntRange):
                return (tune.lograndint if one.log else tune.randint)(one.low, one.high + 1)
            return (tune.loguniform if one.log else tune.uniform)(one.low, one.high)

        domains = {name: make_domain(one) for name, one in space.parameters.items()}
        cheap = {name: value for name, value in space.cheap.items() if strip_prefix(name) in (*STEP_COUNTS, *LEAVES)}
        start, self._n_asked = [dict(space.cheap)], 0
        self._searcher = CFO("loss", "min", domains, cheap, points_to_evaluate=start, seed=seed)

    def ask(self) -> Settings | None:
        self._n_asked += 1
        return self._searcher.suggest(str(self._n_asked))

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        loss = _FAILED_LOSS if score is None else 1 - score
        result = {"loss": loss, "time_total_s": seconds, "config": dict(settings)}
        self._searcher.on_trial_complete(str(self._n_asked), result)


class TpeSuggester:
    """Optuna's tree-structured Parzen estimator, behind the same ask and tell."""

    def __init__(self, space: Space, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        self._failed = optuna.trial.TrialState.FAIL
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._study.enqueue_trial(dict(space.cheap))
        self._space = space
        self._trial: Any = None

    def ask(self) -> Settings | None:
        self._trial = self._study.ask()
        return {name: self._suggest(name, parameter) for name, parameter in self._space.parameters.items()}

    def _suggest(self, name: str, parameter: Any) -> Any:
        if isinstance(parameter, Choice):
            return self._trial.suggest_categorical(name, parameter.values)
        suggest = self._trial.suggest_int if isinstance(parameter, IntRange) else self._trial.suggest_float
        return suggest(name, parameter.low, parameter.high, log=parameter.log)

    def tell(self, settings: Mapping[str, Any], score: float | None, seconds: float) -> None:
        if score is None:
            self._study.tell(self._trial, state=self._failed)
        else:
            self._study.tell(self._trial, score)


class TooSlow(Exception):
    """A fit took its share of the time."""


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, to choose by, and to report."""

    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]


@dataclass(frozen=True)
class Found:
    """The best candidate of a run: test accuracy of its model, and the number of candidates tried."""

    accuracy: float
    n_settings: int


def run_suggester(suggester: Suggester | None, split: Split, seconds: float) -> Found:
    """Try suggestions until the seconds of fits are used up; without a suggester, the learner's own alone."""
    if suggester is None:
        model, _ = _fit({}, split, float("inf"))
        return Found(_score(model, split.test), 1)
    used, best, best_score, n_settings = 0.0, None, -1.0, 0
    while used < seconds:
        settings = suggester.ask()
        if settings is None:
            continue
        model, took = _fit(settings, split, min(_MAX_SHARE * seconds, seconds - used))
        score = None if model is None else _score(model, split.validation)
        suggester.tell(settings, score, took)
        used, n_settings = used + took, n_settings + 1
        if score is not None and score > best_score:
            best, best_score = model, score
    return Found(0.0 if best is None else _score(best, split.test), n_settings)


def _fit(settings: Settings, split: Split, limit: float) -> tuple[Any, float]:
    """Return a model and its seconds of processor time; None if it took too long."""
    start = time.process_time()

    def stop_if_slow(_: Any) -> None:
        if time.process_time() - start > limit:
            raise TooSlow

    model: Any = lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, **settings)
    try:
        model.fit(*split.train, callbacks=[stop_if_slow])
    except TooSlow:
        model = None
    return model, time.process_time() - start


def _score(model: Any, rows: tuple[Any, Any]) -> float:
    return float(np.mean(model.predict(rows[0]) == rows[1]))


def _split_rows(X: Any, y: Any, seed: int) -> Split:
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum([N_ROWS, _VALIDATION_ROWS, _TEST_ROWS])
    parts = [(X[rows], y[rows]) for rows in np.split(order[: ends[-1]], ends[:-1])]
    return Split(*parts)


def list_suggesters(space: Space) -> dict[str, Callable[[int], Suggester | None]]:
    """Return the ways to compare; those of FLAML and Optuna only if they are installed."""
    makers: dict[str, Callable[[int], Suggester | None]] = {
        "own hyperparameters": lambda seed: None,
        "ours": lambda seed: OwnSuggester(space, seed),
        "random": lambda seed: RandomSuggester(space, seed),
    }
    others: dict[str, tuple[str, Callable[[int], Suggester]]] = {
        "FLAML's CFO": ("flaml", lambda seed: FlamlSuggester(space, seed)),
        "Optuna's TPE": ("optuna", lambda seed: TpeSuggester(space, seed)),
    }
    for name, (package, make) in others.items():
        if find_spec(package) is None:
            print(f"{package} is not installed, and left out")
        else:
            makers[name] = make
    return makers


def main(argv: Sequence[str] | None = None) -> int:
    """Run every suggester on every data set, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add_data_option(parser)
    add("--seeds", type=int, default=3, help="number of seeds")
    add("--seconds", type=float, default=5.0, help="seconds of fits in a run")
    add("--results", type=Path, default=RESULTS, help="folder for the results")
    arguments, environment = parser.parse_args(argv), Environment.current()
    require_data(parser, arguments)
    os.environ["OMP_NUM_THREADS"] = "1"
    warnings.simplefilter("ignore")
    space = find_ready_space(lightgbm.LGBMClassifier(), DataShape(N_ROWS, 1, 2))
    assert space is not None
    makers = list_suggesters(space)
    lines, figures = [], {}
    for dataset in DATASETS:
        prepared = prepare_dataset(load_dataset(dataset, arguments.data))
        for way, make in makers.items():
            runs = [
                run_suggester(make(seed), _split_rows(prepared.X_train, prepared.y_train, seed), arguments.seconds)
                for seed in range(arguments.seeds)
            ]
            accuracies = [100 * run.accuracy for run in runs]
            lines.append(
                [
                    dataset,
                    way,
                    f"{fmean(accuracies):.2f}",
                    f"{median(accuracies):.2f}",
                    f"{fmean(run.n_settings for run in runs):.0f}",
                ]
            )
            figures[f"{dataset}, {way}"] = [(run.accuracy, run.n_settings) for run in runs]
            print(*lines[-1], flush=True)
    title = f"Test accuracy in %, LightGBM, {N_ROWS:,} rows, {arguments.seconds:g} s of fits, {arguments.seeds} seeds"
    table = MarkdownTable(title, ("data set", "suggested by", "mean", "median", "candidates tried"), lines)
    return write_report("suggesters", environment, [table], [], {"runs": figures}, arguments.results)


if __name__ == "__main__":
    sys.exit(main())
