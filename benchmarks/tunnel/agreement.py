"""Compare real fits with their replays: the rows of the model, and whether the default or Double is ahead.

``OMP_NUM_THREADS=1 python benchmarks/tunnel/agreement.py --data FOLDER [--only NAME ...]``, alone on the machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np
from datasets import load_features
from learners import make_learner
from lessons import split_rows
from measure import Rows, fit
from pairs import PAIRS, Pair
from recording import Recording
from replay import RECORDINGS, SUFFIX, replay

from fitwithin import NoModelInTime, TimeConstrainedClassifier

TEACHERS = ("auto", "double")

_FULL_FITS = 3
_WARM_UP_ROWS = 600

# Replays for each real fit: they are cheap, and a median of a few real ones is rough enough.
_REPLAYS = 9

_CLEAR = 0.0025
_TOLERANCE = 0.2


@dataclass(frozen=True)
class Outcomes:
    """Rows and scores of several fits of one teacher."""

    rows: Sequence[int]
    scores: Sequence[float]


@dataclass(frozen=True)
class Comparison:
    """Real and replayed fits of a pair with one limit, by teacher."""

    name: str
    ratio: float
    real: dict[str, Outcomes]
    replayed: dict[str, Outcomes]

    @property
    def rows_ratio(self) -> float:
        """Replayed rows / real rows of the default, both medians."""
        return median(self.replayed["auto"].rows) / max(1.0, median(self.real["auto"].rows))

    @property
    def leads(self) -> tuple[float, float]:
        """How far the default is ahead of Double in real fits, and in replays."""
        real, replayed = (
            fmean(found["auto"].scores) - fmean(found["double"].scores) for found in (self.real, self.replayed)
        )
        return real, replayed

    def __str__(self) -> str:
        real, replayed = self.leads
        rows = [round(median(found["auto"].rows)) for found in (self.real, self.replayed)]
        return (
            f"| {self.name} | {self.ratio:g} | {rows[0]:,} | {rows[1]:,} | {self.rows_ratio:.2f} "
            f"| {100 * real:+.2f} | {100 * replayed:+.2f} |"
        )


class RealFits:
    """Real fits of a recorded pair."""

    def __init__(self, pair: Pair, folder: Path) -> None:
        features = load_features(pair, folder)
        self._pair, self._category_columns = pair, features.category_columns
        self._pool, held_out, self._test = split_rows(features, pair)
        self.full_seconds = median(self._time_full_fit(seed, held_out) for seed in range(_FULL_FITS))
        # The first fit of a program starts a process, which is no part of the recordings.
        self._fit("double", 60.0, 0, Rows(self._pool.X[:_WARM_UP_ROWS], self._pool.y[:_WARM_UP_ROWS]))

    def _time_full_fit(self, seed: int, held_out: Rows) -> float:
        start = time.perf_counter()
        model, _ = fit(make_learner(self._pair.learner, seed, self._category_columns), self._pool)
        model.predict(held_out.X)
        return time.perf_counter() - start

    def _fit(self, teacher: str, limit: float, seed: int, rows: Rows) -> TimeConstrainedClassifier:
        learner = make_learner(self._pair.learner, seed, self._category_columns)
        settings = {"time_limit": limit, "teacher": teacher, "progress": False, "random_state": seed}
        return TimeConstrainedClassifier(learner, **settings).fit(rows.X, rows.y)

    def run(self, teacher: str, limit: float, seed: int) -> tuple[int, float]:
        """Return the rows and the test score of a fit; a guess without a model."""
        try:
            model = self._fit(teacher, limit, seed, self._pool)
        except NoModelInTime:
            return 0, 1 / len(np.unique(self._pool.y))
        return model.n_rows_trained_, float(np.mean(model.predict(self._test.X) == self._test.y))


def compare(pair: Pair, data: Path, recordings: Path, ratios: Sequence[float], seeds: int) -> Iterator[Comparison]:
    """Yield the comparison of a pair for each limit."""
    recording, fits = Recording.load(recordings / f"{pair.name}{SUFFIX}"), RealFits(pair, data)
    full = fits.full_seconds + recording.startup_seconds
    print(f"{pair.name}: every row in {full:.2f} s, {full / recording.full_seconds:.2f} of the recording", flush=True)
    for ratio in ratios:
        real, replayed = {}, {}
        for teacher in TEACHERS:
            rows, scores = zip(*(fits.run(teacher, ratio * full, seed) for seed in range(seeds)), strict=True)
            real[teacher] = Outcomes(rows, scores)
            runs = [replay(recording, teacher, ratio, full, seed) for seed in range(_REPLAYS)]
            replayed[teacher] = Outcomes([run["rows"] for run in runs], [run["score"] for run in runs])
        yield Comparison(pair.name, ratio, real, replayed)


def format_summary(found: Sequence[Comparison]) -> str:
    """Return the table, how far rows differ, and how often both say who is ahead."""
    distances = [abs(comparison.rows_ratio - 1) for comparison in found]
    clear = [leads for leads in (comparison.leads for comparison in found) if abs(leads[0]) >= _CLEAR]
    agree = sum(real * replayed > 0 for real, replayed in clear)
    verdict = "met" if median(distances) <= _TOLERANCE else "**MISSED**"
    return "\n".join(
        [
            "| pair | T / t_full | rows | replayed | ratio | auto - Double, points | replayed |",
            "| --- " * 7 + "|",
            *map(str, found),
            "",
            f"- {verdict}: rows differ by {median(distances):.0%} in the median (goal: {_TOLERANCE:.0%})",
            f"- the same teacher is ahead in {agree} of {len(clear)} cases with a clear difference",
        ]
    )


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the data sets")
    parser.add_argument("--recordings", type=Path, default=RECORDINGS)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="pairs; by default all recorded ones")
    parser.add_argument("--ratios", type=float, nargs="+", default=[0.5, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    chosen = [pair for pair in PAIRS if (options.recordings / f"{pair.name}{SUFFIX}").exists()]
    chosen = [pair for pair in chosen if not options.only or pair.name in options.only]
    found = [
        comparison
        for pair in chosen
        for comparison in compare(pair, options.data, options.recordings, options.ratios, options.seeds)
    ]
    print(format_summary(found))


if __name__ == "__main__":
    main()
