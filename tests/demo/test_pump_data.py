"""Data of the simulated pump."""

import numpy as np
import pytest

from fitwithin._demo.pump_data import CONDITIONS, READINGS, simulate_pump


@pytest.fixture(scope="module")
def data():
    return simulate_pump(100_000, seed=0)


def test_each_reading_has_a_column(data):
    assert data.X.shape == (100_000, len(READINGS))
    assert np.isfinite(data.X).all()


def test_all_conditions_occur_and_most_rows_are_normal(data):
    names, counts = np.unique(data.truth, return_counts=True)
    assert set(names) == set(CONDITIONS)
    assert names[np.argmax(counts)] == "normal"
    assert counts.min() / len(data.truth) > 0.005


def test_about_three_labels_in_a_hundred_are_wrong(data):
    assert np.mean(data.y != data.truth) == pytest.approx(0.03, abs=0.003)


def test_readings_are_on_very_different_scales(data):
    spread = data.X.std(axis=0)
    assert spread.max() / spread.min() > 1000


def test_the_same_seed_gives_the_same_data():
    one, same, other = (simulate_pump(1000, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert not np.array_equal(one.X, other.X)


def test_a_split_keeps_every_row_once():
    whole = simulate_pump(1000, seed=0)
    first, others = whole.split(800)
    np.testing.assert_array_equal(np.concatenate([first.X, others.X]), whole.X)
    np.testing.assert_array_equal(np.concatenate([first.y, others.y]), whole.y)
    assert len(first.truth) == 800
