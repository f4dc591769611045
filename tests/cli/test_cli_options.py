"""Values of options, valid and mistyped."""

import sys
from datetime import UTC, datetime

import pytest

from fitwithin._cli.options import (
    Limits,
    make_learner,
    parse_limit,
    parse_limits,
    parse_until_option,
    validate_choice,
)
from fitwithin._core.budget import parse_time_limit
from fitwithin._core.exceptions import UserInputError
from fitwithin._core.install_command import require_libraries
from fitwithin._core.memory_limit import parse_memory_limit


def test_a_preset_gets_the_cores_that_it_may_use():
    assert make_learner("random-forest", regression=False, jobs=3).n_jobs == 3
    assert make_learner("lightgbm", regression=True).n_jobs == -1
    assert make_learner("xgboost", regression=False, jobs=2).estimator.n_jobs == 2
    assert make_learner("catboost", regression=False, jobs=2).estimator.get_params()["thread_count"] == 2
    assert "n_jobs" not in make_learner("linear-svm", regression=False).get_params()


def test_a_factory_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_learners.py").write_text("from sklearn.svm import SVC\ndef make():\n    return SVC(C=3)\n")

    assert make_learner("my_learners:make", regression=False).C == 3
    assert make_learner("my_learners:SVC", regression=False).C == 1


@pytest.mark.parametrize("name", ["nowhere:make", "sklearn.svm:Nothing", "os:getcwd", "math:sqrt", ":", "sklearn.svm:"])
def test_a_factory_that_returns_no_learner_is_refused(name):
    with pytest.raises(UserInputError, match="--learner"):
        make_learner(name, regression=False)


def test_the_closest_name_is_suggested_in_any_case():
    hints = {"TCD": "Did you mean tct?", "tcd": "Did you mean tct?", "zzz": "Use tct, double."}
    for word, hint in hints.items():
        with pytest.raises(UserInputError) as caught:
            validate_choice("--teacher", word, ["tct", "double"])
        assert caught.value.hint == hint


def test_a_plain_number_is_seconds():
    assert [parse_limit("--time-limit", parse_time_limit, text) for text in ("90", "1m30s")] == [90, 90]


def test_a_time_of_day_is_the_next_one():
    noon = datetime(2026, 11, 18, 12, 0)

    assert parse_until_option("06:00", noon) == datetime(2026, 11, 19, 6, 0)
    assert parse_until_option("12:00:30", noon) == datetime(2026, 11, 18, 12, 0, 30)
    assert parse_until_option("06:00Z", noon.replace(tzinfo=UTC)) == datetime(2026, 11, 19, 6, 0, tzinfo=UTC)
    assert parse_until_option("2026-12-01T06:00", noon) == datetime(2026, 12, 1, 6, 0)
    with pytest.raises(UserInputError, match=r"--until must be a time such as 06:00 .* got 'soon'"):
        parse_until_option("soon", noon)


def test_one_limit_of_time_is_enough():
    with pytest.raises(UserInputError, match="--time-limit and --until both limit the time"):
        parse_limits("60s", "06:00", None)
    with pytest.raises(UserInputError, match="--until is 2020-01-01 06:00:00, but it is "):
        parse_limits(None, "2020-01-01T06:00", None)
    assert parse_limits(None, None, None) == Limits(60, None, None)


def test_a_plain_number_is_bytes():
    n_bytes = [parse_limit("--memory-limit", parse_memory_limit, text) for text in ("8000000000", "8GB")]
    assert n_bytes == [8_000_000_000] * 2


@pytest.mark.parametrize("text", ["8G", "-1", "0", "200%", "much"])
def test_a_memory_limit_that_cannot_be_read_is_refused_with_examples(text):
    with pytest.raises(UserInputError, match=f"--memory-limit must be positive.* such as \"8GB\".*got '{text}'"):
        parse_limit("--memory-limit", parse_memory_limit, text)


def test_installed_libraries_are_accepted():
    require_libraries("This command", "pandas", "pyarrow", "skops")
