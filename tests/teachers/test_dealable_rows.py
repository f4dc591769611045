"""Rows that can be dealt have numbers without gaps, whatever is held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin.teachers import _dealable_rows
from fitwithin.teachers._dealable_rows import DealableRows


@pytest.fixture(autouse=True, scope="module", params=[0, 2_000_000], ids=["computed", "listed"])
def max_listed(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_dealable_rows, "_MAX_LISTED", request.param)
        yield


pools = st.integers(1, 100).flatmap(
    lambda size: st.tuples(st.just(size), st.lists(st.integers(0, size - 1), max_size=size))
)


@given(pools)
def test_rows_and_numbers_belong_to_each_other(pool):
    size, held_out = pool
    rows = DealableRows(size, np.array(held_out, dtype=np.int64))
    others = sorted(set(range(size)) - set(held_out))

    assert len(rows) == len(others)
    assert rows.list().tolist() == others
    assert rows.find_rows(np.arange(len(others))).tolist() == others
    assert rows.find_numbers(np.arange(size)).tolist() == list(range(len(others)))
    assert rows.drop_held_out(np.arange(size)[::-1]).tolist() == others[::-1]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_without_held_out_rows_a_row_is_its_own_number(dtype):
    numbers = np.array([4, 2], dtype=dtype)

    rows = DealableRows(5)

    assert rows.find_rows(numbers) is numbers
    assert rows.find_numbers(numbers) is numbers


def test_the_type_of_row_numbers_is_kept():
    rows = DealableRows(10, np.array([0, 3]))

    assert rows.find_rows(np.array([7], dtype=np.int32)).dtype == np.int32
    assert rows.find_numbers(np.array([7], dtype=np.int32)).dtype == np.int32
