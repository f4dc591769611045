"""The paper's twenty data sets."""

import pytest

from fitwithin_paper.study.paper_datasets import PAPER_DATASETS, TrainTestSplit, find_paper_dataset, normalize_name


def test_there_are_twenty_sets_in_the_papers_order():
    assert len(PAPER_DATASETS) == 20
    assert next(iter(PAPER_DATASETS)) == "vehicle_sensIT"
    assert list(PAPER_DATASETS)[-1] == "aloi"


def test_a_set_has_the_papers_sizes():
    diabetes = PAPER_DATASETS["Diabetes130US"]

    assert (diabetes.train_rows, diabetes.attributes, diabetes.classes) == (71_236, 2_518, 3)


def test_seven_sets_are_sampled_from_a_small_original():
    originals = {name: known.original for name, known in PAPER_DATASETS.items() if known.original is not None}

    assert originals == {
        "BNG_spambase": "spambase",
        "BNG_spectf_test": "spectf_test",
        "BNG_wine": "wine",
        "BNG_eucalyptus": "eucalyptus",
        "BNG_satimage": "satimage",
        "BNG_mfeat_fourier": "mfeat_fourier",
        "BNG_letter_5000_1": "letter",
    }


def test_the_sets_are_frozen():
    with pytest.raises(TypeError):
        PAPER_DATASETS["covtype"] = None
    with pytest.raises(AttributeError):
        PAPER_DATASETS["covtype"].classes = 8


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_a_set_is_found_by_its_name_and_its_file_names(name):
    known = PAPER_DATASETS[name]

    assert find_paper_dataset(name) is known
    assert all(find_paper_dataset(stem.upper()) is known for stem in known.file_stems)
    assert all(stem == normalize_name(stem) for stem in known.file_stems)


def test_no_file_name_belongs_to_two_sets():
    stems = [stem for known in PAPER_DATASETS.values() for stem in known.file_stems]

    assert len(stems) == len(set(stems))


@pytest.mark.parametrize(
    ("name", "rows", "train"),
    [
        ("mnist", 70_000, 60_000),
        ("poker_hand", 1_025_010, 1_000_000),
        ("poker_hand", 1_025_009, 999_999),
    ],
)
def test_a_published_split_is_kept(name, rows, train):
    split = PAPER_DATASETS[name].choose_split(rows)

    assert split.cut is not None
    assert (split.cut if split.train_first else rows - split.cut) == train


@pytest.mark.parametrize(("name", "rows"), [("mnist", 5_000), ("covtype", 581_012)])
def test_any_other_set_is_split_by_share(name, rows):
    assert PAPER_DATASETS[name].choose_split(rows) == TrainTestSplit(train_share=0.7)
