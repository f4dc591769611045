"""Atomic writes: a file is complete or unchanged."""

import os

import pytest

from fitwithin._core.atomic_write import atomic_write


def test_a_symbolic_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "a")

    with atomic_write(tmp_path / "link") as temporary_path:
        temporary_path.write_text("whole")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "a").read_text() == "whole"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "a")

    with pytest.raises(FileExistsError, match="not a regular file"), atomic_write(tmp_path / "a") as temporary_path:
        temporary_path.write_text("x")

    assert not (tmp_path / "a").is_file()


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    path = tmp_path / "a"

    with atomic_write(path) as one, atomic_write(path) as other:
        one.write_text("one")
        other.write_text("other")

    assert path.read_text() == "one"
    assert os.listdir(tmp_path) == ["a"]


def test_the_old_file_stays_if_writing_fails(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")

    def write():
        with atomic_write(path) as temporary_path:
            temporary_path.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
