"""Accuracy over normalized time: the paper's equation (1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt

from fitwithin_paper.study.paper_results import PaperResults, display_name
from fitwithin_paper.study.significance import AccuracySource, mean_of_known
from fitwithin_paper.study.study_results import RunResult, StudyResults

FloatArray = npt.NDArray[np.float64]


TIME_SHARES: FloatArray = np.linspace(0.0, 1.0, 401)
"""Points of a curve as shares of the time limit; fine enough for a figure 400 pixels wide."""


TIME_SHARES.setflags(write=False)


@dataclass(frozen=True)
class AccuracyCurve:
    """Accuracy of a teacher at each share of the time limit.

    Parameters
    ----------
    teacher : str
        The teacher.
    times : array
        Shares of the time limit, from 0 to 1.
    accuracies : array
        Accuracy at each of those times; nan until every data set and seed has a model.
    """

    teacher: str
    times: FloatArray
    accuracies: FloatArray

    @property
    def final_accuracy(self) -> float:
        """Accuracy at the time limit."""
        return float(self.accuracies[-1])

    @property
    def start_time(self) -> float:
        """First of the times with an accuracy."""
        return float(self.times[np.isfinite(self.accuracies)][0])


def compute_run_curve(run: RunResult, times: FloatArray = TIME_SHARES) -> FloatArray:
    """Return the accuracy of the model that a run would have returned at each share of its time limit.

    Parameters
    ----------
    run : RunResult
        The run, with its rounds and its time limit.
    times : array
        Shares of the time limit, ascending.

    Returns
    -------
    array
        Accuracy of the latest chosen model at each time; nan before the first model. At the time limit it is the
        accuracy of the returned model.

    Examples
    --------
    >>> from fitwithin_paper.study.study_results import RoundResult
    >>> rounds = RoundResult(1, 2.0, 0.6, True), RoundResult(2, 4.0, 0.5, False), RoundResult(3, 8.0, 0.7, True)
    >>> run = RunResult("covtype", "lightgbm", "tct", 0, 10.0, 0.7, n_rows=9, used_seconds=9.0, rounds=rounds)
    >>> compute_run_curve(run, np.array([0.1, 0.2, 0.5, 0.8, 1.0])).tolist()
    [nan, 0.6, 0.6, 0.7, 0.7]
    """
    chosen = sorted((result for result in run.rounds if result.best), key=lambda result: result.elapsed_seconds)
    accuracies = np.array([np.nan, *(result.accuracy for result in chosen)])
    if run.limit_seconds is None:
        return np.full_like(times, np.nan)
    ready = np.searchsorted([result.elapsed_seconds for result in chosen], times * run.limit_seconds, side="right")
    returned = np.nan if run.accuracy is None else run.accuracy
    return np.where(times < 1, accuracies[ready], returned)


def compute_dataset_curve(
    study: StudyResults, learner: str, dataset: str, teacher: str, times: FloatArray = TIME_SHARES
) -> AccuracyCurve | None:
    """Return the mean curve over the seeds; None if no model was ready in time.

    The curve of Full is constant, because it has only one model.
    """
    runs = study.finished_runs(learner, dataset, teacher)
    if not runs:
        return None
    if teacher == "full":
        level = fmean(run.accuracy for run in runs if run.accuracy is not None)
        return AccuracyCurve(teacher, times, np.full_like(times, level))
    accuracies = np.mean([compute_run_curve(run, times) for run in runs], axis=0)
    return AccuracyCurve(teacher, times, accuracies) if np.isfinite(accuracies[-1]) else None


@dataclass(frozen=True)
class CurveComparison:
    """The curves of several teachers for one learner, averaged over the same data sets.

    Parameters
    ----------
    learner : str
        The learner.
    datasets : tuple of str
        Data sets of the average: those with a model of every teacher in every seed.
    seed_counts : tuple of int
        Smallest and largest number of seeds behind a mean.
    curves : tuple of AccuracyCurve
        One curve per teacher.
    """

    learner: str
    datasets: tuple[str, ...]
    seed_counts: tuple[int, int]
    curves: tuple[AccuracyCurve, ...]

    @property
    def description(self) -> str:
        """Numbers of data sets and seeds, and the start of the lines."""
        fewest, most = self.seed_counts
        seeds = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        datasets = f"{len(self.datasets)} data set{'s' * (len(self.datasets) > 1)}"
        return f"{datasets}, {seeds} seed{'s' * (most > 1)}; lines begin when every one has a model"

    def average_final_accuracies(self, source: AccuracySource) -> dict[str, float]:
        """Return the mean final accuracy of another source, for teachers for which it has all of these data sets."""
        averages = {}
        for curve in self.curves:
            found = [source.accuracy(self.learner, dataset, curve.teacher) for dataset in self.datasets]
            known = [accuracy for accuracy in found if accuracy is not None]
            if len(known) == len(found):
                averages[curve.teacher] = fmean(known)
        return averages


def compare_teachers(
    study: StudyResults, learner: str, teachers: Sequence[str], datasets: Sequence[str] | None = None
) -> CurveComparison | None:
    """Average the curves of several teachers over the data sets that all of them finished: equation (1).

    Parameters
    ----------
    study : StudyResults
        The results.
    learner : str
        The learner.
    teachers : sequence of str
        Teachers to compare. A teacher that finished no data set is skipped.
    datasets : sequence of str, optional
        Data sets to average over; all of the learner's by default.

    Returns
    -------
    CurveComparison or None
        None if fewer than two teachers, or no shared data set, remain.
    """
    among = study.datasets(learner) if datasets is None else datasets
    curves = {
        (teacher, dataset): curve
        for teacher in teachers
        for dataset in among
        if (curve := compute_dataset_curve(study, learner, dataset, teacher))
    }
    present = [teacher for teacher in teachers if any(owner == teacher for owner, _ in curves)]
    shared = tuple(dataset for dataset in among if all((teacher, dataset) in curves for teacher in present))
    if len(present) < 2 or not shared:
        return None
    # The number of full trainings is a setting of its own, so Full does not count.
    taught = [teacher for teacher in present if teacher != "full"]
    counts = [len(study.finished_runs(learner, dataset, teacher)) for teacher in taught for dataset in shared]
    averages = (_average_curves([curves[teacher, dataset] for dataset in shared]) for teacher in present)
    return CurveComparison(learner, shared, (min(counts), max(counts)), tuple(averages))


def _average_curves(curves: Sequence[AccuracyCurve]) -> AccuracyCurve:
    # A mean with a nan is nan: the average begins when the last data set has a model.
    first = curves[0]
    return AccuracyCurve(first.teacher, first.times, np.mean([curve.accuracies for curve in curves], axis=0))


def describe_final_accuracies(study: StudyResults, paper: PaperResults, comparison: CurveComparison) -> str:
    """Return a sentence with the final accuracies of the study and of the paper, on the data sets of both."""
    learner = comparison.learner
    shared = [dataset for dataset in comparison.datasets if paper.accuracy(learner, dataset, "tct") is not None]
    if not shared:
        return "The paper has none of these data sets for this learner."
    parts = []
    for curve in comparison.curves:
        ours, theirs = (
            mean_of_known(source.accuracy(learner, dataset, curve.teacher) for dataset in shared)
            for source in (study, paper)
        )
        if ours is not None and theirs is not None:
            parts.append(f"{display_name(curve.teacher)} {100 * ours:.1f} here, {100 * theirs:.1f} in the paper")
    return f"Final accuracy on the {len(shared)} data sets that the paper has too: {'; '.join(parts)}."


def format_list(words: Sequence[str]) -> str:
    """Return words joined by commas and "and".

    Examples
    --------
    >>> format_list(["TCT"]), format_list(["TCT", "Double", "Full"])
    ('TCT', 'TCT, Double and Full')
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def spread_labels(heights: Sequence[float], gap: float) -> list[float]:
    """Move labels apart until neighbours are at least a gap away from each other, each as little as possible.

    Parameters
    ----------
    heights : sequence of float
        Wanted positions of the labels.
    gap : float
        Smallest distance between two labels.

    Returns
    -------
    list of float
        Positions of the labels, in the same order.

    Examples
    --------
    >>> spread_labels([0.50, 0.51, 0.90], gap=0.1)
    [0.455, 0.555, 0.9]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    blocks: list[list[float]] = []
    for i in order:
        blocks.append([heights[i]])
        while len(blocks) > 1 and _block_bottom(blocks[-1], gap) - _block_top(blocks[-2], gap) < gap:
            # Labels that meet become one block, centred on the mean of their wanted positions.
            upper = blocks.pop()
            blocks[-1] += upper
    placed = [_block_bottom(block, gap) + gap * k for block in blocks for k in range(len(block))]
    moved = dict(zip(order, placed, strict=True))
    return [round(moved[i], 12) for i in range(len(heights))]


def _block_bottom(block: list[float], gap: float) -> float:
    return fmean(block) - gap * (len(block) - 1) / 2


def _block_top(block: list[float], gap: float) -> float:
    return fmean(block) + gap * (len(block) - 1) / 2
