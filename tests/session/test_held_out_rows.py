"""Whole groups, the last rows or rows of another table are held out; what makes no sense is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.target import Labels
from fitwithin._pools.pool import TablePool
from fitwithin._session.held_out_rows import (
    count_held_out_rows,
    encode_groups,
    hold_out_by_class,
    hold_out_groups,
    hold_out_last_rows,
    hold_out_rows,
    hold_out_second_table,
)
from fitwithin._session.inputs.fit_arguments import FitArguments

sizes_of_groups = st.lists(st.integers(1, 60), min_size=3, max_size=200)


def split(sizes, seed):
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = hold_out_groups(groups, np.random.default_rng(seed))
    training = np.setdiff1d(np.arange(len(groups)), np.concatenate([rows.validation, rows.holdout]))
    return groups, [training, rows.validation, rows.holdout]


@given(sizes_of_groups, st.integers(0, 1000))
def test_no_group_is_in_two_parts_and_no_part_is_empty(sizes, seed):
    groups, parts = split(sizes, seed)

    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    assert all(len(part) for part in parts)
    assert sum(len(np.unique(groups[part])) for part in parts) == len(sizes)


@given(st.integers(200, 3000), st.integers(1, 8), st.integers(0, 1000))
def test_small_groups_make_parts_of_the_wanted_size(n_groups, size, seed):
    groups, (_, validation, holdout) = split([size] * n_groups, seed)

    wanted = count_held_out_rows(len(groups))
    assert abs(len(validation) - wanted) <= size / 2
    assert abs(len(holdout) - wanted) <= size / 2


@given(st.integers(20, 100), st.integers(0, 1000))
def test_a_group_with_most_of_the_rows_is_trained_on(n_small, seed):
    groups, (training, _, _) = split([20 * n_small, *[1] * n_small], seed)

    assert np.isin(np.flatnonzero(groups == 0), training).all()


@given(st.integers(50, 400), st.integers(0, 1000))
def test_ten_groups_of_each_part_are_held_out_if_that_takes_at_most_twice_the_rows(n_groups, seed):
    sizes = np.random.default_rng(seed).integers(80, 200, n_groups)
    groups, (_, *parts) = split(sizes, seed)

    most = 2 * count_held_out_rows(len(groups))
    for part in parts:
        assert len(np.unique(groups[part])) >= 10 or len(part) + sizes.max() > most
        assert len(part) <= most


def test_another_seed_holds_out_other_groups():
    held_out = {tuple(np.sort(split([5] * 100, seed)[1][1])) for seed in range(5)}

    assert len(held_out) == 5


@given(st.integers(3, 5000))
def test_the_last_rows_are_held_out_in_their_order(n_rows):
    rows = hold_out_last_rows(n_rows, np.random.default_rng(0))

    n_held_out = count_held_out_rows(n_rows)
    assert sorted(rows.holdout) == list(range(n_rows - n_held_out, n_rows))
    assert sorted(rows.validation) == list(range(n_rows - 2 * n_held_out, n_rows - n_held_out))
    assert n_rows > 2 * n_held_out


def test_the_first_of_the_held_out_rows_are_a_random_sample_of_them():
    rows = hold_out_last_rows(100_000, np.random.default_rng(0))

    assert rows.validation[:200].min() < 90_500
    assert rows.validation[:200].max() > 94_500
    assert rows.can_refit


def test_another_table_is_halved_at_random():
    rows = hold_out_second_table(1000, 501, np.random.default_rng(0))

    assert (len(rows.validation), len(rows.holdout)) == (250, 251)
    assert sorted([*rows.validation, *rows.holdout]) == list(range(1000, 1501))
    assert rows.validation.max() > 1400
    assert not rows.can_refit, "no model is trained on these rows"


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        [7, "7", 7, None.__class__],
        [("x", 1), ("x", 2), ("x", 1), ("y", 1)],
        np.array([3.5, -1.0, 3.5, np.inf]),
        pd.Series(["b", "a", "b", "c"], index=[9, 8, 7, 6], dtype="category"),
        pd.Series(pd.to_datetime(["2026-01-02", "2026-01-01", "2026-01-02", "2026-01-03"])),
        pl.Series(["b", "a", "b", "c"]),
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_groups_may_be_any_labels(groups):
    codes = encode_groups(groups, 4)

    assert codes[0] == codes[2]
    assert sorted(set(codes.tolist())) == [0, 1, 2]


@pytest.mark.parametrize(
    "groups",
    [
        [1.0, np.nan, 2.0],
        [None, "a", "b"],
        np.array([1, np.nan, 2]),
        np.array(["a", None, "b"], dtype=object),
        np.array(["2026-01-01", "NaT", "2026-01-02"], dtype="datetime64[D]"),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_missing_groups_are_refused(groups):
    with pytest.raises(ValueError, match=r"NaN or None in 1 rows.*Drop these rows"):
        encode_groups(groups, 3)


def test_wrong_groups_are_refused():
    with pytest.raises(ValueError, match="groups has 2 entries for 3 rows"):
        encode_groups([1, 2], 3)
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        encode_groups(np.zeros((3, 2)), 3)
    with pytest.raises(TypeError, match="not hashable"):
        encode_groups([[1], [2], [3]], 3)
    with pytest.raises(ValueError, match="1 different group; at least 3"):
        hold_out_groups(np.zeros(50, dtype=int), np.random.default_rng(0))
    with pytest.raises(ValueError, match="2 different groups; at least 3"):
        hold_out_groups(np.arange(50) % 2, np.random.default_rng(0))


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="needs at least 3 rows"):
        hold_out_last_rows(2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="X_val has 1 row; at least 2"):
        hold_out_second_table(100, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("first",), 'validation must be "random" or "last"; got \'first\''),
        (("random", None, [[1]]), "X_val without y_val"),
        (("random", None, None, [1]), "y_val without X_val"),
        (("random", [1], [[1]], [1]), "both groups and X_val; .* Leave out groups, and see to it that no group"),
        (("last", [1]), 'both validation="last" and groups; .* Leave out groups, or set validation="random".$'),
        (("last", None, [[1]], [1]), 'both validation="last" and X_val'),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        FitArguments(None, None, None, {}, *arguments)


@pytest.mark.parametrize(
    ("groups", "advice"),
    [
        (None, "Sort the rows by time"),
        (np.repeat([0, 1, 2], [98, 1, 1]), "groups that hold several classes"),
    ],
)
def test_training_rows_of_one_class_are_refused(groups, advice):
    labels = Labels.encode(np.arange(100) >= 98)

    with pytest.raises(ValueError, match=rf"only one class, .*False.*{advice}"):
        hold_out_rows(100, groups, labels, np.random.default_rng(0))


@pytest.mark.parametrize(("n_rows", "n_rare"), [(200, 3), (200, 10), (20_000, 3), (20_000, 100)])
def test_a_rare_class_has_rows_in_both_parts_and_in_training(n_rows, n_rare):
    labels = Labels.encode(np.random.default_rng(0).permutation(n_rows) < n_rare)
    rows = hold_out_by_class(labels, np.random.default_rng(1))

    assert not set(rows.validation) & set(rows.holdout)
    for part in (rows.validation, rows.holdout):
        assert 1 <= labels.codes[part].sum() <= max(1, n_rare // 10)
        assert set(labels.codes[part[:2]]) == {0, 1}


def test_a_class_of_two_rows_stays_for_training():
    labels = Labels.encode(np.repeat([0, 1, 2], [900, 98, 2]))
    rows = hold_out_by_class(labels, np.random.default_rng(0))

    assert 2 not in labels.codes[np.concatenate([rows.validation, rows.holdout])]


def test_common_classes_are_left_to_the_teacher():
    assert hold_out_by_class(Labels.encode(np.arange(20_000) % 3), np.random.default_rng(0)) is None


def test_rows_with_a_weight_are_held_out_of_each_class():
    labels = Labels.encode(np.arange(20_000) % 2)
    weights = (np.arange(20_000) % 2 + (np.arange(20_000) < 10)).astype(float)
    strata = TablePool(np.zeros((20_000, 1)), labels, {"sample_weight": weights}).find_strata()

    rows = hold_out_by_class(strata, np.random.default_rng(0))

    for part in (rows.validation, rows.holdout):
        assert {*labels.codes[part[weights[part] > 0]]} == {0, 1}
