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

#: Words after `sh` that say who can run a block: those with time; root; the owner of a server; who
#: has the file that it names.
MARKS = frozenset({"expensive", "root", "network", "yours"})

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^    (\S[^\n]*)$", re.MULTILINE)
_SUDO = re.compile(r'^sudo "\$\(command -v ccbench\)"')


#: What differs from machine to machine or from time to time, with what pages show in its place.
_EXAMPLES = (
    (r"\b[0-9a-f]{16}\b", "0123456789abcdef"),  # the version of a build
    (r"/\S*(?=/(kernel/builds|runs)\b)", "/home/you/.cache/ccbench"),
    (r"\d+ MB free in (?!/dev/shm|/home/you)/\S+(?=,)", "20000 MB free in /tmp"),
    (r"\d+ MB free", "20000 MB free"),
    (r"[0-9.]+ (s|min|h) with \d+ side by side", "25 min with 2 side by side"),
)
#: A line of a shown output that stands for any number of lines; at the end of a line, for its rest.
_LEFT_OUT = "..."


@dataclass(frozen=True)
class Block:
    """A block of code of a page: the words after its opening fence, its text, and where that is."""

    words: tuple[str, ...]
    text: str
    span: tuple[int, int]

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


def how_to_pages() -> list[Path]:
    """Return the pages whose blocks are run, in the order in which a reader meets them."""
    folder = DOCS / "how-to"
    index = (folder / "index.md").read_text(encoding="utf-8")
    (names,) = re.findall(r"^```{toctree}\n:hidden:\n\n(.*?)^```$", index, re.DOTALL | re.MULTILINE)
    return [DOCS / "getting-started.md", *(folder / f"{name}.md" for name in names.split())]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(tuple(found[1].split()), found[2], found.span(2)) for found in _FENCE.finditer(text)
    ]


def as_shown(shown: str, printed: str) -> str:
    """Return an output as a page shows it that now has `shown`: equal if it is up to date.

    Lines and ends of lines that the page leaves out by ``...`` are left out again.
    """
    new, old = [line.rstrip() for line in printed.strip("\n").splitlines()], shown.splitlines()
    if _LEFT_OUT in old:
        first, last = old.index(_LEFT_OUT), len(old) - old.index(_LEFT_OUT) - 1
        if first + last < len(new):
            new = [*new[:first], _LEFT_OUT, *new[len(new) - last :]]
    for i, line in enumerate(old[: len(new)]):
        cut = line.removesuffix(f" {_LEFT_OUT}")
        if cut != line and len(new[i]) > len(cut):
            new[i] = f"{new[i][: len(cut) + 1].rpartition(' ')[0]} {_LEFT_OUT}"
    as_before = dict(zip(map(_masked, old), old, strict=True))
    return "".join(f"{as_before.get(_masked(line), _masked(line))}\n" for line in new)


def _masked(line: str) -> str:
    """Return a line with examples in the place of what differs from machine to machine."""
    for pattern, example in _EXAMPLES:
        line = re.sub(pattern, example, line)
    return line


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
