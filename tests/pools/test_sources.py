"""Data sets outside memory, as blocks of rows."""

import datetime
import errno
import os
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitwithin._core.exceptions import NoModelInTime, UserInputError
from fitwithin._pools.sources.opening import open_blocks, open_source
from fitwithin._pools.tables import find_input_kind

N_ROWS, BLOCK_ROWS = 1000, 100


@pytest.fixture
def table():
    """Columns of every kind; missing values and categories that are in one block only."""
    numbers = np.arange(N_ROWS)
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=int(number % 300)) for number in numbers]
    return pa.table(
        {
            "number": numbers.astype(np.float32),
            "count": pa.array([None if number == 950 else int(number) for number in numbers], pa.int64()),
            "whole": pa.array(numbers, pa.int16()),
            "on": pa.array([None if number == 20 else bool(number % 2) for number in numbers]),
            "city": pa.array(["Oslo" if number < 500 else "Lima" for number in numbers]).dictionary_encode(),
            "text": pa.array([f"text {number % 7}" for number in numbers]),
            "day": pa.array(days),
            "when": pa.array(days).cast(pa.timestamp("us")),
            "label": pa.array([["a", "b", "c"][number % 3] for number in numbers]),
            "w": pa.array(np.ones(N_ROWS)),
        }
    )


@pytest.fixture(params=["parquet", "arrow", "feather"])
def file(table, tmp_path, request):
    path = tmp_path / f"rows.{request.param}"
    if request.param == "parquet":
        pq.write_table(table, path, row_group_size=BLOCK_ROWS)
    elif request.param == "feather":
        feather.write_feather(table, path, chunksize=BLOCK_ROWS)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=BLOCK_ROWS)
    return path


@pytest.fixture
def small_batches(monkeypatch):
    """Keep every record batch a block of its own."""
    monkeypatch.setattr("fitwithin._pools.sources.dataset_blocks._MIN_BATCH_BYTES", 0)


def read_all(source):
    return pa.concat_tables([source.read_block(number) for number in range(source.n_blocks)])


def test_a_file_is_read_in_its_row_groups_and_record_batches(file, table, small_batches):
    source = open_source(file, "label", "w")

    assert source.n_blocks == N_ROWS // BLOCK_ROWS
    assert source.schema.names == ["number", "count", "whole", "on", "city", "text", "day", "when"]
    assert source.read_block(3).column_names == [*source.schema.names, "label", "w"]
    assert read_all(source)["text"].to_pylist() == table["text"].to_pylist()
    assert not source.is_shuffled


def test_small_record_batches_are_read_together(table, tmp_path):
    path = tmp_path / "rows.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=BLOCK_ROWS)
    source = open_source(path, "label")
    assert source.n_blocks == 1
    assert source.read_block(0).num_rows == N_ROWS


def test_every_block_becomes_a_frame_with_the_dtypes_of_the_whole(file, table, small_batches):
    source = open_source(str(file), "label")
    expected = table.to_pandas()

    frames = [source.to_frame(source.read_block(number)) for number in range(source.n_blocks)]

    assert all((frame.dtypes == frames[0].dtypes).all() for frame in frames)
    assert [frame.index.tolist() for frame in frames] == [list(range(BLOCK_ROWS))] * len(frames)
    for name in source.schema.names:
        if name != "city":
            assert frames[0][name].dtype == expected[name].dtype, name
    assert {tuple(frame["city"].cat.categories) for frame in frames} == {("Oslo", "Lima")} or {
        tuple(frame["city"].cat.categories) for frame in frames
    } == {("Lima", "Oslo")}
    together = pd.concat(frames, ignore_index=True)
    pd.testing.assert_frame_equal(together[expected.columns], expected, check_categorical=False, check_dtype=False)


def test_some_columns_have_the_rows_of_their_block(file, small_batches):
    source = open_source(file, "label", "w")
    part = source.blocks.read(2, ["w", "label"])
    assert part.column_names == ["w", "label"]
    assert part["label"].to_pylist() == source.read_block(2)["label"].to_pylist()


@pytest.fixture
def small_heads(monkeypatch):
    """The first 30 rows of a row group of 100 are a block of their own."""
    monkeypatch.setattr("fitwithin._pools.sources.dataset_blocks.HEAD_ROWS", 30)
    monkeypatch.setattr("fitwithin._pools.sources.dataset_blocks._LARGE_BLOCK_ROWS", 100)


def test_the_first_rows_of_a_large_row_group_are_a_block_of_their_own(table, tmp_path, small_heads):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=150)
    source = open_source(path, "label", "w")

    assert source.rests == set(range(1, 14, 2))
    assert [source.read_block(number).num_rows for number in range(source.n_blocks)] == [30, 120] * 6 + [30, 70]
    assert read_all(source).select(["number", "city", "label"]).equals(table.select(["number", "city", "label"]))


def test_a_row_group_with_the_categories_of_pandas_is_split_too(tmp_path, small_heads):
    cities = [f"city {row % 7}" for row in range(150)]
    frame = pd.DataFrame({"city": pd.Categorical(cities), "label": np.arange(150) % 2})
    frame.to_parquet(tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet", "label")

    assert source.rests == {1}
    parts = [source.to_frame(source.read_block(number)) for number in range(2)]
    assert [len(part) for part in parts] == [30, 120]
    assert pd.concat(parts)["city"].tolist() == cities


def test_a_checkpoint_is_not_resumed_on_row_groups_that_are_split_in_another_way(table, tmp_path, small_heads):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=150)

    assert open_source(path, "label").describe()["split row groups"] == "7"
    assert "split row groups" not in open_blocks(path).describe()


def test_a_block_is_whole_with_a_filter_or_other_types_and_for_predictions(file, small_batches, small_heads):
    format_ = "parquet" if file.suffix == ".parquet" else "ipc"
    dataset = ds.dataset(file, format=format_)
    wider = ds.dataset(file, dataset.schema.set(2, pa.field("whole", pa.int64())), format=format_)
    for other in (dataset.filter(ds.field("label") != "c"), wider):
        source = open_source(other, "label")
        assert (source.n_blocks, source.rests) == (N_ROWS // BLOCK_ROWS, frozenset())
    assert open_blocks(file).n_blocks == N_ROWS // BLOCK_ROWS


def test_a_filter_of_the_data_set_is_kept_and_rules_out_row_groups(file, table, small_batches):
    format_ = "parquet" if file.suffix == ".parquet" else "ipc"
    dataset = ds.dataset(file, format=format_).filter((ds.field("number") >= 450) & (ds.field("label") != "c"))
    source = open_source(dataset, "label")

    found = read_all(source)

    assert found["number"].to_pylist() == [n for n in range(450, N_ROWS) if n % 3 != 2]
    assert source.blocks.read(0, ["label"]).num_rows == source.read_block(0).num_rows
    if format_ == "parquet":
        assert source.n_blocks == 6


def test_the_schema_of_a_data_set_selects_its_columns(file):
    dataset = ds.dataset(file, format="parquet" if file.suffix == ".parquet" else "ipc")
    narrow = dataset.replace_schema(pa.schema([dataset.schema.field(name) for name in ("label", "number")]))
    source = open_source(narrow, "label")
    assert source.schema.names == ["number"]
    assert source.read_block(0).column_names == ["number", "label"]


def test_a_folder_a_pattern_and_a_list_name_the_same_rows(table, tmp_path):
    (tmp_path / "rows").mkdir()
    paths = [tmp_path / "rows" / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        pq.write_table(table.slice(number * 300, 300), path)
    (tmp_path / "rows" / "_SUCCESS").touch()
    (tmp_path / "rows" / "_old.parquet").write_bytes(b"no parquet")

    sources = [open_source(X, "label") for X in (tmp_path / "rows", str(tmp_path / "rows" / "?.parquet"), paths)]

    assert [read_all(source)["number"].to_pylist() for source in sources] == [list(range(900))] * 3
    assert len({str(source.describe()["files"]) for source in sources}) == 1


def test_folders_such_as_year_2026_are_a_column(tmp_path, table):
    for year, format_ in ((2025, "parquet"), (2026, "parquet")):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        pq.write_table(table.slice(0, 10), folder / f"rows.{format_}")
    source = open_source(tmp_path, "label")
    assert read_all(source)["year"].to_pylist() == [2025] * 10 + [2026] * 10


def test_folders_are_a_column_of_arrow_files_too(tmp_path, table):
    for year in (2025, 2026):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        feather.write_feather(table.slice(0, 10), folder / "rows.feather")
    source = open_source(tmp_path, "label")
    assert read_all(source)["year"].to_pylist() == [2025] * 10 + [2026] * 10


def test_the_index_of_pandas_is_no_feature_and_its_own_types_stay(tmp_path):
    frame = pd.DataFrame(
        {"a": pd.array([1, None, 3], "Int64"), "b": pd.array([True, None, False], "boolean"), "label": [0, 1, 0]},
        index=pd.Index([7, 8, 9], name="id"),
    )
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1)
    source = open_source(tmp_path / "rows.parquet", "label")
    assert source.schema.names == ["a", "b"]
    rows = [source.to_frame(source.read_block(number)) for number in range(3)]
    assert {str(part["a"].dtype) for part in rows} == {"Int64"}
    assert {str(part["b"].dtype) for part in rows} == {"boolean"}
    assert open_source(tmp_path / "rows.parquet", "id").target == "id"


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
@pytest.mark.parametrize("counts", [(3, 500, 40), (500, 3, 40)])
def test_a_later_file_may_have_more_categories_than_the_codes_of_the_first_hold(counts, suffix, tmp_path):
    for number, count in enumerate(counts):
        cities = pd.Categorical([f"city {row % count}" for row in range(600)])
        frame, path = pd.DataFrame({"city": cities, "label": np.arange(600) % 2}), tmp_path / f"{number}{suffix}"
        frame.to_parquet(path) if suffix == ".parquet" else feather.write_feather(frame, path)
    source = open_source(tmp_path, "label")

    for number, count in enumerate(counts):
        city = source.to_frame(source.read_block(number))["city"]
        assert city.tolist() == [f"city {row % count}" for row in range(600)]
        assert len(city.dtype.categories) == 500


def test_ordered_categories_keep_their_order(tmp_path):
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    frame = pd.DataFrame({"size": pd.Series(["large", "small", "medium", "small"], dtype=sizes), "label": [0, 1, 0, 1]})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=1)
    source = open_source(tmp_path / "rows.parquet", "label")
    for number in range(4):
        assert source.to_frame(source.read_block(number))["size"].dtype == sizes


@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_blocks_have_one_type_wherever_values_are_missing(data, tmp_path_factory):
    values = data.draw(st.lists(st.one_of(st.none(), st.integers(-100, 100)), min_size=1, max_size=30))
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    stored = pa.table({"a": pa.array(values, pa.int32()), "label": pa.array(range(len(values)))})
    pq.write_table(
        stored, path, row_group_size=data.draw(st.integers(1, 10)), write_statistics=data.draw(st.booleans())
    )

    source = open_source(path, "label")

    frames = [source.to_frame(source.read_block(number)) for number in range(source.n_blocks)]
    expected = stored.to_pandas()["a"]
    assert {frame["a"].dtype for frame in frames} == {expected.dtype}
    np.testing.assert_array_equal(np.concatenate([frame["a"] for frame in frames]), expected)


@pytest.fixture
def parquet(table, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=BLOCK_ROWS)
    return path


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 150 rows with 11 columns."""
    monkeypatch.setattr("fitwithin._pools.sources.lazy_frame_blocks._BLOCK_VALUES", 11 * 150)


@pytest.mark.skipif(not hasattr(pl.LazyFrame, "collect_batches"), reason="older versions read slices from the start")
def test_a_scan_of_polars_is_read_in_slices_and_nothing_is_written(parquet, small_blocks, tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    frame = pl.scan_parquet(parquet).with_columns(double=pl.col("number") * 2)
    source = open_source(frame, "label", spool=folder / "missing")
    assert source.n_blocks == 7
    got = source.to_frame(read_all(source))
    assert isinstance(got, pl.DataFrame)
    assert got.equals(frame.collect().select(got.columns))


def test_the_result_of_a_query_is_written_once_to_a_file_without_a_name(parquet, small_blocks, tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    frame = pl.scan_parquet(parquet).filter(pl.col("number") > 200).sort("number", descending=True)
    source = open_source(frame, "label", spool=folder)
    assert list(folder.iterdir()) == []
    assert source.n_blocks > 1
    got = source.to_frame(read_all(source))
    expected = frame.collect().select(got.columns)
    assert got.schema == expected.schema
    assert got.to_dicts() == expected.to_dicts()  # Categories of two frames differ in polars 1.0.


def test_categories_of_polars_come_back_as_such(small_blocks):
    kinds = pl.Enum(["x", "y", "z"])
    frame = pl.DataFrame({"k": ["a", "b"] * 400, "e": ["x", "z"] * 400, "label": [0, 1] * 400}).with_columns(
        pl.col("k").cast(pl.Categorical), pl.col("e").cast(kinds)
    )
    source = open_source(frame.lazy(), "label")
    block = source.to_frame(source.read_block(1))
    assert block.schema["k"] == pl.Categorical
    assert block.schema["e"] == kinds


def test_a_data_set_is_given_up_when_the_time_is_over(parquet, small_blocks):
    def check():
        raise NoModelInTime("The time is over.")

    for X in (pl.scan_parquet(parquet).filter(pl.col("number") > 2), parquet):
        with pytest.raises(NoModelInTime, match="time is over"):
            open_source(X, "label", check=check)


def test_blocks_can_be_read_by_several_threads(file, small_batches):
    source = open_source(file, "label")
    found = [None] * source.n_blocks
    threads = [
        threading.Thread(target=lambda number=number: found.__setitem__(number, source.read_block(number)))
        for number in range(source.n_blocks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pa.concat_tables(found)["number"].to_pylist() == list(range(N_ROWS))


def test_what_is_in_memory_is_no_data_set():
    assert find_input_kind(np.zeros((2, 2))) == "table"
    assert find_input_kind(pd.DataFrame({"a": [1]})) == "table"
    assert find_input_kind([]) == "table"


def test_a_data_set_in_memory_is_read_too(table):
    source = open_source(ds.dataset(table), "label")
    assert read_all(source)["number"].to_pylist() == list(range(N_ROWS))


class TestErrors:
    def test_an_unknown_column_names_the_closest(self, parquet):
        with pytest.raises(UserInputError, match=r"rows.parquet has no column 'lable'. Did you mean "):
            open_source(parquet, "lable")
        with pytest.raises(UserInputError, match=r"no column 'weights'. .*Its columns: number, count"):
            open_source(parquet, "label", "weights")
        with pytest.raises(UserInputError, match=r"The lazy frame has no column 'x'"):
            open_source(pl.scan_parquet(parquet), "x")
        with pytest.raises(UserInputError, match=r"has no column 'numbr'. Did you mean 'number'"):
            open_blocks(parquet, ["numbr"])

    def test_labels_in_memory_do_not_fit_to_a_data_set(self, parquet):
        with pytest.raises(UserInputError, match=r"target must be the name of one of its columns; got ndarray"):
            open_source(parquet, np.zeros(10))

    def test_there_are_no_files(self, tmp_path, parquet):
        with pytest.raises(UserInputError, match=r"no file or folder .*row.parquet. Did you mean .*rows.parquet"):
            open_source(tmp_path / "row.parquet", "label")
        with pytest.raises(UserInputError, match=r"No file matches .*\*\.arrow"):
            open_source(str(tmp_path / "*.arrow"), "label")
        (tmp_path / "empty").mkdir()
        with pytest.raises(UserInputError, match=r"empty has no files that end in \.parquet"):
            open_source(tmp_path / "empty", "label")

    def test_an_entry_of_a_folder_that_cannot_be_read_is_named(self, tmp_path, parquet, monkeypatch):
        (tmp_path / "broken.parquet").symlink_to(tmp_path / "nowhere.parquet")
        with pytest.raises(UserInputError, match=r"broken.parquet is no file, or a link to one that is not there"):
            open_source(tmp_path, "label")
        (tmp_path / "broken.parquet").unlink()
        (tmp_path / "private").mkdir()
        listdir = os.scandir

        def refuse(folder):
            # Nothing is private to root, who may run the tests.
            if str(folder).endswith("private"):
                raise PermissionError(errno.EACCES, "Permission denied", str(folder))
            return listdir(folder)

        monkeypatch.setattr(os, "scandir", refuse)
        with pytest.raises(UserInputError, match=r"Permission denied. Change the permissions of .*private, or leave"):
            open_source(tmp_path, "label")

    def test_an_unknown_ending_lists_the_known_ones(self, tmp_path):
        (tmp_path / "rows.sav").touch()
        with pytest.raises(UserInputError, match=r"rows.sav does not tell the format .* \.parquet, \.pq, \.arrow"):
            open_source(tmp_path / "rows.sav", "label")

    def test_files_whose_columns_differ_are_named(self, tmp_path, parquet):
        other = tmp_path / "other.parquet"
        stored = pq.read_table(parquet)
        pq.write_table(stored.drop_columns(["text"]), other)
        with pytest.raises(UserInputError, match=r"rows.parquet has a column 'text', which .*other.parquet does not"):
            open_source(str(tmp_path / "*.parquet"), "label")
        changed = stored.set_column(0, "number", stored["number"].cast(pa.int64()))
        pq.write_table(changed, other)
        with pytest.raises(UserInputError, match=r"has other types than .*: Field number has incompatible types: "):
            open_source(str(tmp_path / "*.parquet"), "label")

    def test_a_column_without_values_in_one_file_is_no_difference(self, tmp_path, parquet):
        stored = pq.read_table(parquet)
        empty = stored.set_column(1, "count", pa.nulls(N_ROWS))
        pq.write_table(empty, tmp_path / "a.parquet")
        source = open_source(str(tmp_path / "*.parquet"), "label")
        assert read_all(source)["count"].null_count == N_ROWS + 1

    def test_files_of_two_formats_are_refused(self, tmp_path, parquet):
        feather.write_feather(pq.read_table(parquet), tmp_path / "a.feather")
        with pytest.raises(UserInputError, match="different formats"):
            open_source(tmp_path, "label")

    @pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
    def test_a_truncated_file_is_named(self, file, share):
        content = file.read_bytes()
        file.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(UserInputError, match=rf"{file.name} can't be read"):
            open_source(file, "label")

    def test_a_file_that_vanishes_while_it_is_read_is_named(self, file, small_batches):
        source = open_source(file, "label")
        file.unlink()
        with pytest.raises(UserInputError, match=rf"{file.name} is gone"):
            source.read_block(5)

    def test_a_file_that_is_cut_while_it_is_read_is_named(self, file, small_batches):
        source = open_source(file, "label")
        with file.open("rb+") as opened:
            opened.truncate(2000)
        with pytest.raises(UserInputError, match=rf"{file.name} can't be read"):
            source.read_block(8)

    def test_a_missing_library_comes_with_the_command_that_installs_it(self, monkeypatch):
        monkeypatch.setattr("fitwithin._core.install_command.find_spec", lambda name: None)
        with pytest.raises(ImportError, match=r"pip install 'fitwithin\[files\]'"):
            open_source("rows.parquet", "label")

    def test_a_query_that_fails_says_why(self, parquet):
        frame = pl.scan_parquet(parquet).filter(pl.col("text").str.to_integer() > 0)
        with pytest.raises(UserInputError, match=r"query of the lazy frame failed: .*text 0"):
            open_source(frame, "label")

    def test_a_folder_for_the_result_of_a_query_must_be_there(self, parquet, tmp_path):
        with pytest.raises(UserInputError, match=r"The spool folder .*gone cannot be used: No such file"):
            open_source(pl.scan_parquet(parquet).filter(pl.col("number") > 2), "label", spool=tmp_path / "gone")

    def test_one_column_cannot_have_two_roles(self, parquet):
        with pytest.raises(UserInputError, match="target and the weights"):
            open_source(parquet, "w", "w")


def test_no_library_is_imported_to_look_at_an_array():
    import subprocess

    code = "import sys, fitwithin, numpy as np\nfrom fitwithin._pools.tables import find_input_kind\n"
    code += "assert find_input_kind(np.zeros((2, 2))) == 'table'\n"
    code += "assert not {'polars', 'pyarrow.dataset'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
