"""Every public package lists its members in `__all__`."""

from importlib import import_module
from types import ModuleType

import pytest

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
    public = {name for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, ModuleType)}

    assert set(module.__all__) == public


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_exported_is_described(package):
    module = import_module(package)
    classes = [getattr(module, name) for name in module.__all__ if isinstance(getattr(module, name), type)]

    assert module.__doc__
    assert [value.__name__ for value in classes if not value.__doc__] == []
