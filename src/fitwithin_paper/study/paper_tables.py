"""The paper's tables from this study, with the paper's values beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fitwithin_paper.study.paper_results import (
    ALPHA_TEACHERS,
    PaperResults,
    display_name,
    read_paper_alphas,
    read_paper_tally,
    read_paper_training_share,
    sort_learners,
)
from fitwithin_paper.study.report_table import CellValue, ReportColumn, ReportTable, add_paper_column
from fitwithin_paper.study.significance import Tally, compare_by_dataset, mean_of_known
from fitwithin_paper.study.study_results import StudyResults

_STUDY_LABEL = "this study"


_PRINTED_LABEL = "paper, as printed"


_STUDY_SHARED_LABEL = "this study, shared sets"


_PAPER_SHARED_LABEL = "paper, shared sets"


@dataclass(frozen=True)
class _WinsRow:
    """TCT's tally against each teacher, runs without a model, and training shares of Double and TCT."""

    label: str
    tallies: tuple[Tally, ...]
    without_model: tuple[int | None, ...]
    training_shares: tuple[float | None, ...]


def build_wins_table(
    name: str, title: str, study: StudyResults, paper: PaperResults, against: Sequence[str]
) -> ReportTable:
    """Build the table of TCT's wins against other teachers; with Double, also the training shares of both.

    Parameters
    ----------
    name, title : str
        File name and title of the table.
    study : StudyResults
        The study's results.
    paper : PaperResults
        The paper's accuracies in the same experiment, for the data sets of both.
    against : sequence of str
        Teachers to compare TCT with.

    Returns
    -------
    ReportTable
        For each learner and overall: this study, the paper as printed, and both on their shared data sets.
    """
    by_learner = {
        learner: _compare_with_paper(study, paper, learner, against) for learner in sort_learners(study.learners)
    }
    measured = {learner: rows for learner, rows in by_learner.items() if any(t.pairs for t in rows[0].tallies)}
    rows = [row for learner, bases in measured.items() for row in _wins_to_cells(display_name(learner), bases)]
    if measured:
        rows += _wins_to_cells("Overall", _sum_over_learners(list(measured.values()), against))
    columns = [ReportColumn("learner", "Learner"), ReportColumn("basis", "Source")]
    for teacher in against:
        group = f"TCT against {display_name(teacher)}"
        columns += [ReportColumn(f"{teacher}_{what}", what, "count", group) for what in ("wins", "ties", "losses")]
        columns.append(ReportColumn(f"{teacher}_differs", "", "mark", group))
    for teacher in ("tct", *against):
        columns.append(ReportColumn(f"{teacher}_no_model", display_name(teacher), "count", "runs without a model"))
    if "double" in against:
        for teacher in ("double", "tct"):
            columns.append(ReportColumn(f"{teacher}_share_pct", display_name(teacher), "percent", "% of training set"))
    note = (
        "Wins and losses at 95 % by the paper's test; the rest are ties. A teacher without a model in any run loses to"
        " a teacher with a model. If only some runs have no model, the others count. Shared sets are the data sets for"
        " which both this study and the paper have the learner. There the paper's directions come from the same test"
        " on its printed accuracies and its numbers of test rows. ≠: the larger of wins and losses differs from the"
        " paper's."
    )
    cells = tuple(tuple(row[: len(columns)]) for row in rows)
    return ReportTable(name, title, note, tuple(columns), cells, grouped=True)


def _compare_with_paper(
    study: StudyResults, paper: PaperResults, learner: str, against: Sequence[str]
) -> list[_WinsRow]:
    """Return the four rows of a learner: study, paper as printed, and both on their shared data sets."""
    ours = [compare_by_dataset(study, learner, "tct", teacher) for teacher in against]
    theirs = [compare_by_dataset(paper, learner, "tct", teacher) for teacher in against]
    shared = [a.keys() & b.keys() for a, b in zip(ours, theirs, strict=True)]
    our_shares = _average_training_shares(study, learner, study.datasets(learner))
    our_shared_shares = _average_training_shares(study, learner, paper.datasets(learner))
    printed_shares = tuple(read_paper_training_share(teacher, learner) for teacher in ("double", "tct"))
    without, without_shared = (
        tuple(sum(study.count_without_model(learner, d, t)[0] for d in datasets) for t in ("tct", *against))
        for datasets in (study.datasets(learner), paper.datasets(learner))
    )
    unknown = (None,) * len(without)
    our_tallies = tuple(Tally.count(found.values()) for found in ours)
    printed_tallies = tuple(read_paper_tally(teacher, learner) for teacher in against)
    our_shared_tallies = tuple(Tally.count(a[d] for d in on) for a, on in zip(ours, shared, strict=True))
    their_shared_tallies = tuple(Tally.count(b[d] for d in on) for b, on in zip(theirs, shared, strict=True))
    return [
        _WinsRow(_STUDY_LABEL, our_tallies, without, our_shares),
        _WinsRow(_PRINTED_LABEL, printed_tallies, unknown, printed_shares),
        _WinsRow(_STUDY_SHARED_LABEL, our_shared_tallies, without_shared, our_shared_shares),
        _WinsRow(_PAPER_SHARED_LABEL, their_shared_tallies, unknown, (None, None)),
    ]


def _average_training_shares(study: StudyResults, learner: str, datasets: Iterable[str]) -> tuple[float | None, ...]:
    """Return the mean training shares of Double and TCT, over the data sets that have both."""
    shares = [
        (study.training_share(learner, dataset, "double"), study.training_share(learner, dataset, "tct"))
        for dataset in datasets
    ]
    complete = [pair for pair in shares if None not in pair]
    return mean_of_known(double for double, _ in complete), mean_of_known(tct for _, tct in complete)


def _sum_over_learners(by_learner: Sequence[Sequence[_WinsRow]], against: Sequence[str]) -> list[_WinsRow]:
    """Return sums of the tallies and, as in the paper's text, simple means of the shares over the learners."""
    overall = []
    for rows in zip(*by_learner, strict=True):
        tallies = tuple(sum(column, Tally()) for column in zip(*(row.tallies for row in rows), strict=True))
        counts = zip(*(row.without_model for row in rows), strict=True)
        without = tuple(None if None in column else sum(filter(None, column)) for column in counts)
        shares = tuple(mean_of_known(column) for column in zip(*(row.training_shares for row in rows), strict=True))
        overall.append(_WinsRow(rows[0].label, tallies, without, shares))
    # The paper's printed sums cover all of its learners, whichever were run here.
    printed = tuple(read_paper_tally(teacher) for teacher in against)
    printed_shares = (read_paper_training_share("double"), read_paper_training_share("tct"))
    overall[1] = _WinsRow(_PRINTED_LABEL, printed, overall[1].without_model, printed_shares)
    return overall


def _wins_to_cells(learner: str, rows: Sequence[_WinsRow]) -> list[list[CellValue]]:
    cells = []
    for row in rows:
        line: list[CellValue] = [learner, row.label]
        for ours, theirs, tally in zip(rows[2].tallies, rows[3].tallies, row.tallies, strict=True):
            is_marked = row.label == _STUDY_SHARED_LABEL and tally.pairs
            line += [tally.wins, tally.ties, tally.losses] if tally.pairs else [None] * 3
            line.append(ours.net != theirs.net if is_marked else None)
        if any(tally.pairs for tally in row.tallies):
            cells.append([*line, *row.without_model, *row.training_shares])
    return cells


def build_accuracy_table(
    name: str, title: str, study: StudyResults, paper: PaperResults, teachers: Sequence[str], against: Sequence[str]
) -> ReportTable:
    """Build the table of accuracies for each learner, data set and teacher, with TCT's wins and losses.

    Parameters
    ----------
    name, title : str
        File name and title of the table.
    study : StudyResults
        The study's results.
    paper : PaperResults
        The paper's accuracies in the same experiment.
    teachers : sequence of str
        TCT first. Experiments without a run of any of the others are skipped.
    against : sequence of str
        Teachers to test TCT against.

    Returns
    -------
    ReportTable
        The study's values beside the paper's, and a mark where a direction differs from the paper's.
    """
    columns = [ReportColumn("learner", "Learner"), ReportColumn("dataset", "Data set")]
    columns += add_paper_column(ReportColumn("limit_s", "Limit, s", "seconds"), "paper_limit_s")
    for teacher in teachers:
        column = ReportColumn(f"{teacher}_pct", display_name(teacher), "percent")
        columns += add_paper_column(column, f"paper_{teacher}_pct")
    for teacher in against:
        column = ReportColumn(f"tct_vs_{teacher}", f"vs {display_name(teacher)}")
        columns += add_paper_column(column, f"paper_tct_vs_{teacher}")
        columns.append(ReportColumn(f"{teacher}_differs", "", "mark"))
    columns.append(ReportColumn("no_model", "runs without a model"))
    rows = [
        row
        for learner in sort_learners(study.learners)
        for row in _build_accuracy_rows(study, paper, learner, teachers, against)
    ]
    note = (
        "Accuracy on the test set in %, mean over the seeds that ended with a model; the paper's value in small print."
        " The limit is the time of a full training; vs is TCT's win, tie or loss at 95 %. ≠: it differs from the result"
        " of the same test on the paper's accuracies."
    )
    return ReportTable(name, title, note, tuple(columns), tuple(rows), grouped=True)


def _build_accuracy_rows(
    study: StudyResults, paper: PaperResults, learner: str, teachers: Sequence[str], against: Sequence[str]
) -> list[tuple[CellValue, ...]]:
    directions = [
        (compare_by_dataset(study, learner, "tct", t), compare_by_dataset(paper, learner, "tct", t)) for t in against
    ]
    rows = []
    for dataset in study.datasets(learner):
        if not any(
            study.finished_runs(learner, dataset, t) or study.never_had_model(learner, dataset, t) for t in teachers[1:]
        ):
            continue
        row: list[CellValue] = [display_name(learner), dataset]
        row += [source.limit_seconds(learner, dataset) for source in (study, paper)]
        row += [source.accuracy(learner, dataset, teacher) for teacher in teachers for source in (study, paper)]
        for ours, theirs in ((a.get(dataset), b.get(dataset)) for a, b in directions):
            row += [ours, theirs, None if ours is None or theirs is None else ours != theirs]
        rows.append((*row, _describe_without_model(study, learner, dataset, teachers)))
    shared = _find_complete_datasets(study, paper, learner, teachers)
    if rows and len(shared) > 1:
        averages = [mean_of_known(s.accuracy(learner, d, t) for d in shared) for t in teachers for s in (study, paper)]
        label = f"average of {len(shared)} shared sets"
        rows.append((display_name(learner), label, None, None, *averages, *[None] * (3 * len(against) + 1)))
    return rows


def _describe_without_model(study: StudyResults, learner: str, dataset: str, teachers: Sequence[str]) -> str | None:
    """Return how many runs of each teacher ended without a model; None if all had one."""
    counts = {teacher: study.count_without_model(learner, dataset, teacher) for teacher in teachers}
    parts = [f"{display_name(t)} {without} of {total}" for t, (without, total) in counts.items() if without]
    return "; ".join(parts) or None


def _find_complete_datasets(
    study: StudyResults, paper: PaperResults, learner: str, teachers: Sequence[str]
) -> list[str]:
    """Return the paper's data sets with a model of each teacher that was run with the learner."""
    datasets = study.datasets(learner)
    present = [t for t in teachers if any(study.finished_runs(learner, dataset, t) for dataset in datasets)]
    shared = set(paper.datasets(learner)).intersection(datasets)
    return [d for d in datasets if d in shared and all(study.finished_runs(learner, d, t) for t in present)]


def build_alpha_table(study: StudyResults) -> ReportTable:
    """Build the table of TCT's wins against Double, and its mean accuracy, for each alpha of the paper."""
    alphas = {alpha: teacher for alpha, teacher in ALPHA_TEACHERS.items() if teacher in study.teachers}
    complete = [
        (learner, dataset)
        for learner in study.learners
        for dataset in study.datasets(learner)
        if all(study.finished_runs(learner, dataset, teacher) for teacher in alphas.values())
    ]
    rows = []
    for alpha, teacher in alphas.items():
        printed = read_paper_alphas()[alpha]
        found = (compare_by_dataset(study, learner, teacher, "double").values() for learner in study.learners)
        ours, theirs = sum(map(Tally.count, found), Tally()), printed.tally
        row: list[CellValue] = [f"{alpha:g}", ours.pairs, theirs.pairs]
        row += [ours.wins, theirs.wins, ours.losses, theirs.losses]
        row += [ours.wins + ours.losses, theirs.wins + theirs.losses, ours.net != theirs.net if ours.pairs else None]
        row += [mean_of_known(study.accuracy(*pair, teacher) for pair in complete), printed.accuracy]
        rows.append(tuple(row))
    columns = [ReportColumn("alpha", "alpha")]
    for what in ("pairs", "wins", "losses", "total"):
        columns += add_paper_column(ReportColumn(what, what, "count"), f"paper_{what}")
    columns.append(ReportColumn("differs", "", "mark"))
    columns += add_paper_column(ReportColumn("accuracy_pct", "mean accuracy", "percent"), "paper_accuracy_pct")
    note = (
        "Wins and losses of TCT against Double at 95 %; total is their sum; the paper's value in small print. The mean"
        f" accuracy is over the {len(complete)} pairs of a data set and a learner that every alpha of this study has."
    )
    return ReportTable("alpha", "Sensitivity to alpha", note, tuple(columns), tuple(rows))
