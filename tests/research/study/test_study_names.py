"""The paper's twenty data sets by name."""

import pytest

from fitwithin._research.study.names import DATA_SETS, Split, data_set, normal


def test_there_are_twenty_in_the_papers_order():
    assert len(DATA_SETS) == 20
    assert next(iter(DATA_SETS)) == "vehicle_sensIT"
    assert list(DATA_SETS)[-1] == "aloi"


def test_the_papers_figures_come_with_them():
    diabetes = DATA_SETS["Diabetes130US"]

    assert (diabetes.train_rows, diabetes.attributes, diabetes.classes) == (71_236, 2_518, 3)


def test_seven_are_sampled_from_a_small_original():
    originals = {name: known.original for name, known in DATA_SETS.items() if known.original is not None}

    assert originals == {
        "BNG_spambase": "spambase",
        "BNG_spectf_test": "spectf_test",
        "BNG_wine": "wine",
        "BNG_eucalyptus": "eucalyptus",
        "BNG_satimage": "satimage",
        "BNG_mfeat_fourier": "mfeat_fourier",
        "BNG_letter_5000_1": "letter",
    }


def test_they_are_frozen():
    with pytest.raises(TypeError):
        DATA_SETS["covtype"] = None
    with pytest.raises(AttributeError):
        DATA_SETS["covtype"].classes = 8


@pytest.mark.parametrize("name", DATA_SETS)
def test_a_set_is_found_by_its_own_name_and_by_those_of_its_files(name):
    known = DATA_SETS[name]

    assert data_set(name) is known
    assert all(data_set(stem.upper()) is known for stem in known.stems)
    assert all(stem == normal(stem) for stem in known.stems)


def test_no_file_name_belongs_to_two_sets():
    stems = [stem for known in DATA_SETS.values() for stem in known.stems]

    assert len(stems) == len(set(stems))


@pytest.mark.parametrize(
    ("name", "rows", "train"),
    [
        ("mnist", 70_000, 60_000),
        ("poker_hand", 1_025_010, 1_000_000),
        ("poker_hand", 1_025_009, 999_999),
    ],
)
def test_a_set_that_comes_split_is_cut_where_it_was(name, rows, train):
    split = DATA_SETS[name].split(rows)

    assert split.cut is not None
    assert (split.cut if split.train_first else rows - split.cut) == train


@pytest.mark.parametrize(("name", "rows"), [("mnist", 5_000), ("covtype", 581_012)])
def test_any_other_is_split_by_share(name, rows):
    assert DATA_SETS[name].split(rows) == Split(share=0.7)
