"""A deck of rows that are dealt while they are read."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfTime, UserInputError
from fitwithin._pools.block_reader import RowSupply
from fitwithin._pools.decks.block_pile import BlockPile, share_evenly
from fitwithin._pools.reading_order import BlockIndex
from fitwithin.teachers import Deck

seeds = st.integers(0, 2**32 - 1)
blocks = st.integers(1, 6).flatmap(
    lambda n_classes: st.lists(
        st.lists(st.integers(0, 40), min_size=n_classes, max_size=n_classes).filter(any), min_size=1, max_size=8
    )
)
steps = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.floats(0, 1)), max_size=12)


def read_supply(counts, n_read=None):
    supply = RowSupply(BlockIndex(np.array(counts, dtype=np.int64)))
    for _ in range(len(counts) if n_read is None else n_read):
        supply.add_block()
    return supply


def a_deck(supply, seed=0, seconds=60.0, **arguments):
    rng, costs = np.random.default_rng(seed), CostEstimates(Budget(seconds))
    return Deck(supply.n_rows, rng, costs=costs, pile=BlockPile(supply, rng, costs=costs, **arguments))


def classes_of(supply, rows):
    return (np.searchsorted(supply.index.cell_starts.reshape(-1), rows, side="right") - 1) % supply.cell_counts.shape[1]


@given(blocks, steps, seeds)
@settings(deadline=None, max_examples=40)
def test_every_row_is_dealt_at_most_once_and_only_after_it_was_read(counts, steps, seed):
    supply = read_supply(counts, 1)
    deck, dealt = a_deck(supply, seed, seconds=0.2), []
    for n_more, count, _ in steps:
        for _ in range(min(n_more, len(supply.cell_counts) - supply.n_places_read)):
            supply.add_block()
        if not supply.is_over:
            count = min(count, supply.n_rows_read - len(dealt))
        hand = deck.deal(count)
        assert (hand < supply.n_rows_read).all()
        dealt += hand.tolist()

    assert len(set(dealt)) == len(dealt)
    assert deck.left == supply.n_rows - len(dealt)


@given(blocks, steps, seeds)
@settings(deadline=None)
def test_discarded_rows_come_back_once_all_were_dealt(counts, steps, seed):
    deck = a_deck(read_supply(counts), seed)
    held = set()
    for _, count, share in steps:
        hand = deck.deal(count)
        assert len(hand) == min(count, deck.pool_size - len(held))
        assert not held & set(hand.tolist())
        kept = hand[round(share * len(hand)) :]
        deck.discard(hand[: round(share * len(hand))])
        held |= set(kept.tolist())

    assert deck.left == deck.pool_size - len(held)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.integers(1, 1000), seeds)
@settings(deadline=None)
def test_blocks_are_dealt_from_in_proportion_to_their_rows(sizes, count, seed):
    supply = read_supply([[size] for size in sizes])
    count = min(count, supply.n_rows)

    dealt = np.bincount(supply.index.find_places(a_deck(supply, seed).deal(count)), minlength=len(sizes))

    assert (np.abs(dealt - count * np.array(sizes) / sum(sizes)) < 1 + 1e-6).all()


@given(st.lists(st.integers(50, 400), min_size=2, max_size=10), st.integers(1, 9), st.integers(1, 100), seeds)
@settings(deadline=None, max_examples=25)
def test_a_block_that_is_read_later_catches_up(sizes, n_read, count, seed):
    supply = read_supply([[size] for size in sizes], min(n_read, len(sizes) - 1))
    deck, sizes = a_deck(supply, seed, seconds=1.0), np.array(sizes)
    early = deck.deal(min(count, supply.n_rows_read))
    while not supply.is_over:
        supply.add_block()
    by_block = np.bincount(supply.index.find_places(early), minlength=len(sizes))
    n_missing = int(np.ceil((by_block / sizes).max() * sizes.sum())) - len(early)

    by_block += np.bincount(supply.index.find_places(deck.deal(n_missing)), minlength=len(sizes))

    assert (np.abs(by_block - by_block.sum() * sizes / sizes.sum()) < 2).all()


def test_the_beginning_of_a_deal_is_balanced_too():
    supply = read_supply([[1000]] * 10)
    rows = a_deck(supply).deal(4000)

    # A chi-squared statistic of nine degrees of freedom exceeds 28 once in a thousand times.
    by_block = np.bincount(supply.index.find_places(rows[:500]), minlength=10)
    assert ((by_block - 50) ** 2 / 50).sum() < 28


def test_a_file_sorted_by_class_is_dealt_in_its_class_proportions():
    supply = read_supply([[900, 0], [0, 100], [900, 0], [0, 100], [7200, 0], [0, 800]], 2)
    deck = a_deck(supply, class_counts=np.array([9000, 1000]), seconds=2.0)

    first = deck.opening(200)
    rows = np.concatenate([first, deck.deal(300)])

    assert np.bincount(classes_of(supply, first)).tolist() == [180, 20]
    assert np.bincount(classes_of(supply, rows)).tolist() == [450, 50]


def test_the_first_deal_waits_for_a_second_class():
    supply = read_supply([[500, 0], [0, 500], [500, 0], [0, 500]], 1)
    deck = a_deck(supply, class_counts=np.array([1000, 1000]), seconds=4.0)
    reader = threading.Timer(0.6, supply.add_block)
    reader.start()

    rows = deck.opening(100)
    reader.join()

    assert np.bincount(classes_of(supply, rows)).tolist() == [50, 50]


def test_an_opening_has_a_row_of_each_class_that_was_read():
    codes = np.zeros(5000, dtype=np.uint8)
    codes[[10, 2000, 4000]] = [1, 2, 3]
    counts = np.array([4997, 1, 1, 1])
    supply = read_supply([[1000]] * 5, 3)
    deck = a_deck(supply, codes=codes, class_counts=counts, seconds=0.0)

    rows = deck.opening(5)

    assert {1, 2} <= set(codes[rows].tolist())
    assert not set(rows.tolist()) & set(deck.deal(2990).tolist())


def test_rows_that_were_taken_are_not_dealt_again():
    supply = read_supply([[50, 50], [50, 50]])
    deck = a_deck(supply)
    taken = deck.take(np.array([3, 60, 199, 3]))

    assert deck.left == 197
    assert set(deck.deal(500).tolist()) == set(range(200)) - set(taken.tolist())
    assert deck.left == 0


def test_a_deal_waits_for_rows_that_are_being_read():
    supply = read_supply([[100]] * 3, 1)
    deck = a_deck(supply)
    reader = threading.Timer(0.2, lambda: [supply.add_block(), supply.add_block()])
    reader.start()

    rows = deck.deal(250)
    reader.join()

    assert len(rows) == 250
    assert deck.pile.waited_seconds >= 0.15


def test_a_deal_gets_what_is_there_if_reading_takes_too_long():
    deck = a_deck(read_supply([[100]] * 3, 1), seconds=1.0)
    start = time.monotonic()

    assert len(deck.deal(250)) == 100
    assert time.monotonic() - start < 0.9
    assert deck.left == 200


def test_a_deal_without_any_rows_ends_at_the_deadline():
    deck = a_deck(read_supply([[100]] * 3, 0), seconds=0.2)
    with pytest.raises(OutOfTime, match="data set was still being read"):
        deck.deal(10)


def test_rows_that_could_not_be_read_are_not_waited_for():
    supply = read_supply([[100]] * 3, 1)
    supply.end("The disk is broken.")
    deck = a_deck(supply)

    assert deck.left == 100
    assert not deck.can_refit
    assert len(deck.deal(250)) == 100
    with pytest.raises(UserInputError, match="disk is broken"):
        deck.opening(300)


def test_every_row_is_there_only_once_all_were_read():
    supply = read_supply([[100]] * 2, 1)
    deck = a_deck(supply)
    assert deck.is_growing
    reader = threading.Timer(0.1, supply.add_block)
    reader.start()

    assert len(deck.rows) == 200
    assert not deck.is_growing
    assert set(deck.sample(5000).tolist()) == set(range(200))
    reader.join()


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=20),
    st.integers(0, 3000),
    seeds,
)
@settings(deadline=None)
def test_rows_are_shared_without_rest(parts, count, seed):
    sizes, kept, available = np.array(parts).T
    count = min(count, int(available.sum()))

    shares = share_evenly(sizes, kept, available, count, np.random.default_rng(seed))

    assert shares.sum() == count
    assert (shares >= 0).all()
    assert (shares <= available).all()


def test_rows_come_evenly_from_the_heads_of_large_blocks_until_these_are_used_up():
    counts, numbers = np.array([[100], [100], [100], [900], [900], [900]]), np.array([0, 2, 4, 1, 3, 5])
    supply = RowSupply(BlockIndex(counts, numbers, rests=frozenset({1, 3, 5})))
    for _ in range(4):
        supply.add_block()
    deck = a_deck(supply, seconds=1.0)

    first = np.bincount(supply.index.find_places(deck.deal(80)), minlength=6)
    second = np.bincount(supply.index.find_places(deck.deal(720)), minlength=6)

    # A block whose rest has been read counts for what was read of it, the others for all of their rows.
    assert first[1:3].min() >= 26
    assert (first + second)[:3].max() <= 100
    assert (first + second)[1:3].tolist() == [100, 100]
    assert (first + second).sum() == 800


def test_all_rows_are_dealt_evenly_once_the_rest_of_each_block_is_read():
    counts, numbers = np.array([[100], [100], [900], [900]]), np.array([0, 2, 3, 1])
    supply = RowSupply(BlockIndex(counts, numbers, rests=frozenset({1, 3})))
    for _ in range(2):
        supply.add_block()
    deck = a_deck(supply, seconds=1.0)
    early = deck.deal(100)
    for _ in range(2):
        supply.add_block()

    by_place = np.bincount(supply.index.find_places(np.concatenate([early, deck.deal(900)])), minlength=4)

    assert by_place.tolist() == [50, 50, 450, 450]


def test_a_class_that_is_short_of_rows_makes_a_deal_smaller_and_not_unfair():
    supply = read_supply([[1000, 0], [0, 400], [0, 600]], 2)
    deck = a_deck(supply, seconds=1.0)

    dealt = np.bincount(classes_of(supply, deck.deal(1200)))

    assert 800 <= dealt.sum() < 1200
    assert abs(dealt[0] / dealt.sum() - 0.5) <= 0.021


def test_rows_of_an_exam_are_a_fair_sample_whatever_was_dealt_before():
    supply = read_supply([[3000, 3000], [1000, 1000]], 1)
    deck = a_deck(supply, seconds=1.0)
    hand = deck.deal(1000)
    deck.discard(hand[classes_of(supply, hand) == 0])

    assert np.bincount(classes_of(supply, deck.deal(1000))).tolist() == [500, 500]


def test_rows_are_dealt_unfairly_if_a_class_is_hardly_there():
    supply = read_supply([[1000, 10], [0, 990]], 1)

    assert len(a_deck(supply, seconds=1.0).deal(500)) == 500


@given(blocks, seeds)
@settings(deadline=None, max_examples=40)
def test_held_out_rows_are_never_dealt(counts, seed):
    counts, rng = np.array(counts, dtype=np.int64), np.random.default_rng(seed)
    held = np.stack([rng.integers(counts // 3 + 1), rng.integers(counts // 3 + 1)], axis=2)
    index = BlockIndex(counts, held_counts=held)
    supply = RowSupply(index)
    for _ in range(len(counts)):
        supply.add_block()
    deck = a_deck(supply, seed)
    deck.hold_out(*index.list_held_out(rng))
    dealt = deck.deal(int(counts.sum()))

    kept_back = np.concatenate([deck.validation_rows, deck.holdout_rows])
    assert len(kept_back) == held.sum()
    assert sorted([*dealt, *kept_back]) == list(range(counts.sum()))
    np.testing.assert_array_equal(np.sort(deck.rows), np.sort(dealt))
    assert deck.left == 0
