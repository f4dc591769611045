"""An output file is complete or absent, and none is replaced without --force."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files.output_file import (
    atomic_output,
    predictions_format,
    validate_output_path,
    write_predictions,
)


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a.txt"

    with atomic_output(path, force=False) as temporary:
        temporary.write_text("whole")
        assert not path.exists()

    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("trouble", [ValueError, KeyboardInterrupt])
def test_an_unfinished_file_is_deleted(tmp_path, trouble):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write():
        with atomic_output(path, force=True) as temporary:
            temporary.write_text("half")
            raise trouble

    with pytest.raises(trouble):
        write()

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_created_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "a.txt"

    def write():
        with atomic_output(path, force=False) as temporary:
            temporary.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(UserInputError, match="exists already"):
        write()

    assert path.read_text() == "theirs"


def test_a_path_that_can_not_be_written_is_refused(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(UserInputError, match="--force"):
        validate_output_path(tmp_path / "a", force=False)
    validate_output_path(tmp_path / "a", force=True)
    with pytest.raises(UserInputError, match="mkdir -p"):
        validate_output_path(tmp_path / "b" / "c", force=True)
    with pytest.raises(UserInputError, match="is not a regular file"):
        validate_output_path(tmp_path, force=True)
    with pytest.raises(UserInputError, match="There is no folder"):
        validate_output_path(tmp_path / "a" / "b", force=True)
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    # Root may write anywhere, and tests may run as root.
    monkeypatch.setattr(Path, "touch", refuse)

    with pytest.raises(UserInputError, match=r"The folder .* can't be written to: Permission denied"):
        validate_output_path(tmp_path / "a", force=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("force", [True, False])
def test_a_pipe_is_not_replaced(tmp_path, force):
    os.mkfifo(tmp_path / "a")

    with pytest.raises(UserInputError, match="not a regular file"):
        validate_output_path(tmp_path / "a", force=force)
    with pytest.raises(UserInputError, match="not a regular file"), atomic_output(tmp_path / "a", force=force):
        pass


def test_a_full_disk_is_reported(tmp_path):
    with pytest.raises(UserInputError, match="No space left"), atomic_output(tmp_path / "a", force=False):
        raise OSError(28, "No space left on device")


def test_an_error_about_another_file_is_raised_unchanged(tmp_path):
    def write():
        with atomic_output(tmp_path / "a", force=False):
            (tmp_path / "embeddings.bin").read_bytes()

    with pytest.raises(FileNotFoundError, match=r"embeddings\.bin"):
        write()


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
def test_predictions_are_written_chunk_by_chunk(tmp_path, suffix):
    from fitwithin._tabular.files.reader import open_data_file

    path = tmp_path / f"a{suffix}"

    chunks = (pa.table({"prediction": list(names)}) for names in ("ab", "c"))

    assert write_predictions(path, chunks, force=False) == 3
    assert open_data_file(path).read().table["prediction"].to_pylist() == ["a", "b", "c"]


def test_no_predictions_leave_no_file(tmp_path):
    with pytest.raises(UserInputError, match="no rows"):
        write_predictions(tmp_path / "a.csv", [], force=False)

    assert os.listdir(tmp_path) == []


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(UserInputError, match=r"\.parquet, \.feather, \.csv"):
        predictions_format(tmp_path / "a.xlsx")
