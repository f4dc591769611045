"""Data sets from OpenML, through scikit-learn's client."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.datasets import fetch_openml

from fitwithin._research.study.data import NotToBeHad


def fetch(number: int | str, cache: Path, *, client: Callable[..., Any] = fetch_openml) -> Any:
    """A data set by its number or name at OpenML, with its class in the column ``target``.

    Parameters
    ----------
    number : int or str
        OpenML's number for it, or its name there.
    cache : Path
        Where the client keeps what it has fetched; a second time needs no network.
    client : callable
        Has the arguments of scikit-learn's `fetch_openml`.

    Returns
    -------
    pandas.DataFrame
        Its columns, the class last.

    Raises
    ------
    NotToBeHad
        If it can't be fetched, for whatever reason.
    """
    try:
        with warnings.catch_warnings():
            # Of old or doubtful versions of a set; the numbers are those the paper's figures agree with.
            warnings.simplefilter("ignore")
            which = {"name": number} if isinstance(number, str) else {"data_id": number}
            bunch = client(**which, as_frame=True, data_home=str(cache), n_retries=1)
    except (OSError, ValueError, ImportError) as error:
        # No network and refusals are OSErrors, damaged files ValueErrors, a missing parser is an ImportError.
        raise NotToBeHad(f"OpenML {number} can't be fetched ({type(error).__name__}: {error})") from error
    if bunch.target is None:
        raise NotToBeHad(f"OpenML {number} names no column as its class")
    return bunch.data.assign(target=bunch.target)
