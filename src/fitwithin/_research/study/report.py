"""The report of a study: tables, pictures and one page, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fitwithin._research.study.figures import Picture, agreement_picture, alpha_picture, data_sets_picture, time_picture
from fitwithin._research.study.measured import Measured
from fitwithin._research.study.page import Section, render_page
from fitwithin._research.study.paper import (
    ALPHA_TEACHERS,
    SOURCE,
    TEACHER_NAMES,
    Paper,
    in_order,
    name_of,
    paper_sizes,
    paper_tally,
)
from fitwithin._research.study.statistics import Direction, Tally, directions
from fitwithin._research.study.table import Cell, Column, Table, beside
from fitwithin._research.study.tables import accuracy_table, alpha_table, wins_table

_TITLE = "Time-Constrained Learning, measured again"


_OSCT = ("osct", "osct-half-percent", "osct-best")


def write_report(lines: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Write the report of a study, complete or not.

    Parameters
    ----------
    lines : sequence of mappings
        The lines that the study wrote.
    folder : Path
        Where to write `tables/*.csv`, `figures/*.svg`, `figures/*.png` and `index.html`; made if need be.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If there are no lines.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report([{"kind": "missing", "dataset": "aloi", "why": "no file"}], Path(folder))
    ...     page.name, (Path(folder) / "tables" / "left_out.csv").read_text(encoding="utf-8").splitlines()
    ('index.html', ['dataset,learner,teacher,why', 'aloi,,,no file'])
    """
    if not lines:
        file = folder / "results.jsonl"
        raise ValueError(f"There are no results in {file}. Do the study first: fitwithin study --out {folder}")
    study = Measured.from_lines(lines)
    sections = list(_sections(study))
    for part in ("tables", "figures"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for section in sections:
        for table in section.tables:
            (folder / "tables" / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
        for picture in section.pictures:
            for kind, content in (("svg", picture.svg), ("png", picture.png)):
                (folder / "figures" / f"{picture.name}.{kind}").write_bytes(content)
    page = folder / "index.html"
    page.write_text(render_page(_TITLE, _answer(study), sections), encoding="utf-8")
    return page


def _answer(study: Measured) -> list[str]:
    """What the reader came for: whether TCT wins here as it does there."""
    paper = Paper.read("main")
    answer = []
    agreed = []
    for teacher, words in (("double", "Double"), ("full", "training on all rows in the same time")):
        ours, theirs = _both(study, paper, teacher)
        here, there = Tally.of(ours.values()), paper_tally(teacher)
        shared = [pair for pair in ours if pair in theirs]
        same = sum(ours[pair] == theirs[pair] for pair in shared)
        if not here.pairs:
            answer.append(f"TCT against {words}: no pair of a data set and a learner has both yet.")
            continue
        answer.append(
            f"Against {words} TCT won on {here.wins} of {here.pairs} pairs of a data set and a learner and lost on"
            f" {here.losses}, at 95 %; in the paper it won on {there.wins} of {there.pairs} and lost on {there.losses}."
        )
        agreed.append(f"on {same} of the {len(shared)} shared pairs against {words}")
    if agreed:
        answer.append(f"The direction (win, tie or loss) is the paper's {' and '.join(agreed)}.")
    return [*answer, _extent(study)]


def _both(study: Measured, paper: Paper, teacher: str) -> tuple[dict[tuple[str, str], Direction], ...]:
    """TCT's directions against a teacher for each pair, here and in the paper."""
    return tuple(
        {(learner, d): one for learner in study.learners for d, one in directions(s, learner, "tct", teacher).items()}
        for s in (study, paper)
    )


def _extent(study: Measured) -> str:
    if not study.runs:
        return f"No run of this study has ended yet. The paper: {SOURCE}."
    seeds = ", ".join(map(str, sorted({run.seed for run in study.runs if run.teacher != "full"})))
    sets = {run.dataset for run in study.runs}
    theirs = sets & paper_sizes().keys()
    return (
        f"This rests on {len(study.runs)} runs: {len(sets)} data sets, {len(theirs)} of them the paper's and"
        f" {sum(_as_large(study, dataset) for dataset in theirs)} of these with as many training rows as there;"
        f" {len(study.learners)} learners; {len(study.teachers)} teachers; seeds {seeds or 'none'}. What was left out,"
        f" and on what machine it ran, is at the end. The paper: {SOURCE}."
    )


def _as_large(study: Measured, dataset: str) -> bool:
    # A split by another hand may be a row or two off.
    known = study.data.get(dataset)
    whole = known is not None and known.train_rows > 0.99 * paper_sizes()[dataset][0]
    return whole and dataset not in {cut for cut, _ in study.fewer}


def _sections(study: Measured) -> Iterator[Section]:
    main = Paper.read("main")
    yield from _main_sections(study, main)
    words = "Linear learners can be taught in mini-batches too."
    yield _versus(study, Paper.read("sgd"), "sgd", "TCT and SGD", words)
    words = "The share of a lesson that is given to mistakes."
    yield Section("Alpha", words, _there([alpha_picture(study)]), [alpha_table(study)])
    words = "Uncertain examples in the place of mistakes. The paper ran TCT anew for this, on another machine."
    yield _versus(study, Paper.read("al"), "tct_al", "TCT and active learning", words)
    yield Section(
        "OSCT",
        "OSCT starts from a guess of 2 hypotheses and returns its last model. OSCT 0.5 % starts from a guess that sends"
        " about 0.5 % of the rows. OSCT best returns the model with the best bound on its accuracy: the one whose"
        " accuracies the paper prints.",
        _over_time(study, main, ("tct", *_OSCT), "osct"),
        [
            wins_table("osct_wins", "TCT against OSCT", study, main, _OSCT),
            accuracy_table("osct", "Accuracies of OSCT", study, main, ("tct", *_OSCT), _OSCT),
        ],
    )
    yield from _beyond(study, main)
    words = "What was left out, the data, the machine, the versions and the plan."
    yield Section("What it rests on", words, tables=[left_out_table(study), data_table(study), settings_table(study)])


def _main_sections(study: Measured, main: Paper) -> Iterator[Section]:
    """TCT against Double and Full: in numbers, over time, and for each data set."""
    yield Section(
        "Wins and losses",
        "How often TCT is better or worse than Double, and than training on all rows, by the paper's test at 95 %.",
        _there([agreement_picture(study, main)]),
        [wins_table("wins", "TCT against Double and Full", study, main, ("double", "full"))],
    )
    yield Section(
        "Accuracy over time",
        "At each share of the time that training on all rows takes: the accuracy of the model that a teacher would"
        " return, averaged over the seeds and then over the data sets. Before its first model a run has no accuracy, so"
        " a line begins when every data set of the average has a model in every seed. The paper's curves are not to be"
        " had, only where they end.",
        _over_time(study, main, ("tct", "double", "full"), "double"),
    )
    teachers = ("tct", "double", "osct-best", "full")
    yield Section(
        "Data set by data set",
        "The same for each data set, and the accuracies at the end.",
        _there(data_sets_picture(study, main, learner) for learner in in_order(study.learners)),
        [accuracy_table("accuracies", "Accuracies", study, main, teachers, ("double", "full"))],
    )


def _versus(study: Measured, paper: Paper, teacher: str, title: str, words: str) -> Section:
    """TCT against one other teacher: pictures, wins and accuracies."""
    name = name_of(teacher)
    return Section(
        title,
        words,
        _over_time(study, paper, ("tct", teacher), teacher),
        [
            wins_table(f"{teacher}_wins", f"TCT against {name}", study, paper, (teacher,)),
            accuracy_table(teacher, f"Accuracies of TCT and {name}", study, paper, ("tct", teacher), (teacher,)),
        ],
    )


def _beyond(study: Measured, main: Paper) -> Iterator[Section]:
    """Teachers that the paper does not have, if any were run."""
    others = tuple(sorted(study.teachers - TEACHER_NAMES.keys() - set(ALPHA_TEACHERS.values())))
    if others:
        tables = [
            wins_table("beyond_wins", "TCT against other teachers", study, main, others),
            accuracy_table("beyond", "Accuracies of other teachers", study, main, ("tct", *others), others),
        ]
        yield Section("Beyond the paper", "Teachers that the paper does not have.", tables=tables)


def _over_time(study: Measured, paper: Paper, teachers: Sequence[str], name: str) -> list[Picture]:
    return _there(time_picture(study, paper, learner, teachers, name) for learner in in_order(study.learners))


def _there(pictures: Iterable[Picture | None]) -> list[Picture]:
    return [picture for picture in pictures if picture is not None]


def data_table(study: Measured) -> Table:
    """The data sets of the study, and the sizes that the paper gives."""
    rows = []
    for name in sorted(study.data, key=str.casefold):
        sizes, printed = study.data[name], paper_sizes().get(name, (None, None))
        row: list[Cell] = [
            name,
            sizes.train_rows,
            printed[0],
            sizes.test_rows,
            printed[1],
            sizes.columns,
            sizes.classes,
        ]
        rows.append((*row, sizes.source))
    columns = [Column("dataset", "Data set")]
    for what, heading in (("train_rows", "rows to learn"), ("test_rows", "rows to test")):
        columns += beside(Column(what, heading, "count"), f"paper_{what}")
    columns += [
        Column("columns", "columns", "count"),
        Column("classes", "classes", "count"),
        Column("source", "source"),
    ]
    note = "The paper's sizes in small print. Sets without them are not the paper's."
    return Table("data_sets", "Data sets", note, tuple(columns), tuple(rows), empty="No data set was read.")


def left_out_table(study: Measured) -> Table:
    """What the study does not have, and why."""
    rows = [(one.dataset, name_of(one.learner), name_of(one.teacher), one.why) for one in study.left_out]
    for (dataset, learner), used in study.fewer.items():
        rows.append((dataset, name_of(learner), "", f"taught with {used:,} training rows only, to be done in time"))
    columns = tuple(map(Column, ("dataset", "learner", "teacher", "why"), ("Data set", "Learner", "Teacher", "Why")))
    note = (
        "Data sets that were not to be had, pairs that learn too fast to be timed, runs without a model in time, and"
        " runs in which the learner failed with a model in hand; those are in no mean, and in no win or loss."
    )
    return Table("left_out", "What was left out", note, columns, tuple(rows), empty="Nothing was left out.")


def settings_table(study: Measured) -> Table:
    """The machine, the versions and the plan, as the study wrote them down at each start."""
    facts: dict[str, dict[str, None]] = {}
    for start in study.starts:
        for what, value in start.items():
            parts = value.items() if isinstance(value, Mapping) else [("", value)]
            for part, content in parts:
                text = ", ".join(map(str, content)) if isinstance(content, list | tuple) else str(content)
                facts.setdefault(f"{what}: {part}" if part else what, {})[text] = None
    rows = tuple((what, "; ".join(values)) for what, values in facts.items() if what not in ("v", "kind"))
    note = f"Starts of the study: {len(study.starts)}. What changed from one to the next is parted by semicolons."
    return Table("settings", "Environment, versions and plan", note, (Column("what", ""), Column("value", "")), rows)
