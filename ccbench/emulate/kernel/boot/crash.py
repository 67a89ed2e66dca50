# SPDX-License-Identifier: Apache-2.0
"""Crashes of the guest: cause and source line, derived from its console."""

from __future__ import annotations

import hashlib
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ccbench.base.cache import cache_dir
from ccbench.base.durable import write_text
from ccbench.base.errors import CcbenchError
from ccbench.emulate.kernel.source.guest import COMPILED_IN
from ccbench.emulate.kernel.source.guest_sources import find_sources
from ccbench.emulate.kernel.source.home import sources_dir

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

__all__ = [
    "Crash",
    "Place",
    "crashes_dir",
    "describe",
    "explain",
    "is_own",
    "source_line",
    "store_console",
]

#: Number of stored consoles; the oldest are removed.
MAX_CONSOLES = 20

#: Number of entries of a call trace in an error.
_MAX_CALLS = 6

#: Maximum alignment of functions in bytes.
_ALIGNMENT = 64

#: First line of Linux's report of a crash.
_BEGIN = re.compile(
    r"RIP: \d+:|BUG: |bad: scheduling|softirq: huh|Kernel panic|Received SIGSEGV in SIGSEGV"
)
#: The time of a line.
_TIME = re.compile(r"^\[ *\d+\.\d+\] ")
#: First and last line of Linux's report of a WARN(), after which it continues.
_WARNING = "WARNING: "
_END_OF_TRACE = "---[ end trace"
#: The functions of a panic. Linux 7.2 enters vpanic() through panic().
_PANIC = frozenset({"panic", "vpanic"})
#: The function of a WARN() that is called last by the one with the WARN().
_WARN = frozenset({"warn_slowpath_fmt"})
#: Line that states the reason of a crash, rather than the state of the processor.
_REASON = re.compile(r"WARNING: |BUG: |bad: scheduling|softirq: huh|Kernel panic")
#: A code address.
_ADDRESS = re.compile(
    r"(?P<function>[\w.]+)\+0x(?P<offset>[0-9a-f]+)/0x(?P<size>[0-9a-f]+)(?: \[(?P<module>\w+)\])?"
)
#: The address of the instruction that crashed, or a return address in the call trace.
_PLACE = re.compile(
    rf"(?P<at>RIP: \d+:|WARNING: .* (?=\w)|\[<[0-9a-f]+>\] (?:\? )?){_ADDRESS.pattern}"
)
#: Linux's messages and their causes, in order of precedence: a panic may follow an earlier fault.
_CAUSES = (
    (r"BUG: scheduling while atomic|bad: scheduling", "sleeping in atomic context"),
    (rf"BUG: failure at (?:{COMPILED_IN}/)?(\S+)/\w+\(\)", r"a call of BUG() at \1"),
    (r"^WARNING: ", "a WARN() whose condition is true"),
    (
        r"Kernel stack overflow",
        "a stack overflow (recursion too deep, or local variables too large)",
    ),
    (r"RIP: \d+:0x0$", "a call of a function at address 0"),
    (r"not syncing: .* addr 0x0(?:,|$)", "a null or non-canonical pointer"),
    (
        r"not syncing: (?:Segfault|Kernel (?:tried|mode fault)).* addr (0x\w+)",
        r"a bad pointer, \1",
    ),
    (r"not syncing: Kernel mode signal 7$", "a non-canonical pointer"),
    (r"not syncing: Kernel mode signal 8$", "a division by zero"),
    (r"not syncing: Kernel mode signal 4$", "an invalid instruction, such as __builtin_trap()"),
    (r"not syncing: (.*)", r"panic: \1"),
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """An address in the guest's code.

    Parameters
    ----------
    function : str
        Name of the function.
    offset, size : int
        Offset in the function and its length, in bytes.
    module : str
        Name of the module; empty for the kernel itself.
    returns : bool
        Whether this is the return address of a call.
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
    """A crash as reported on the console.

    Parameters
    ----------
    cause : str
        The cause in words; empty if unknown.
    report : str
        The line of the console that states it.
    places : tuple of Place
        The call trace, innermost first. Linux scans the stack for it, so some of the calls may have
        returned earlier.
    own_modules : tuple of str, optional
        The user's modules, which are suspects.
    """

    cause: str
    report: str
    places: tuple[Place, ...]
    own_modules: tuple[str, ...] = ()

    @property
    def culprit(self) -> Place | None:
        """The innermost place in a module; if Linux itself crashed, in one of the user's if any.

        Every packet comes from a module of ccbench, which is no reason to blame that. The call of
        panic() is searched on the stack, where earlier calls may precede it.
        """
        suspects = [place for place in self.places if place.module]
        is_exact = not self.places[:1] or not self.places[0].returns or _WARNING in self.report
        if self.own_modules and not (is_exact and suspects[:1] == [*self.places[:1]]):
            suspects = [place for place in suspects if place.module in self.own_modules]
        return next(iter(suspects), None)

    @classmethod
    def read(cls, console: Sequence[str], own_modules: Collection[str] = ()) -> Crash | None:
        """Return the first crash on a console, None if there is none.

        A WARN() is one if there are modules of the user.
        """
        console = [_TIME.sub("", line) for line in console]
        lines = _from_crash(console)
        warned = _from_warning(console) if own_modules else []
        if warned and console.index(warned[0]) < len(console) - len(lines):
            lines = warned
        if not lines:
            return None
        report = next((line for line in lines if _REASON.search(line)), lines[0])
        matches = (match for line in lines if (match := _PLACE.search(line)))
        places = tuple(
            Place(
                function=match["function"],
                offset=int(match["offset"], 16),
                size=int(match["size"], 16),
                module=match["module"] or "",
                returns=not match["at"].startswith("RIP"),
            )
            for match in matches
            # Offset 0 is not a return address but some other value on the stack.
            if not match["at"].startswith("[") or int(match["offset"], 16)
        )
        if places and places[0].returns:  # entries above panic() are remnants of earlier calls
            panics = [i for i, place in enumerate(places, start=1) if place.function in _PANIC]
            places = places[max(panics, default=0) :]
        warns = [i for i, place in enumerate(places, start=1) if place.function in _WARN]
        places = places[:1] + places[max(warns, default=1) :]
        return cls(
            cause=_cause(lines),
            report=report.strip(),
            places=places,
            own_modules=tuple(own_modules),
        )

    def excerpt(self, build: KernelBuild) -> list[str]:
        """Return Linux's report, and the innermost calls with their source lines."""
        culprit = self.culprit
        begin = self.places.index(culprit) if culprit else 0
        above = [place for place in self.places[:begin] if not place.returns]
        chain = [*above[:1], *self.places[begin:]][:_MAX_CALLS]
        return [self.report, *(describe(place, build) for place in chain)]


def _from_crash(console: Sequence[str]) -> list[str]:
    """Return the lines of a console without times from a crash on; empty if there is none.

    The processor's state is first, followed by its call trace and the waiting tasks.
    """
    begin = next((i for i, line in enumerate(console) if _BEGIN.search(line)), len(console))
    lines = [*console[begin:]]
    panic = next((i for i, line in enumerate(lines) if "Kernel panic" in line), 0)
    if panic and lines[0].startswith("RIP"):
        return [lines[0], *lines[panic:], *lines[1:panic]]
    return lines


def _from_warning(console: Sequence[str]) -> list[str]:
    """Return the lines of the first WARN()."""
    begin = None
    for i, line in enumerate(console):
        if begin is None and line.startswith(_WARNING):
            begin = i
        if begin is not None and line.startswith(_END_OF_TRACE):
            return [*console[begin:i]]
    return []


def _cause(lines: Sequence[str]) -> str:
    for pattern, cause in _CAUSES:
        for line in lines:
            if match := re.search(pattern, line):
                return match.expand(cause)
    return ""


def describe(place: Place, build: KernelBuild) -> str:
    """Return a place with its source line, if available."""
    line = source_line(place, build)
    return f"{place} ({line})" if line else str(place)


def with_lines(text: str, build: KernelBuild) -> str:
    """Return a message of Linux with the source lines of return addresses and functions in it."""

    def described(match: re.Match[str]) -> str:
        offset, size = int(match["offset"], 16), int(match["size"], 16)
        place = Place(
            function=match["function"],
            offset=offset,
            size=size,
            module=match["module"] or "",
            returns=offset > 0,
        )
        return describe(place, build)

    return _ADDRESS.sub(described, text)


def explain(crash: Crash, build: KernelBuild) -> str:
    """Return the location and cause of a crash."""
    cause = crash.cause or crash.report.lower()
    place = crash.culprit
    if place is None:
        location = f" in {crash.places[0]}" if crash.places else ""
        return f"the virtual kernel crashed{location}: {cause}"
    verb = "warns" if cause.startswith("a WARN()") else "crashed"
    hook = next(filter(None, (_hook(place) for place in crash.places if place.module)), "")
    called = f", in its hook {hook}" if hook else ""
    return f"{place.module} {verb} in {describe(place, build)}{called}: {cause}"


def _hook(place: Place) -> str:
    """Return the member of Linux's operations to which the user's modules assign a function."""
    function = re.escape(place.function.partition(".")[0])
    assigned = re.compile(rf"\.(\w+)\s*=\s*&?\s*{function}\b")
    with suppress(CcbenchError):
        matches = map(assigned.search, find_sources().own_texts())
        return next((match[1] for match in matches if match), "")
    return ""


def source_line(place: Place, build: KernelBuild) -> str:
    """Return the source file and line of a place in a module; empty if unknown.

    This requires binutils, as does the compilation of modules.
    """
    file = build.debug(place.module)
    if not place.module or not file.is_file():
        return ""
    try:
        symbols = _output("objdump", "-t", str(file))
        row = rf"^([0-9a-f]+) .{{7}} (\S+)\t([0-9a-f]+) +{re.escape(place.function)}$"
        matches = re.findall(row, symbols, re.MULTILINE)
        if len(matches) > 1:  # static functions of several files; Linux's sizes include padding
            matches = [
                symbol
                for symbol in matches
                if place.size - _ALIGNMENT < int(symbol[2], 16) <= place.size
            ]
        if len(matches) != 1:
            return ""
        begin, section = int(matches[0][0], 16), matches[0][1]
        address = begin + place.offset - place.returns
        lines = _output("addr2line", "-i", "-e", str(file), "-j", section, hex(address))
    except (OSError, subprocess.CalledProcessError):
        return ""
    # The innermost line in the module's own sources; functions of Linux's headers are inlined.
    own = re.search(rf"^{COMPILED_IN}/(.*:[1-9]\d*)", lines, re.MULTILINE)
    return own[1] if own else ""


def is_own(place: Place, build: KernelBuild) -> bool:
    """Return whether a place is in a module of the user rather than of ccbench."""
    if place.module in build.modules:
        return build.modules[place.module].is_own
    folder = source_line(place, build).partition("/")[0] or place.module
    return not (sources_dir() / folder).is_dir()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def crashes_dir() -> Path:
    """Return the folder of the consoles of crashed guests; it may not exist yet."""
    return cache_dir() / "crashes"


def store_console(text: str) -> Path:
    """Store a guest's console output in a file, and remove the oldest files.

    Equal texts are stored once.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    folder = crashes_dir()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.log"
    write_text(path, text)
    with suppress(FileNotFoundError):  # another process may remove the same files
        by_age = sorted(folder.glob("*.log"), key=lambda file: file.stat().st_mtime)
        for old in by_age[:-MAX_CONSOLES]:
            old.unlink(missing_ok=True)
    return path
