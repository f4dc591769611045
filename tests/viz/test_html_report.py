"""The report of a fit: its content, that it is self-contained, and how a real browser shows it."""

import os
import pickle
import re
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import browser
from fitwithin import TimeConstrainedClassifier
from fitwithin.viz._report.report import summarize_fit
from pages import ParsedPage
from sample_fits import a_fit, a_round, a_search

matplotlib = pytest.importorskip("matplotlib")

SCRIPT_TAG = "<script>alert(1)</script>"
in_a_browser = pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")


def summary_of(page):
    """Return the text above the table of contents."""
    return page.text[: page.text.index("Pictures")]


def page_of(fit, folder):
    return ParsedPage(fit.report(folder / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Accuracy, estimated: 0.7500 [0.7000, 0.8000] (95 %), on rows that had no part in training"),
        ({"scoring": "f1_macro"}, "F1 macro, estimated: 0.7500"),
        ({"regressor": True}, "R², estimated: 0.7500"),
        ({"estimate": None}, "Accuracy, estimated: none: the model was not tested on new rows."),
        ({"estimate": None, "taught": (900, 100)}, "Accuracy, estimated: none: every row was used for training"),
        ({"used": 9.0}, "Time used: 9.00 of 10 s."),
        ({"used": 10.5}, "Time used: 10.50 of 10 s, 0.50 s too much."),
        ({"lost": 2.5}, "Time used: 9.00 of 10 s. Without a model: 2.5 s in fits that left none."),
        ({"used": 10.5, "lost": 2.5}, "10.50 of 10 s, 0.50 s too much. Without a model: 2.5 s"),
        ({"time_limit": "1m"}, "Time used: 9.00 of 60 s."),
        ({}, "Training rows: 400 of 1,000. Rounds: 3; the model is from round 3."),
        ({"rounds": [a_round(1)]}, "Ended because: the time was up, or too short for another fit."),
    ],
)
def test_the_summary_tells_the_score_the_time_and_the_model(changes, expected):
    assert expected in " ".join(summarize_fit(a_fit(**changes)))


def test_the_page_begins_with_the_summary(tmp_path):
    fit = a_fit(lost=2.5)
    summary = summary_of(page_of(fit, tmp_path))

    assert all(paragraph in summary for paragraph in summarize_fit(fit))


def test_rounds_settings_machine_and_versions_are_on_the_page(tmp_path):
    text = page_of(a_fit(teacher="double", time_limit="10s"), tmp_path).text

    assert "'double'" in text
    assert "'10s'" in text
    assert "GaussianNB()" in text
    assert all(f"{name} " in text for name in ("processor", "memory", "Python", "scikit-learn", "fitwithin"))
    assert re.search(r"3 +800 +400 +80", text), "round 3"


@pytest.mark.parametrize(
    ("changes", "has_validation_note", "has_too_high_note"),
    [({}, False, False), ({"validation_rows": 50, "fresh": 20}, True, False), ({"fresh": 20}, False, True)],
)
def test_notes_say_how_to_read_the_scores_of_rounds(tmp_path, changes, has_validation_note, has_too_high_note):
    text = page_of(a_fit([a_round(1, **changes)]), tmp_path).text

    assert ("come from the validation rows" in text) is has_validation_note
    assert ("without validation rows is too high" in text) is has_too_high_note


def test_a_pipeline_is_named_by_its_last_step_and_its_libraries_are_listed(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    fit = a_fit()
    fit.best_estimator_ = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier())

    page = page_of(fit, tmp_path)

    assert page.text.strip().startswith("LGBMClassifier, fitted within 10 s")
    assert re.search(rf"lightgbm +{re.escape(lightgbm.__version__)}", page.text)


def test_the_page_loads_nothing(tmp_path):
    page = page_of(a_fit(), tmp_path)

    assert {"link", "img", "iframe", "object", "image", "form"}.isdisjoint(tag for tag, _ in page.tags)
    assert "://" not in page.source
    assert "default-src 'none'" in page.source
    assert len(page.attributes("script")) == 1


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, "Memory used: 200 MB."),
        (10**9, "Memory used: 200 MB of 1.0 GB."),
    ],
)
def test_the_memory_is_in_the_summary(tmp_path, limit, expected):
    rounds = [a_round(1, peak_memory=10**8), a_round(2, peak_memory=2 * 10**8)]

    page = page_of(a_fit(rounds, memory_limit=limit), tmp_path)

    assert expected in summary_of(page)


def test_every_picture_is_in_the_page_and_described(tmp_path):
    page = page_of(a_fit(), tmp_path)
    pictures = page.attributes("svg")

    assert len(pictures) == 4
    assert all(picture["role"] == "img" and len(picture["aria-label"]) > 30 for picture in pictures)


def test_ids_in_the_page_are_unique_and_every_reference_has_its_target(tmp_path):
    page = page_of(a_fit(), tmp_path)
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    used = {attributes["href"][1:] for _, attributes in page.tags if "href" in attributes}
    used |= set(re.findall(r"url\(#([^)]+)\)", page.source))

    assert len(names) == len(set(names))
    assert used <= set(names)


def test_a_regressor_has_a_report_without_classes(tmp_path):
    page = page_of(a_fit(regressor=True), tmp_path)

    assert "Class shares" not in page.text
    assert len(page.attributes("svg")) == 3


def test_the_report_of_a_fit_without_a_finished_round_says_so(tmp_path):
    page = page_of(a_fit([], estimate=None), tmp_path)

    assert "No round was finished." in page.text
    assert len(page.attributes("svg")) == 2, "time and classes"


def test_pictures_with_nothing_to_show_are_left_out(tmp_path):
    unexamined = a_round(1, estimate=None, low=None, high=None, examined=0, fresh=0)

    page = page_of(a_fit([unexamined], estimate=None), tmp_path)

    assert len(page.attributes("svg")) == 2, "no learning curve, no predicted times"


def test_of_thousands_of_rounds_the_first_and_the_last_are_shown(tmp_path):
    page = page_of(a_fit([a_round(number) for number in range(1, 1502)]), tmp_path)

    assert "The table omits 501 of 1,501 rounds, in the middle." in page.text
    assert page.source.count("<tr><td data-value") == 1000


def test_names_are_shown_as_text_whatever_they_contain(tmp_path):
    def scoring(estimator, X, y):
        raise NotImplementedError

    scoring.__name__ = scoring.__qualname__ = f'"${SCRIPT_TAG}$'
    classes = np.array([SCRIPT_TAG, "$x^{$", "\x00\x1b\ud800", "&lt; 'so' \"so\"", "-->]]></svg>"], dtype=object)
    fit = a_fit(classes=classes, pool=range(5, 0, -1), taught=range(1, 6), scoring=scoring, on_round=scoring)

    page = page_of(fit, tmp_path)

    assert len(page.attributes("script")) == 1
    assert len(page.attributes("svg")) == 4
    assert f'"${SCRIPT_TAG}$' in page.text, "the score"
    assert "<script>alert(1)</scr…" in page.text, "the class"
    assert "-->]]></svg>" in page.text
    assert "���" in page.text


def test_an_existing_page_is_replaced(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("an old one")

    assert a_fit().report(str(path)) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_leaves_the_old_page_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("an old one")

    def no_space(source, target):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(OSError, match="No space"):
        a_fit().report(path)

    assert path.read_text() == "an old one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX permissions")
def test_a_page_has_the_permissions_of_any_new_file(tmp_path):
    other = tmp_path / "other"
    other.touch()

    assert stat.S_IMODE(a_fit().report(tmp_path / "report.html").stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only administrators create links")
def test_a_symbolic_link_is_followed(tmp_path):
    link = tmp_path / "report.html"
    link.symlink_to(tmp_path / "page.html")

    a_fit().report(link)

    assert link.is_symlink()
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_error_names_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        a_fit().report(tmp_path / "nowhere" / "report.html")


def test_report_raises_an_error_before_fit(tmp_path):
    with pytest.raises(NotFittedError):
        TimeConstrainedClassifier().report(tmp_path / "report.html")

    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ImportError, match=r"pip install 'fitwithin\[plots\]'"):
        a_fit().report(tmp_path / "report.html")

    assert list(tmp_path.iterdir()) == []


def test_pyplot_and_the_users_matplotlib_settings_are_neither_used_nor_changed(tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    usual = a_fit().report(tmp_path / "usual.html").read_text(encoding="utf-8")

    with matplotlib.rc_context({"font.size": 30, "lines.linewidth": 9}):
        before = dict(matplotlib.rcParams)
        changed = a_fit().report(tmp_path / "changed.html").read_text(encoding="utf-8")
        assert dict(matplotlib.rcParams) == before

    date = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    assert date.sub("", usual) == date.sub("", changed)


def test_captions_explain_plans_and_fits_without_a_model(tmp_path):
    plan = {"predicted_estimate": 0.7, "predicted_setup": 0.2, "seconds_setup": 0.3}
    planned = page_of(a_fit([a_round(1), a_round(2, **plan)], lost=1.0), tmp_path)
    plain = page_of(a_fit(), tmp_path)

    texts = (
        "A square is the score that was expected before the fit.",
        "A square is the set-up of a fit, the time until its first step.",
        "The set-up of a fit is the time until its first step.",
        "A fit without a model was ended by the deadline or the memory limit.",
        "expected score",
    )
    assert [text in planned.text for text in texts] == [True] * 5
    assert "expected score" not in plain.text


def test_parameters_changed_after_fit_do_not_change_the_report(tmp_path):
    fit = a_fit(used=9.0).set_params(time_limit=0.001)

    assert "Time used: 9.00 of 10 s." in summary_of(page_of(fit, tmp_path))


def test_the_report_of_a_search_has_the_race_the_best_settings_and_those_that_mattered(tmp_path):
    search = a_search(40)

    page = page_of(search, tmp_path)

    best = search.cv_results_["estimator"][search.best_index_]
    summary = summary_of(page)
    assert f"Best learner: {best}, of " in summary
    assert "Its hyperparameters: depth=" in summary
    assert "Candidates tried: 41, 1 of them failed." in summary
    for words in (
        "The race. Each point is a fit",
        "Which hyperparameters mattered.",
        "The best 10 candidates",
        "own hyperparameters",
    ):
        assert words in page.text
    assert "Score over time" not in page.text, "the race is drawn instead"
    assert "failed: ValueError: <no>" in page.text
    assert len([attributes for tag, attributes in page.tags if tag == "table"]) >= 2


def test_the_report_of_a_vote_has_its_members_and_their_weights(tmp_path):
    search = a_search(40)
    search.ensemble_ = {3: 2, 7: 1}

    page = page_of(search, tmp_path)

    assert "Member 1, 2 of 3 votes: " in summary_of(page)
    assert "Member 2, 1 of 3 votes: " in summary_of(page)


def test_the_report_of_a_search_with_one_candidate_leaves_out_what_it_does_not_know(tmp_path):
    page = page_of(a_search(1, n_failed=0, names=("tree",)), tmp_path)

    assert "The best candidates" in page.text
    assert "Which hyperparameters mattered" not in page.text
    assert "Candidates that failed" not in page.text


def test_an_unpickled_estimator_can_write_a_report(tmp_path):
    random = np.random.default_rng(0)
    X = random.random((2000, 3))
    y = np.where(X[:, 0] > 0.9, SCRIPT_TAG, "usual")
    fit = TimeConstrainedClassifier(LogisticRegression(), backend="inline", random_state=0).fit(X, y)

    page = page_of(pickle.loads(pickle.dumps(fit)), tmp_path)

    assert page.text.strip().startswith("LogisticRegression, fitted within 60 s")


@pytest.fixture(scope="module")
def tab():
    with browser.open_browser() as tab:
        yield tab


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    rounds = [a_round(1, predicted_fit=None), a_round(2, predicted_fit=30.0), a_round(3, predicted_fit=4.0)]
    fit = a_fit([*rounds, a_round(4, predicted_fit=200.0)], classes=[SCRIPT_TAG, "usual"])
    return fit.report(tmp_path_factory.mktemp("report") / "report.html")


def column(tab, place):
    return tab.run(f"[...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[{place}].innerText)")


@in_a_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1000, 400])
def test_the_page_opens_without_errors_and_loads_nothing(tab, report, width, dark):
    tab.open(report, width=width, dark=dark)

    assert tab.console_messages() == []
    assert tab.requests() == [report.as_uri()]


@in_a_browser
def test_a_click_on_a_heading_sorts_the_rounds_by_number_with_empty_cells_last(tab, report):
    tab.open(report)
    place = tab.run("[...document.querySelectorAll('.sortable th')].map(th => th.innerText).indexOf('predicted fit')")
    heading = f".sortable th:nth-child({place + 1})"
    assert column(tab, place) == ["", "30.00", "4.00", "200.00"]

    tab.click(f"{heading} button")
    assert column(tab, place) == ["4.00", "30.00", "200.00", ""]
    assert column(tab, 0) == ["3", "2", "4", "1"]
    assert tab.run(f"document.querySelector('{heading}').ariaSort") == "ascending"

    tab.click(f"{heading} button")
    assert column(tab, place) == ["200.00", "30.00", "4.00", ""]
    assert tab.run("document.querySelectorAll('[aria-sort]').length") == 1

    tab.click(".sortable th:nth-child(1) button")
    assert column(tab, 0) == ["1", "2", "3", "4"]
    assert tab.console_messages() == []


@in_a_browser
def test_a_class_named_like_a_script_tag_stays_text(tab, report):
    tab.open(report)

    assert tab.run("document.scripts.length") == 1
    assert tab.run("[...document.querySelectorAll('svg text')].some(text => text.textContent.includes('<script>'))")
    assert tab.console_messages() == [], "no dialog either"


@in_a_browser
def test_an_injected_script_does_not_run(tab, report):
    tab.open(report)

    tab.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))")

    assert tab.run("window.ran === undefined")


@in_a_browser
def test_on_a_phone_the_page_does_not_scroll_sideways(tab, report):
    tab.open(report, width=400)

    assert tab.run("document.documentElement.scrollWidth") == 400
    assert tab.run("document.querySelector('.table').scrollWidth > document.querySelector('.table').clientWidth")


@in_a_browser
def test_pictures_are_light_on_dark_in_dark_mode_and_dark_on_light_on_paper(tab, report):
    seen = {}
    for name, how in (("light", {}), ("dark", {"dark": True}), ("paper", {"dark": True, "medium": "print"})):
        tab.open(report, **how)
        ink = tab.run("getComputedStyle(document.querySelector('svg text')).fill")
        paper = tab.run("getComputedStyle(document.body).backgroundColor")
        seen[name] = [sum(map(int, re.findall(r"\d+", colour)[:3])) / 765 for colour in (paper, ink)]

    assert seen["dark"][1] - seen["dark"][0] > 0.5
    assert seen["light"][0] - seen["light"][1] > 0.5
    assert seen["paper"] == seen["light"]


@in_a_browser
def test_the_page_can_be_printed(tab, report):
    tab.open(report)

    printed = tab.print_to_pdf()

    assert printed.startswith(b"%PDF")
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed)) < 8
