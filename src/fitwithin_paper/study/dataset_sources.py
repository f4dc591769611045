"""Sources of data sets: a file, a Bayesian network, OpenML."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fitwithin_paper.study import openml, synthetic_datasets
from fitwithin_paper.study.paper_datasets import (
    PAPER_DATASETS,
    PaperDataset,
    find_paper_dataset,
    normalize_name,
)
from fitwithin_paper.study.raw_dataset import DatasetUnavailable, RawDataset

DatasetLoader = Callable[[str], RawDataset]
"""Loads a data set by its name."""


_FILE_SUFFIXES = (".parquet", ".csv", ".csv.gz")


_DEFAULT_TARGETS = ("target", "class")
"""Names of the class column that are tried if none is given."""


_FrameAndSource = tuple[Any, str]


def load_dataset(
    name: str | Path,
    folder: Path | None = None,
    *,
    cache: Path | None = None,
    target: str | None = None,
    online: bool = True,
    synthetic_rows: int = 1_000_000,
    seed: int = 0,
) -> RawDataset:
    """Load a data set by its name.

    One of the paper's twenty is searched in the folder, then generated if it is synthetic and its original is in the
    folder, then fetched from OpenML. Any other name is a file in the folder.

    Parameters
    ----------
    name : str or Path
        Name in the paper, name of a file in the folder without its suffix, or path of a parquet or CSV file.
    folder : Path, optional
        Folder of parquet files.
    cache : Path, optional
        Folder for fetched and generated data sets; `default_cache_folder` by default.
    target : str, optional
        The class column; by default the one named target or class.
    online : bool, default=True
        Whether OpenML may be used.
    synthetic_rows, seed : int
        Number of rows and seed of a generated data set.

    Returns
    -------
    RawDataset
        The rows as they were read.

    Raises
    ------
    ValueError
        If the name is unknown.
    DatasetUnavailable
        If a known data set is found nowhere, its file can't be read, or it has no class column.
    """
    if str(name).lower().endswith(_FILE_SUFFIXES):
        file = Path(name)
        return _separate_target(_read_file(file), target, _strip_suffix(file), f"file {file.name}")
    files = _list_parquet_files(folder)
    paper_dataset = find_paper_dataset(str(name))
    if paper_dataset is None:
        if normalize_name(str(name)) not in files:
            raise ValueError(f"unknown data set {str(name)!r}; known are {', '.join(list_dataset_names(folder))}")
        file = files[normalize_name(str(name))]
        return _separate_target(_read_file(file), target, file.stem, f"file {file.name}")
    cache = default_cache_folder() if cache is None else cache
    sources: list[Callable[[], _FrameAndSource]] = [lambda: _read_from_folder(paper_dataset, files, folder)]
    original = paper_dataset.original
    if original is not None:
        sources.append(lambda: _generate(paper_dataset, original, files, cache, synthetic_rows, seed))
    sources.append(lambda: _fetch_from_openml(paper_dataset, cache, online))
    frame, source = _try_sources(paper_dataset, sources)
    return _apply_paper_details(_separate_target(frame, target, paper_dataset.name, source), paper_dataset)


def list_dataset_names(folder: Path | None = None) -> tuple[str, ...]:
    """Return every name that `load_dataset` knows: the paper's twenty, then other files of the folder.

    Examples
    --------
    >>> list_dataset_names()[:3]
    ('vehicle_sensIT', 'MiniBooNE', 'SantanderCustomerSatisfaction')
    """
    others = (file.stem for file in _list_parquet_files(folder).values() if find_paper_dataset(file.stem) is None)
    return (*PAPER_DATASETS, *others)


def select_datasets(
    data: Path | None,
    target: str | None,
    names: tuple[str, ...] = (),
    *,
    cache: Path | None = None,
    online: bool = True,
) -> tuple[DatasetLoader, tuple[str, ...]]:
    """Return a loader for the data sets of a study, and their names.

    Parameters
    ----------
    data : Path or None
        A folder of parquet files, or a single file.
    target : str or None
        The class column.
    names : tuple of str
        Names of the data sets; empty for the paper's twenty.
    cache, online
        As in `load_dataset`.

    Raises
    ------
    ValueError
        If a name is unknown, `data` is neither a folder nor a readable file, or names are given for a single file.
    """
    if data is not None and str(data).lower().endswith(_FILE_SUFFIXES) and not data.is_dir():
        if names:
            raise ValueError(f"--data is the file {data}, but --datasets needs a folder; remove one of the two options")
        return lambda _: load_dataset(data, target=target), (_strip_suffix(data),)
    if data is not None and data.is_file():
        suffixes = f"{', '.join(_FILE_SUFFIXES[:-1])} or {_FILE_SUFFIXES[-1]}"
        raise ValueError(f"{data} can't be read; expected a file that ends in {suffixes}")
    # A data set has one name in the results, however the user writes it.
    canonical = {normalize_name(name): name for name in list_dataset_names(data)}
    canonical |= {stem: dataset.name for dataset in PAPER_DATASETS.values() for stem in dataset.file_stems}
    unknown = [name for name in names if normalize_name(name) not in canonical]
    if unknown:
        known = ", ".join(list_dataset_names(data))
        raise ValueError(f"unknown data set {', '.join(map(repr, unknown))}; known are {known}")
    chosen = tuple(dict.fromkeys(canonical[normalize_name(name)] for name in names or PAPER_DATASETS))
    return lambda name: load_dataset(name, data, cache=cache, target=target, online=online), chosen


def default_cache_folder() -> Path:
    """Return the folder for fetched and generated data sets: ``FITWITHIN_CACHE``, or the user's cache folder."""
    if folder := os.environ.get("FITWITHIN_CACHE"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fitwithin"


def _strip_suffix(file: Path) -> str:
    """Return the name of a file without its suffix.

    Examples
    --------
    >>> _strip_suffix(Path("data/my.v2.parquet")), _strip_suffix(Path("my.csv.gz"))
    ('my.v2', 'my')
    """
    suffix = max((suffix for suffix in _FILE_SUFFIXES if file.name.lower().endswith(suffix)), key=len)
    return file.name[: -len(suffix)]


def _list_parquet_files(folder: Path | None) -> Mapping[str, Path]:
    """Return the folder's parquet files by their normalized names."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; --data expects a folder or a file")
    return {normalize_name(file.stem): file for file in sorted(folder.glob("*.parquet"))}


def _try_sources(dataset: PaperDataset, sources: list[Callable[[], _FrameAndSource]]) -> _FrameAndSource:
    """Return the result of the first source that has the data set."""
    reasons = []
    for read in sources:
        try:
            return read()
        except DatasetUnavailable as error:
            reasons.append(str(error))
    file = f"{dataset.file_stems[0] if dataset.original is None else dataset.original}.parquet"
    raise DatasetUnavailable(
        f"{dataset.name} is unavailable: {'; '.join(reasons)}. Put {file} into a folder and pass it as --data."
    )


def _read_from_folder(dataset: PaperDataset, files: Mapping[str, Path], folder: Path | None) -> _FrameAndSource:
    for stem in dataset.file_stems:
        if stem in files:
            return _read_file(files[stem]), f"file {files[stem].name}"
    names = " or ".join(f"{stem}.parquet" for stem in dataset.file_stems)
    raise DatasetUnavailable("no data folder was given" if folder is None else f"no {names} in {folder}")


def _generate(
    dataset: PaperDataset, original: str, files: Mapping[str, Path], cache: Path, n_rows: int, seed: int
) -> _FrameAndSource:
    if original not in files:
        raise DatasetUnavailable(f"no {original}.parquet to learn a Bayesian network on")
    raw = _separate_target(_read_file(files[original]), None, original, "")
    frame = raw.X.assign(target=raw.y)
    return synthetic_datasets.generate_dataset(dataset, frame, cache=cache, n_rows=n_rows, seed=seed)


def _fetch_from_openml(dataset: PaperDataset, cache: Path, online: bool) -> _FrameAndSource:
    if dataset.openml_id is None:
        raise DatasetUnavailable("its number at OpenML is unknown")
    if not online:
        raise DatasetUnavailable(f"OpenML {dataset.openml_id} was not fetched (--no-online)")
    frame = openml.fetch_openml_dataset(dataset.openml_id, cache / "openml")
    return frame, f"OpenML {dataset.openml_id}"


def _read_file(file: Path) -> Any:
    if not file.is_file():
        raise DatasetUnavailable(f"there is no file {file}")
    try:
        return pd.read_parquet(file) if file.suffix.lower() == ".parquet" else pd.read_csv(file)
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these
        raise DatasetUnavailable(f"{file} can't be read: {error}") from error


def _separate_target(frame: Any, target: str | None, name: str, source: str) -> RawDataset:
    """Separate the class column, and drop rows without a class."""
    candidates = _DEFAULT_TARGETS if target is None else (target,)
    column = next((candidate for candidate in candidates if candidate in frame), None)
    if column is None:
        columns = ", ".join(map(str, frame.columns))
        raise DatasetUnavailable(
            f"{name} has no class column {' or '.join(candidates)}; its columns are {columns}; choose one by --target"
        )
    if frame.shape[1] == 1:
        raise DatasetUnavailable(f"{name} has only its class column {column}; expected at least one other column")
    is_missing = frame[column].isna()
    if is_missing.any():
        frame = frame[~is_missing].reset_index(drop=True)
        source = f"{source}; {int(is_missing.sum()):,} rows without a class are left out"
    return RawDataset(name, frame.drop(columns=column), frame[column], source)


def _apply_paper_details(raw: RawDataset, dataset: PaperDataset) -> RawDataset:
    X = raw.X.drop(columns=[column for column in dataset.id_columns if column in raw.X])
    # The columns of a synthetic data set already have their final kinds.
    nominal_columns = dataset.nominal_columns if dataset.original is None else ()
    return RawDataset(dataset.name, X, raw.y, raw.source, dataset.choose_split(len(X)), nominal_columns)
