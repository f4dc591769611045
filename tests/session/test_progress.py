"""The live display shows the round, the rows, the estimate and what goes on; or nothing at all."""

import dataclasses
import io
import os
import pty
import subprocess
import sys
from contextlib import nullcontext

import pytest
from rich.console import Console

from fitwithin import Round
from fitwithin._core.budget import Budget
from fitwithin._session.listeners import ProgressDisplay, show_progress
from fitwithin.testing import FakeClock

ROUND = Round(3, 4000, 2000, 700, 9000, 9000, 0, 1, 1, 0, 0, None, 0.912, 0.907, 0.917, True, 2.0)


CANDIDATES = ["random-forest, own hyperparameters", "lightgbm, num_leaves=63", "lightgbm, num_leaves=127"]


def shown(act, width=160):
    clock = FakeClock()
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    with ProgressDisplay(Budget(60, clock=clock), console, CANDIDATES.__getitem__) as progress:
        act(progress, clock)
        progress.refresh()
    return console.file.getvalue()


def test_the_display_shows_time_round_rows_estimate_and_activity():
    def act(progress, clock):
        clock.advance(12)
        progress.on_round(ROUND)
        progress.on_activity("training on", 8000)
        progress.refresh()

    text = shown(act)

    assert "12.0 of 60 s" in text
    assert "round 3: 4,000 rows, 0.912 [0.907, 0.917]" in text
    assert "training on 8,000 rows" in text


def test_the_memory_of_a_round_is_shown_if_it_is_known():
    text = shown(lambda progress, clock: progress.on_round(dataclasses.replace(ROUND, peak_memory=1_234_000_000)))

    assert "0.912 [0.907, 0.917], 1.2 GB" in text


def test_a_round_without_an_exam_shows_no_estimate():
    unexamined = dataclasses.replace(ROUND, estimate=None, low=None, high=None)

    text = shown(lambda progress, clock: progress.on_round(unexamined))
    assert "round 3: 4,000 rows" in text
    assert "rows, " not in text


def test_auto_shows_nothing_without_a_terminal():
    assert isinstance(show_progress("auto", Budget(1)), nullcontext)
    assert isinstance(show_progress(False, Budget(1)), nullcontext)
    assert isinstance(show_progress(True, Budget(1)), ProgressDisplay)


def test_anything_else_is_refused():
    with pytest.raises(ValueError, match="'sometimes'"):
        show_progress("sometimes", Budget(1))


@pytest.mark.slow
def test_auto_shows_a_bar_on_a_real_terminal():
    script = (
        "from fitwithin import TimeConstrainedClassifier as C; from sklearn.naive_bayes import GaussianNB; "
        "import numpy as np; X = np.random.default_rng(0).random((3000, 2)); "
        "C(GaussianNB(), time_limit=60).fit(X, X[:, 0] + .1 * X[:, 1] > .5)"
    )
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=child,
        stderr=child,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160"},
    )
    os.close(child)
    text = b""
    try:
        while piece := os.read(parent, 4096):
            text += piece
    except OSError:  # The terminal is closed when the process ends.
        pass
    os.close(parent)

    assert process.wait() == 0
    assert b"of 60 s" in text
    assert b"round" in text


def test_the_display_keeps_to_one_line_on_a_narrow_terminal():
    def act(progress, clock):
        progress.on_round(ROUND)
        progress.on_activity("predicting", 123_456)

    last = shown(act, width=80).split("\r")[-1]

    assert "0.912 [0.907, 0.917]" in last
    assert last.count("\n") == 1


def search(progress, clock):
    """Try three settings; the second leads."""
    for number, is_best in enumerate([True, True, False]):
        progress.on_activity("training on", 4000, number)
        score = 0.9 + 0.01 * number if is_best else 0.7
        progress.on_round(dataclasses.replace(ROUND, candidate=number, best=is_best, estimate=score))
    progress.on_activity("training on", 16_000, 2)


def test_a_search_shows_how_many_settings_were_tried_who_leads_and_who_is_tried():
    def act(progress, clock):
        search(progress, clock)
        progress.refresh()

    text = shown(act)

    assert "3 candidates, best of 4,000 rows, 0.910 [0.907, 0.917]" in text
    assert "leading: lightgbm, num_leaves=63" in text
    assert "trying:  lightgbm, num_leaves=127" in text
    assert "training on 16,000 rows" in text


def test_when_the_search_is_over_the_leader_stays():
    last = shown(search).split("leading:")[-1]

    assert "num_leaves=63" in last
    assert "trying" not in last


def test_long_settings_are_cut_on_a_narrow_terminal():
    lines = shown(search, width=25).split("\n")

    assert any(line.rstrip().endswith("\N{HORIZONTAL ELLIPSIS}") and "lightgbm" in line for line in lines)
    assert "num_leaves=63" not in lines[-2]


def test_a_search_without_a_model_says_so():
    def act(progress, clock):
        progress.on_activity("training on", 4000, 0)
        progress.on_round(dataclasses.replace(ROUND, candidate=0, best=False))

    text = shown(act)

    assert "1 candidate, no model yet" in text
    assert "leading: no model yet" in text
