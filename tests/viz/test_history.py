"""The history of a fit: a list, and a table in a notebook."""

import copy
import pickle
from html.parser import HTMLParser

import joblib
import pandas as pd
import pytest

from fitwithin.viz._history import History
from sample_fits import a_round


class Cells(HTMLParser):
    """The cells of the first table in a text, line by line."""

    def __init__(self, text):
        super().__init__()
        self.lines = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.lines.append([])
        if tag in ("th", "td"):
            self.lines[-1].append("")

    def handle_data(self, data):
        if self.lines and self.lines[-1]:
            self.lines[-1][-1] += data


def a_history(rounds=3):
    return History([a_round(number) for number in range(1, rounds + 1)])


def test_it_is_a_list():
    rounds = [a_round(1), a_round(2)]
    history = History(rounds)

    assert isinstance(history, list)
    assert history == rounds
    assert rounds == history
    assert history[-1] is rounds[-1]
    assert history[1:] == rounds[1:]
    assert repr(history) == repr(rounds)
    assert len(pd.DataFrame(history)) == 2


@pytest.mark.parametrize("copied", [lambda h: pickle.loads(pickle.dumps(h)), copy.deepcopy, copy.copy])
def test_copies_are_equal_and_of_its_kind(copied):
    again = copied(a_history())

    assert again == a_history()
    assert type(again) is History
    assert joblib.hash(again) == joblib.hash(a_history())


def test_a_notebook_shows_a_line_for_each_round():
    head, *lines = Cells(a_history()._repr_html_()).lines

    assert head[:4] == ["round", "rows", "new", "mistakes"]
    assert [line[:4] for line in lines] == [
        [str(n), str(100 * 2**n), str(50 * 2**n), str(10 * 2**n)] for n in (1, 2, 3)
    ]
    assert [line[head.index("best")] for line in lines] == ["yes", "", "yes"]
    assert [line[head.index("predicted")] for line in lines] == ["", "0.90", "0.90"]


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        ((1, 2, 3), "3 rounds; the model of round 3 is the best; times in seconds"),
        ((1, 2), "2 rounds; the model of round 1 is the best; times in seconds"),
        ((2,), "1 round; times in seconds"),
    ],
)
def test_it_says_which_model_is_the_best(rounds, words):
    assert f"<caption>{words}</caption>" in History([a_round(number) for number in rounds])._repr_html_()


def test_of_many_rounds_it_shows_the_first_and_the_last():
    text = a_history(5000)._repr_html_()

    shown = [int(line[0].replace(",", "")) for line in Cells(text).lines[1:]]
    assert shown == [*range(1, 11), *range(4991, 5001)]
    assert "5000 rounds, 4980 between the first and the last of them not shown" in text


def test_it_holds_no_script_and_asks_for_nothing():
    text = a_history()._repr_html_()

    assert "<script" not in text
    assert "://" not in text
