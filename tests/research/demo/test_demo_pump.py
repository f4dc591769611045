"""The simulated pump: its data is what it says."""

import numpy as np
import pytest

from fitwithin._research.demo.pump import CONDITIONS, READINGS, make_dataset


@pytest.fixture(scope="module")
def dataset():
    return make_dataset(100_000, seed=0)


def test_there_is_a_column_for_each_reading(dataset):
    assert dataset.X.shape == (100_000, len(READINGS))
    assert np.isfinite(dataset.X).all()


def test_all_conditions_occur_and_most_of_the_time_all_is_well(dataset):
    names, counts = np.unique(dataset.truth, return_counts=True)
    assert set(names) == set(CONDITIONS)
    assert names[np.argmax(counts)] == "normal"
    assert counts.min() / len(dataset.truth) > 0.005


def test_about_three_labels_in_a_hundred_are_wrong(dataset):
    assert np.mean(dataset.y != dataset.truth) == pytest.approx(0.03, abs=0.003)


def test_readings_are_on_very_different_scales(dataset):
    spread = dataset.X.std(axis=0)
    assert spread.max() / spread.min() > 1000


def test_the_same_seed_gives_the_same_data():
    one, same, other = (make_dataset(1000, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)


def test_a_split_parts_the_rows_in_two():
    whole = make_dataset(1000, seed=0)
    first, others = whole.split(800)
    np.testing.assert_array_equal(np.concatenate([first.X, others.X]), whole.X)
    np.testing.assert_array_equal(np.concatenate([first.y, others.y]), whole.y)
    assert len(first.truth) == 800
