"""How the documentation site is built: `make docs`, without a network, warnings are errors."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib
from sphinx.application import Sphinx

from fitwithin import __version__

matplotlib.use("Agg")
# The limits of the examples, which are longer where a reader runs them.
os.environ.setdefault("FITWITHIN_EXAMPLE_LIMIT", "6s")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "fitwithin"
author = "the fitwithin developers"
project_copyright = author
release = __version__
version = ".".join(release.split(".")[:2])

extensions = [
    "command_line_pages",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_build", "README.md", "**/*.py", "gallery/**/*.ipynb", "gallery/**/*.py.md5"]
templates_path = ["_templates"]
# Markdown pages are read on a forge too, so they link to each other by file name, and use nothing that only sphinx
# knows but the lists of pages at their ends.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# A single backtick in a docstring is a name in code; there is no network to look up names of other projects.
default_role = "code"
# Two dashes begin an option.
smartquotes = False
nitpicky = True
nitpick_ignore = [("py:class", "collections.abc.Generator")]
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fitwithin",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    # The page of times would load scripts from the network.
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "reset_modules": ("matplotlib", "warm_start.warm_start"),
}

html_theme = "pydata_sphinx_theme"
html_title = f"fitwithin {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# These pages have no section to navigate in.
_WITHOUT_SECTION = ("install", "when-to-use", "benchmarks")
html_sidebars: dict[str, list[str]] = {page: [] for page in _WITHOUT_SECTION}
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "fitwithin"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _without_last_line(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Doctests end with an empty line, which is no use to a reader."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Tell sphinx."""
    app.connect("source-read", _without_last_line)
