"""The report of a study: tables, figures and one HTML page, with the paper's values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fitwithin_paper.study.paper_figures import (
    ReportFigure,
    plot_accuracy_over_time,
    plot_agreement,
    plot_alpha,
    plot_datasets,
)
from fitwithin_paper.study.paper_results import (
    ALPHA_TEACHERS,
    PAPER_CITATION,
    TEACHER_NAMES,
    PaperResults,
    display_name,
    read_paper_sizes,
    read_paper_tally,
    sort_learners,
)
from fitwithin_paper.study.paper_tables import build_accuracy_table, build_alpha_table, build_wins_table
from fitwithin_paper.study.report_page import ReportSection, render_study_page
from fitwithin_paper.study.report_table import CellValue, ReportColumn, ReportTable, add_paper_column
from fitwithin_paper.study.significance import AccuracySource, Direction, Tally, compare_by_dataset
from fitwithin_paper.study.study_results import StudyResults

_TITLE = "Time-Constrained Learning, measured again"


_OSCT_VARIANTS = ("osct", "osct-half-percent", "osct-best")


_MIN_SIZE_RATIO = 0.99
"""Share of the paper's training rows from which a data set counts as equally large; splits differ by a row or two."""


def write_study_report(lines: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Write the report of a study, complete or not.

    Parameters
    ----------
    lines : sequence of mappings
        Lines of the result log.
    folder : Path
        Folder for `tables/*.csv`, `figures/*.svg`, `figures/*.png` and `index.html`; created if necessary.

    Returns
    -------
    Path
        The HTML page.

    Raises
    ------
    ValueError
        If there are no lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_study_report([{"kind": "missing", "dataset": "aloi", "why": "no file"}], Path(folder))
    ...     page.name, (Path(folder) / "tables" / "left_out.csv").read_text(encoding="utf-8").splitlines()
    ('index.html', ['dataset,learner,teacher,why', 'aloi,,,no file'])
    """
    if not lines:
        file = folder / "results.jsonl"
        raise ValueError(f"There are no results in {file}. Run the study first: fitwithin study --out {folder}")
    study = StudyResults.from_lines(lines)
    sections = list(_build_sections(study))
    for subfolder in ("tables", "figures"):
        (folder / subfolder).mkdir(parents=True, exist_ok=True)
    for section in sections:
        for table in section.tables:
            (folder / "tables" / f"{table.name}.csv").write_text(table.to_csv(), encoding="utf-8")
        for figure in section.figures:
            for suffix, content in (("svg", figure.svg), ("png", figure.png)):
                (folder / "figures" / f"{figure.name}.{suffix}").write_bytes(content)
    page = folder / "index.html"
    page.write_text(render_study_page(_TITLE, _build_summary(study), sections), encoding="utf-8")
    return page


def _build_summary(study: StudyResults) -> list[str]:
    """Return the first paragraphs of the page: TCT's wins here and in the paper."""
    paper = PaperResults.read("main")
    paragraphs = []
    agreements = []
    for teacher, name in (("double", "Double"), ("full", "a full training in the same time")):
        ours, theirs = (_compare_by_pair(source, study.learners, teacher) for source in (study, paper))
        our_tally, printed_tally = Tally.count(ours.values()), read_paper_tally(teacher)
        shared = [pair for pair in ours if pair in theirs]
        n_equal = sum(ours[pair] == theirs[pair] for pair in shared)
        if not our_tally.pairs:
            paragraphs.append(f"TCT against {name}: no pair of a data set and a learner has both yet.")
            continue
        paragraphs.append(
            f"Against {name} TCT won on {our_tally.wins} of {our_tally.pairs} pairs of a data set and a learner and"
            f" lost on {our_tally.losses}, at 95 %; in the paper it won on {printed_tally.wins} of"
            f" {printed_tally.pairs} and lost on {printed_tally.losses}."
        )
        agreements.append(f"on {n_equal} of the {len(shared)} shared pairs against {name}")
    if agreements:
        paragraphs.append(f"The direction (win, tie or loss) is the paper's {' and '.join(agreements)}.")
    return [*paragraphs, _describe_extent(study)]


def _compare_by_pair(source: AccuracySource, learners: Iterable[str], teacher: str) -> dict[tuple[str, str], Direction]:
    """Return TCT's direction against a teacher for each pair of a learner and a data set."""
    return {
        (learner, dataset): direction
        for learner in learners
        for dataset, direction in compare_by_dataset(source, learner, "tct", teacher).items()
    }


def _describe_extent(study: StudyResults) -> str:
    if not study.runs:
        return f"No run of this study has ended yet. The paper: {PAPER_CITATION}."
    seeds = ", ".join(map(str, sorted({run.seed for run in study.runs if run.teacher != "full"})))
    datasets = {run.dataset for run in study.runs}
    from_paper = datasets & read_paper_sizes().keys()
    n_full_size = sum(_is_as_large_as_in_paper(study, dataset) for dataset in from_paper)
    return (
        f"The study has {len(study.runs)} runs: {len(datasets)} data sets, {len(from_paper)} of them the paper's and"
        f" {n_full_size} of these with as many training rows as in the paper; {len(study.learners)} learners;"
        f" {len(study.teachers)} teachers; seeds {seeds or 'none'}. The last section lists missing results and the"
        f" machine. The paper: {PAPER_CITATION}."
    )


def _is_as_large_as_in_paper(study: StudyResults, dataset: str) -> bool:
    size = study.dataset_sizes.get(dataset)
    is_complete = size is not None and size.train_rows > _MIN_SIZE_RATIO * read_paper_sizes()[dataset][0]
    return is_complete and dataset not in {reduced for reduced, _ in study.reduced_rows}


def _build_sections(study: StudyResults) -> Iterator[ReportSection]:
    main = PaperResults.read("main")
    yield from _build_main_sections(study, main)
    text = "Linear learners can also be trained in mini-batches."
    yield _build_comparison_section(study, PaperResults.read("sgd"), "sgd", "TCT and SGD", text)
    text = "Alpha is the share of a training subset that is chosen among wrongly predicted rows."
    yield ReportSection("Alpha", text, _drop_none([plot_alpha(study)]), [build_alpha_table(study)])
    text = "Uncertain rows in place of wrongly predicted ones. The paper ran TCT again for this, on another machine."
    yield _build_comparison_section(study, PaperResults.read("al"), "tct_al", "TCT and active learning", text)
    yield ReportSection(
        "OSCT",
        "OSCT starts from a guess of 2 hypotheses and returns its last model. OSCT 0.5 % starts from a guess that"
        " selects about 0.5 % of the rows. OSCT best returns the model with the best bound on its accuracy; the"
        " paper prints the accuracies of this one.",
        _plot_learners(study, main, ("tct", *_OSCT_VARIANTS), "osct"),
        [
            build_wins_table("osct_wins", "TCT against OSCT", study, main, _OSCT_VARIANTS),
            build_accuracy_table("osct", "Accuracies of OSCT", study, main, ("tct", *_OSCT_VARIANTS), _OSCT_VARIANTS),
        ],
    )
    yield from _build_other_teachers_section(study, main)
    text = "Missing results, data sets, machine, versions and plan."
    tables = [build_omissions_table(study), build_datasets_table(study), build_settings_table(study)]
    yield ReportSection("Scope of the study", text, tables=tables)


def _build_main_sections(study: StudyResults, main: PaperResults) -> Iterator[ReportSection]:
    """Yield the sections on TCT, Double and Full: wins, accuracy over time, and each data set."""
    yield ReportSection(
        "Wins and losses",
        "Number of times that TCT is better or worse than Double and than Full, by the paper's test at 95 %.",
        _drop_none([plot_agreement(study, main)]),
        [build_wins_table("wins", "TCT against Double and Full", study, main, ("double", "full"))],
    )
    yield ReportSection(
        "Accuracy over time",
        "The accuracy of the model that a teacher would return at each share of the time of a full training, averaged"
        " over the seeds and then over the data sets. A line begins when every data set of the average has a model in"
        " every seed. Of the paper's curves only the final accuracies are known.",
        _plot_learners(study, main, ("tct", "double", "full"), "double"),
    )
    teachers = ("tct", "double", "osct-best", "full")
    yield ReportSection(
        "Data set by data set",
        "The same for each data set, and the final accuracies.",
        _drop_none(plot_datasets(study, main, learner) for learner in sort_learners(study.learners)),
        [build_accuracy_table("accuracies", "Accuracies", study, main, teachers, ("double", "full"))],
    )


def _build_comparison_section(
    study: StudyResults, paper: PaperResults, teacher: str, title: str, text: str
) -> ReportSection:
    """Return the section on TCT against one other teacher: figures, wins and accuracies."""
    name = display_name(teacher)
    return ReportSection(
        title,
        text,
        _plot_learners(study, paper, ("tct", teacher), teacher),
        [
            build_wins_table(f"{teacher}_wins", f"TCT against {name}", study, paper, (teacher,)),
            build_accuracy_table(teacher, f"Accuracies of TCT and {name}", study, paper, ("tct", teacher), (teacher,)),
        ],
    )


def _build_other_teachers_section(study: StudyResults, main: PaperResults) -> Iterator[ReportSection]:
    """Yield a section on teachers that the paper does not have, if any were run."""
    others = tuple(sorted(study.teachers - TEACHER_NAMES.keys() - set(ALPHA_TEACHERS.values())))
    if others:
        tables = [
            build_wins_table("beyond_wins", "TCT against other teachers", study, main, others),
            build_accuracy_table("beyond", "Accuracies of other teachers", study, main, ("tct", *others), others),
        ]
        yield ReportSection("Beyond the paper", "Teachers that the paper does not have.", tables=tables)


def _plot_learners(study: StudyResults, paper: PaperResults, teachers: Sequence[str], name: str) -> list[ReportFigure]:
    """Return one figure of accuracy over time for each learner that has one."""
    learners = sort_learners(study.learners)
    return _drop_none(plot_accuracy_over_time(study, paper, learner, teachers, name) for learner in learners)


def _drop_none(figures: Iterable[ReportFigure | None]) -> list[ReportFigure]:
    return [figure for figure in figures if figure is not None]


def build_datasets_table(study: StudyResults) -> ReportTable:
    """Build the table of the data sets, with the paper's sizes."""
    rows = []
    for name in sorted(study.dataset_sizes, key=str.casefold):
        size, printed = study.dataset_sizes[name], read_paper_sizes().get(name, (None, None))
        row: list[CellValue] = [name, size.train_rows, printed[0], size.test_rows, printed[1]]
        rows.append((*row, size.columns, size.classes, size.source))
    columns = [ReportColumn("dataset", "Data set")]
    for name, heading in (("train_rows", "training rows"), ("test_rows", "test rows")):
        columns += add_paper_column(ReportColumn(name, heading, "count"), f"paper_{name}")
    columns += [
        ReportColumn("columns", "columns", "count"),
        ReportColumn("classes", "classes", "count"),
        ReportColumn("source", "source"),
    ]
    note = "The paper's sizes in small print. Data sets without them are not the paper's."
    empty_text = "No data set was read."
    return ReportTable("data_sets", "Data sets", note, tuple(columns), tuple(rows), empty_text=empty_text)


def build_omissions_table(study: StudyResults) -> ReportTable:
    """Build the table of missing results and their reasons."""
    rows = [
        (each.dataset, display_name(each.learner), display_name(each.teacher), each.why) for each in study.omissions
    ]
    for (dataset, learner), n_rows in study.reduced_rows.items():
        why = f"only {n_rows:,} training rows were used, to limit the time"
        rows.append((dataset, display_name(learner), "", why))
    headings = {"dataset": "Data set", "learner": "Learner", "teacher": "Teacher", "why": "Reason"}
    columns = tuple(ReportColumn(name, heading) for name, heading in headings.items())
    note = (
        "Unavailable data sets, pairs that train too fast to be timed, runs without a model in time, and runs in which"
        " the learner failed after its first model; the last enter no mean, win or loss."
    )
    empty_text = "Nothing was left out."
    return ReportTable("left_out", "Missing results", note, columns, tuple(rows), empty_text=empty_text)


def build_settings_table(study: StudyResults) -> ReportTable:
    """Build the table of the machine, the versions and the plan of each start."""
    facts: dict[str, dict[str, None]] = {}
    for start in study.starts:
        for name, value in start.items():
            items = value.items() if isinstance(value, Mapping) else [("", value)]
            for key, content in items:
                text = ", ".join(map(str, content)) if isinstance(content, list | tuple) else str(content)
                facts.setdefault(f"{name}: {key}" if key else name, {})[text] = None
    rows = tuple((name, "; ".join(values)) for name, values in facts.items() if name not in ("v", "kind"))
    note = f"Starts of the study: {len(study.starts)}. Semicolons separate values that changed between starts."
    columns = (ReportColumn("what", ""), ReportColumn("value", ""))
    return ReportTable("settings", "Environment, versions and plan", note, columns, rows)
