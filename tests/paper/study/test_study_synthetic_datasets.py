"""Sets sampled from a Bayesian network: states, network, agreement with the original, and cache."""

import builtins
import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from fitwithin_paper.study import synthetic_datasets
from fitwithin_paper.study.bayesian_network import NetworkNode, learn_network, mutual_information
from fitwithin_paper.study.discretization import CategoryStates, IntervalStates
from fitwithin_paper.study.paper_datasets import PAPER_DATASETS
from fitwithin_paper.study.raw_dataset import DatasetUnavailable
from fitwithin_paper.study.sample_agreement import SampleAgreement, measure_agreement
from fitwithin_paper.study.synthetic_datasets import generate_dataset

WINE = PAPER_DATASETS["BNG_wine"]
POOR = SampleAgreement(0.1, 0.3, 0.5, 0.2, 0.2)

needs_pgmpy = pytest.mark.usefixtures("pgmpy")


@pytest.fixture(scope="module")
def pgmpy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, on import
        return pytest.importorskip("pgmpy")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(as_frame=True, return_X_y=True)
    return X.assign(target=y)


@pytest.fixture(scope="module")
def narrow_wine(wine):
    """Four columns of it, for tests of the cache: a network over them is learned quickly."""
    return wine.iloc[:, -4:]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    return X.iloc[:, :12].assign(target=y)


@pytest.fixture(scope="module")
def mixed():
    """Words that depend on the class, numbers that depend on the words, and gaps."""
    rng = np.random.default_rng(0)
    target = rng.choice(["no", "yes"], 600, p=[0.7, 0.3])
    word = np.where(rng.random(600) < 0.8, np.where(target == "yes", "a", "b"), "c")
    number = np.where(word == "a", 5.0, 1.0) + rng.normal(size=600)
    number[::10] = np.nan
    year = 1980 + (target == "yes") + rng.integers(0, 2, 600)
    return pd.DataFrame({"word": word, "number": number, "year": year, "noise": rng.random(600), "target": target})


def rng():
    return np.random.default_rng(0)


def test_a_missing_value_is_a_state_and_is_sampled_as_missing():
    column = pd.Series(["x", None, "y", "x"])
    states = CategoryStates.from_column(column)

    drawn = pd.Series(states.sample_values(states.encode(column), rng()))

    assert states.n_states == 3
    assert drawn.isna().tolist() == [False, True, False, False]
    assert drawn.dropna().tolist() == ["x", "y", "x"]


def test_intervals_have_about_equally_many_rows():
    column = pd.Series(rng().normal(size=1000))

    counts = np.bincount(IntervalStates.from_column(column, 5).encode(column))

    assert counts.tolist() == [200] * 5


def test_a_value_that_is_most_of_a_column_has_an_interval_of_its_own():
    column = pd.Series([0.0] * 90 + list(np.linspace(1, 2, 10)))

    counts = np.bincount(IntervalStates.from_column(column, 3).encode(column))

    assert counts.tolist() == [90, 5, 5]


@pytest.mark.parametrize("values", [[7.0], [1.0, 2.0], [1.0, 2.0, 2.0, 2.0]])
def test_there_are_no_more_intervals_than_distinct_values(values):
    column = pd.Series(values)

    assert IntervalStates.from_column(column, 5).encode(column).max() == len(set(values)) - 1


def test_sampled_numbers_are_distributed_like_the_original_not_like_the_intervals():
    column = pd.Series(rng().exponential(size=2000))
    states = IntervalStates.from_column(column, 3)

    drawn = states.sample_values(np.repeat(states.encode(column), 20), rng())

    tenths = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(np.quantile(drawn, tenths), np.quantile(column, tenths), rtol=0.05)
    assert drawn.min() >= np.float32(column.min())
    assert drawn.max() <= np.float32(column.max())


def test_integers_stay_integers_and_missing_values_stay_missing():
    whole, gaps = pd.Series([1, 5, 9] * 20), pd.Series([1.0, None, 9.0] * 20)
    whole_states, gaps_states = IntervalStates.from_column(whole, 2), IntervalStates.from_column(gaps, 2)

    drawn = whole_states.sample_values(whole_states.encode(whole), rng())
    with_gaps = gaps_states.sample_values(gaps_states.encode(gaps), rng())

    assert drawn.dtype == whole.dtype
    assert set(drawn) == {1, 5, 9}
    assert (np.isnan(with_gaps) == gaps.isna()).all()


def test_intervals_of_equal_width_are_sampled_by_name():
    column = pd.Series([0.0, 0.1, 0.2, 9.0])
    states = IntervalStates.with_equal_widths(column, 3)

    drawn = states.sample_values(states.encode(column), rng())

    assert list(drawn) == ["<= 3", "<= 3", "<= 3", "> 6"]
    assert IntervalStates.with_equal_widths(pd.Series([2, 2]), 3).n_states == 2


def test_states_are_sampled_with_their_probabilities_given_the_parents():
    node = NetworkNode(("p", "q"), (2, 2), np.array([[1.0, 0.0], [0.0, 1.0], [0.25, 0.75], [0.5, 0.5]]))
    codes = {"p": np.repeat([0, 0, 1, 1], 10_000), "q": np.repeat([0, 1, 0, 1], 10_000)}

    sampled = node.sample_states(codes, 40_000, rng()).reshape(4, -1).mean(axis=1)

    np.testing.assert_allclose(sampled, [0, 1, 0.75, 0.5], atol=0.02)


def test_mutual_information_is_zero_for_independent_columns_and_the_entropy_for_equal_ones():
    x, y = np.repeat([0, 1, 2], 300), np.tile([0, 1, 2], 300)

    assert mutual_information(x, y) == pytest.approx(0, abs=1e-12)
    assert mutual_information(x, x) == pytest.approx(np.log(3))


def test_a_table_agrees_with_itself_and_not_with_a_shuffled_one(wine):
    random = rng()
    shuffled = wine.apply(lambda column: random.permutation(column.to_numpy()))

    itself, other = measure_agreement(wine, wine), measure_agreement(wine, shuffled)

    assert itself.marginal_worst == itself.dependence_difference == 0
    assert itself.dependence_correlation == pytest.approx(1)
    assert other.marginal_worst == 0
    assert other.dependence_correlation < 0.3
    assert other.class_difference > 0.3


def test_agreement_detects_a_column_with_another_distribution(wine):
    assert measure_agreement(wine, wine.assign(alcohol=wine["alcohol"].max())).marginal_worst == pytest.approx(
        0.8, abs=0.01
    )


@needs_pgmpy
@pytest.mark.parametrize("name", ["wine", "cancer", "mixed"])
def test_sampled_rows_agree_with_the_original(name, request):
    original = request.getfixturevalue(name)
    net = learn_network(original)

    figures = measure_agreement(net.convert_original(original), net.sample(50_000, seed=0))

    assert figures.marginal_mean < 0.015
    assert figures.marginal_worst < 0.03
    assert figures.dependence_correlation > 0.85
    assert figures.class_difference < 0.15


@needs_pgmpy
def test_the_seed_decides_the_rows(wine):
    net = learn_network(wine)

    first, again, other = (net.sample(500, seed) for seed in (0, 0, 1))

    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@needs_pgmpy
def test_columns_keep_their_order_and_kinds(mixed):
    sampled = learn_network(mixed, nominal_columns=("year",)).sample(5_000)

    assert list(sampled) == list(mixed)
    assert set(sampled["word"]) == {"a", "b", "c"}
    assert set(sampled["year"]) == {"1980", "1981", "1982"}
    assert sampled["number"].dtype == np.float32
    assert sampled["number"].isna().mean() == pytest.approx(0.1, abs=0.02)
    assert set(sampled["target"]) == {"no", "yes"}


@needs_pgmpy
def test_three_intervals_of_each_column_can_be_sampled_by_name(wine):
    net = learn_network(wine, n_bins=3)
    sampled = net.sample(100_000)

    assert (sampled.drop(columns="target").nunique() == 3).all()
    assert measure_agreement(net.convert_original(wine), sampled).marginal_worst < 0.03


@needs_pgmpy
def test_a_set_is_generated_once_and_then_cached(narrow_wine, tmp_path, monkeypatch):
    first, source = generate_dataset(WINE, narrow_wine, cache=tmp_path, n_rows=2_000, seed=0)
    monkeypatch.setattr(synthetic_datasets, "learn_network", None)

    again, same = generate_dataset(WINE, narrow_wine, cache=tmp_path, n_rows=2_000, seed=0)

    pd.testing.assert_frame_equal(first, again)
    assert source == same
    assert "learned on wine (178 rows) by pgmpy, 2,000 rows, seed 0; marginals differ by 0.0" in source
    assert [file.suffix for file in tmp_path.iterdir()] == [".parquet"]


@needs_pgmpy
def test_other_rows_seeds_and_originals_are_cached_separately(narrow_wine, tmp_path):
    for rows, seed, original in (
        (100, 0, narrow_wine),
        (200, 0, narrow_wine),
        (100, 1, narrow_wine),
        (100, 0, narrow_wine[:150]),
    ):
        frame, _ = generate_dataset(WINE, original, cache=tmp_path, n_rows=rows, seed=seed)
        assert len(frame) == rows

    assert len(list(tmp_path.iterdir())) == 4


@needs_pgmpy
@pytest.mark.parametrize("damage", [b"", b"not parquet", None])
def test_a_broken_file_is_renamed_and_generated_again(narrow_wine, tmp_path, damage):
    first, _ = generate_dataset(WINE, narrow_wine, cache=tmp_path, n_rows=100, seed=0)
    (file,) = tmp_path.iterdir()
    if damage is None:
        first.to_parquet(file)  # a whole file, but without the figures
    else:
        file.write_bytes(damage)

    again, _ = generate_dataset(WINE, narrow_wine, cache=tmp_path, n_rows=100, seed=0)

    pd.testing.assert_frame_equal(first, again)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".broken", ".parquet"]


@needs_pgmpy
def test_a_full_disk_leaves_no_partial_file(narrow_wine, tmp_path, monkeypatch):
    def full(table, file, **options):
        file.write_bytes(b"half a fi")
        raise OSError("No space left on device")

    monkeypatch.setattr(synthetic_datasets.pq, "write_table", full)

    with pytest.warns(RuntimeWarning, match="could not be cached: No space left"):
        frame, _ = generate_dataset(WINE, narrow_wine, cache=tmp_path, n_rows=100, seed=0)

    assert len(frame) == 100
    assert list(tmp_path.iterdir()) == []


@needs_pgmpy
def test_a_cache_that_is_not_a_folder_causes_only_a_warning(narrow_wine, tmp_path):
    (tmp_path / "file").touch()

    with pytest.warns(RuntimeWarning, match="could not be cached"):
        frame, _ = generate_dataset(WINE, narrow_wine, cache=tmp_path / "file", n_rows=100, seed=0)

    assert len(frame) == 100


@needs_pgmpy
def test_a_set_unlike_its_original_is_reported(wine, tmp_path, monkeypatch):
    _, like = generate_dataset(WINE, wine, cache=tmp_path, n_rows=20_000, seed=0)
    monkeypatch.setattr(
        synthetic_datasets, "measure_agreement", lambda original, frame: dataclasses.replace(POOR, class_difference=1)
    )
    _, unlike = generate_dataset(WINE, wine, cache=tmp_path, n_rows=50, seed=0)

    assert "NOT LIKE THE ORIGINAL" not in like
    assert "dependence on the class differs by 1.000 nats; NOT LIKE THE ORIGINAL" in unlike


@pytest.mark.parametrize(
    ("change", "violations"),
    [
        ({}, ("a marginal differs by more than 0.05", "pairwise dependence correlates less than 0.8")),
        ({"marginal_worst": 0.05}, ("pairwise dependence correlates less than 0.8",)),
        ({"dependence_correlation": 0.8}, ("a marginal differs by more than 0.05",)),
        ({"marginal_worst": 0.05, "dependence_correlation": 0.8}, ()),
        (
            {"marginal_worst": 0.05, "dependence_correlation": float("nan")},
            ("pairwise dependence correlates less than 0.8",),
        ),
    ],
)
def test_violated_bounds_are_listed(change, violations):
    assert dataclasses.replace(POOR, **change).violations == violations


@needs_pgmpy
def test_every_column_may_have_any_name(wine):
    odd = wine.iloc[:, -4:].set_axis(["a b", "ü=1", "c0", "target"], axis=1)

    assert list(learn_network(odd).sample(10)) == list(odd)


def test_without_pgmpy_the_error_says_what_to_install(wine, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("pgmpy"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(DatasetUnavailable, match=r"pip install 'fitwithin\[study\]'"):
        generate_dataset(WINE, wine, cache=tmp_path, n_rows=10, seed=0)


def test_an_agreement_is_described_in_words(wine):
    figures = dataclasses.replace(measure_agreement(wine, wine), marginal_mean=0.0042, marginal_worst=0.01)

    assert str(figures) == (
        "marginals differ by 0.004 on average and 0.010 at most, "
        "pairwise dependence correlates 1.000 with the original's, "
        "dependence on the class differs by 0.000 nats"
    )
