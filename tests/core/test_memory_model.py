"""The memory of the next lesson, by the memory of the last ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitwithin._core.memory_model import MemoryModel

MB = 1_000_000


def after(*fits, limit=10**12, before=100 * MB):
    """The model after fits of so many rows and bytes."""
    memory = MemoryModel(limit)
    for rows, peak in fits:
        memory.observe_fit(rows, peak, before)
    return memory


def test_nothing_is_predicted_before_the_first_fit_or_without_a_measurement():
    assert MemoryModel(1).predict(100) is None
    assert MemoryModel(1).fits(10**9)
    assert after((100, None), limit=1).largest_rows(5000) == 5000


def test_with_one_fit_all_that_it_took_beyond_its_process_grows_with_the_rows():
    assert after((1000, 110 * MB)).predict(10_000) == pytest.approx(100 * MB + 10 * MB * (1 + 9 * 1.1))


def test_two_sizes_tell_the_fixed_part_from_the_growing_one():
    # 40 MB are libraries that the first fit loads; a row takes 10 kB.
    memory = after((1000, 150 * MB), (4000, 180 * MB))

    assert 540 * MB <= memory.predict(40_000) < 600 * MB


def test_a_kernel_matrix_is_seen_to_grow_with_the_square_of_the_rows():
    memory = after((1000, 108 * MB), (4000, 228 * MB))

    assert memory.predict(16_000) >= 100 * MB + 8 * MB * 16**2


def test_two_fits_of_nearly_the_same_size_do_not_make_the_growth_steep():
    assert after((1000, 110 * MB), (1001, 112 * MB)).predict(10_000) < 240 * MB


def test_a_fit_of_the_same_size_is_expected_to_take_the_same():
    assert after((1000, 110 * MB), (4000, 140 * MB)).predict(4000) == 140 * MB


@given(
    fixed=st.integers(0, 10**9),
    per_row=st.integers(1, 10**5),
    sizes=st.lists(st.integers(10, 10**5), min_size=1, max_size=6),
    limit=st.integers(1, 10**12),
)
def test_a_learner_whose_memory_grows_with_its_rows_is_kept_within_the_limit(fixed, per_row, sizes, limit):
    memory = after(*((rows, 10**8 + fixed + per_row * rows) for rows in sizes), limit=limit, before=10**8)

    rows = memory.largest_rows(10**6)

    # Of lessons that are smaller than all before, the fixed part is unknown.
    assert rows < max(sizes) or 10**8 + fixed + per_row * rows <= limit + 1
    assert rows == 10**6 or not memory.fits(rows + 1)


def test_after_a_stop_the_next_lesson_has_half_the_rows_at_most():
    memory = after((1000, 110 * MB), limit=10_000 * MB)
    memory.observe_stop(5000)

    assert memory.largest_rows(10**6) == 2500
    memory.observe_stop(8000)
    assert memory.largest_rows(10**6) == 2500


def test_predictions_that_take_more_than_the_fit_count():
    memory = after((1000, 110 * MB))
    memory.observe_exam(1000, 300 * MB)
    memory.observe_exam(1000, None)
    memory.observe_exam(1000, 120 * MB)

    assert memory.predict(1000) == 300 * MB
