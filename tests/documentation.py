# SPDX-License-Identifier: Apache-2.0
"""Commands and outputs on the pages of the documentation."""

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

#: Words after `sh` that restrict who runs a block: `expensive` takes minutes, `root` needs root,
#: `network` asks servers, `yours` names a file of the reader, `programs` runs programs of the
#: machine (tests/kernel/test_shell.py).
MARKS = frozenset({"expensive", "root", "network", "yours", "programs"})

_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^    (\S[^\n]*)$", re.MULTILINE)
_SUDO = re.compile(r'^sudo "\$\(command -v ccbench\)"')


#: Patterns of values that differ between machines or over time, and the examples shown instead.
_EXAMPLES = (
    (r"\b[0-9a-f]{16}\b", "0123456789abcdef"),  # version of a build
    (r"/\S*(?=/(kernel/builds|runs)\b)", "/home/you/.cache/ccbench"),
    (r"\d+ MB free in (?!/dev/shm|/home/you)/\S+(?=,)", "20000 MB free in /tmp"),
    (r"\d+ MB free", "20000 MB free"),
    (r"[0-9.]+ (s|min|h) with \d+ side by side", "25 min with 2 side by side"),
)
#: A line of a shown output that stands for any number of lines; at the end of a line, for the rest.
_ELLIPSIS = "..."


@dataclass(frozen=True)
class Block:
    """A code block of a page: the words after its opening fence, its text and its position."""

    words: tuple[str, ...]
    text: str
    span: tuple[int, int]

    @property
    def language(self) -> str:
        """The first word; empty for an output."""
        return self.words[0] if self.words else ""

    @property
    def mark(self) -> str:
        """The second word, which restricts who runs the block; empty for everyone."""
        return self.words[1] if len(self.words) > 1 else ""


def pages() -> list[Path]:
    """Return all pages: the site's, README and CONTRIBUTING."""
    written = [path for path in DOCS.rglob("*.md") if "_site" not in path.parts]
    return [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted(written)]


def how_to_pages() -> list[Path]:
    """Return the pages whose blocks are run, in site order."""
    first = ("getting-started", "tutorial", "uncertainty", "coming-from", "gallery")
    paths, commands_index = DOCS / "paths.md", DOCS / "how-to" / "index.md"
    return [
        *(DOCS / f"{name}.md" for name in first),
        paths,
        *_listed(paths),
        *_listed(commands_index),
    ]


def _listed(index: Path) -> list[Path]:
    """Return the pages in the hidden table of contents of a page."""
    contents = re.compile(r"^```{toctree}\n:hidden:\n\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    (names,) = contents.findall(index.read_text(encoding="utf-8"))
    return [index.parent / f"{name}.md" for name in names.split()]


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(tuple(match[1].split()), match[2], match.span(2)) for match in _FENCE.finditer(text)
    ]


def as_shown(shown: str, printed: str) -> str:
    """Return the printed output in the form of the page: `shown` if the page is up to date.

    Lines and ends of lines that the page abbreviates to ``...`` are abbreviated again.
    """
    new, old = [line.rstrip() for line in printed.strip("\n").splitlines()], shown.splitlines()
    if _ELLIPSIS in old:
        first, last = old.index(_ELLIPSIS), len(old) - old.index(_ELLIPSIS) - 1
        if first + last < len(new):
            new = [*new[:first], _ELLIPSIS, *new[len(new) - last :]]
    for i, line in enumerate(old[: len(new)]):
        cut = line.removesuffix(f" {_ELLIPSIS}")
        if cut != line and len(new[i]) > len(cut):
            new[i] = f"{new[i][: len(cut) + 1].rpartition(' ')[0]} {_ELLIPSIS}"
    as_before = dict(zip(map(_masked, old), old, strict=True))
    return "".join(f"{as_before.get(_masked(line), _masked(line))}\n" for line in new)


def _masked(line: str) -> str:
    """Return a line with machine-dependent values replaced by examples."""
    for pattern, example in _EXAMPLES:
        line = re.sub(pattern, example, line)
    return line


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each ccbench command in a text of shell commands."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in _SUDO.sub("ccbench", line).split("&&"):
            words = shlex.split(part, comments=True)
            if words and words[0] == "ccbench":
                yield words[1:]


def all_commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each ccbench command on a page, in fenced and indented blocks."""
    text = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language == "sh":
            yield from commands(block.text)
    for line in _INDENTED.findall(_FENCE.sub("", text)):
        if re.match(r'(sudo "\$\(command -v )?ccbench\b', line):
            yield from commands(line)
