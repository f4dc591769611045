"""Texts as X, for pipelines that begin with a vectorizer."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from fitwithin import TimeConstrainedClassifier, TimeConstrainedRegressor, TimeConstrainedSearch
from fitwithin._core.exceptions import UserInputError

LABELS = np.random.default_rng(0).integers(2, size=3000)
WORDS = [["bad", "slow", "dull"], ["good", "fast", "bright"]]
TEXTS = [
    f"A {WORDS[label][number % 3]} film about the {['sea', 'moon', 'war', 'city'][number % 4]} of {number}"
    for number, label in enumerate(LABELS.tolist())
]
KINDS = {
    "list": TEXTS,
    "array": np.array(TEXTS),
    "objects": np.array(TEXTS, dtype=object),
    "pandas": pd.Series(TEXTS, index=np.arange(3000) + 7),
    "polars": pl.Series(TEXTS),
}


def a_classifier(learner=None, **settings):
    settings = {"time_limit": 30, "backend": "inline", "random_state": 0} | settings
    return TimeConstrainedClassifier(learner or make_pipeline(TfidfVectorizer(), LogisticRegression()), **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_every_kind_are_learned(kind):
    clf = a_classifier().fit(KINDS[kind], LABELS)

    assert clf.n_rows_trained_ == 2700, "no other row is kept back, and a perfect score promises no gain of these"
    assert clf.predict(KINDS[kind]).shape == (3000,)
    assert clf.predict_proba(TEXTS[:5]).shape == (5, 2)
    assert clf.score(KINDS[kind], LABELS) == 1
    assert not hasattr(clf, "n_features_in_")


@pytest.mark.parametrize("backend", ["inline", "process"])
@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), CountVectorizer(), HashingVectorizer(alternate_sign=False)])
def test_every_vectorizer_takes_them(vectorizer, backend):
    clf = a_classifier(make_pipeline(vectorizer, MultinomialNB()), backend=backend).fit(TEXTS, LABELS)

    assert clf.score_estimate_[0] > 0.95
    assert clf.predict(["a dull film", "a bright film"]).tolist() == [0, 1]


def test_a_validation_set_groups_and_a_checkpoint_go_with_them(tmp_path):
    given = a_classifier().fit(TEXTS[:2000], LABELS[:2000], X_val=TEXTS[2000:], y_val=LABELS[2000:])
    grouped = a_classifier().fit(TEXTS, LABELS, groups=np.arange(3000) // 10)
    settings = {"checkpoint": tmp_path / "fit", "on_round": lambda finished: True}
    first = a_classifier(**settings).fit(TEXTS, LABELS)
    again = a_classifier(**settings).fit(TEXTS, LABELS)

    assert given.n_rows_trained_ == 2000
    assert grouped.score_estimate_[0] > 0.95
    assert len(again.history_) >= len(first.history_)


def test_a_regressor_and_a_search_take_them():
    reg = TimeConstrainedRegressor(make_pipeline(TfidfVectorizer(), Ridge()), time_limit=30, backend="inline")
    search = TimeConstrainedSearch(
        make_pipeline(TfidfVectorizer(), LogisticRegression()),
        {"tfidfvectorizer__ngram_range": [(1, 1), (1, 2)]},
        time_limit=5,
        backend="inline",
    )

    assert reg.fit(TEXTS, LABELS * 2.0).score(TEXTS, LABELS * 2.0) > 0.8
    assert search.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.95


def test_what_is_no_text_is_refused():
    with pytest.raises(UserInputError, match="2 of 3,000 are missing"):
        a_classifier().fit(pd.Series([None, np.nan, *TEXTS[2:]]), LABELS)
    with pytest.raises(ValueError, match="Expected 2D array"):
        a_classifier().fit(np.arange(3000), LABELS)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        a_classifier().fit(TEXTS[1:], LABELS)
    with pytest.raises(TypeError, match="X_val is a NumPy array and X an array of texts"):
        a_classifier().fit(TEXTS, LABELS, X_val=np.zeros((9, 2)), y_val=np.zeros(9))
    with pytest.raises(UserInputError, match="no file or folder"):
        a_classifier().fit(["rows.parquet", "more.parquet"], "label")
