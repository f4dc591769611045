"""The process backend works where Python or the C library has no `memfd_create`."""

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from fitwithin.backends._process.shared_memory import PickledObject, SharedFile, load_pickle

CONTRACT = Path(__file__).parents[1] / "test_backend_contract.py"


class OldLibrary(ctypes.CDLL):
    """A C library without memfd_create."""

    def __getattr__(self, name):
        if name == "memfd_create":
            raise AttributeError(name)
        return super().__getattr__(name)


@pytest.fixture(params=["C library", "temporary folder"])
def origin(request, monkeypatch):
    """Where an anonymous file comes from, and a system that has nothing better."""
    monkeypatch.delattr(os, "memfd_create")
    if request.param == "temporary folder":
        monkeypatch.setattr(ctypes, "CDLL", OldLibrary)
    return request.param


def where(file):
    return os.readlink(f"/proc/self/fd/{file.fd}")


def test_a_file_without_a_name_is_created_in_the_best_place_there_is(origin):
    file = SharedFile()

    prefix = f"{tempfile.gettempdir()}/" if origin == "temporary folder" else "/memfd:fitwithin"
    assert where(file).startswith(prefix)
    assert where(file).endswith("(deleted)")
    assert not os.get_inheritable(file.fd)
    file.close()


def test_a_file_without_a_name_holds_rows_and_models(origin):
    file, model = SharedFile(), SharedFile()
    file.write_rows(np.arange(12.0).reshape(4, 3), 0)
    PickledObject({"weights": np.arange(5)}).write(model.fd)

    np.testing.assert_array_equal(file.map_array((4, 3), float), np.arange(12.0).reshape(4, 3))
    assert load_pickle(model.fd)["weights"].tolist() == [0, 1, 2, 3, 4]
    file.close()
    model.close()


SYSTEMS = {
    "no os.memfd_create": "",
    "no memfd_create": """
import ctypes
class OldLibrary(ctypes.CDLL):
    def __getattr__(self, name):
        if name == "memfd_create":
            raise AttributeError(name)
        return super().__getattr__(name)
ctypes.CDLL = OldLibrary
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("system", list(SYSTEMS))
def test_the_backend_keeps_its_contract_on_an_older_system(system, tmp_path):
    # Every interpreter runs this file before anything else, those of the backend included.
    (tmp_path / "sitecustomize.py").write_text("import os\ndel os.memfd_create\n" + SYSTEMS[system])
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"{CONTRACT}::TestFork"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )

    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
