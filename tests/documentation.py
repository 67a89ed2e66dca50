# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation: what they tell to run, and what they show."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).parents[1]
DOCS = CHECKOUT / "docs"

#: Words after `sh` that say who can run a block: those with time; root; the owner of a server.
MARKS = frozenset({"expensive", "root", "network"})

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^    (\S[^\n]*)$", re.MULTILINE)
_SUDO = re.compile(r'^sudo "\$\(command -v ccbench\)"')


@dataclass(frozen=True)
class Block:
    """A block of code of a page: the words after its opening fence, and its text."""

    words: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        """The first word; none of what is shown."""
        return self.words[0] if self.words else ""

    @property
    def mark(self) -> str:
        """The second word of a block to run: who can; empty if everybody."""
        return self.words[1] if len(self.words) > 1 else ""


def pages() -> list[Path]:
    """Return all pages that people write: the site's and the README."""
    written = [path for path in DOCS.rglob("*.md") if "_site" not in path.parts]
    return [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted(written)]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [Block(tuple(info.split()), body) for info, body in _FENCE.findall(text)]


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of ccbench in a text of shell commands."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in _SUDO.sub("ccbench", line).split("&&"):
            words = shlex.split(part, comments=True)
            if words and words[0] == "ccbench":
                yield words[1:]


def all_commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command of ccbench on a page, in blocks of either form."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language == "sh":
            yield from commands(block.text)
    for line in _INDENTED.findall(_FENCE.sub("", text)):
        if re.match(r'(sudo "\$\(command -v )?ccbench\b', line):
            yield from commands(line)
