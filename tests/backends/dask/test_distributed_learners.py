"""LightGBM's and XGBoost's own Dask learners train where the rows are, and are left at the deadline."""

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is an extra")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from lightgbm import DaskLGBMClassifier, LGBMClassifier
from xgboost import XGBClassifier
from xgboost.dask import DaskXGBClassifier

from fitwithin import NoModelInTime, TimeConstrainedClassifier
from fitwithin.backends import Dask
from fitwithin.teachers import TCT

pytestmark = [
    pytest.mark.slow,
    # What these libraries warn of while they talk to Dask is theirs.
    pytest.mark.filterwarnings("ignore:.*:UserWarning:lightgbm", "ignore:.*:UserWarning:xgboost"),
]


@pytest.mark.parametrize(
    ("learner", "local"),
    [
        (DaskLGBMClassifier(n_estimators=10, verbosity=-1), LGBMClassifier),
        (DaskXGBClassifier(n_estimators=10), XGBClassifier),
    ],
    ids=["LightGBM", "XGBoost"],
)
def test_a_distributed_learner_is_trained_on_a_collection(dask_client, rows, learner, local):
    X, y = rows[0][:20_000], rows[1][:20_000]
    clf = TimeConstrainedClassifier(learner, time_limit=60, backend=Dask(dask_client), teacher=TCT(first=2000))

    clf.fit(da.from_array(X, chunks=(5000, 10)), da.from_array(y, chunks=5000))

    assert type(clf.best_estimator_) is local
    assert clf.n_rows_trained_ >= 2000
    assert clf.score(X, y) > 0.7


def test_a_distributed_learner_takes_frames(dask_client, rows):
    frame = pd.DataFrame(rows[0][:10_000], columns=[f"x{number}" for number in range(10)])
    frame["label"] = np.where(rows[1][:10_000] > 1, "high", "low")
    learner = DaskLGBMClassifier(n_estimators=10, verbosity=-1)
    clf = TimeConstrainedClassifier(learner, time_limit=60, backend=Dask(dask_client), teacher=TCT(first=2000))

    clf.fit(dd.from_pandas(frame, npartitions=3), "label")

    assert clf.score(frame.drop(columns="label"), frame["label"]) > 0.7


def test_a_distributed_learner_that_takes_too_long_is_left_at_the_deadline(dask_client, rows):
    X, y = (da.from_array(part[:50_000], chunks=(12_500, *part.shape[1:])) for part in rows)
    learner = DaskLGBMClassifier(n_estimators=100_000, num_leaves=200, verbosity=-1)
    clf = TimeConstrainedClassifier(learner, time_limit=10, backend=Dask(dask_client), teacher=TCT(first=20_000))

    with pytest.raises(NoModelInTime):
        clf.fit(X, y)
