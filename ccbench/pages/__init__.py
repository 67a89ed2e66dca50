# SPDX-License-Identifier: Apache-2.0
"""Building blocks of HTML reports: self-contained pages with figures and tables.

A page's template extends ``base.html`` and uses the macros of ``parts.html``.
"""

from __future__ import annotations

from ccbench.pages.columns import Column
from ccbench.pages.pictures import FIGURES, Picture, Pictures
from ccbench.pages.render import rendered

__all__ = ["FIGURES", "Column", "Picture", "Pictures", "rendered"]
