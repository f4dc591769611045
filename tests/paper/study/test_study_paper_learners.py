"""The learners of the study, with the paper's settings."""

import pytest

from fitwithin_paper.study.paper_learners import make_paper_learner


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lightgbm", {"n_jobs": 1, "n_estimators": 100, "num_leaves": 31}),
        ("random-forest", {"min_samples_split": 30, "min_samples_leaf": 1, "n_jobs": 1, "n_estimators": 100}),
        ("decision-tree", {"min_samples_split": 30, "min_samples_leaf": 1, "max_depth": 5}),
        ("linear-svm", {"dual": False}),
        ("logistic-regression", {"solver": "saga", "max_iter": 100}),
        ("sgd-hinge", {"loss": "hinge"}),
        ("sgd-log", {"loss": "log_loss"}),
    ],
)
def test_a_learner_of_the_study_has_the_settings_of_the_paper(name, settings):
    parameters = make_paper_learner(name).get_params()

    assert {setting: parameters[setting] for setting in settings} == settings
