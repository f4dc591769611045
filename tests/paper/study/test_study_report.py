"""The report of a study: tables, figures and the page."""

import base64
import csv
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from fitwithin_paper.study.paper_results import ALPHA_TEACHERS, PaperResults, read_paper_sizes
from fitwithin_paper.study.report import write_study_report
from pages import ParsedPage

matplotlib = pytest.importorskip("matplotlib")

FEW = {"lightgbm": ("covtype", "mnist", "unsw_nb15_82k"), "linear-svm": ("covtype", "mnist")}
ALL_TEACHERS = (
    "full",
    "double",
    *ALPHA_TEACHERS.values(),
    "osct",
    "osct-half-percent",
    "osct-best",
    "tct_al",
    "sgd",
)


def a_study(pairs=FEW, teachers=ALL_TEACHERS, seeds=(0, 1)):
    """Lines of a made-up study: the paper's accuracies where there are some, off by a little."""
    chance = np.random.default_rng(0)
    lines = [a_start(pairs, teachers, seeds)]
    lines += [a_data_set(dataset) for dataset in dict.fromkeys(d for sets in pairs.values() for d in sets)]
    lines += [
        {"v": 1, "kind": "missing", "dataset": "aloi", "why": "no file aloi.parquet in the data folder"},
        {"v": 1, "kind": "dropped", "dataset": "mnist", "learner": "decision-tree", "seconds": 1.2, "why": "too fast"},
        a_run("mnist", "decision-tree", "full", 0, accuracy=0.6),
    ]
    for learner, datasets in pairs.items():
        for dataset in datasets:
            for teacher in teachers:
                if (teacher, learner) not in (("sgd", "lightgbm"), ("tct_al", "linear-svm")):
                    for seed in seeds:
                        lines += some_rounds_and_a_run(dataset, learner, teacher, seed, chance)
    return lines


def a_start(pairs, teachers, seeds):
    machine = {"cpu": "a processor", "cores": 2, "memory_gb": 24.0, "system": "Linux", "python": "3.11.2"}
    plan = {"scale": 0.1, "min_seconds": 3.0, "seeds": list(seeds), "learners": list(pairs), "teachers": list(teachers)}
    versions = {"fitwithin": "0.1.0", "numpy": "2.4.6"}
    when = "2026-11-15T13:00:00Z"
    return {
        "v": 1,
        "kind": "start",
        "when": when,
        "machine": machine,
        "versions": versions,
        "load": [0.5],
        "plan": plan,
    }


def a_data_set(dataset):
    train, test = read_paper_sizes().get(dataset, (70_000, 30_000))
    sizes = {"train_rows": train, "test_rows": test, "columns": 54, "classes": 7}
    return {"v": 1, "kind": "data", "dataset": dataset, **sizes, "source": f"parquet file {dataset}.parquet"}


def a_run(dataset, learner, teacher, seed, *, accuracy, rows=1000, used=9.0, error=None):
    who = {"dataset": dataset, "learner": learner, "teacher": teacher, "seed": seed}
    limit = None if teacher == "full" else 10.0
    found = {"limit": limit, "accuracy": accuracy, "rows": rows, "used": used, "error": error}
    return {"v": 1, "kind": "run", **who, **found, "rounds": 4, "stop": "time", "load": 1.0}


def some_rounds_and_a_run(dataset, learner, teacher, seed, chance):
    experiment = {"sgd": "sgd", "tct_al": "al"}.get(teacher, "main")
    known = PaperResults.read(experiment).accuracy(learner, dataset, "tct" if teacher.startswith("tct-") else teacher)
    final = min(0.995, (known or 0.8) + chance.normal(0.0, 0.004))
    if teacher == "full":
        return [a_run(dataset, learner, teacher, seed, accuracy=final, rows=70_000, used=10.0 + seed / 100)]
    who = {"dataset": dataset, "learner": learner, "teacher": teacher, "seed": seed}
    lines = []
    for number in range(1, 7):
        elapsed = 10.0 * 2.0 ** (number - 7) * chance.uniform(1.3, 1.9)
        accuracy = final - 0.15 * final * (6 - number) / 6
        found = {"rows": 300 * 2**number, "elapsed": elapsed, "accuracy": accuracy, "best": number != 3}
        lines.append({"v": 1, "kind": "round", **who, "number": number, **found, "estimate": None, "low": None})
    return [*lines, a_run(dataset, learner, teacher, seed, accuracy=final, rows=19_200)]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_study_report(a_study(), tmp_path_factory.mktemp("report")).parent


@pytest.fixture
def without_drawing(monkeypatch):
    """Empty figures, for tests of tables and texts."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda *arguments, **options: None)


def rows_of(report, name):
    with (report / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page_of(report):
    return ParsedPage((report / "index.html").read_text(encoding="utf-8"))


def row(rows, **fields):
    (found,) = [one for one in rows if fields.items() <= one.items()]
    return found


def test_without_lines_the_error_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match="Run the study first: fitwithin study"):
        write_study_report([], tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_every_table_and_every_figure_is_a_file(report):
    tables = {path.stem for path in (report / "tables").glob("*.csv")}
    pictures = {path.name for path in (report / "figures").iterdir()}

    assert tables == {
        *("wins", "accuracies", "sgd", "sgd_wins", "alpha", "tct_al", "tct_al_wins", "osct", "osct_wins"),
        *("left_out", "data_sets", "settings"),
    }
    stems = {
        *("agreement", "alpha", "data-sets-lightgbm", "data-sets-linear-svm", "time-sgd-linear-svm"),
        *("time-double-lightgbm", "time-double-linear-svm", "time-osct-lightgbm", "time-osct-linear-svm"),
        "time-tct_al-lightgbm",
    }
    assert pictures == {f"{stem}.{kind}" for stem in stems for kind in ("svg", "png")}


def test_wins_are_reported_for_the_study_the_paper_and_the_shared_data_sets(report):
    rows = [one for one in rows_of(report, "wins") if one["learner"] == "LGBM"]
    counts = {one["basis"]: [int(one[f"double_{what}"]) for what in ("wins", "ties", "losses")] for one in rows}

    assert sum(counts["this study"]) == 3
    assert counts["paper, as printed"] == [9, 5, 1]
    assert sum(counts["this study, shared sets"]) == 2
    assert counts["paper, shared sets"] == [2, 0, 0]
    assert row(rows, basis="paper, as printed")["tct_share_pct"] == "17.10"


def test_the_share_of_the_training_set_is_averaged_over_the_data_sets_and_then_over_the_learners(report):
    rows = rows_of(report, "wins")
    sizes = {"covtype": 406_708, "mnist": 60_000, "unsw_nb15_82k": 70_000}
    lgbm, svm = (np.mean([19_200 / sizes[dataset] for dataset in FEW[learner]]) for learner in FEW)

    assert row(rows, learner="LGBM", basis="this study")["tct_share_pct"] == f"{100 * lgbm:.2f}"
    assert row(rows, learner="Overall", basis="this study")["tct_share_pct"] == f"{50 * (lgbm + svm):.2f}"


def test_the_papers_values_are_beside_ours(report):
    covtype = row(rows_of(report, "accuracies"), learner="LGBM", dataset="covtype")
    substitute = row(rows_of(report, "accuracies"), learner="LGBM", dataset="unsw_nb15_82k")

    assert (covtype["paper_limit_s"], covtype["paper_tct_pct"], covtype["paper_osct-best_pct"]) == (
        "15.5",
        "86.60",
        "73.80",
    )
    assert covtype["paper_tct_vs_double"] == "win"
    assert (substitute["paper_tct_pct"], substitute["double_differs"]) == ("", "")


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("tct", "ours", "mark"), [(0.90, "win", "same"), (0.853, "tie", "differs"), (0.8, "loss", "differs")]
)
def test_a_direction_that_differs_from_the_paper_is_marked(tmp_path, tct, ours, mark):
    lines = [
        a_data_set("covtype"),
        a_run("covtype", "lightgbm", "tct", 0, accuracy=tct),
        a_run("covtype", "lightgbm", "double", 0, accuracy=0.853),
    ]

    page = write_study_report(lines, tmp_path)
    found = row(rows_of(tmp_path, "accuracies"), dataset="covtype")

    assert (found["tct_vs_double"], found["paper_tct_vs_double"], found["double_differs"]) == (ours, "win", mark)
    in_wins = row(rows_of(tmp_path, "wins"), learner="LGBM", basis="this study, shared sets")
    assert in_wins["double_differs"] == mark
    marks = ParsedPage(page.read_text(encoding="utf-8")).attributes("abbr")
    assert len(marks) == (0 if mark == "same" else 4), "LGBM and overall in the wins, the pair, and alpha"


@pytest.mark.usefixtures("without_drawing")
def test_runs_without_a_model_are_counted_and_a_teacher_without_any_loses(tmp_path):
    lines = [a_data_set("covtype"), a_data_set("mnist")]
    for dataset, teacher, seed, accuracy in (
        ("covtype", "tct", 0, 0.8),
        ("covtype", "tct", 1, None),
        ("covtype", "double", 0, None),
        ("covtype", "double", 1, None),
        ("mnist", "tct", 0, None),
        ("mnist", "double", 0, 0.5),
    ):
        lines.append(a_run(dataset, "lightgbm", teacher, seed, accuracy=accuracy))

    write_study_report(lines, tmp_path)

    wins = row(rows_of(tmp_path, "wins"), learner="Overall", basis="this study")
    assert [wins[f"double_{what}"] for what in ("wins", "ties", "losses", "no_model")] == ["1", "0", "1", "2"]
    assert wins["tct_no_model"] == "2"
    assert row(rows_of(tmp_path, "wins"), learner="LGBM", basis="paper, as printed")["tct_no_model"] == ""
    covtype, mnist = (row(rows_of(tmp_path, "accuracies"), dataset=dataset) for dataset in ("covtype", "mnist"))
    assert (covtype["no_model"], covtype["tct_vs_double"]) == ("TCT 1 of 2; Double 2 of 2", "win")
    assert (mnist["no_model"], mnist["tct_pct"], mnist["tct_vs_double"]) == ("TCT 1 of 1", "", "loss")


@pytest.mark.usefixtures("without_drawing")
def test_alpha_is_averaged_over_the_pairs_that_every_alpha_has(tmp_path):
    lines = [a_data_set("covtype"), a_data_set("mnist")]
    for dataset, teacher, accuracy in (
        ("covtype", "double", 0.5),
        ("covtype", "tct", 0.7),
        ("covtype", "tct-0.9", 0.3),
        ("mnist", "tct", 0.1),
        ("mnist", "double", 0.5),
    ):
        lines.append(a_run(dataset, "lightgbm", teacher, 0, accuracy=accuracy))

    write_study_report(lines, tmp_path)
    found = {
        one["alpha"]: (one["pairs"], one["wins"], one["losses"], one["total"], one["accuracy_pct"])
        for one in rows_of(tmp_path, "alpha")
    }

    assert found == {"0.2": ("2", "1", "1", "2", "70.00"), "0.9": ("1", "0", "1", "1", "30.00")}
    assert row(rows_of(tmp_path, "alpha"), alpha="0.9")["paper_losses"] == "38"


def test_missing_results_are_listed_with_their_reasons(report):
    rows = rows_of(report, "left_out")

    assert row(rows, dataset="aloi")["why"] == "no file aloi.parquet in the data folder"
    assert row(rows, dataset="mnist", learner="Decision Tree")["why"].startswith("too fast")
    assert "Decision Tree" not in {one["learner"] for one in rows_of(report, "accuracies")}


def test_machine_versions_and_plan_are_listed_with_changes_between_starts(tmp_path):
    first, second = a_start(FEW, ("tct",), (0,)), a_start(FEW, ("tct",), (0,))
    second["versions"] = {"fitwithin": "0.1.0", "numpy": "9.9"}

    write_study_report([first, second], tmp_path)
    found = {one["what"]: one["value"] for one in rows_of(tmp_path, "settings")}

    assert found["machine: cpu"] == "a processor"
    assert found["versions: numpy"] == "2.4.6; 9.9"
    assert found["plan: learners"] == "lightgbm, linear-svm"


def test_the_page_begins_with_a_summary(report):
    answer = page_of(report).text.split("Wins and losses")[0]

    assert "Against Double TCT won on" in answer
    assert "of 5 pairs of a data set and a learner" in answer
    assert "in the paper it won on 33 of 68 and lost on 9" in answer


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("change", "as_large"),
    [({}, 1), ({"train_rows": 12_202}, 0), ({"kind": "size", "learner": "lightgbm", "rows": 9, "of": 99}, 0)],
)
def test_a_training_set_smaller_than_the_papers_is_reported(tmp_path, change, as_large):
    data = a_data_set("covtype")
    lines = [data, {**data, **change}, a_run("covtype", "lightgbm", "tct", 0, accuracy=0.8)]

    page = ParsedPage(write_study_report(lines, tmp_path).read_text(encoding="utf-8"))

    assert f"1 of them the paper's and {as_large} of these with as many training rows as in the paper" in page.text


def test_the_page_needs_no_other_file(report):
    page = page_of(report)
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}

    assert {"script", "link", "iframe", "object"}.isdisjoint(tag for tag, _ in page.tags)
    assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in page.attributes("img"))
    assert {link["href"].removeprefix("#") for link in page.attributes("a")} == ids
    assert "url(" not in (report / "index.html").read_text(encoding="utf-8")


def test_every_figure_is_on_the_page_with_an_alternative_text(report):
    images = page_of(report).attributes("img")
    shown = {base64.b64decode(image["src"].partition(",")[2]) for image in images}

    assert shown == {path.read_bytes() for path in (report / "figures").glob("*.svg")}
    assert all(ElementTree.fromstring(svg).tag.endswith("svg") for svg in shown)
    assert all(len(image["alt"]) > 20 for image in images)


def test_names_are_escaped(tmp_path):
    name = "<script>alert('$x_1$ & \"so\"')</script>"
    lines = a_study({"lightgbm": (name, "covtype")}, teachers=("full", "tct", "double"), seeds=(0,))
    lines.append({"v": 1, "kind": "missing", "dataset": "<b>", "why": "<img src=x onerror=alert(1)>"})

    page = ParsedPage(write_study_report(lines, tmp_path).read_text(encoding="utf-8"))

    assert page.attributes("script") == page.attributes("b") == []
    assert all("onerror" not in image for image in page.attributes("img"))
    assert name in page.text
    assert name in {one["dataset"] for one in rows_of(tmp_path, "accuracies")}


@pytest.mark.usefixtures("without_drawing")
@pytest.mark.parametrize(
    ("lines", "pictures"),
    [
        (a_study()[:1], set()),
        ([a_run("covtype", "lightgbm", "tct", 0, accuracy=0.8)], {"data-sets-lightgbm"}),
        (a_study(teachers=("full",)), set()),
        (a_study({"lightgbm": ("mnist",)}, teachers=("double",), seeds=(0,)), {"data-sets-lightgbm"}),
        ([a_run("covtype", "lightgbm", "tct", 0, accuracy=None, error="NoModelInTime: no")], set()),
        (
            a_study({"naive-bayes": ("covtype",)}, teachers=("tct", "double", "auto"), seeds=(3,)),
            {"data-sets-naive-bayes", "time-double-naive-bayes"},
        ),
    ],
)
def test_an_incomplete_study_has_a_report_too(tmp_path, lines, pictures):
    page = write_study_report(lines, tmp_path)

    assert {path.stem for path in (tmp_path / "figures").iterdir()} == pictures
    assert "Nothing to show" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("without_drawing")
def test_a_teacher_that_the_paper_does_not_have_gets_its_own_section(tmp_path):
    lines = a_study({"lightgbm": ("covtype",)}, teachers=("tct", "auto"), seeds=(0,))

    page = write_study_report(lines, tmp_path)

    assert "Beyond the paper" in page.read_text(encoding="utf-8")
    assert row(rows_of(tmp_path, "beyond"), dataset="covtype")["auto_pct"] != ""


def test_the_same_lines_give_the_same_files(tmp_path):
    lines = a_study({"lightgbm": ("covtype",)}, teachers=("full", "tct", "double", "tct-0.1"), seeds=(0,))

    for name in ("one", "two"):
        write_study_report(lines, tmp_path / name)

    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path.name


def test_the_users_matplotlib_settings_are_neither_used_nor_changed(tmp_path):
    lines = a_study({"lightgbm": ("covtype",)}, teachers=("full", "tct", "double"), seeds=(0,))
    write_study_report(lines, tmp_path / "one")

    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9}):
        before = dict(matplotlib.rcParams)
        write_study_report(lines, tmp_path / "two")
        after = dict(matplotlib.rcParams)

    name = "figures/time-double-lightgbm.svg"
    assert before == after
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_pyplot_is_not_needed(tmp_path, monkeypatch):
    """It would start a windowing system where there is one."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    write_study_report(a_study({"lightgbm": ("covtype",)}, teachers=("tct", "double"), seeds=(0,)), tmp_path)

    assert (tmp_path / "figures" / "time-double-lightgbm.png").exists()


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ImportError, match=r"pip install 'fitwithin\[plots\]'"):
        write_study_report(a_study(teachers=("tct", "double")), tmp_path)
