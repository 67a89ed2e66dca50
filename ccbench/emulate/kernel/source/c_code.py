# SPDX-License-Identifier: Apache-2.0
"""Digests of C code and of its build files, independent of comments and formatting.

They identify what is executed, whatever compiler translates it.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["digest", "normal_form", "without_comments"]

_TOKEN = re.compile(
    r"""
    (?P<gap>  [^\S\n]+ | \\\n | //(?:\\\n|[^\n])* | /\*.*?\*/ )
    | (?P<end> \n )
    | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    | (?P<directive> \#[^\S\n]*(?:define[^\S\n]+\w+\(?)? )  # a space before ( matters there
    | \w+ | -> | \+\+ | -- | \#\# | (?:<<|>>|[-+*/%&|^=!<>])= | && | \|\| | << | >> | .
    """,
    re.DOTALL | re.VERBOSE,
)


def normal_form(code: str) -> str:
    """Return C code as a text that depends only on its tokens.

    Examples
    --------
    >>> normal_form("a = b; // one") == normal_form("a=/* two */ b ;") != normal_form("a = c;")
    True
    """
    return "\x1f".join(_tokens(code))


def _tokens(code: str) -> Iterator[str]:
    is_directive = False
    for match in _TOKEN.finditer(code):
        if match["gap"]:
            continue
        if match["end"]:
            if is_directive:  # elsewhere, the end of a line is a space
                yield "\n"
            is_directive = False
        elif match["directive"]:
            is_directive = True
            yield " ".join(match[0].replace("#", "# ").split())
        else:
            yield match[0]


def without_comments(lines: str) -> str:
    r"""Return the lines of a Kbuild or a configuration that are not comments or empty.

    Examples
    --------
    >>> without_comments("# objects of the module\nobj-m := a.o")
    'obj-m := a.o'
    """
    kept = (" ".join(line.split()) for line in lines.splitlines())
    return "\n".join(line for line in kept if line and not line.startswith("#"))


def digest(files: Mapping[str, str]) -> str:
    """Return 16 hexadecimal digits that identify source files, by their paths and texts."""
    total = hashlib.sha256()
    for path, text in sorted(files.items()):
        is_c = PurePath(path).suffix in {".c", ".h"}
        code = normal_form(text) if is_c else without_comments(text)
        total.update(f"{path}\0{code}\0".encode())
    return total.hexdigest()[:16]
