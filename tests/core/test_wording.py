"""Words of messages: lists that end, the word that was meant, warnings in a line."""

import warnings

from fitwithin._cli.console import unique_first_lines
from fitwithin._core.exceptions import closest_match, join_names


def test_a_list_ends_after_some_names():
    assert join_names(["a", "b"], 2) == "a, b"
    assert join_names(range(2000), 1) == "0 and 1,999 more"
    assert join_names([], 3) == ""


def test_the_nearest_word_is_found_whatever_its_capitals():
    assert closest_match("TARGT", ["age", "Target"]) == "Target"
    assert closest_match("zzz", ["age"]) is None
    assert closest_match("a", []) is None


def test_a_warning_is_told_once_and_in_a_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for text in ("one\nand its story", "two", "one\nand another"):
            warnings.warn(text, UserWarning, stacklevel=1)

    assert unique_first_lines(caught) == ["one", "two"]
