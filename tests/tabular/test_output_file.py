"""A file is there whole or not at all, and none is replaced unasked."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

from fitwithin._core.exceptions import UserInputError
from fitwithin._tabular.files import answer_format, answers_written_to, refuse_existing, written_beside


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"

    with written_beside(path, force=False) as beside:
        beside.write_text("whole")
        assert not path.exists()

    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("trouble", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_of_one_that_was_not_finished(tmp_path, trouble):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write():
        with written_beside(path, force=True) as beside:
            beside.write_text("half")
            raise trouble

    with pytest.raises(trouble):
        write()

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "a.txt"

    def write():
        with written_beside(path, force=False) as beside:
            beside.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(UserInputError, match="exists already"):
        write()

    assert path.read_text() == "theirs"


def test_no_place_to_write_to_is_known_before(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(UserInputError, match="--force"):
        refuse_existing(tmp_path / "a", force=False)
    refuse_existing(tmp_path / "a", force=True)
    with pytest.raises(UserInputError, match="mkdir -p"):
        refuse_existing(tmp_path / "b" / "c", force=True)
    with pytest.raises(UserInputError, match="is a folder"):
        refuse_existing(tmp_path, force=True)
    with pytest.raises(UserInputError, match="is no folder"):
        refuse_existing(tmp_path / "a" / "b", force=True)
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_without_permission_is_known_before(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    # The superuser may write anywhere, and tests may be run by one.
    monkeypatch.setattr(Path, "touch", refuse)

    with pytest.raises(UserInputError, match=r"Nothing can be written to the folder .*: Permission denied"):
        refuse_existing(tmp_path / "a", force=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names on this system")
@pytest.mark.parametrize("force", [True, False])
def test_a_pipe_is_not_replaced(tmp_path, force):
    os.mkfifo(tmp_path / "a")

    with pytest.raises(UserInputError, match="no ordinary file"):
        refuse_existing(tmp_path / "a", force=force)
    with pytest.raises(UserInputError, match="no ordinary file"), written_beside(tmp_path / "a", force=force):
        pass


def test_a_full_disk_is_told_in_a_sentence(tmp_path):
    with pytest.raises(UserInputError, match="No space left"), written_beside(tmp_path / "a", force=False):
        raise OSError(28, "No space left on device")


def test_a_file_that_is_missing_for_the_writer_is_not_taken_for_the_place(tmp_path):
    def write():
        with written_beside(tmp_path / "a", force=False):
            (tmp_path / "embeddings.bin").read_bytes()

    with pytest.raises(FileNotFoundError, match=r"embeddings\.bin"):
        write()


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_answers_are_written_part_by_part(tmp_path, ending):
    from fitwithin._tabular.files import open_data

    path = tmp_path / f"a{ending}"

    with answers_written_to(path, force=False) as write:
        write(pa.table({"prediction": ["a", "b"]}))
        write(pa.table({"prediction": ["c"]}))

    assert open_data(path).read().table["prediction"].to_pylist() == ["a", "b", "c"]


def test_no_answers_leave_no_file(tmp_path):
    with pytest.raises(UserInputError, match="no rows"), answers_written_to(tmp_path / "a.csv", force=False):
        pass

    assert os.listdir(tmp_path) == []


def test_an_ending_that_no_answer_has_is_refused(tmp_path):
    with pytest.raises(UserInputError, match=r"\.parquet, \.feather, \.csv"):
        answer_format(tmp_path / "a.xlsx")
