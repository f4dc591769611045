"""Models in skops files come back unchanged, and untrusted types are named."""

import os

import pytest
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from fitwithin._core.model_file import NotStorable, UntrustedTypes, dump_model, load_model

X, Y = [[0], [1]], ["no", "yes"]


def test_a_model_comes_back_unchanged(tmp_path):
    assert dump_model(DecisionTreeClassifier().fit(X, Y), tmp_path / "model") == ()

    assert load_model(tmp_path / "model").predict(X).tolist() == Y


def test_untrusted_types_are_named_and_can_be_trusted(tmp_path):
    name = f"{os.getcwd.__module__}.getcwd"
    assert dump_model(FunctionTransformer(os.getcwd), tmp_path / "model") == (name,)

    with pytest.raises(UntrustedTypes) as caught:
        load_model(tmp_path / "model")

    assert caught.value.names == [name]
    assert load_model(tmp_path / "model", [name]).func is os.getcwd


def test_a_model_that_skops_can_not_load_is_not_storable(tmp_path):
    model = DecisionTreeClassifier().fit(X, Y)
    model.note = lambda: 0

    with pytest.raises(NotStorable):
        dump_model(model, tmp_path / "model")
