"""Which models may vote, and how many are kept for it."""

from types import SimpleNamespace

import numpy as np
from sklearn.naive_bayes import GaussianNB

from fitwithin._core.records import Estimate
from fitwithin._session.selection import KeptModel, VoteMembers
from fitwithin._session.vote import MAX_MEMBERS, _predict

NAMES = np.array(["ape", "bee", "cat"])


def test_a_model_that_lacks_a_class_has_no_vote():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 2)), np.repeat(NAMES, 30)

    assert _predict(GaussianNB().fit(X[:60], y[:60]), X, NAMES) is None
    assert _predict(GaussianNB().fit(X, y), X, NAMES).shape == (90, 3)


def a_model(n_rows, score, n_bytes=1 << 20):
    estimate = Estimate(score, score - 0.01, score + 0.01)
    saved = SimpleNamespace(n_bytes=n_bytes, load_seconds=0.0)
    return KeptModel(saved, SimpleNamespace(n_rows=n_rows, estimate=estimate))


def test_the_twenty_best_models_of_the_two_largest_subsets_are_kept():
    members = VoteMembers(MAX_MEMBERS, time_limit=60.0)

    for n_rows in (1_000, 4_000, 16_000):
        for place in range(15):
            members.add(a_model(n_rows, 0.5 + place / 100))

    kept = [one.rank for one in members.models]
    assert [n_rows for n_rows, _ in kept] == 15 * [16_000] + 5 * [4_000]
    assert kept[-5:] == [(4_000, 0.5 + place / 100) for place in (14, 13, 12, 11, 10)]


def test_models_are_kept_up_to_two_gibibytes():
    members = VoteMembers(MAX_MEMBERS, time_limit=60.0)

    dropped = [members.add(a_model(1_000, score, 1 << 29)) for score in (0.7, 0.6, 0.5, 0.8, 0.9)]

    assert [one.rank[1] for one in members.models] == [0.9, 0.8, 0.7, 0.6]
    assert [one.rank[1] for one in dropped[-1]] == [0.5]
