"""Rounds and fitted estimators built by hand, for the tests of tables, figures and reports."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from fitwithin import Round, TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
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
    fit.n_rows_in_, fit.n_rows_trained_ = sum(pool), sum(taught)
    if not regressor:
        fit.classes_, fit.class_count_, fit.class_count_trained_ = map(np.array, (classes, pool, taught))
    return fit


def a_search(n_settings=30, *, n_failed=1, rounds=None, names=("lightgbm", "random-forest"), **parameters):
    """Return a search with the attributes that `fit` sets: settings on 1,000 rows, the best three on 4,000 rows too.

    The score grows with `depth`, and does not depend on `seed`. Settings 0 and 1 are the learners' own.
    """
    rng = np.random.default_rng(0)
    depth = rng.integers(1, 20, n_settings)
    scores = np.round(0.7 + 0.01 * depth + 0.005 * rng.normal(size=n_settings), 4)
    leaders = np.argsort(-scores)[:3]
    best = int(leaders[0])
    tried = [(number, 1_000, scores[number]) for number in range(n_settings)]
    tried += [(int(number), 4_000, scores[number] + 0.03) for number in leaders] + [(best, 16_000, scores[best] + 0.05)]
    if rounds is None:
        rounds = [
            a_round(
                place + 1,
                candidate=number,
                rows=rows,
                estimate=score,
                low=score - 0.01,
                high=score + 0.01,
                best=number == best,
                elapsed=8.0 * (place + 1) / len(tried),
            )
            for place, (number, rows, score) in enumerate(tried)
        ]
    fit = a_fit(rounds, estimate=(0.9, 0.88, 0.92), **parameters)
    search = TimeConstrainedSearch(list(names), time_limit=10, random_state=0)
    vars(search).update({name: value for name, value in vars(fit).items() if name.endswith("_")})
    n_all = n_settings + n_failed
    failures = ["failed: ValueError: <no>"] * n_failed
    order = np.argsort([0 if number == best else 1 for number in range(n_all)], kind="stable")
    search.cv_results_ = {
        "estimator": np.array([names[number % len(names)] for number in range(n_all)], dtype=object),
        "params": [
            {} if number < len(names) else {"depth": int(depth[number % n_settings]), "seed": number % 7, "kind": "a"}
            for number in range(n_all)
        ],
        "mean_test_score": np.array([*scores, *[np.nan] * n_failed]),
        "n_rows": np.array([1_000] * n_settings + [0] * n_failed),
        "seconds": np.linspace(0.1, 2, n_all),
        "rank_test_score": np.argsort(order) + 1,
        "ended": np.array(
            ["returned" if number == best else "behind others" for number in range(n_settings)] + failures, dtype=object
        ),
    }
    search.best_index_, search.best_params_ = best, search.cv_results_["params"][best]
    return search
