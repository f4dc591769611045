"""Words of messages: lists that end, the word that was meant."""

from fitwithin._core.exceptions import closest_match, join_names


def test_a_list_ends_after_some_names():
    assert join_names(["a", "b"], 2) == "a, b"
    assert join_names(range(2000), 1) == "0 and 1,999 more"
    assert join_names([], 3) == ""


def test_the_nearest_word_is_found_whatever_its_capitals():
    assert closest_match("TARGT", ["age", "Target"]) == "Target"
    assert closest_match("zzz", ["age"]) is None
    assert closest_match("a", []) is None
