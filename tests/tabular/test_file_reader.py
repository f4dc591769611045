"""Every format gives the same rows, whole or in chunks; an unreadable file is reported."""

import bz2
import gzip
import lzma
import os
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, feather
from sklearn.datasets import dump_svmlight_file

from fitwithin._core.exceptions import UserInputError
from fitwithin._pools.tables import concatenate
from fitwithin._tabular.files import csv as csv_module
from fitwithin._tabular.files import data_file as chunk_module
from fitwithin._tabular.files.reader import open_data_file

TABLE = pa.table({"age": [20, None, 40, 60], "city": ["Oslo", "Lima, Peru", None, 'a "b"'], "label": [1, 0, 1, 1]})


def join(chunks):
    """Parts of one file, one below the other."""
    matrices = [chunk.matrix for chunk in chunks]
    table = pa.concat_tables([chunk.table for chunk in chunks])
    return chunk_module.TableChunk(table, None if matrices[0] is None else concatenate(matrices))


def write_csv(table, path):
    csv.write_csv(table, path)


def compressed(opener):
    def write(table, path):
        plain = path.with_name("plain.csv")
        write_csv(table, plain)
        with opener(path, "wb") as file:
            file.write(plain.read_bytes())

    return write


def write_zst(table, path):
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        csv.write_csv(table, file)


def write_semicolons(table, path):
    csv.write_csv(table, path, csv.WriteOptions(delimiter=";"))


WRITERS = {
    "a.parquet": pq.write_table,
    "a.feather": feather.write_feather,
    "a.csv": write_csv,
    "a.tsv": write_semicolons,
    "a.csv.gz": compressed(gzip.open),
    "a.csv.bz2": compressed(bz2.open),
    "a.csv.xz": compressed(lzma.open),
    "a.csv.zst": write_zst,
}


@pytest.fixture(params=WRITERS)
def file(request, tmp_path):
    path = tmp_path / request.param
    WRITERS[request.param](TABLE, path)
    return path


def test_every_format_has_the_same_rows(file):
    data = open_data_file(file)

    table = data.read().table

    assert data.column_names() == table.column_names == ["age", "city", "label"]
    assert table["age"].to_pylist() == [20, None, 40, 60]
    assert table["city"].to_pylist()[0] == "Oslo"
    assert table["city"].null_count == 1
    assert [int(label) for label in table["label"].to_pylist()] == [1, 0, 1, 1]


def test_chunks_add_up_to_the_whole_file(file):
    data = open_data_file(file)

    chunks = list(data.read_chunks({"age": pa.float64(), "city": pa.string()}))

    whole = join(chunks).table
    assert set(whole.column_names) == {"age", "city"}
    assert whole["age"].to_pylist() == [20, None, 40, 60]


def test_large_files_come_in_many_chunks(tmp_path, monkeypatch):
    table = pa.table({"a": np.arange(200_000)})
    monkeypatch.setattr(csv_module, "_CHUNK_BYTES", 1 << 16)
    for name in ("a.parquet", "a.feather", "a.csv"):
        WRITERS[name](table, tmp_path / name)

        chunks = list(open_data_file(tmp_path / name).read_chunks())

        assert len(chunks) > 1
        assert max(len(chunk) for chunk in chunks) <= chunk_module.CHUNK_ROWS
        np.testing.assert_array_equal(join(chunks).table["a"].to_numpy(), np.arange(200_000))


def test_used_chunks_are_released(tmp_path):
    table = pa.table({"a": np.random.default_rng(0).random(1_000_000)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=50_000)
    before = pa.total_allocated_bytes()  # with the table itself

    in_memory = [pa.total_allocated_bytes() - before for _ in open_data_file(tmp_path / "a.parquet").read_chunks()]

    assert len(in_memory) >= 20
    assert max(in_memory) < table.nbytes / 2


def test_an_npz_file_has_a_matrix_and_named_columns(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "a.npz", X=X, y=["a", "b", "a"])
    data = open_data_file(tmp_path / "a.npz")

    chunk = data.read()

    assert data.column_names() == ["y"]
    np.testing.assert_array_equal(chunk.matrix, X)
    assert chunk.table["y"].to_pylist() == ["a", "b", "a"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_npz_file_is_read_in_chunks(tmp_path, monkeypatch, save, order):
    X = np.asarray(np.random.default_rng(0).random((500, 3)), order=order)
    labels = np.where(X[:, 0] > 0.5, "yes", "no")
    save(tmp_path / "a.npz", y=labels, X=X, about=np.array("not a column"))
    monkeypatch.setattr(chunk_module.TableChunk.split, "__defaults__", (120,))

    chunks = list(open_data_file(tmp_path / "a.npz").read_chunks())

    assert [len(chunk) for chunk in chunks] == [120, 120, 120, 120, 20]
    np.testing.assert_array_equal(join(chunks).matrix, X)
    assert join(chunks).table["y"].to_pylist() == labels.tolist()


def test_other_arrays_of_an_npz_file_may_hold_objects(tmp_path):
    names = np.array(["a", "b"], object)
    np.savez(tmp_path / "a.npz", X=np.zeros((3, 2)), y=np.arange(3), names=names, about=np.array({"unit": "m"}))

    data = open_data_file(tmp_path / "a.npz")

    assert data.column_names() == ["y"]
    assert data.read().table["y"].to_pylist() == [0, 1, 2]


def test_column_names_are_read_without_the_rows(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    monkeypatch.setattr(np, "load", None)

    assert open_data_file(tmp_path / "a.npz").column_names() == ["y"]


def test_an_array_shorter_than_its_header_says_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((3, 2)), y=np.zeros(3))
    with zipfile.ZipFile(tmp_path / "a.npz") as file:
        arrays = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as file:
        for name, stored in arrays.items():
            file.writestr(name, stored.replace(b"(3, 2)", b"(9, 2)").replace(b"(3,)", b"(9,)"))

    assert "expected 72 bytes got 24" in refused(tmp_path / "b.npz", whole=False)
    refused(tmp_path / "b.npz")


def test_sparse_rows_have_a_label(tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (500, 4))
    y = np.arange(500) % 3
    dump_svmlight_file(X, y, str(tmp_path / "a.svmlight"), zero_based=False)

    whole = open_data_file(tmp_path / "a.svmlight").read()

    np.testing.assert_array_equal(whole.matrix.toarray()[:, 1:], X)
    assert whole.table["label"].to_pylist() == y.tolist()


@pytest.mark.parametrize(
    ("sign", "line"), [(",", "a,b;c,d"), (";", "a;b,c;d"), ("\t", "a\tb"), ("|", 'a|"b|c"|d'), (",", "alone")]
)
def test_the_header_tells_the_delimiter(sign, line):
    assert csv_module._detect_delimiter(line) == sign


@given(st.lists(st.text("abc,;| \"'é", min_size=1).filter(str.strip), min_size=1, max_size=4, unique=True))
def test_column_names_are_read_as_they_are_written(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    csv.write_csv(pa.table({name: [1, 2] for name in names}), path)

    assert open_data_file(path).column_names() == open_data_file(path).read().table.column_names


def test_a_byte_order_mark_and_carriage_returns_are_skipped(tmp_path):
    (tmp_path / "a.csv").write_bytes("\ufeffå,b\r\n1,2\r\n".encode())

    assert open_data_file(tmp_path / "a.csv").column_names() == ["å", "b"]
    assert open_data_file(tmp_path / "a.csv").read().table.to_pylist() == [{"å": 1, "b": 2}]


def refused(path, *, whole=True):
    def read():
        data = open_data_file(path)
        data.column_names()
        return data.read() if whole else list(data.read_chunks())

    with pytest.raises(UserInputError) as caught:
        read()
    assert caught.value.hint
    return str(caught.value)


def test_a_missing_file_is_reported(tmp_path):
    assert "There is no regular file" in refused(tmp_path / "a.csv")
    assert "has no files that end in .parquet" in refused(tmp_path)


def test_column_names_may_hold_line_ends_and_follow_empty_lines(tmp_path):
    (tmp_path / "a.csv").write_text('\n\r\n"a\nb";c;label\n1;2;x\n')
    data = open_data_file(tmp_path / "a.csv")

    assert data.column_names() == data.read().table.column_names == ["a\nb", "c", "label"]


def test_the_header_may_be_very_long(tmp_path):
    names = [f"{'a long name ' * 20}{number}" for number in range(6_000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(["1.25"] * len(names)) + "\n")
    data = open_data_file(tmp_path / "a.csv")

    assert data.column_names() == data.read().table.column_names == next(data.read_chunks()).table.column_names == names


def test_text_may_be_very_long(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,x\n" * 400_000 + "2," + "long " * 600_000 + "\n")

    assert len(open_data_file(tmp_path / "a.csv").read()) == 400_001
    assert sum(len(chunk) for chunk in open_data_file(tmp_path / "a.csv").read_chunks()) == 400_001
    monkeypatch.setattr(csv_module, "_CHUNK_BYTES", 1 << 20)
    for whole in (True, False):
        assert "straddl" in refused(tmp_path / "a.csv", whole=whole)


@pytest.mark.parametrize(
    ("written", "read"), [(["01", "1"], ["01", "1"]), (["10", "1"], [10, 1]), (["0", "-7"], [0, -7])]
)
def test_labels_with_leading_zeros_are_text(tmp_path, written, read):
    (tmp_path / "a.csv").write_text("zip,label\n" + "".join(f"007,{label}\n" for label in written))

    table = open_data_file(tmp_path / "a.csv").read(label="label").table

    assert table["label"].to_pylist() == read
    assert table["zip"].to_pylist() == [7, 7]


@pytest.mark.skipif(not hasattr(pa, "string_view"), reason="this version of arrow has no string views")
def test_string_views_are_text(tmp_path):
    feather.write_feather(pa.table({"a": pa.array(["x", None], pa.string_view())}), tmp_path / "a.feather")

    assert open_data_file(tmp_path / "a.feather").read().table["a"].type == pa.string()


def test_no_feature_of_a_matrix_is_infinite(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[1.0, np.inf], [-np.inf, 2.0]]), y=[0, 1])

    np.testing.assert_array_equal(open_data_file(tmp_path / "a.npz").read().matrix, [[1, np.nan], [np.nan, 2]])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "a.csv")

    assert "no regular file" in refused(tmp_path / "a.csv")


def test_suffixes_may_be_upper_case(tmp_path):
    write_zst(TABLE, tmp_path / "A.CSV.ZST")
    compressed(gzip.open)(TABLE, tmp_path / "B.csv.GZ")

    assert (
        open_data_file(tmp_path / "A.CSV.ZST").column_names()
        == open_data_file(tmp_path / "B.csv.GZ").column_names()
        == TABLE.column_names
    )


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_nan_is_a_missing_value(tmp_path, kind):
    table = pa.table({"a": pa.array([1.0, np.nan, None], kind), "b": ["x", "y", "z"]})
    pq.write_table(table, tmp_path / "a.parquet")
    data = open_data_file(tmp_path / "a.parquet")

    assert data.read().table["a"].to_pylist() == [1, None, None]
    assert join(list(data.read_chunks())).table["a"].to_pylist() == [1, None, None]


@pytest.mark.parametrize("name", [*WRITERS, "a.npz", "a.svmlight"])
def test_an_empty_file_is_refused(tmp_path, name):
    (tmp_path / name).touch()

    assert "0 bytes" in refused(tmp_path / name)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.csv.gz", "a.csv.xz", "a.csv.zst", "a.csv.bz2", "a.npz"])
def test_a_truncated_file_is_refused(tmp_path, name, whole):
    path = tmp_path / name
    numbers = np.random.default_rng(0).random(50_000)
    if name == "a.npz":
        np.savez(path, X=numbers[:, None])
    else:
        WRITERS[name](pa.table({"a": numbers}), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])

    assert "can't be read" in refused(path, whole=whole)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.csv", "a.csv.gz", "a.npz", "a.svmlight"])
def test_a_file_of_another_format_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(bytes(range(256)) * 10)

    refused(tmp_path / name)


def test_a_row_that_is_too_short_is_shown(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3\n")

    assert "Expected 2 columns, got 1: 3" in refused(tmp_path / "a.csv")


def test_duplicate_column_names_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n")
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]), tmp_path / "a.parquet")

    assert "more than one column called 'a'" in refused(tmp_path / "a.csv")
    assert "duplicate field names" in refused(tmp_path / "a.parquet")


def test_a_column_without_a_name_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,,b\n1,2,3\n")

    assert "without a name" in refused(tmp_path / "a.csv")


def test_text_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,b\n1,Århus\n".encode("latin-1"))
    (tmp_path / "b.csv").write_bytes("år,b\n1,2\n".encode("latin-1"))

    assert "UTF-8" in refused(tmp_path / "a.csv")
    assert "UTF-8" in refused(tmp_path / "b.csv")


def test_an_unknown_suffix_is_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("x")

    assert ".parquet" in refused(tmp_path / "a.xlsx")


def test_arrays_that_need_pickle_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 1)), y=np.array(["a", None], object))

    assert "can't be read" in refused(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"a": np.zeros((2, 2)), "b": np.zeros((2, 2))}, "2 arrays of two dimensions"),
        ({"y": np.zeros(2)}, "0 arrays of two dimensions"),
        ({"X": np.array([["a"], ["b"]]), "y": np.zeros(2)}, "expected numbers"),
        (
            {name: np.zeros(1) for name in ("indices", "indptr", "format", "shape", "data")},
            "svmlight",
        ),
    ],
)
def test_arrays_that_do_not_form_a_table_are_refused(tmp_path, arrays, why):
    np.savez(tmp_path / "a.npz", **arrays)

    assert why in refused(tmp_path / "a.npz")


def test_a_missing_column_is_reported_with_the_closest_name(tmp_path):
    (tmp_path / "a.csv").write_text("heights,b\n1,2\n")

    with pytest.raises(UserInputError, match=r"no column 'height'.*Did you mean 'heights'\?"):
        open_data_file(tmp_path / "a.csv").require_columns(["height"])
