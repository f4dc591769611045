"""Deck: rows that are dealt, discarded and dealt again."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fitwithin._core.budget import Budget
from fitwithin._core.cost import CostEstimates
from fitwithin._core.exceptions import OutOfTime
from fitwithin._pools.decks import table_pile
from fitwithin._pools.decks.deck import count_validation_rows
from fitwithin.teachers import Deck
from fitwithin.testing import FakeClock

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True, scope="module", params=[0, 2_000_000], ids=["as a large pool", "as a small pool"])
def largest_small_pool(request):
    """Run every test as if its pool were large, and by the size that it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_pile, "MAX_SHUFFLED", request.param)
        yield


def a_deck(size, seed=0, strata=None):
    return Deck(size, np.random.default_rng(seed), strata=strata)


def codes(*counts, seed=0):
    """Class codes with these counts, shuffled."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts), dtype=np.uint8), counts))


def deal_and_discard(deck, steps):
    """In each step deal rows and discard a fraction of them; yield the dealt and the discarded rows."""
    for count, share in steps:
        hand = deck.deal(count)
        discarded = hand[: round(share * len(hand))]
        deck.discard(discarded)
        yield hand.tolist(), discarded.tolist()


steps = st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), max_size=25)


@given(st.integers(1, 150), st.none() | st.integers(1, 150), steps, seeds)
def test_a_deck_deals_like_a_pile_of_cards(size, first, steps, seed):
    """Compare with plain sets: a pile to deal from, and discarded cards that become the next pile."""
    deck = a_deck(size, seed)
    pile, aside = set(range(size)), set()
    if first is not None:
        pile -= set(deck.opening(first).tolist())

    for (count, _), (hand, discarded) in zip(steps, deal_and_discard(deck, steps), strict=False):
        assert len(hand) == len(set(hand)) == min(count, len(pile) + len(aside))
        if count <= len(pile):
            assert set(hand) <= pile
            pile -= set(hand)
        else:
            assert pile <= set(hand) <= pile | aside
            pile, aside = aside - set(hand), set()
        aside |= set(discarded)
        assert deck.left == len(pile) + len(aside)


@given(st.integers(1, 150), steps, seeds)
def test_no_row_is_dealt_twice_before_all_were_dealt(size, steps, seed):
    deck, seen = a_deck(size, seed), set()

    for hand, _ in deal_and_discard(deck, steps):
        unseen = set(range(size)) - seen
        repeated = set(hand) & seen
        assert not repeated or unseen <= set(hand)
        seen |= set(hand)


@given(st.integers(1, 150), steps, seeds)
def test_a_row_that_was_kept_is_never_dealt_again(size, steps, seed):
    deck, kept = a_deck(size, seed), set()

    for hand, discarded in deal_and_discard(deck, steps):
        assert not set(hand) & kept
        kept |= set(hand) - set(discarded)


def test_fewer_rows_are_dealt_if_fewer_are_left():
    deck = a_deck(10)

    hands = [deck.deal(7), deck.deal(7), deck.deal(7)]

    assert [len(hand) for hand in hands] == [7, 3, 0]
    assert sorted(np.concatenate(hands).tolist()) == list(range(10))
    assert deck.left == 0


def test_discarded_rows_come_back_after_every_row_was_dealt():
    deck = a_deck(10)
    first = deck.deal(4)
    deck.discard(first)

    rest, again = deck.deal(6), deck.deal(6)

    assert not set(rest.tolist()) & set(first.tolist())
    assert sorted(again.tolist()) == sorted(first.tolist())


def test_one_deal_may_hold_the_last_undealt_rows_and_discarded_ones():
    deck = a_deck(10)
    deck.discard(deck.deal(4))

    hand = deck.deal(8)

    assert len(set(hand.tolist())) == 8
    assert deck.left == 2


def test_discarding_nothing_changes_nothing():
    deck = a_deck(3)
    deck.deal(3)

    deck.discard(np.arange(0))

    assert deck.left == 0


@pytest.mark.parametrize("dealt_before", [0, 3, 6], ids=["a full deck", "most of a deck", "less than half a deck"])
def test_every_row_is_equally_likely(dealt_before):
    counts = np.zeros(10)

    for seed in range(2000):
        deck = a_deck(10, seed)
        deck.deal(dealt_before)
        counts[deck.deal(1)] += 1

    # 200 of each are expected, with a standard deviation of 13.4.
    assert np.abs(counts - 200).max() < 60


def test_discarded_rows_come_back_shuffled():
    deck = a_deck(100)
    hand = deck.deal(100)
    deck.discard(hand)

    again = deck.deal(100)

    assert sorted(again.tolist()) == list(range(100))
    assert again.tolist() != hand.tolist()


@given(st.integers(0, 50), st.integers(0, 60), seeds)
def test_pick_splits_rows_in_two(size, count, seed):
    rows = np.arange(100, 100 + size)

    picked, others = a_deck(200, seed).pick(rows, count)

    assert len(picked) == min(count, size)
    assert sorted([*picked.tolist(), *others.tolist()]) == rows.tolist()
    assert others.tolist() == sorted(others.tolist())


def test_pick_chooses_every_row_with_equal_probability():
    counts = np.zeros(5)

    for seed in range(1000):
        picked, _ = a_deck(5, seed).pick(np.arange(5), 2)
        counts[picked] += 1

    # 400 of each are expected, with a standard deviation of 15.5.
    assert np.abs(counts - 400).max() < 70


@given(st.integers(1, 2000), st.integers(1, 2500), seeds)
def test_an_opening_has_the_given_number_of_rows_or_the_whole_pool(size, first, seed):
    opening = a_deck(size, seed).opening(first)

    assert len(opening) == len(set(opening.tolist())) == min(first, size)


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8])
def test_any_integer_type_is_a_number_of_rows(kind):
    assert len(a_deck(1000).opening(kind(7))) == 7


@pytest.mark.parametrize(
    ("size", "share", "rows"),
    [(1000, 0.005, 5), (10_000, 0.005, 50), (501, 0.1, 50), (501, 1e-9, 1), (1000, np.float32(0.25), 250)],
)
def test_a_fraction_of_the_pool_becomes_a_number_of_rows(size, share, rows):
    assert len(a_deck(size).opening(share)) == rows


@pytest.mark.parametrize("size", [1, 2, 499, 500])
@pytest.mark.parametrize("stratified", [False, True])
def test_a_small_pool_is_dealt_whole_and_in_order_for_any_fraction(size, stratified):
    deck = a_deck(size, strata=np.arange(size, dtype=np.uint16) % 3 if stratified else None)

    opening = deck.opening(0.005)

    assert opening.tolist() == list(range(size))
    assert deck.left == 0


def test_a_small_pool_is_not_dealt_whole_for_a_number_of_rows():
    assert len(a_deck(100).opening(5)) == 5


@pytest.mark.parametrize(("size", "first"), [(3, 5), (600, 600), (600, 601), (600, 1.0)])
@pytest.mark.parametrize("stratified", [False, True])
def test_a_pool_no_larger_than_the_first_lesson_is_dealt_whole_and_in_order(size, first, stratified):
    deck = a_deck(size, strata=codes(size - 1, 1) if stratified else None)

    assert deck.opening(first).tolist() == list(range(size))


@pytest.mark.parametrize(
    "first", [0, -1, 0.0, -0.5, 1.5, float("nan"), float("inf"), True, False, None, "50", "half", [5], 1j]
)
def test_an_invalid_first_size_is_refused(first):
    with pytest.raises(ValueError, match="first") as caught:
        a_deck(1000).opening(first)

    assert repr(first) in str(caught.value)


class_sizes = st.lists(st.integers(1, 400), min_size=2, max_size=12)


@given(class_sizes, st.integers(1, 600), seeds)
def test_an_opening_holds_every_class(counts, first, seed):
    strata = codes(*counts, seed=seed)

    opening = a_deck(len(strata), seed, strata).opening(first)

    assert len(opening) == len(set(opening.tolist())) == min(len(strata), max(first, len(counts)))
    assert set(strata[opening].tolist()) == set(range(len(counts)))


@given(st.lists(st.integers(50, 400), min_size=2, max_size=8), st.integers(30, 600), seeds)
def test_an_opening_has_the_proportions_of_the_pool_within_one_row(counts, first, seed):
    strata = codes(*counts, seed=seed)
    exact = [Fraction(count * first, len(strata)) for count in counts]
    assume(first < len(strata) and min(exact) >= 1)

    opening = a_deck(len(strata), seed, strata).opening(first)

    dealt = np.bincount(strata[opening], minlength=len(counts)).tolist()
    assert all(abs(rows - share) < 1 for rows, share in zip(dealt, exact, strict=True))


@given(class_sizes, st.integers(1, 600), seeds)
def test_a_class_with_less_than_one_row_by_proportion_gets_exactly_one(counts, first, seed):
    strata = codes(*counts, seed=seed)
    exact = [Fraction(count * first, len(strata)) for count in counts]
    assume(first < len(strata))

    opening = a_deck(len(strata), seed, strata).opening(first)

    dealt = np.bincount(strata[opening], minlength=len(counts)).tolist()
    assert all(rows == 1 for rows, share in zip(dealt, exact, strict=True) if share < 1)


def test_the_remainder_does_not_go_to_a_class_that_was_rounded_up():
    # Exact shares of 10 rows: 4.5, 4.6 and 0.9.
    strata = codes(450, 460, 90)

    opening = a_deck(1000, strata=strata).opening(10)

    assert np.bincount(strata[opening]).tolist() == [4, 5, 1]


def test_a_class_with_one_row_is_in_the_opening():
    strata = np.zeros(100_000, dtype=np.uint8)
    strata[77_777] = 1

    opening = a_deck(len(strata), strata=strata).opening(20)

    assert 77_777 in opening
    assert len(opening) == 20


def test_if_classes_outnumber_the_rows_asked_for_each_gets_one_row():
    strata = codes(*[10] * 100)

    opening = a_deck(len(strata), strata=strata).opening(7)

    assert sorted(strata[opening].tolist()) == list(range(100))


def test_unused_class_codes_do_not_change_the_opening():
    strata = np.array([0, 3, 7] * 400, dtype=np.uint8)

    opening = a_deck(len(strata), strata=strata).opening(30)

    assert np.bincount(strata[opening], minlength=8).tolist() == [10, 0, 0, 10, 0, 0, 0, 10]


def test_an_opening_is_not_ordered_by_class():
    strata = codes(500, 500)

    opening = a_deck(1000, strata=strata).opening(100)

    assert 25 < np.count_nonzero(np.diff(strata[opening].astype(int))) < 75


def test_the_opening_is_not_dealt_again():
    strata = codes(300, 300, 5)
    deck = a_deck(len(strata), strata=strata)
    opening = deck.opening(50)

    rest = deck.deal(1000)

    assert sorted([*opening.tolist(), *rest.tolist()]) == list(range(605))


def test_all_rows_of_a_class_are_equally_likely():
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], dtype=np.uint8)
    counts = np.zeros(12)

    for seed in range(1000):
        counts[a_deck(12, seed, strata).opening(3)] += 1

    # 250 of each are expected, with a standard deviation of 13.7.
    assert np.abs(counts - 250).max() < 60


@pytest.mark.parametrize("stratified", [False, True])
def test_the_same_seed_deals_the_same_rows(stratified):
    strata = codes(2000, 1000, 3) if stratified else None

    def hands(seed):
        deck = a_deck(3003, seed, strata)
        dealt = [deck.opening(0.01), deck.deal(100)]
        deck.discard(dealt[-1])
        return np.concatenate([*dealt, deck.deal(2000), deck.deal(2000), *deck.pick(np.arange(50), 20)]).tolist()

    assert hands(1) == hands(1)
    assert hands(1) != hands(2)


def test_the_opening_of_a_large_pool_is_small_and_complete():
    strata = np.random.default_rng(0).choice(4, p=[0.5, 0.3, 0.15, 0.05], size=5_000_000).astype(np.uint8)
    strata[[17, 4_999_999]] = 4
    deck = a_deck(len(strata), strata=strata)

    opening = deck.opening(5000)
    exam = deck.deal(5000)

    assert len(np.unique(np.concatenate([opening, exam]))) == 10_000
    assert np.bincount(strata[opening]) == pytest.approx([2500, 1500, 750, 250, 1], abs=8)
    assert deck.left == 4_990_000


@pytest.mark.parametrize("held_out", [[], [0, 3], [598, 604]])
def test_class_counts_that_are_known_are_not_counted_again(held_out):
    strata = codes(300, 300, 5)
    known, counted = (
        Deck(605, np.random.default_rng(0), strata, class_counts=counts) for counts in (np.bincount(strata), None)
    )
    for deck in (known, counted):
        deck.hold_out(np.array(held_out[:1], dtype=int), np.array(held_out[1:], dtype=int))

    np.testing.assert_array_equal(known.opening(50), counted.opening(50))
    np.testing.assert_array_equal(known.deal(50), counted.deal(50))


def test_the_rows_dealt_after_an_opening_have_the_classes_of_the_rows_left():
    # The opening has one of the two rare rows; the other one is as likely to be dealt as any row.
    strata = np.zeros(100, dtype=np.uint8)
    strata[:2] = 1
    n_rare = 0

    for seed in range(2000):
        deck = a_deck(100, seed, strata)
        assert np.count_nonzero(strata[deck.opening(20)]) == 1
        n_rare += np.count_nonzero(strata[deck.deal(20)])

    # 500 are expected, with a standard deviation of 19.4.
    assert abs(n_rare - 500) < 100


def test_many_discarded_rows_come_back_in_another_order():
    deck = a_deck(50_000)
    hand = deck.deal(50_000)
    deck.discard(hand)

    again = np.concatenate([deck.deal(20_000), deck.deal(30_000)])

    assert (np.sort(again) == np.arange(50_000)).all()
    assert np.count_nonzero(again == hand) < 20


def test_rows_that_are_taken_are_not_dealt():
    deck = Deck(100, np.random.default_rng(0))
    taken = deck.take(np.arange(10, 40))
    deck.take(np.array([39, 40]))

    assert deck.left == 69
    dealt = deck.deal(1000)
    assert sorted([*taken.tolist(), 40, *dealt.tolist()]) == list(range(100))


def test_many_rows_of_a_large_pool_are_not_dealt_without_the_time_for_it():
    clock = FakeClock()
    deck = Deck(3_000_000, np.random.default_rng(0), costs=CostEstimates(Budget(10, clock=clock)))
    clock.advance(9.99)

    assert len(deck.deal(1000)) == 1000
    with pytest.raises(OutOfTime):
        deck.deal(2_000_000)


def test_a_large_pool_is_dealt_whole_with_time():
    deck = Deck(3_000_000, np.random.default_rng(0), costs=CostEstimates(Budget(10, clock=FakeClock())))

    assert (np.bincount(deck.deal(3_000_000), minlength=3_000_000) == 1).all()


def a_deck_with_held_out_rows(size, held_out, seed, strata=None):
    deck = Deck(size, np.random.default_rng(seed), strata)
    held_out = np.array(sorted(held_out), dtype=int)
    deck.hold_out(held_out[::2], held_out[1::2])
    return deck, set(range(size)) - set(held_out.tolist())


held_out_rows = st.integers(20, 300).flatmap(
    lambda size: st.tuples(st.just(size), st.sets(st.integers(0, size - 1), min_size=2, max_size=size // 2))
)


@given(held_out_rows, st.integers(0, 100))
def test_held_out_rows_are_never_dealt(size_and_rows, seed):
    size, held_out = size_and_rows
    deck, others = a_deck_with_held_out_rows(size, held_out, seed)

    opening = deck.opening(5)
    dealt = deck.deal(size)
    deck.discard(dealt)

    assert deck.size == len(others) == len(deck.rows)
    assert deck.pool_size == size
    assert set(deck.rows.tolist()) == others
    assert sorted([*opening, *dealt]) == sorted(others)
    assert deck.left == len(dealt)
    assert set(deck.deal(size).tolist()) == set(dealt.tolist())
    assert set(deck.sample(50).tolist()) <= others


@pytest.mark.parametrize("at_the_end", [True, False])
def test_the_opening_has_every_class_of_the_other_rows_in_their_proportions(at_the_end):
    strata = np.zeros(4000, dtype=np.uint8)
    strata[:40] = 1  # rare
    strata[3900:] = 2  # held out
    held_out = np.arange(3900, 4000) if at_the_end else np.r_[1:2000:20, 3900:4000]
    deck, others = a_deck_with_held_out_rows(4000, held_out, 0, strata)

    opening = deck.opening(0.05)

    assert set(opening.tolist()) <= others
    assert len(opening) == round(0.05 * len(others))
    assert set(strata[opening].tolist()) == {0, 1}
    assert np.count_nonzero(strata[opening]) == 2
    assert sorted(deck.opening(1.0)) == sorted(others)


def test_a_large_deck_with_held_out_rows_is_dealt_from_the_other_rows():
    deck = Deck(4_000_000, np.random.default_rng(0), costs=CostEstimates(Budget(10, clock=FakeClock())))
    deck.hold_out(np.arange(0, 1_000_000, 2), np.arange(1, 1_000_000, 2))

    rows = deck.deal(1000)

    assert rows.min() >= 1_000_000
    assert len(set(rows.tolist())) == 1000


def test_taking_held_out_rows_again_changes_nothing():
    deck, others = a_deck_with_held_out_rows(100, range(90, 100), 0)

    deck.take(deck.validation_rows)
    deck.take(np.arange(10))

    assert deck.left == 80
    assert set(deck.deal(100).tolist()) == others - set(range(10))


@given(st.integers(1, 150), st.integers(0, 150), st.integers(0, 150), st.integers(0, 150), seeds)
def test_rows_that_are_put_back_are_the_next_to_be_dealt(size, before, count, next_count, seed):
    deck = a_deck(size, seed)
    deck.discard(deck.deal(before))

    rows = deck.deal(count)
    deck.put_back(rows)

    assert deck.left == size
    np.testing.assert_array_equal(deck.deal(min(next_count, count)), rows[:next_count])
    rest = deck.deal(size)
    assert deck.left == 0
    assert len(np.unique(np.concatenate([rows[: min(next_count, count)], rest]))) == size


def test_rows_that_are_put_back_twice_come_in_the_order_of_a_pile():
    deck = a_deck(100)
    first, second = deck.deal(10), deck.deal(5)

    deck.put_back(second)
    deck.put_back(first)

    np.testing.assert_array_equal(deck.deal(15), np.concatenate([first, second]))


def test_the_validation_rows_are_a_part_of_a_small_pool_and_limited_in_a_large_one():
    assert [count_validation_rows(size) for size in (400, 4000, 40_000, 4_000_000)] == [20, 200, 1000, 2000]
