"""Names on the command line, right and mistyped."""

import sys

import pytest

from fitwithin._cli.errors import require
from fitwithin._cli.options import did_you_mean, learner_of, limit_of, one_of
from fitwithin._core.exceptions import UserInputError


def test_a_preset_gets_the_cores_that_it_may_use():
    assert learner_of("random-forest", regression=False, jobs=3).n_jobs == 3
    assert learner_of("lightgbm", regression=True).n_jobs == -1
    assert learner_of("xgboost", regression=False, jobs=2).estimator.n_jobs == 2
    assert learner_of("catboost", regression=False, jobs=2).estimator.get_params()["thread_count"] == 2
    assert "n_jobs" not in learner_of("linear-svm", regression=False).get_params()


def test_a_factory_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "of_my_own.py").write_text("from sklearn.svm import SVC\ndef make():\n    return SVC(C=3)\n")

    assert learner_of("of_my_own:make", regression=False).C == 3
    assert learner_of("of_my_own:SVC", regression=False).C == 1


@pytest.mark.parametrize("name", ["nowhere:make", "sklearn.svm:Nothing", "os:getcwd", "math:sqrt", ":", "sklearn.svm:"])
def test_a_factory_that_makes_no_learner_is_refused(name):
    with pytest.raises(UserInputError, match="--learner"):
        learner_of(name, regression=False)


def test_a_missing_booster_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)

    with pytest.raises(UserInputError) as caught:
        learner_of("catboost", regression=False)

    assert caught.value.sentence == "CatBoost is not installed."
    assert caught.value.hint == "pip install 'fitwithin[boosters]'"


def test_the_nearest_name_is_suggested_whatever_its_capitals():
    assert did_you_mean("TARGET", ["age", "Target"], "It is lost.") == "Did you mean Target?"
    assert did_you_mean("zzz", ["age"], "It is lost.") == "It is lost."
    with pytest.raises(UserInputError, match=r"Did you mean tct\?"):
        one_of("--teacher", "tcd", ["tct", "double"])


def test_a_plain_number_is_seconds():
    assert limit_of("90") == limit_of("1m30s") == 90


def test_libraries_that_are_there_are_not_asked_for():
    require("pandas", "pyarrow", "skops")
