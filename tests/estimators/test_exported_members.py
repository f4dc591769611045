"""Every public package lists its members in `__all__`."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import fitwithin

PACKAGES = ["fitwithin", "fitwithin.backends", "fitwithin.teachers", "fitwithin.testing", "fitwithin.viz"]


def sort_key(name):
    """Constants first, then classes, then the rest, as ruff sorts them."""
    if len(name) > 1 and name.isupper():
        return 0, name
    return (1, name) if name[0].isupper() else (2, name)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_is_sorted(package):
    exported = import_module(package).__all__

    assert list(exported) == sorted(exported, key=sort_key)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_every_public_name_and_no_other(package):
    module = import_module(package)
    assert {name for name in dir(module) if name[0] != "_"} >= set(module.__all__)
    # Some are imported only when they are used.
    assert all(hasattr(module, name) for name in module.__all__)
    public = {name for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, ModuleType)}

    assert set(module.__all__) == public


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_exported_is_described(package):
    module = import_module(package)
    classes = [getattr(module, name) for name in module.__all__ if isinstance(getattr(module, name), type)]

    assert module.__doc__
    assert [value.__name__ for value in classes if not value.__doc__] == []


def test_the_public_modules_are_attributes_of_the_package():
    program = "import fitwithin; print(fitwithin.teachers.TCT, fitwithin.backends, fitwithin.viz, fitwithin.testing)"

    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_unknown_name_is_reported_as_in_any_module():
    with pytest.raises(AttributeError, match="module 'fitwithin' has no attribute 'TimeConstrained'"):
        fitwithin.TimeConstrained  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'TimeConstrained' from 'fitwithin'"):
        from fitwithin import TimeConstrained  # noqa: F401
