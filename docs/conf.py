# SPDX-License-Identifier: Apache-2.0
"""Configuration of Sphinx, which builds the site: ``make docs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import ccbench

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ccbench"
author = copyright = "The ccbench developers"  # noqa: A001 - Sphinx's name
version = release = ccbench.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
# Blocks without a language are terminal output: no colours, no copy button.
highlight_language = "none"
copybutton_selector = ":not(.highlight-none) > div.highlight > pre"
html_theme = "furo"
html_title = f"ccbench {version}"
html_static_path = ["_static"]
html_css_files = ["ccbench.css"]
templates_path = ["api/templates"]
exclude_patterns = ["_site", "api/templates"]

# Headings can be linked to, as on GitHub.
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # docstrings have types, with units
autodoc_member_order = "bysource"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False


def setup(app: Sphinx) -> None:
    """Omit methods that scikit-learn adds to estimators: they refer to pages of its site."""
    app.connect(
        "autodoc-skip-member",
        lambda *event: True if re.fullmatch("set_.*_request", event[2]) else None,
    )
