"""The summary of a training on the console."""

import io

import pytest
from rich.console import Console

from fitwithin._cli.summaries import print_training_result
from fitwithin._tabular.model_card import ModelCard

TRAINING = {
    "rows": 100,
    "rows_taught": 50,
    "rounds": [],
    "estimate": None,
    "time_used": 9.9,
    "time_limit": 10,
    "stop_reason": "time",
}


def summary_of(**training):
    card = ModelCard(
        task="classification",
        target="y",
        target_type="string",
        classes=["a", "b"],
        columns=(),
        features=3,
        learner="lightgbm",
        encoding="numbers",
        teacher="auto",
        scoring="accuracy",
        training=TRAINING | training,
    )
    output = io.StringIO()
    print_training_result(Console(file=output, width=100), card)
    return output.getvalue()


def test_the_seconds_of_fits_without_a_model_are_shown():
    assert "4.3 s in fits that left none" in summary_of(lost_seconds=4.26)


def test_a_checkpoint_does_not_tell_the_round_of_a_model_that_it_may_not_hold():
    rounds = [{"number": 1, "best": True}]

    assert "the model is from round 1" in summary_of(rounds=rounds)
    assert "the model is from" not in summary_of(rounds=rounds, checkpoint=True)


@pytest.mark.parametrize("training", [{}, {"lost_seconds": 0.0}])
def test_without_such_fits_nothing_is_said_about_them(training):
    assert "without a model" not in summary_of(**training)


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({"learners": ["lightgbm"], "params": {}, "n_settings": 1, "n_failed": 0}, ["own hyperparameters"]),
        (
            {"learners": ["lightgbm", "xgboost"], "params": {"num_leaves": 63}, "n_settings": 1234, "n_failed": 2},
            ["lightgbm, of lightgbm, xgboost", "num_leaves=63", "1,234, 2 of them failed"],
        ),
        (
            {
                "learners": ["lightgbm", "xgboost"],
                "params": {},
                "n_settings": 9,
                "n_failed": 0,
                "vote": [
                    {"learner": "lightgbm", "params": {}, "weight": 3},
                    {"learner": "xgboost", "params": {"max_leaves": 7}, "weight": 1},
                ],
            },
            ["member 1, 3 of 4 votes", "lightgbm, own hyperparameters", "member 2, 1 of 4 votes", "max_leaves=7"],
        ),
    ],
)
def test_after_a_search_the_best_learner_and_its_settings_are_shown(search, expected):
    shown = summary_of(search={"learner": "lightgbm", **search})

    assert "teacher" not in shown
    assert all(words in shown for words in expected)
