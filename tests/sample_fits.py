"""Rounds and fitted estimators built by hand, for the tests of tables, figures and reports."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from fitwithin import Round, TimeConstrainedClassifier, TimeConstrainedRegressor
from fitwithin._core.budget import parse_time_limit
from fitwithin.viz._history import History

A_ROUND = Round(
    number=1,
    rows=100,
    new_rows=100,
    new_mistakes=0,
    examined=200,
    fresh=200,
    seconds_handover=0.5,
    seconds_fit=1.0,
    seconds_exam=0.25,
    seconds_model=0.125,
    seconds_choose=0.0625,
    predicted_fit=None,
    estimate=0.7,
    low=0.6,
    high=0.8,
    best=True,
    elapsed=2.0,
)


def a_round(number=1, **changes):
    """Return round `number`; each scores higher than the one before, and rounds 2 and 4 are not the best so far."""
    score, size = 0.6 + 0.05 * min(number, 6), 10 * 2 ** min(number, 10)
    better = {"estimate": score, "low": score - 0.05, "high": score + 0.05}
    usual = {"number": number, "rows": 10 * size, "new_rows": 5 * size, "new_mistakes": size}
    when = {"elapsed": 2.0 * number, "best": number not in (2, 4), "predicted_fit": 0.9 if number > 1 else None}
    return Round(**{**vars(A_ROUND), **usual, **better, **when, **changes})


def a_fit(
    rounds=None,
    *,
    classes=("ham", "spam"),
    pool=(900, 100),
    taught=(300, 100),
    estimate=(0.75, 0.7, 0.8),
    used=9.0,
    lost=0.0,
    regressor=False,
    **parameters,
):
    """Return an estimator with the attributes that `fit` sets."""
    kind = TimeConstrainedRegressor if regressor else TimeConstrainedClassifier
    fit = kind(**{"time_limit": 10, "random_state": 0, **parameters})
    fit.best_estimator_ = GaussianNB()
    fit.history_ = History([a_round(number) for number in (1, 2, 3)] if rounds is None else rounds)
    fit.stop_reason_, fit.score_estimate_ = "time", estimate
    fit.time_limit_, fit.time_used_ = parse_time_limit(fit.time_limit), used
    fit.lost_seconds_ = lost
    fit.memory_limit_ = fit.memory_limit
    fit.n_rows_in_, fit.n_rows_taught_ = sum(pool), sum(taught)
    if not regressor:
        fit.classes_, fit.class_count_, fit.class_count_taught_ = map(np.array, (classes, pool, taught))
    return fit
