"""The paper's sampled sets: a Bayesian network learned on a small original, sampled, compared with it, and kept."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fitwithin._research.study.agreement import Agreement, agreement
from fitwithin._research.study.bayes_net import learn
from fitwithin._research.study.names import DataSet

_VERSION = 1
"""Of what is generated; a new one for every change that makes other rows."""


_KEY = b"fitwithin.agreement"


def generate(paper: DataSet, original: Any, *, cache: Path, rows: int, seed: int) -> tuple[Any, str]:
    """A sampled set, from the cache if it was generated before.

    Parameters
    ----------
    paper : DataSet
        Which one.
    original : pandas.DataFrame
        What the network is learned on, with its class in the column ``target``.
    cache : Path
        The folder it is kept in, as parquet, with the figures of its agreement with the original.
    rows, seed : int
        How many rows, and of which random numbers.

    Returns
    -------
    frame : pandas.DataFrame
        The rows, with the class in the column ``target``.
    source : str
        Where they come from, in words; if they are not much like the original, that too.

    Raises
    ------
    NotToBeHad
        If pgmpy is not installed.
    """
    file = cache / f"{paper.name}-v{_VERSION}-{rows}-{seed}-{_fingerprint(original)}.parquet"
    kept = _load(file)
    if kept is None:
        net = learn(original, bins=paper.bins, nominal=paper.nominal)
        frame = net.sample(rows, seed)
        kept = frame, agreement(net.translate(original), frame)
        _try_to_store(file, *kept)
    frame, figures = kept
    learned_on = f"{paper.original} ({len(original):,} rows)"
    return frame, f"Bayesian network learned on {learned_on} by pgmpy, {rows:,} rows, seed {seed}; {figures}"


def _fingerprint(frame: Any) -> str:
    """Eight signs that are others for another original."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes()
    return hashlib.sha256(rows + "\n".join(frame).encode()).hexdigest()[:8]


def _load(file: Path) -> tuple[Any, Agreement] | None:
    """What is kept there; a file that can't be read is set aside."""
    try:
        table = pq.read_table(file)
        return table.to_pandas(), Agreement(**json.loads(table.schema.metadata[_KEY]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        with contextlib.suppress(OSError):  # a folder that can't be read can't be written to either
            os.replace(file, file.with_suffix(".broken"))
        return None


def _try_to_store(file: Path, frame: Any, figures: Agreement) -> None:
    """Keep it if that can be done; minutes of work are not lost for a full disk."""
    try:
        _store(file, frame, figures)
    except OSError as error:
        warnings.warn(f"{file.name} is not kept for the next time: {error}", RuntimeWarning, stacklevel=3)


def _store(file: Path, frame: Any, figures: Agreement) -> None:
    """Write beside, then rename: whoever looks finds a whole file or none."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**table.schema.metadata, _KEY: json.dumps(asdict(figures)).encode()}
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(f".{os.getpid()}.part")
    try:
        pq.write_table(table.replace_schema_metadata(metadata), beside, compression="zstd")
        os.replace(beside, file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
