"""One palette for pictures and pages, in light and dark mode."""

import re

import pytest

from fitwithin.viz._style import PALETTE, colours_to_css_variables, palette_css
from sample_fits import a_fit, a_round, a_search


def test_every_colour_is_a_css_variable_in_both_modes():
    light, dark = palette_css().split("@media")

    assert all(f"--{name}: {colour.light};" in light for name, colour in PALETTE.items())
    assert all(f"--{name}: {colour.dark};" in dark for name, colour in PALETTE.items())


def test_light_colours_are_distinct_so_that_each_has_one_variable():
    assert len({colour.light for colour in PALETTE.values()}) == len(PALETTE)


def test_other_colours_stay_as_they_are():
    assert colours_to_css_variables("fill: #123456") == "fill: #123456"


@pytest.mark.parametrize(
    "make_fit", [lambda: a_fit([a_round(1), a_round(2), a_round(3, fresh=150)], taught=(300, 0)), a_search]
)
def test_a_report_uses_only_colours_of_the_palette(tmp_path, make_fit):
    """A colour outside the palette would not follow dark mode."""
    pytest.importorskip("matplotlib")
    fit = make_fit()

    page = fit.report(tmp_path / "report.html").read_text(encoding="utf-8")

    body = page[page.index("<body>") :]
    assert set(re.findall(r"var\(--(\w+)\)", page)) <= set(PALETTE)
    assert set(re.findall(r"(?:fill|stroke|color): (#\w+)", body)) == set()
