"""The pages for contributors name the layers and files that there are."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fitwithin"


def read_contracts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings["tool"]["importlinter"]["contracts"]


def layers_of_a_page(page):
    """The first column of the block of text below the heading Layers."""
    text = (ROOT / page).read_text(encoding="utf-8")
    block = re.search(r"## Layers\n.*?```text\n(.*?)```", text, re.DOTALL).group(1)
    return [re.split(r"\s{2,}", line)[0] for line in block.splitlines()]


def test_the_architecture_page_lists_the_layers_of_the_import_contract():
    assert layers_of_a_page("docs/architecture.md") == read_contracts()[0]["layers"]


def test_there_are_at_most_nine_layers_and_no_exceptions():
    contract = read_contracts()[0]

    assert len(contract["layers"]) <= 9
    assert contract["exhaustive"] is True
    assert not {"ignore_imports", "exhaustive_ignores"} & contract.keys()


def test_the_paper_may_import_public_modules_and_the_look_of_the_pictures_alone():
    allowed = {entry.rpartition(" -> fitwithin.")[2] for entry in read_contracts()[2]["ignore_imports"]}

    assert {name for name in allowed if "_" in name} == {"viz._html", "viz._style"}


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
