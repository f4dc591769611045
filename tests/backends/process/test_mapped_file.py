"""A memory map whose file was replaced, deleted or cut short is never read from the wrong file."""

import os

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from fitwithin import TimeConstrainedClassifier
from fitwithin._core.exceptions import UserInputError
from fitwithin.backends import LearnerRaised, Process
from fitwithin.backends._process import shared_memory
from fitwithin.backends._process.shared_memory import MappedFile
from fitwithin.testing._backends import RecordingClassifier, make_pool, open_runner, save_and_load

SHAPE = (200, 3)


def write_rows(path, first=0.0):
    (np.arange(600, dtype=np.float32) + first).tofile(path)


def open_rows(path):
    return np.memmap(path, mode="r", shape=SHAPE, dtype=np.float32)


@pytest.fixture
def path(tmp_path):
    write_rows(tmp_path / "rows")
    return tmp_path / "rows"


def replace(path, first=1000.0):
    write_rows(path.with_suffix(".new"), first)
    os.replace(path.with_suffix(".new"), path)


def train(X, start="fork"):
    pool = make_pool()
    pool.X = X
    with open_runner(Process(start=start), RecordingClassifier(), pool) as runner:
        runner.fit(np.array([5, 199]))
        model = runner.save()
        seen = model.load().X_
        model.discard()
    return seen


@pytest.mark.parametrize("part", [np.s_[:], np.s_[5:50], np.s_[::2, 1:], np.s_[:, ::2]])
def test_the_file_of_a_map_is_found(path, part):
    X = open_rows(path)[part]

    found, file = MappedFile.find(X)

    np.testing.assert_array_equal(found.open(file.fd), X)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_rows_of_a_replaced_file_are_those_that_the_program_sees(path, start):
    X = open_rows(path)
    replace(path)

    np.testing.assert_array_equal(train(X, start), [[15, 16, 17], [597, 598, 599]])


def test_a_replaced_file_is_noticed(path):
    X = open_rows(path)
    replace(path)

    assert MappedFile.find(X) is None


def test_a_replaced_file_is_noticed_although_the_new_one_is_mapped_too(path):
    X = open_rows(path)
    replace(path)
    other = open_rows(path)

    assert MappedFile.find(X) is None
    assert MappedFile.find(other) is not None


def test_a_file_replaced_by_an_equal_one_is_noticed(path):
    X = open_rows(path)
    replace(path, first=0.0)

    assert MappedFile.find(X) is None


def test_a_map_is_read_like_any_array_where_the_system_does_not_tell_its_file(path, monkeypatch):
    def refuse(address):
        raise FileNotFoundError("/proc/self/maps")

    monkeypatch.setattr(shared_memory, "_find_mapped_inode", refuse)

    assert MappedFile.find(open_rows(path)) is None


def test_a_deleted_file_or_one_that_cannot_be_opened_is_read_like_any_array(path):
    X = open_rows(path)
    path.unlink()
    deleted = MappedFile.find(X)
    path.mkdir()

    assert deleted is None
    assert MappedFile.find(X) is None


def test_a_file_that_was_cut_short_is_refused(path):
    X = open_rows(path)
    os.truncate(path, 1200)

    with pytest.raises(UserInputError, match=r"has 1,200 bytes; X ends at byte 2,400. It was cut short"):
        TimeConstrainedClassifier(KNeighborsClassifier(), time_limit=30).fit(X, np.arange(200) % 2)
    with pytest.raises(UserInputError, match="cut short"):
        MappedFile.find(X[::-1])
    assert MappedFile.find(X[:100]) is not None


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_file_that_is_replaced_before_the_learner_opens_it_is_read_all_the_same(path, start):
    pool = make_pool()
    pool.X = open_rows(path)
    with open_runner(Process(start=start), RecordingClassifier(), pool) as runner:
        replace(path)
        runner.fit(np.array([5, 199]))

        np.testing.assert_array_equal(save_and_load(runner).X_, [[15, 16, 17], [597, 598, 599]])


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_file_that_is_cut_short_before_the_learner_opens_it_is_refused(path, start):
    pool = make_pool()
    pool.X = open_rows(path)
    with open_runner(Process(start=start), RecordingClassifier(), pool) as runner:
        os.truncate(path, 1200)
        with pytest.raises(LearnerRaised, match="cut short") as raised:
            runner.fit(np.arange(9))

    assert isinstance(raised.value.error, UserInputError)


def test_a_map_without_a_name_is_read_like_any_array(tmp_path):
    with open(tmp_path / "rows", "w+b", buffering=0) as file, os.fdopen(os.dup(file.fileno()), "r+b") as unnamed:
        file.write(bytes(2400))
        X = np.memmap(unnamed, mode="r", shape=SHAPE, dtype=np.float32)

    assert MappedFile.find(X) is None
