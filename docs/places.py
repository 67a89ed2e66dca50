# SPDX-License-Identifier: Apache-2.0
"""Places of the site's pages for generated parts.

A place is between two comments: ``<!-- NAME -->``, or ``<!-- NAME: ARGUMENT -->``, and
``<!-- end -->``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MOST_ROWS", "collapsible", "filled", "names"]

#: Longer tables are collapsed below a summary.
MOST_ROWS = 15

_PLACE = re.compile(r"(<!-- ([a-z][^>]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def names(text: str) -> list[str]:
    """Return the names of a page's places, with their arguments."""
    return [place[2] for place in _PLACE.finditer(text)]


def filled(text: str, parts: Mapping[str, Callable[..., str]]) -> str:
    """Return a page in which parts fill the places of their names.

    Parameters
    ----------
    text : str
    parts : mapping
        Functions that return a part, by name. That of a place with an argument is called with it.
        Other places remain as they are.
    """

    def fill(place: re.Match[str]) -> str:
        name, *argument = place[2].split(": ", 1)
        if name not in parts:
            return place[0]
        return f"{place[1]}\n{parts[name](*argument)}\n\n{place[3]}"

    return _PLACE.sub(fill, text)


def collapsible(title: str, table: str) -> str:
    """Return a table that is shown on request."""
    return f"<details>\n<summary>{title}</summary>\n\n{table}\n\n</details>"
