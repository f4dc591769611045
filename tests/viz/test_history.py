"""The history of a fit: a list that a notebook shows as a table."""

import copy
import pickle
from html.parser import HTMLParser

import joblib
import pandas as pd
import pytest

from fitwithin.viz._history import History
from sample_fits import a_round


class TableCells(HTMLParser):
    """The text of each cell of a table, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def a_history(rounds=3):
    return History([a_round(number) for number in range(1, rounds + 1)])


def test_the_history_is_a_list():
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
def test_a_copy_is_an_equal_history(copied):
    again = copied(a_history())

    assert again == a_history()
    assert type(again) is History
    assert joblib.hash(again) == joblib.hash(a_history())


def test_a_notebook_shows_one_table_row_for_each_round():
    head, *rows = TableCells(a_history()._repr_html_()).rows

    assert head[:4] == ["round", "training rows", "new", "mistakes"]
    assert [row[:4] for row in rows] == [[str(n), str(100 * 2**n), str(50 * 2**n), str(10 * 2**n)] for n in (1, 2, 3)]
    assert [row[head.index("best")] for row in rows] == ["yes", "", "yes"]
    assert [row[head.index("predicted fit")] for row in rows] == ["", "0.90", "0.90"]


def test_the_memory_of_each_round_is_in_the_table_if_it_is_known():
    head, one, other = TableCells(History([a_round(1), a_round(2, peak_memory=123_400_000)])._repr_html_()).rows

    assert (one[head.index("memory")], other[head.index("memory")]) == ("", "123 MB")


def test_plans_are_in_the_table_if_there_are_any():
    planned = a_round(2, predicted_estimate=0.71, predicted_setup=0.25, seconds_setup=0.375)

    head, _, row = TableCells(History([a_round(1), planned])._repr_html_()).rows

    columns = ("expected score", "set-up", "predicted set-up")
    assert [row[head.index(name)] for name in columns] == ["0.7100", "0.38", "0.25"]
    assert not set(columns) & set(TableCells(a_history()._repr_html_()).rows[0])


@pytest.mark.parametrize(
    ("rounds", "caption"),
    [
        ((1, 2, 3), "3 rounds; the model of round 3 is the best; times in seconds"),
        ((1, 2), "2 rounds; the model of round 1 is the best; times in seconds"),
        ((2,), "1 round; times in seconds"),
    ],
)
def test_the_caption_names_the_best_model(rounds, caption):
    assert f"<caption>{caption}</caption>" in History([a_round(number) for number in rounds])._repr_html_()


def test_a_long_history_shows_the_first_and_the_last_rounds():
    text = a_history(5000)._repr_html_()

    shown = [int(row[0].replace(",", "")) for row in TableCells(text).rows[1:]]
    assert shown == [*range(1, 11), *range(4991, 5001)]
    assert "5000 rounds, 4980 in the middle not shown" in text


def test_the_table_has_no_script_and_loads_nothing():
    text = a_history()._repr_html_()

    assert "<script" not in text
    assert "://" not in text
