"""The pages for contributors name the layers and files that there are."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fitwithin"


def layers_of_the_contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]
    return contract["layers"]


def layers_of_a_page(page):
    """The first column of the block of text below the heading Layers."""
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(r"## Layers\n.*?```text\n(.*?)```", text, re.DOTALL).group(1)
    return [re.split(r"\s{2,}", line)[0] for line in block.splitlines()]


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_a_page_lists_the_layers_of_the_import_contract(page):
    assert layers_of_a_page(page) == layers_of_the_contract()


def test_there_are_at_most_nine_layers_and_no_exceptions():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = settings["tool"]["importlinter"]["contracts"]

    assert len(contract["layers"]) <= 9
    assert contract["exhaustive"] is True
    assert not {"ignore_imports", "exhaustive_ignores"} & contract.keys()


def test_the_root_of_the_package_has_at_most_eight_modules_and_ten_packages():
    assert len(list(SOURCE.glob("*.py"))) <= 8
    assert len([folder for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()]) <= 10


def test_every_file_that_the_architecture_page_names_is_there():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/]+\.py)", text))

    assert len(names) > 20
    missing = {name for name in names if not ((SOURCE / name).exists() or (ROOT / name).exists())}
    assert not missing


def test_no_class_or_public_function_of_the_package_shares_its_name_with_another():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name in re.findall(r"^(?:class|def) ([A-Za-z]\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, []).append(str(path.relative_to(SOURCE)))

    # Every process of ours starts in a function of this name.
    found.pop("main", None)
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
