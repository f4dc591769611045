"""The paper's synthetic data sets: sampled from a Bayesian network, compared with the original, and cached."""

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

from fitwithin_paper.study.bayesian_network import learn_network
from fitwithin_paper.study.paper_datasets import PaperDataset
from fitwithin_paper.study.sample_agreement import SampleAgreement, measure_agreement

_GENERATOR_VERSION = 1
"""Part of the cached file's name; increase it with every change that samples other rows."""


_METADATA_KEY = b"fitwithin.agreement"
"""Key of the agreement in the metadata of the parquet file."""


def generate_dataset(dataset: PaperDataset, original: Any, *, cache: Path, n_rows: int, seed: int) -> tuple[Any, str]:
    """Return a synthetic data set, from the cache if it was generated before.

    Parameters
    ----------
    dataset : PaperDataset
        The data set to generate.
    original : pandas.DataFrame
        Rows to learn the network on, with the class in the column ``target``.
    cache : Path
        Folder for the parquet file, which also holds the agreement with the original.
    n_rows, seed : int
        Number of rows, and seed of the sampling.

    Returns
    -------
    frame : pandas.DataFrame
        The rows, with the class in the column ``target``.
    source : str
        Origin of the rows in words, with a remark if they do not resemble the original.

    Raises
    ------
    DatasetUnavailable
        If pgmpy is not installed.
    """
    file = cache / f"{dataset.name}-v{_GENERATOR_VERSION}-{n_rows}-{seed}-{_hash_frame(original)}.parquet"
    cached = _load_cached(file)
    if cached is None:
        network = learn_network(original, n_bins=dataset.n_bins, nominal_columns=dataset.nominal_columns)
        frame = network.sample(n_rows, seed)
        cached = frame, measure_agreement(network.convert_original(original), frame)
        _try_to_cache(file, *cached)
    frame, agreement = cached
    learned_on = f"{dataset.original} ({len(original):,} rows)"
    return frame, f"Bayesian network learned on {learned_on} by pgmpy, {n_rows:,} rows, seed {seed}; {agreement}"


def _hash_frame(frame: Any) -> str:
    """Return eight hexadecimal digits that identify the original."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes()
    return hashlib.sha256(rows + "\n".join(frame).encode()).hexdigest()[:8]


def _load_cached(file: Path) -> tuple[Any, SampleAgreement] | None:
    """Return the cached rows; rename a file that can't be read."""
    try:
        table = pq.read_table(file)
        return table.to_pandas(), SampleAgreement(**json.loads(table.schema.metadata[_METADATA_KEY]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        with contextlib.suppress(OSError):  # a folder that can't be read can't be written to either
            os.replace(file, file.with_suffix(".broken"))
        return None


def _try_to_cache(file: Path, frame: Any, agreement: SampleAgreement) -> None:
    """Cache the rows; warn if that fails, so that a full disk does not lose minutes of work."""
    try:
        _write_cache(file, frame, agreement)
    except OSError as error:
        warnings.warn(f"{file.name} could not be cached: {error}", RuntimeWarning, stacklevel=3)


def _write_cache(file: Path, frame: Any, agreement: SampleAgreement) -> None:
    """Write a temporary file and rename it, so that readers find a complete file or none."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**table.schema.metadata, _METADATA_KEY: json.dumps(asdict(agreement)).encode()}
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(f".{os.getpid()}.part")
    try:
        pq.write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd")
        os.replace(temporary, file)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
