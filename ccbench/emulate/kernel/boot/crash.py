# SPDX-License-Identifier: Apache-2.0
"""Crashes of the guest: what happened, in which line of which module, by what the console says."""

from __future__ import annotations

import hashlib
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.cache import cache_dir
from ccbench.base.durable import write_text
from ccbench.emulate.kernel.source.guest_sources import COMPILED_IN, sources_dir

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.build import KernelBuild

__all__ = [
    "Crash",
    "Place",
    "crashes_dir",
    "explain",
    "in_words",
    "is_own",
    "keep_console",
    "source_line",
]

#: Consoles that are kept, the latest.
CONSOLES_KEPT = 20

#: How many places are shown of a chain of calls.
_SHOWN = 6

#: Functions begin at multiples of at most so many bytes.
_ALIGNMENT = 64

#: Where Linux begins to tell of a crash.
_BEGINS = re.compile(
    r"RIP: \d+:|BUG: |bad: scheduling|softirq: huh|Kernel panic|Received SIGSEGV in SIGSEGV"
)
#: What it says of its reason, rather than of the state that it is in.
_SAYS = re.compile(r"BUG: |bad: scheduling|softirq: huh|Kernel panic")
#: A place in the code: the instruction that crashed, or an entry of the call trace, which is where
#: a call returns to.
_PLACE = re.compile(
    r"(?P<at>RIP: \d+:|\[<[0-9a-f]+>\] (?:\? )?)"
    r"(?P<function>[\w.]+)\+0x(?P<offset>[0-9a-f]+)/0x(?P<size>[0-9a-f]+)(?: \[(?P<module>\w+)\])?"
)
#: What Linux says and what it means, in this order: a panic may follow from an earlier fault.
_MEANINGS = (
    (r"BUG: scheduling while atomic|bad: scheduling", "it sleeps where it must not"),
    (r"BUG: failure at", "it called BUG()"),
    (r"Kernel stack overflow", "its stack is full: too deep a recursion, or large local variables"),
    (r"RIP: \d+:0x0$", "it called a function at address 0"),
    (r"not syncing: .* addr 0x0(?:,|$)", "a null pointer, or one that no address can be"),
    (
        r"not syncing: (?:Segfault|Kernel (?:tried|mode fault)).* addr (0x\w+)",
        r"a bad pointer, \1",
    ),
    (r"not syncing: Kernel mode signal 8$", "a division by zero"),
    (r"not syncing: Kernel mode signal 4$", "an invalid instruction, as of __builtin_trap()"),
    (r"not syncing: (.*)", r"panic: \1"),
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place in the guest's code.

    Parameters
    ----------
    function : str
        Name of the function.
    offset, size : int
        Bytes from the function's begin, and its length.
    module : str
        Name of the module; empty: the kernel itself.
    returns : bool
        Whether this is where a call returns to, rather than the instruction itself.
    """

    function: str
    offset: int
    size: int
    module: str = ""
    returns: bool = False

    def __str__(self) -> str:
        module = f" [{self.module}]" if self.module else ""
        return f"{self.function}+{self.offset:#x}{module}"


@dataclass(frozen=True, kw_only=True)
class Crash:
    """A crash, as the console describes it.

    Parameters
    ----------
    meaning : str
        What happened, in words; empty: unknown.
    said : str
        The line in which Linux says that.
    places : tuple of Place
        The latest calls, from the innermost on. Linux finds them by looking through the stack: some
        may have returned long ago.
    """

    meaning: str
    said: str
    places: tuple[Place, ...]

    @property
    def culprit(self) -> Place | None:
        """The innermost place in a module."""
        return next((place for place in self.places if place.module), None)

    @classmethod
    def read(cls, console: Sequence[str]) -> Crash | None:
        """Return the first crash that a console tells of, None if there is none."""
        lines = _from_crash(console)
        if not lines:
            return None
        said = next((line for line in lines if _SAYS.search(line)), lines[0])
        found = (match for line in lines if (match := _PLACE.search(line)))
        places = tuple(
            Place(
                function=match["function"],
                offset=int(match["offset"], 16),
                size=int(match["size"], 16),
                module=match["module"] or "",
                returns=not match["at"].startswith("RIP"),
            )
            for match in found
            # No call returns to the begin of a function: such an address is something else.
            if match["at"].startswith("RIP") or int(match["offset"], 16)
        )
        if places and places[0].returns:  # what is above it is left of earlier calls
            panics = (i for i, place in enumerate(places, start=1) if place.function == "panic")
            places = places[next(panics, 0) :]
        return cls(meaning=_meaning(lines), said=said.strip(), places=places)

    def shown(self, build: KernelBuild) -> list[str]:
        """Return what Linux says, and the innermost calls with their lines in sources."""
        culprit = self.culprit
        begin = self.places.index(culprit) if culprit else 0
        above = [place for place in self.places[:begin] if not place.returns]
        chain = [*above[:1], *self.places[begin:]][:_SHOWN]
        return [self.said, *(in_words(place, build) for place in chain)]


def _from_crash(console: Sequence[str]) -> list[str]:
    """Return what a console says from a crash on, without times; empty if there is none.

    The processor's state comes first, then its calls, and last the tasks that wait.
    """
    lines = [line.partition("] ")[2] if line.startswith("[") else line for line in console]
    begin = next((i for i, line in enumerate(lines) if _BEGINS.search(line)), len(lines))
    lines = lines[begin:]
    panic = next((i for i, line in enumerate(lines) if "Kernel panic" in line), 0)
    if panic and lines[0].startswith("RIP"):
        return [lines[0], *lines[panic:], *lines[1:panic]]
    return lines


def _meaning(lines: Sequence[str]) -> str:
    for pattern, meaning in _MEANINGS:
        for line in lines:
            if match := re.search(pattern, line):
                return match.expand(meaning)
    return ""


def in_words(place: Place, build: KernelBuild) -> str:
    """Return a place with the line of its source, if that can be found."""
    line = source_line(place, build)
    return f"{place} ({line})" if line else str(place)


def explain(crash: Crash, build: KernelBuild) -> str:
    """Say where a crash happened, and what to do about it, in one line without an end."""
    what = crash.meaning or crash.said.lower()
    place = crash.culprit
    if place is None:
        where = f" in {crash.places[0]}" if crash.places else ""
        return f"the virtual kernel crashed{where}: {what}"
    return f"{place.module} crashed in {in_words(place, build)}: {what}"


def source_line(place: Place, build: KernelBuild) -> str:
    """Return the file and the line of a place in a module, empty if they cannot be found.

    That takes binutils, with which modules are compiled.
    """
    file = build.debug(place.module)
    if not place.module or not file.is_file():
        return ""
    try:
        symbols = _output("objdump", "-t", str(file))
        row = rf"^([0-9a-f]+) .{{7}} (\S+)\t([0-9a-f]+) +{re.escape(place.function)}$"
        found = re.findall(row, symbols, re.MULTILINE)
        if len(found) > 1:  # static functions of several files; Linux counts what follows them, too
            found = [
                one for one in found if place.size - _ALIGNMENT < int(one[2], 16) <= place.size
            ]
        if len(found) != 1:
            return ""
        begin, section = int(found[0][0], 16), found[0][1]
        address = begin + place.offset - place.returns
        lines = _output("addr2line", "-i", "-e", str(file), "-j", section, hex(address))
    except (OSError, subprocess.CalledProcessError):
        return ""
    # The innermost that is the module's own: what Linux's headers have is inlined into that.
    own = re.search(rf"^{COMPILED_IN}/(.*:[1-9]\d*)", lines, re.MULTILINE)
    return own[1] if own else ""


def is_own(place: Place, build: KernelBuild) -> bool:
    """Whether a place is in a module of the user's own, not in one of ccbench's."""
    folder = source_line(place, build).partition("/")[0] or place.module
    return not (sources_dir() / folder).is_dir()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def crashes_dir() -> Path:
    """Return the folder in which consoles of crashes are kept; it need not exist yet."""
    return cache_dir() / "crashes"


def keep_console(text: str) -> Path:
    """Keep a guest's whole console, and forget those from before the latest ones.

    Parameters
    ----------
    text : str
        What the console said. The same text is kept once.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    folder = crashes_dir()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.log"
    write_text(path, text)
    with suppress(FileNotFoundError):  # another guest that has crashed removes the same
        by_age = sorted(folder.glob("*.log"), key=lambda file: file.stat().st_mtime)
        for old in by_age[:-CONSOLES_KEPT]:
            old.unlink(missing_ok=True)
    return path
