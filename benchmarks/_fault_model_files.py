"""Faults by model files that a stranger made."""

from __future__ import annotations

import io
import json
import multiprocessing
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from _fault import FaultCases, FaultOutcome
from _synthetic_data import make_pool
from fitwithin import FitwithinError
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.model_file import UntrustedTypes, dump_model, load_model

model_files = FaultCases("the door")

_BOMB_BYTES = 1 << 30

# MB that opening a forged file may take beside what the process had.
_MAX_MB = 350


def _forge(path: Path, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> None:
    """Write a model file again, with another description or with other arrays."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(entries.pop("schema.json"))
    change(schema["content"]["content"], entries)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in (entries | {"schema.json": json.dumps(schema).encode()}).items():
            archive.writestr(name, content)


def _open(path: Path, X: Any) -> FaultOutcome:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        load_model(path).predict(X)
    except (FitwithinError, UserInputError, UntrustedTypes) as error:
        taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size = path.stat().st_size / 1000
        return FaultOutcome(taken < _MAX_MB, f"{type(error).__name__}; file of {size:.0f} KB, {taken:.0f} MB taken")
    return FaultOutcome(False, "opened, and predicted")


@model_files.add("a file of 1 MB that unpacks to 1 GB", f"refused with a sentence, less than {_MAX_MB} MB taken")
def _bomb(folder: Path) -> FaultOutcome:
    X, y = make_pool(300, 4)
    path = folder / "model.skops"
    dump_model(LogisticRegression().fit(X, y), path)

    def change(attributes: dict[str, Any], entries: dict[str, bytes]) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (1, _BOMB_BYTES // 8)}
        )
        entries[attributes["coef_"]["file"]] = header.getvalue() + bytes(_BOMB_BYTES)

    # The forger needs the memory, and it must not count.
    forger = multiprocessing.get_context("fork").Process(target=_forge, args=(path, change))
    forger.start()
    forger.join()
    return _open(path, X)
