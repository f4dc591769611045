"""The public doors list what they let through."""

from importlib import import_module
from types import ModuleType

import pytest

DOORS = ["fitwithin", "fitwithin.backends", "fitwithin.teachers", "fitwithin.testing", "fitwithin.viz"]


def rank(name):
    """Constants first, then classes, then the rest, as ruff sorts them."""
    if len(name) > 1 and name.isupper():
        return 0, name
    return (1, name) if name[0].isupper() else (2, name)


@pytest.mark.parametrize("door", DOORS)
def test_all_is_sorted(door):
    exported = import_module(door).__all__

    assert list(exported) == sorted(exported, key=rank)


@pytest.mark.parametrize("door", DOORS)
def test_all_lists_every_public_name_and_no_other(door):
    module = import_module(door)
    public = {name for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, ModuleType)}

    assert set(module.__all__) == public


@pytest.mark.parametrize("door", DOORS)
def test_everything_exported_is_described(door):
    module = import_module(door)
    classes = [getattr(module, name) for name in module.__all__ if isinstance(getattr(module, name), type)]

    assert module.__doc__
    assert [value.__name__ for value in classes if not value.__doc__] == []
