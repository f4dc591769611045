"""The experience of earlier fits of a job: what is kept, when it is used, and what a changed machine costs."""

import json
import os
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier, TimeConstrainedSearch
from fitwithin._core.cost import CostModel
from fitwithin._core.exceptions import UserInputError
from fitwithin._session.experience import ExperiencedCost, thin_out

rng = np.random.default_rng(0)
X = rng.random((3_000, 4))
y = (X.sum(axis=1) > 2).astype(int)


def fit(path, learner=None, rows=X, labels=y, **settings):
    learner = learner or DecisionTreeClassifier(random_state=0)
    settings = {"time_limit": 30, "backend": "inline", "random_state": 0, **settings}
    return TimeConstrainedClassifier(learner, experience=path, **settings).fit(rows, labels)


def a_night(seconds_per_row=1e-3):
    cost = CostModel()
    for rows in (500, 5_000, 50_000):
        cost.observe_fit(rows, seconds_per_row * rows)
    return cost.observations()


def test_a_fit_writes_its_costs_and_scores_and_neither_rows_nor_labels(tmp_path):
    path = tmp_path / "job.json"

    fit(path)

    values = json.loads(path.read_text())
    assert values["cost"]["step_seconds"]
    assert values["scores"]
    assert sorted(values) == ["best_params", "cost", "job", "scores", "version"]
    assert path.stat().st_size < 10_000


def test_the_next_fit_on_more_rows_begins_with_the_costs(tmp_path):
    path = tmp_path / "job.json"
    fit(path)

    again = fit(path, rows=np.concatenate([X, X]), labels=np.concatenate([y, y]))

    assert again.history_[0].predicted_fit is not None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learner": GaussianNB()}, "learner: .*DecisionTree.* then"),
        ({"rows": X[:, :3]}, "number of columns: 4 then, 3 now"),
        ({"scoring": "f1"}, "scoring: the default then, f1 now"),
    ],
)
def test_experience_of_another_job_is_a_warning_and_not_used(tmp_path, change, words):
    path = tmp_path / "job.json"
    fit(path)

    with pytest.warns(RuntimeWarning, match=words) as told:
        other = fit(path, **change)

    assert other.history_[0].predicted_fit is None
    # The line that calls the estimator, in the function above.
    assert told[0].lineno in range(fit.__code__.co_firstlineno, fit.__code__.co_firstlineno + 9)


@pytest.mark.parametrize("text", ["", "{}", '{"version": 1, "cost": 3}', "[1]"])
def test_a_damaged_file_is_refused_at_once_and_left_as_it_is(tmp_path, text):
    path = tmp_path / "job.json"
    path.write_text(text)

    with pytest.raises(UserInputError, match="is damaged"):
        fit(path)
    assert path.read_text() == text


def test_a_name_that_is_too_long_is_one_sentence(tmp_path):
    with pytest.raises(UserInputError, match=r"can't be read: File name too long\. Name another file"):
        fit(tmp_path / ("x" * 300))


def test_a_file_of_a_newer_version_and_a_missing_folder_are_refused(tmp_path):
    path = tmp_path / "job.json"
    path.write_text('{"version": 99}')

    with pytest.raises(UserInputError, match="newer version"):
        fit(path)
    with pytest.raises(UserInputError, match="There is no folder"):
        fit(tmp_path / "none" / "job.json")


def test_a_fit_that_ends_while_it_writes_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "job.json"
    fit(path)
    before = path.read_bytes()

    def end(source, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", end)
        with pytest.raises(KeyboardInterrupt):
            fit(path)

    assert path.read_bytes() == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(path)


def test_a_search_tries_the_best_hyperparameters_of_the_last_one_first(tmp_path):
    path, space = tmp_path / "job.json", {"max_depth": [1, 2, 9], "min_samples_leaf": [1, 500]}
    settings = {"time_limit": 3, "backend": "inline", "random_state": 0, "experience": path}
    TimeConstrainedSearch(DecisionTreeClassifier(), space, **settings).fit(X, y)
    values = json.loads(path.read_text())
    path.write_text(json.dumps({**values, "best_params": {"max_depth": 9, "min_samples_leaf": 1}}))

    again = TimeConstrainedSearch(DecisionTreeClassifier(), space, **settings).fit(X, y)

    assert {"max_depth": 9, "min_samples_leaf": 1} in list(again.cv_results_["params"][:2])


@pytest.mark.parametrize("ratio", [3.0, 1 / 3])
def test_costs_of_another_machine_are_forgotten(ratio):
    cost, fresh = ExperiencedCost(a_night()), CostModel()

    for model in (cost, fresh):
        model.observe_fit(500, 0.5 * ratio)

    assert cost.fit_seconds(20_000) == fresh.fit_seconds(20_000)
    assert cost.fits.deviation(20_000) == fresh.fits.deviation(20_000)


def test_a_machine_that_shows_late_to_be_another_one_leaves_what_this_night_told():
    cost, fresh = ExperiencedCost(a_night()), CostModel()

    for model in (cost, fresh):
        for rows, seconds in ((500, 0.7), (2_000, 6.5)):
            model.observe_fit(rows, seconds)

    assert cost.fits.observations() == fresh.fits.observations()
    assert cost.fit_seconds(50_000) == fresh.fit_seconds(50_000)
    assert cost.fits.deviation(50_000) == fresh.fits.deviation(50_000)


def test_costs_of_a_somewhat_slower_machine_tell_how_seconds_grow():
    cost = ExperiencedCost(a_night())

    cost.observe_fit(500, 0.5 * 1.8)

    assert cost.fit_seconds(50_000) == pytest.approx(1.8 * 50, rel=0.01)
    assert cost.fits.deviation(50_000) > 0.5  # to be measured
    cost.observe_fit(5_000, 5 * 1.8)
    assert cost.fits.deviation(50_000) < 0.2


def test_costs_are_doubted_until_a_fit_confirms_them():
    cost = ExperiencedCost(a_night())
    before = cost.fits.deviation(50_000)

    cost.observe_fit(10, 0.001)  # too short to tell
    assert cost.fits.deviation(50_000) > 0.2
    cost.observe_fit(500, 0.52)

    assert cost.fits.deviation(50_000) < before / 2
    assert cost.fit_seconds(50_000) == pytest.approx(50, rel=0.1)


@given(st.lists(st.tuples(st.integers(1, 10**8), st.floats(1e-6, 1e6)), min_size=1, max_size=60))
def test_costs_come_back_from_text_and_few_sizes_stay(fits):
    cost = CostModel()
    for rows, seconds in fits:
        cost.observe_fit(rows, seconds)

    stored = json.loads(json.dumps(thin_out(cost.observations())))
    again = CostModel()
    again.restore(stored)

    assert thin_out(again.observations()) == stored
    assert len(stored["step_seconds"]) <= 85
    assert stored["step_seconds"][-1][0] == fits[-1][0]
