"""Accuracy over normalised time: the paper's equation (1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fitwithin._research.study.measured import Measured, Run
from fitwithin._research.study.paper import Paper, name_of
from fitwithin._research.study.statistics import Findings, mean

Array = npt.NDArray[np.float64]


TIMES: Array = np.linspace(0.0, 1.0, 401)


TIMES.setflags(write=False)


@dataclass(frozen=True)
class Curve:
    """The accuracy that a teacher has reached at each share of the time for training on all rows.

    Parameters
    ----------
    teacher : str
        Whose curve it is.
    times : array
        Shares of the time limit, from 0 to 1.
    accuracies : array
        At each of those times; not a number before there is a model for every data set and seed.
    """

    teacher: str
    times: Array
    accuracies: Array

    @property
    def end(self) -> float:
        """The accuracy when the time is up."""
        return float(self.accuracies[-1])

    @property
    def start(self) -> float:
        """The first of the times with an accuracy."""
        return float(self.times[np.isfinite(self.accuracies)][0])


def accuracy_over_time(run: Run, times: Array = TIMES) -> Array:
    """The accuracy of the model that a run would have returned at each share of its limit.

    Parameters
    ----------
    run : Run
        With its rounds and its limit.
    times : array
        Shares of the limit, ascending.

    Returns
    -------
    array
        The accuracy of the latest model that was ready by then and chosen; not a number before the first. When the
        time is up it is the accuracy of the model that was returned.

    Examples
    --------
    >>> from fitwithin._research.study.measured import RoundLine
    >>> rounds = RoundLine(1, 2.0, 0.6, True), RoundLine(2, 4.0, 0.5, False), RoundLine(3, 8.0, 0.7, True)
    >>> run = Run("covtype", "lightgbm", "tct", 0, limit=10.0, accuracy=0.7, rows=9, used=9.0, rounds=rounds)
    >>> accuracy_over_time(run, np.array([0.1, 0.2, 0.5, 0.8, 1.0])).tolist()
    [nan, 0.6, 0.6, 0.7, 0.7]
    """
    chosen = sorted((one for one in run.rounds if one.best), key=lambda one: one.elapsed)
    accuracies = np.array([np.nan, *(one.accuracy for one in chosen)])
    if run.limit is None:
        return np.full_like(times, np.nan)
    ready = np.searchsorted([one.elapsed for one in chosen], times * run.limit, side="right")
    returned = np.nan if run.accuracy is None else run.accuracy
    return np.where(times < 1, accuracies[ready], returned)


def data_set_curve(study: Measured, learner: str, dataset: str, teacher: str, times: Array = TIMES) -> Curve | None:
    """The mean over the seeds; Full is level, since it has only one model. None where no model was ready in time."""
    runs = study.finished(learner, dataset, teacher)
    if not runs:
        return None
    if teacher == "full":
        level = fmean(run.accuracy for run in runs if run.accuracy is not None)
        return Curve(teacher, times, np.full_like(times, level))
    accuracies = np.mean([accuracy_over_time(run, times) for run in runs], axis=0)
    return Curve(teacher, times, accuracies) if np.isfinite(accuracies[-1]) else None


@dataclass(frozen=True)
class Comparison:
    """The curves of several teachers for one learner, averaged over the same data sets.

    Parameters
    ----------
    learner : str
        The learner that was taught.
    datasets : tuple of str
        The data sets of the average: those with a model of every teacher in every seed.
    seeds : tuple of int
        The fewest and the most seeds behind a mean.
    curves : tuple of Curve
        One per teacher.
    """

    learner: str
    datasets: tuple[str, ...]
    seeds: tuple[int, int]
    curves: tuple[Curve, ...]

    @property
    def basis(self) -> str:
        """What the averages rest on, and where they begin."""
        fewest, most = self.seeds
        seeds = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        sets = f"{len(self.datasets)} data set{'s' * (len(self.datasets) > 1)}"
        return f"{sets}, {seeds} seed{'s' * (most > 1)}; lines begin when every one has a model"

    def ends(self, findings: Findings) -> dict[str, float]:
        """The averages that someone else has at the end, of the teachers for whom they have every one of these sets."""
        ends = {}
        for curve in self.curves:
            found = [findings.accuracy(self.learner, dataset, curve.teacher) for dataset in self.datasets]
            present = [accuracy for accuracy in found if accuracy is not None]
            if len(present) == len(found):
                ends[curve.teacher] = fmean(present)
        return ends


def compare(
    study: Measured, learner: str, teachers: Sequence[str], datasets: Sequence[str] | None = None
) -> Comparison | None:
    """Equation (1) for several teachers over the data sets that all of them finished.

    Parameters
    ----------
    study : Measured
        What was measured.
    learner : str
        The learner that was taught.
    teachers : sequence of str
        Whose curves to draw. One that finished no data set is passed over.
    datasets : sequence of str, optional
        Average over these only; over all of the learner's data sets by default.

    Returns
    -------
    Comparison or None
        None where fewer than two teachers are left, or no data set that they share.
    """
    among = study.datasets(learner) if datasets is None else datasets
    curves = {
        (teacher, dataset): curve
        for teacher in teachers
        for dataset in among
        if (curve := data_set_curve(study, learner, dataset, teacher))
    }
    present = [teacher for teacher in teachers if any(owner == teacher for owner, _ in curves)]
    shared = tuple(dataset for dataset in among if all((teacher, dataset) in curves for teacher in present))
    if len(present) < 2 or not shared:
        return None
    # Full is trained as often as its time is measured, whatever the seeds of the others.
    taught = [teacher for teacher in present if teacher != "full"]
    counts = [len(study.finished(learner, dataset, teacher)) for teacher in taught for dataset in shared]
    averages = (_average([curves[teacher, dataset] for dataset in shared]) for teacher in present)
    return Comparison(learner, shared, (min(counts), max(counts)), tuple(averages))


def _average(curves: Sequence[Curve]) -> Curve:
    # The mean with a nan is a nan: the average begins when the last data set has a model.
    first = curves[0]
    return Curve(first.teacher, first.times, np.mean([curve.accuracies for curve in curves], axis=0))


def ends_beside(study: Measured, paper: Paper, found: Comparison) -> str:
    """The accuracies at the end on the data sets that the paper has too, here and there."""
    shared = [dataset for dataset in found.datasets if paper.accuracy(found.learner, dataset, "tct") is not None]
    if not shared:
        return "The paper has none of these data sets for this learner."
    parts = []
    for curve in found.curves:
        here, there = (mean(s.accuracy(found.learner, d, curve.teacher) for d in shared) for s in (study, paper))
        if here is not None and there is not None:
            parts.append(f"{name_of(curve.teacher)} {100 * here:.1f} here, {100 * there:.1f} in the paper")
    return f"At the end, on those of the data sets that the paper has ({len(shared)}): {'; '.join(parts)}."


def listing(words: Sequence[str]) -> str:
    """Words as a sentence has them.

    Examples
    --------
    >>> listing(["TCT"]), listing(["TCT", "Double", "Full"])
    ('TCT', 'TCT, Double and Full')
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move labels apart until neighbours are a gap away from each other, each as little as possible.

    Parameters
    ----------
    heights : sequence of float
        Where the labels belong.
    gap : float
        The least distance between two of them.

    Returns
    -------
    list of float
        Where to write them, in the same order.

    Examples
    --------
    >>> spread([0.50, 0.51, 0.90], gap=0.1)
    [0.455, 0.555, 0.9]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    blocks: list[list[float]] = []
    for i in order:
        blocks.append([heights[i]])
        while len(blocks) > 1 and _bottom(blocks[-1], gap) - _top(blocks[-2], gap) < gap:
            # Labels that meet become one block, centred on where they all belong.
            upper = blocks.pop()
            blocks[-1] += upper
    placed = [_bottom(block, gap) + gap * k for block in blocks for k in range(len(block))]
    moved = dict(zip(order, placed, strict=True))
    return [round(moved[i], 12) for i in range(len(heights))]


def _bottom(block: list[float], gap: float) -> float:
    return fmean(block) - gap * (len(block) - 1) / 2


def _top(block: list[float], gap: float) -> float:
    return fmean(block) + gap * (len(block) - 1) / 2
