# SPDX-License-Identifier: Apache-2.0
"""Damaged files: generation, and the contract of every reader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from ccbench.base.errors import CcbenchError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["WORDS", "damages", "refused_or_read"]

#: Replacements for a number or a word.
WORDS = (
    *("0", "-1", "1e999", "nan", "-inf", "99999999999999999999", "1e-300", "0x10", "007", "true"),
    *('""', "[]", "{}", "[[]]", "'", '"', "\\u0000", "é", "\x00", "\n", "#", "=", "-", "."),
)


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Draw one to four changes, each at any position of a file."""
    changes = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["byte", "cut", "double", "move", "word", "number", "end"]),
                st.floats(0, 1),
                st.floats(0, 1),
                st.integers(0, 255),
            ),
            min_size=1,
            max_size=4,
        )
    )

    def damage(data: bytes) -> bytes:
        for kind, first, second, value in changes:
            at, other = sorted(int(part * len(data)) for part in (first, second))
            word = WORDS[value % len(WORDS)].encode()
            places = list(re.finditer(rb"[\d.]+" if kind == "number" else rb"\w+", data))
            if kind == "byte":
                data = data[:at] + bytes([value]) + data[at + 1 :]
            elif kind == "cut":
                data = data[:at] + data[other:]
            elif kind == "double":
                data = data[:other] + data[at:other] + data[other:]
            elif kind == "move":
                data = data[other:] + data[at:other] + data[:at]
            elif kind == "end":
                data = data[:at]
            elif places:
                place = places[int(first * (len(places) - 1))]
                data = data[: place.start()] + word + data[place.end() :]
        return data

    return damage


def refused_or_read(read: Callable[[Path], object], path: Path) -> None:
    """Read a file; any exception must be a one-line error for users."""
    try:
        read(path)
    except CcbenchError as error:
        message = str(error)
        assert message
        assert "\n" not in message
        assert "Traceback" not in message
