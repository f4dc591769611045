"""Data sets from OpenML, through scikit-learn's client."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.datasets import fetch_openml

from fitwithin_paper.study.raw_dataset import DatasetUnavailable


def fetch_openml_dataset(openml_id: int | str, cache: Path, *, client: Callable[..., Any] = fetch_openml) -> Any:
    """Fetch a data set by its number or name at OpenML, with its class in the column ``target``.

    Parameters
    ----------
    openml_id : int or str
        Number at OpenML, or the name there.
    cache : Path
        Folder where the client stores downloads; a second call needs no network.
    client : callable
        Takes the arguments of scikit-learn's `fetch_openml`.

    Returns
    -------
    pandas.DataFrame
        The columns, the class last.

    Raises
    ------
    DatasetUnavailable
        If the data set can't be fetched, for any reason.
    """
    try:
        with warnings.catch_warnings():
            # OpenML warns about old or doubtful versions; these numbers agree with the paper's sizes.
            warnings.simplefilter("ignore")
            query = {"name": openml_id} if isinstance(openml_id, str) else {"data_id": openml_id}
            bunch = client(**query, as_frame=True, data_home=str(cache), n_retries=1)
    except (OSError, ValueError, ImportError) as error:
        # OSError: no network or a refusal; ValueError: a damaged file; ImportError: no parser.
        raise DatasetUnavailable(f"OpenML {openml_id} can't be fetched ({type(error).__name__}: {error})") from error
    if bunch.target is None:
        raise DatasetUnavailable(f"OpenML {openml_id} declares no class column")
    return bunch.data.assign(target=bunch.target)
