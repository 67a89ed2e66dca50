# SPDX-License-Identifier: Apache-2.0
"""Digests of the programs of a run, for its identity."""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ccbench.emulate.kernel.boot.programs import Program

__all__ = ["digest", "digests"]

#: Programs whose modules are in folders that their executable does not name.
_PYTHON = "python"


def digests(programs: Iterable[Program]) -> dict[str, str]:
    """Return the digest of the software of each program, by its path.

    It covers the executable; its interpreter, if it is a script; the libraries that both are linked
    with; the files that arguments name; and of Python the names and versions of all packages.
    """
    found: dict[str, str] = {}
    for program in programs:
        path, *arguments = program.words
        files = [path, *(word for word in arguments if _is_file(word))]
        found[" ".join(files)] = _combined(tuple(files))
    return dict(sorted(found.items()))


def digest(programs: Iterable[Program]) -> str:
    """Return the same in one: 16 hexadecimal digits."""
    return hashlib.sha256(repr(digests(programs)).encode()).hexdigest()[:16]


def _is_file(word: str) -> bool:
    return word.startswith("/") and os.path.isfile(word)  # noqa: PTH113 - any text


def _combined(files: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(_of_software(file, _state(file)).encode())
    return total.hexdigest()[:16]


def _state(file: str) -> tuple[int, int]:
    """Return what tells whether a file has changed while this process runs."""
    try:
        status = Path(file).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@cache
def _of_software(file: str, _: tuple[int, int]) -> str:
    total = hashlib.sha256()
    for part in _parts(file):
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def _parts(file: str) -> Iterator[bytes]:
    """Yield the contents of a program and of what it needs."""
    for path in (file, *_libraries(file)):
        try:
            yield Path(path).read_bytes()
        except OSError:
            yield b""
    if interpreter := _interpreter(file):
        yield from _parts(interpreter)
    if Path(file).name.startswith(_PYTHON):
        yield "\n".join(_packages(file)).encode()


def _interpreter(file: str) -> str | None:
    """Return the program that runs a script; None if the file is none."""
    try:
        with Path(file).open("rb") as script:
            line = script.readline(256)
    except OSError:
        return None
    words = line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []
    return words[0] if words and words[0] != file else None


@cache
def _libraries(program: str) -> Sequence[str]:
    """Return the paths of the libraries that a program is linked with, sorted."""
    output = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    words = (word for line in output.splitlines() for word in line.split())
    return sorted({word for word in words if word.startswith("/")})


@cache
def _packages(python: str) -> Sequence[str]:
    """Return the names and versions of the packages of a Python, sorted."""
    code = (
        "import importlib.metadata as m\n"
        "for d in m.distributions(): print(d.metadata['Name'], d.version)"
    )
    command = [python, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return sorted(output.splitlines())
