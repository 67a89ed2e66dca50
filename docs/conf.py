# SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the site: ``make docs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import ccbench

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "ccbench"
author = copyright = "The ccbench developers"  # noqa: A001 - Sphinx's name
version = release = ccbench.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
# Blocks of no language are what terminals show; blocks of Python say so.
highlight_language = "none"
html_theme = "furo"
html_title = f"ccbench {version}"
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
    """Leave out what scikit-learn adds to its estimators, as it refers to pages of its own."""
    app.connect(
        "autodoc-skip-member",
        lambda *event: True if re.fullmatch("set_.*_request", event[2]) else None,
    )
