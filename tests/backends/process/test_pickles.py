"""A pickle in a shared file comes back as it was."""

import os

import numpy as np
import psutil
import pytest

from fitwithin.backends._process import shared_memory
from fitwithin.backends._process.shared_memory import SharedFile, load, store


@pytest.mark.parametrize("large", [False, True])
def test_arrays_come_back_writable_private_and_equal(large, monkeypatch):
    monkeypatch.setattr(shared_memory, "_LARGE", 0 if large else 1 << 30)
    model = {"weights": np.arange(10.0), "empty": np.zeros((0, 3)), "fortran": np.ones((3, 2), order="F"), "name": "x"}
    file = SharedFile()
    store(model, file.fd)

    first, second = load(file.fd), load(file.fd)
    file.close()
    first["weights"][:] = -1

    np.testing.assert_array_equal(second["weights"], model["weights"])
    assert second["empty"].shape == (0, 3)
    np.testing.assert_array_equal(second["fortran"], model["fortran"])
    assert second["name"] == "x"


def test_arrays_lie_beside_the_pickle_and_not_twice():
    file = SharedFile()
    store(np.ones(1_000_000), file.fd)
    size = os.fstat(file.fd).st_size
    file.close()

    assert 8_000_000 <= size < 8_010_000


def test_a_small_model_holds_no_descriptor():
    file = SharedFile()
    store(np.arange(10), file.fd)
    before = psutil.Process().num_fds()

    models = [load(file.fd) for _ in range(3)]

    assert psutil.Process().num_fds() == before
    assert len(models) == 3
    file.close()


def test_several_pickles_lie_one_after_the_other():
    file = SharedFile()
    second, _ = store({"first": np.arange(3)}, file.fd)
    end, _ = store(["second", np.zeros(1000)], file.fd, second)

    assert load(file.fd)["first"].tolist() == [0, 1, 2]
    assert load(file.fd, second)[0] == "second"
    assert end == os.fstat(file.fd).st_size
    file.close()


def test_writing_can_be_given_up_between_pieces():
    def give_up():
        raise TimeoutError

    file = SharedFile()
    with pytest.raises(TimeoutError):
        store(np.zeros(10), file.fd, 0, give_up)
    file.close()
