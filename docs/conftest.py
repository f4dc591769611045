"""Run the examples of each page in a folder of its own; tests/docs/test_docs.py runs the pages with commands."""

from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
collect_ignore = ["conf.py", "conftest.py", "_extensions", "_build", "gallery", "reference", "pictures"]
collect_ignore += [
    str(page.relative_to(HERE))
    for page in HERE.rglob("*.md")
    if "_build" not in page.parts and "```console" in page.read_text(encoding="utf-8")
]
# `make recipes` runs these, in an environment that has the libraries.
RECIPES = {"mlflow": "mlflow", "onnx": "onnxruntime", "optuna": "optuna", "shap": "shap"}
collect_ignore += [f"recipes/{page}.md" for page, library in RECIPES.items() if find_spec(library) is None]


@pytest.fixture(autouse=True)
def _folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
