"""Where a data set comes from: a file, a Bayesian network, OpenML."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from fitwithin._research.study import generating, openml
from fitwithin._research.study.data import NotToBeHad, Table
from fitwithin._research.study.names import DATA_SETS, DataSet, data_set, normal

__all__ = ["Find", "NotToBeHad", "Table", "default_cache", "find", "known", "sources"]


_ENDINGS = (".parquet", ".csv", ".csv.gz")


_TARGETS = ("target", "class")


def find(
    name: str | Path,
    folder: Path | None = None,
    *,
    cache: Path | None = None,
    target: str | None = None,
    online: bool = True,
    rows: int = 1_000_000,
    seed: int = 0,
) -> Table:
    """A data set by its name.

    One of the paper's twenty is looked for in the folder, then generated if it is a sampled one and its original is in
    the folder, then fetched from OpenML. Any other name is that of a file in the folder.

    Parameters
    ----------
    name : str or Path
        One of the paper's names, the name of a file in the folder without its ending, or the path of a parquet or CSV
        file.
    folder : Path, optional
        Of parquet files.
    cache : Path, optional
        Where to keep what was fetched or generated; `default_cache` by default.
    target : str, optional
        The column with the class; by default the one called target, or class.
    online : bool, default=True
        Whether OpenML may be asked.
    rows, seed : int
        Of a set that is generated.

    Returns
    -------
    Table
        The rows as they come.

    Raises
    ------
    ValueError
        If the name is unknown.
    NotToBeHad
        If a known set is not to be found anywhere, its file can't be read, or it has no column for the class.
    """
    if str(name).lower().endswith(_ENDINGS):
        return _table(_read(Path(name)), target, _bare(Path(name)), f"file {Path(name).name}")
    files = _files(folder)
    paper = data_set(str(name))
    if paper is None:
        if normal(str(name)) not in files:
            raise ValueError(f"unknown data set {str(name)!r}; known are {', '.join(known(folder))}")
        file = files[normal(str(name))]
        return _table(_read(file), target, file.stem, f"file {file.name}")
    cache = default_cache() if cache is None else cache
    ways: list[Callable[[], tuple[Any, str]]] = [lambda: _from_folder(paper, files, folder)]
    if paper.original is not None:
        ways.append(lambda: _generated(paper, files, cache, rows, seed))
    ways.append(lambda: _from_openml(paper, cache, online))
    frame, source = _first(paper, ways)
    return _of_the_paper(_table(frame, target, paper.name, source), paper)


def known(folder: Path | None = None) -> tuple[str, ...]:
    """Every name that `find` knows: the paper's twenty, then whatever else the folder holds.

    Examples
    --------
    >>> known()[:3]
    ('vehicle_sensIT', 'MiniBooNE', 'SantanderCustomerSatisfaction')
    """
    return (*DATA_SETS, *(file.stem for file in _files(folder).values() if data_set(file.stem) is None))


Find = Callable[[str], Table]
"""Gives a data set by its name."""


def sources(
    data: Path | None,
    target: str | None,
    names: tuple[str, ...] = (),
    *,
    cache: Path | None = None,
    online: bool = True,
) -> tuple[Find, tuple[str, ...]]:
    """Where a study takes its data sets from, and which.

    Parameters
    ----------
    data : Path or None
        A folder of parquet files, or a file of the user's own.
    target : str or None
        The column with the class.
    names : tuple of str
        Of the data sets; empty for the paper's twenty.
    cache, online
        As in `find`.

    Raises
    ------
    ValueError
        If a name is unknown, and then the message lists those that are known; if the data are neither a folder nor a
        file that can be read; if names are given where a file is the only data set.
    """
    if data is not None and str(data).lower().endswith(_ENDINGS) and not data.is_dir():
        if names:
            raise ValueError(f"--datasets chooses from a folder, but --data is the file {data}: leave one of them out")
        return lambda _: find(data, target=target), (_bare(data),)
    if data is not None and data.is_file():
        raise ValueError(f"{data} can't be read; a file of data ends in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}")
    # A set has one name in the results, however it was written.
    canonical = {normal(name): name for name in known(data)}
    canonical |= {stem: paper.name for paper in DATA_SETS.values() for stem in paper.stems}
    unknown = [name for name in names if normal(name) not in canonical]
    if unknown:
        raise ValueError(f"unknown data set {', '.join(map(repr, unknown))}; known are {', '.join(known(data))}")
    chosen = tuple(dict.fromkeys(canonical[normal(name)] for name in names or DATA_SETS))
    return lambda name: find(name, data, cache=cache, target=target, online=online), chosen


def default_cache() -> Path:
    """The folder for what was fetched or generated: ``FITWITHIN_CACHE``, or the user's folder for such things."""
    if folder := os.environ.get("FITWITHIN_CACHE"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fitwithin"


def _bare(file: Path) -> str:
    """The name of a file without its ending.

    Examples
    --------
    >>> _bare(Path("data/my.v2.parquet")), _bare(Path("my.csv.gz"))
    ('my.v2', 'my')
    """
    ending = max((ending for ending in _ENDINGS if file.name.lower().endswith(ending)), key=len)
    return file.name[: -len(ending)]


def _files(folder: Path | None) -> Mapping[str, Path]:
    """The folder's parquet files by their names without capitals and ending."""
    if folder is None:
        return {}
    if not folder.is_dir():
        raise ValueError(f"no folder {folder} to take data sets from")
    return {normal(file.stem): file for file in sorted(folder.glob("*.parquet"))}


def _first(paper: DataSet, ways: list[Callable[[], tuple[Any, str]]]) -> tuple[Any, str]:
    why = []
    for way in ways:
        try:
            return way()
        except NotToBeHad as error:
            why.append(str(error))
    wanted = f"{paper.stems[0] if paper.original is None else paper.original}.parquet"
    raise NotToBeHad(
        f"{paper.name} is not to be had: {'; '.join(why)}. Put {wanted} into a folder and name it: --data."
    )


def _from_folder(paper: DataSet, files: Mapping[str, Path], folder: Path | None) -> tuple[Any, str]:
    for stem in paper.stems:
        if stem in files:
            return _read(files[stem]), f"file {files[stem].name}"
    names = " or ".join(f"{stem}.parquet" for stem in paper.stems)
    raise NotToBeHad("no folder of data was named" if folder is None else f"no {names} in {folder}")


def _generated(paper: DataSet, files: Mapping[str, Path], cache: Path, rows: int, seed: int) -> tuple[Any, str]:
    assert paper.original is not None
    if paper.original not in files:
        raise NotToBeHad(f"no {paper.original}.parquet to learn a Bayesian network on")
    original = _table(_read(files[paper.original]), None, paper.original, "")
    frame = original.X.assign(target=original.y)
    return generating.generate(paper, frame, cache=cache, rows=rows, seed=seed)


def _from_openml(paper: DataSet, cache: Path, online: bool) -> tuple[Any, str]:
    if paper.openml is None:
        raise NotToBeHad("no number at OpenML is known for it")
    if not online:
        raise NotToBeHad(f"OpenML {paper.openml} was not asked")
    return openml.fetch(paper.openml, cache / "openml"), f"OpenML {paper.openml}"


def _read(file: Path) -> Any:
    if not file.is_file():
        raise NotToBeHad(f"there is no file {file}")
    try:
        return pd.read_parquet(file) if file.suffix.lower() == ".parquet" else pd.read_csv(file)
    except (OSError, ValueError) as error:  # pyarrow's own errors are both
        raise NotToBeHad(f"{file} can't be read: {error}") from error


def _table(frame: Any, target: str | None, name: str, source: str) -> Table:
    """The frame with its class set apart; rows without a class are left out."""
    candidates = _TARGETS if target is None else (target,)
    column = next((candidate for candidate in candidates if candidate in frame), None)
    if column is None:
        columns = ", ".join(map(str, frame.columns))
        raise NotToBeHad(f"{name} has no column {' or '.join(candidates)} for its class; its columns are {columns}")
    if frame.shape[1] == 1:
        raise NotToBeHad(f"{name} has no column beside its class, {column}")
    without = frame[column].isna()
    if without.any():
        frame = frame[~without].reset_index(drop=True)
        source = f"{source}; {int(without.sum()):,} rows without a class are left out"
    return Table(name, frame.drop(columns=column), frame[column], source)


def _of_the_paper(table: Table, paper: DataSet) -> Table:
    X = table.X.drop(columns=[column for column in paper.left_out if column in table.X])
    # A sampled set has the kinds that it was sampled with.
    nominal = paper.nominal if paper.original is None else ()
    return Table(paper.name, X, table.y, table.source, paper.split(len(X)), nominal)
