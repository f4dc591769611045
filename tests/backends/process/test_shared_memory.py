"""A pickle in a shared file is loaded unchanged."""

import os

import numpy as np
import psutil
import pytest

from fitwithin.backends._process import shared_memory
from fitwithin.backends._process.shared_memory import PickledObject, SharedFile, load_pickle


@pytest.mark.parametrize("large", [False, True])
def test_loaded_arrays_are_equal_writable_and_private(large, monkeypatch):
    monkeypatch.setattr(shared_memory, "_MIN_MAPPED_BYTES", 0 if large else 1 << 30)
    model = {"weights": np.arange(10.0), "empty": np.zeros((0, 3)), "fortran": np.ones((3, 2), order="F"), "name": "x"}
    file = SharedFile()
    PickledObject(model).write(file.fd)

    first, second = load_pickle(file.fd), load_pickle(file.fd)
    file.close()
    first["weights"][:] = -1

    np.testing.assert_array_equal(second["weights"], model["weights"])
    assert second["empty"].shape == (0, 3)
    np.testing.assert_array_equal(second["fortran"], model["fortran"])
    assert second["name"] == "x"


def test_arrays_are_stored_once():
    file = SharedFile()
    PickledObject(np.ones(1_000_000)).write(file.fd)
    size = os.fstat(file.fd).st_size
    file.close()

    assert 8_000_000 <= size < 8_010_000


def test_a_small_model_holds_no_descriptor():
    file = SharedFile()
    PickledObject(np.arange(10)).write(file.fd)
    before = psutil.Process().num_fds()

    models = [load_pickle(file.fd) for _ in range(3)]

    assert psutil.Process().num_fds() == before
    assert len(models) == 3
    file.close()


def test_a_file_can_hold_several_pickles():
    file = SharedFile()
    second = PickledObject({"first": np.arange(3)}).write(file.fd)
    end = PickledObject(["second", np.zeros(1000)]).write(file.fd, second)

    assert load_pickle(file.fd)["first"].tolist() == [0, 1, 2]
    assert load_pickle(file.fd, second)[0] == "second"
    assert end == os.fstat(file.fd).st_size
    file.close()


def test_writing_can_be_stopped_between_pieces():
    def stop():
        raise TimeoutError

    file = SharedFile()
    with pytest.raises(TimeoutError):
        PickledObject(np.zeros(10)).write(file.fd, 0, stop)
    file.close()
