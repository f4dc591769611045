"""A model is fitted and examined in pieces that fit into memory."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fitwithin._pools.pool import LabeledRows
from fitwithin.backends._model_runner import ModelRunner, rows_per_piece, split_exam
from fitwithin.backends._scoring import Scoring


def test_a_piece_has_a_number_of_bytes_and_a_largest_number_of_rows():
    assert rows_per_piece(1024) == 16384
    assert rows_per_piece(0) == 131072


def test_an_exam_is_split_into_pieces_of_at_most_this_many_rows():
    assert list(split_exam(5, 2)) == [slice(0, 2), slice(2, 4), slice(4, 5)]


def test_an_exam_without_time_has_a_small_first_piece():
    assert list(split_exam(1000, 1000, seconds=0.0)) == [slice(0, 256)]


def test_a_fitted_model_is_wrong_where_the_labels_differ():
    runner, X = ModelRunner(DecisionTreeClassifier(), Scoring()), np.array([[0.0], [1.0]])

    report = runner.fit(LabeledRows(X, np.array(["a", "b"])), {})

    assert report.fit_seconds > 0
    assert runner.examine([LabeledRows(X, np.array(["a", "a"]))]).wrong.tolist() == [False, True]
