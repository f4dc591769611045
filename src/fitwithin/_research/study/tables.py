"""The paper's tables, from this study, with the paper's figures beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fitwithin._research.study.measured import Measured
from fitwithin._research.study.paper import (
    ALPHA_TEACHERS,
    Paper,
    in_order,
    name_of,
    paper_alphas,
    paper_share,
    paper_tally,
)
from fitwithin._research.study.statistics import Tally, directions, mean
from fitwithin._research.study.table import Cell, Column, Table, beside

_OURS, _PRINTED = "this study", "paper, as printed"


_OURS_SHARED, _PAPER_SHARED = "this study, shared sets", "paper, shared sets"


@dataclass(frozen=True)
class _Basis:
    """Whose figures, TCT's tally against each teacher, runs without a model, and the shares of Double and TCT."""

    name: str
    tallies: tuple[Tally, ...]
    without: tuple[int | None, ...]
    shares: tuple[float | None, ...]


def wins_table(name: str, title: str, study: Measured, paper: Paper, against: Sequence[str]) -> Table:
    """How often TCT beat other teachers; with Double among them, how much of the training set both used.

    Parameters
    ----------
    name, title : str
        Of the table.
    study : Measured
        What was measured.
    paper : Paper
        The paper's accuracies in the same experiment, for the data sets that both have.
    against : sequence of str
        The teachers to compare with.

    Returns
    -------
    Table
        For each learner and over all: this study, the paper as printed, and both on the data sets that they share.
    """
    by_learner = {learner: _bases(study, paper, learner, against) for learner in in_order(study.learners)}
    measured = {learner: bases for learner, bases in by_learner.items() if any(t.pairs for t in bases[0].tallies)}
    rows = [row for learner, bases in measured.items() for row in _wins_rows(name_of(learner), bases)]
    if measured:
        rows += _wins_rows("Overall", _overall(list(measured.values()), against))
    columns = [Column("learner", "Learner"), Column("basis", "Figures of")]
    for teacher in against:
        group = f"TCT against {name_of(teacher)}"
        columns += [Column(f"{teacher}_{what}", what, "count", group) for what in ("wins", "ties", "losses")]
        columns.append(Column(f"{teacher}_differs", "", "mark", group))
    columns += [Column(f"{t}_no_model", name_of(t), "count", "runs without a model") for t in ("tct", *against)]
    if "double" in against:
        columns += [Column(f"{t}_share_pct", name_of(t), "percent", "% of training set") for t in ("double", "tct")]
    note = (
        "Win and loss at 95 % by the paper's test; the rest are ties. Without a model in any run, a teacher loses"
        " against one that has a model; where only some runs had none, the others count. Shared sets are the data sets"
        " on which this study and the paper's tables both have the learner; there the paper's directions come from the"
        " same test on its printed accuracies and its test-set sizes. ≠: on them, the larger of wins and losses is not"
        " the paper's."
    )
    return Table(name, title, note, tuple(columns), tuple(tuple(row[: len(columns)]) for row in rows), grouped=True)


def _bases(study: Measured, paper: Paper, learner: str, against: Sequence[str]) -> list[_Basis]:
    ours = [directions(study, learner, "tct", teacher) for teacher in against]
    theirs = [directions(paper, learner, "tct", teacher) for teacher in against]
    both = [a.keys() & b.keys() for a, b in zip(ours, theirs, strict=True)]
    here = _shares(study, learner, study.datasets(learner))
    shared = _shares(study, learner, paper.datasets(learner))
    printed = tuple(paper_share(teacher, learner) for teacher in ("double", "tct"))
    without, without_shared = (
        tuple(sum(study.without_model(learner, d, t)[0] for d in on) for t in ("tct", *against))
        for on in (study.datasets(learner), paper.datasets(learner))
    )
    unknown = (None,) * len(without)
    ours_shared = tuple(Tally.of(a[d] for d in on) for a, on in zip(ours, both, strict=True))
    theirs_shared = tuple(Tally.of(b[d] for d in on) for b, on in zip(theirs, both, strict=True))
    return [
        _Basis(_OURS, tuple(Tally.of(found.values()) for found in ours), without, here),
        _Basis(_PRINTED, tuple(paper_tally(teacher, learner) for teacher in against), unknown, printed),
        _Basis(_OURS_SHARED, ours_shared, without_shared, shared),
        _Basis(_PAPER_SHARED, theirs_shared, unknown, (None, None)),
    ]


def _shares(study: Measured, learner: str, datasets: Iterable[str]) -> tuple[float | None, ...]:
    """The average share of the training set of Double and TCT, over the data sets that have both."""
    shares = [(study.share(learner, dataset, "double"), study.share(learner, dataset, "tct")) for dataset in datasets]
    paired = [pair for pair in shares if None not in pair]
    return mean(double for double, _ in paired), mean(tct for _, tct in paired)


def _overall(by_learner: Sequence[Sequence[_Basis]], against: Sequence[str]) -> list[_Basis]:
    """Sums of the tallies and, as in the paper's text, simple averages of the shares over the learners."""
    overall = []
    for bases in zip(*by_learner, strict=True):
        tallies = tuple(sum(column, Tally()) for column in zip(*(one.tallies for one in bases), strict=True))
        counts = zip(*(one.without for one in bases), strict=True)
        without = tuple(None if None in column else sum(filter(None, column)) for column in counts)
        shares = tuple(mean(column) for column in zip(*(one.shares for one in bases), strict=True))
        overall.append(_Basis(bases[0].name, tallies, without, shares))
    # What the paper prints is over all of its learners, whichever of them were run here.
    whole = tuple(paper_tally(teacher) for teacher in against)
    overall[1] = _Basis(_PRINTED, whole, overall[1].without, (paper_share("double"), paper_share("tct")))
    return overall


def _wins_rows(learner: str, bases: Sequence[_Basis]) -> list[list[Cell]]:
    rows = []
    for basis in bases:
        row: list[Cell] = [learner, basis.name]
        for ours, theirs, tally in zip(bases[2].tallies, bases[3].tallies, basis.tallies, strict=True):
            marked = basis.name == _OURS_SHARED and tally.pairs
            row += [tally.wins, tally.ties, tally.losses] if tally.pairs else [None] * 3
            row.append(ours.net != theirs.net if marked else None)
        if any(tally.pairs for tally in basis.tallies):
            rows.append([*row, *basis.without, *basis.shares])
    return rows


def accuracy_table(
    name: str, title: str, study: Measured, paper: Paper, teachers: Sequence[str], against: Sequence[str]
) -> Table:
    """The accuracy of each teacher for each learner and data set, and whether TCT beats others.

    Parameters
    ----------
    name, title : str
        Of the table.
    study : Measured
        What was measured.
    paper : Paper
        The paper's accuracies in the same experiment.
    teachers : sequence of str
        TCT first. A pair without a model of any of the others is passed over.
    against : sequence of str
        Teachers to test TCT against.

    Returns
    -------
    Table
        Each figure with the paper's beside, and a mark where a direction differs from the paper's.
    """
    columns = [Column("learner", "Learner"), Column("dataset", "Data set")]
    columns += beside(Column("limit_s", "Limit, s", "seconds"), "paper_limit_s")
    for teacher in teachers:
        columns += beside(Column(f"{teacher}_pct", name_of(teacher), "percent"), f"paper_{teacher}_pct")
    for teacher in against:
        columns += beside(Column(f"tct_vs_{teacher}", f"vs {name_of(teacher)}"), f"paper_tct_vs_{teacher}")
        columns.append(Column(f"{teacher}_differs", "", "mark"))
    columns.append(Column("no_model", "runs without a model"))
    rows = [row for learner in in_order(study.learners) for row in _pair_rows(study, paper, learner, teachers, against)]
    note = (
        "Accuracy on the test set in %, mean over the seeds that ended with a model; the paper's own figure in small"
        " print. The limit is the time for training on all rows; vs is TCT's win, tie or loss at 95 %. ≠: it is not"
        " what the same test says of the paper's accuracies."
    )
    return Table(name, title, note, tuple(columns), tuple(rows), grouped=True)


def _pair_rows(
    study: Measured, paper: Paper, learner: str, teachers: Sequence[str], against: Sequence[str]
) -> list[tuple[Cell, ...]]:
    found = [(directions(study, learner, "tct", t), directions(paper, learner, "tct", t)) for t in against]
    rows = []
    for dataset in study.datasets(learner):
        if not any(
            study.finished(learner, dataset, t) or study.came_to_nothing(learner, dataset, t) for t in teachers[1:]
        ):
            continue
        row: list[Cell] = [name_of(learner), dataset]
        row += [source.limit(learner, dataset) for source in (study, paper)]
        row += [source.accuracy(learner, dataset, teacher) for teacher in teachers for source in (study, paper)]
        for ours, theirs in ((a.get(dataset), b.get(dataset)) for a, b in found):
            row += [ours, theirs, None if ours is None or theirs is None else ours != theirs]
        rows.append((*row, _without_model(study, learner, dataset, teachers)))
    shared = _complete(study, paper, learner, teachers)
    if rows and len(shared) > 1:
        averages = [mean(s.accuracy(learner, d, t) for d in shared) for t in teachers for s in (study, paper)]
        name = f"average of {len(shared)} shared sets"
        rows.append((name_of(learner), name, None, None, *averages, *[None] * (3 * len(against) + 1)))
    return rows


def _without_model(study: Measured, learner: str, dataset: str, teachers: Sequence[str]) -> str | None:
    """Which teachers ended how many of their runs of a pair without a model."""
    counts = {teacher: study.without_model(learner, dataset, teacher) for teacher in teachers}
    return "; ".join(f"{name_of(t)} {without} of {of}" for t, (without, of) in counts.items() if without) or None


def _complete(study: Measured, paper: Paper, learner: str, teachers: Sequence[str]) -> list[str]:
    """The paper's data sets with a model of each of the teachers that were run with the learner at all."""
    datasets = study.datasets(learner)
    present = [t for t in teachers if any(study.finished(learner, dataset, t) for dataset in datasets)]
    theirs = set(paper.datasets(learner)).intersection(datasets)
    return [d for d in datasets if d in theirs and all(study.finished(learner, d, teacher) for teacher in present)]


def alpha_table(study: Measured) -> Table:
    """TCT against Double, and TCT's average accuracy, for each alpha of the paper's table."""
    alphas = {alpha: teacher for alpha, teacher in ALPHA_TEACHERS.items() if teacher in study.teachers}
    every = [
        (learner, dataset)
        for learner in study.learners
        for dataset in study.datasets(learner)
        if all(study.finished(learner, dataset, teacher) for teacher in alphas.values())
    ]
    rows = []
    for alpha, teacher in alphas.items():
        printed = paper_alphas()[alpha]
        found = (directions(study, learner, teacher, "double").values() for learner in study.learners)
        ours, theirs = sum(map(Tally.of, found), Tally()), printed.tally
        row: list[Cell] = [f"{alpha:g}", ours.pairs, theirs.pairs, ours.wins, theirs.wins, ours.losses, theirs.losses]
        row += [ours.wins + ours.losses, theirs.wins + theirs.losses, ours.net != theirs.net if ours.pairs else None]
        row += [mean(study.accuracy(*pair, teacher) for pair in every), printed.accuracy]
        rows.append(tuple(row))
    columns = [Column("alpha", "alpha")]
    for what in ("pairs", "wins", "losses", "total"):
        columns += beside(Column(what, what, "count"), f"paper_{what}")
    columns.append(Column("differs", "", "mark"))
    columns += beside(Column("accuracy_pct", "average accuracy", "percent"), "paper_accuracy_pct")
    note = (
        "Wins and losses of TCT over Double at 95 %; total is their sum; the paper's figure in small print. The average"
        f" accuracy is over the {len(every)} pairs of a data set and a learner that every alpha of this study has."
    )
    return Table("alpha", "Sensitivity to alpha", note, tuple(columns), tuple(rows))
