# SPDX-License-Identifier: Apache-2.0
"""Where the P4 program is, what p4c makes of it, and whether the two still belong together.

The program compiled for BMv2 lies in the package, as ``data/bfc.json`` beside ``data/bfc.sha256``,
the hash of the sources that it was compiled from: so that the program can be executed where there
is no p4c.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from ccbench.base.durable import new_file
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.datacenter.p4.program import Program

__all__ = [
    "COMPILED",
    "DIGEST",
    "compile_program",
    "load_compiled",
    "source_digest",
    "source_files",
    "source_folder",
    "store_compiled",
]

_DATA = Path(__file__).parent.parent / "data"
#: The program as p4c compiled it.
COMPILED = _DATA / "bfc.json"
#: The hash of what it was compiled from.
DIGEST = _DATA / "bfc.sha256"

#: p4lang's names for the compiler; the first is a driver of the second.
_COMPILERS = ("p4c-bm2-ss", "p4c")


def source_folder() -> Path:
    """Return the folder of the P4 sources: in the package, or of the checkout."""
    package = Path(__file__).parents[2]
    for folder in (package / "p4", package.parent / "p4"):
        if (folder / "bfc.p4").is_file():
            return folder
    raise MissingRequirement(
        f"the P4 sources are neither in {package} nor beside it: install ccbench again"
    )


def source_files(folder: Path) -> tuple[Path, ...]:
    """Return the sources of the program for BMv2, in the order in which they are hashed."""
    return tuple(
        sorted(
            path
            for path in folder.rglob("*.p4")
            if "tofino2" not in path.relative_to(folder).as_posix()
        )
    )


def source_digest(folder: Path) -> str:
    """Return the hash of the sources: names and contents, so that a file moved is a change.

    Parameters
    ----------
    folder : Path
        As :func:`source_folder` finds it.
    """
    digest = hashlib.sha256()
    for path in source_files(folder):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def compile_program(folder: Path, compiler: str | None = None) -> str:
    """Compile the program for BMv2.

    Parameters
    ----------
    folder : Path
        The sources.
    compiler : str, optional
        The program to call, ``p4c`` or ``p4c-bm2-ss``; left out, the one that is installed.

    Returns
    -------
    str
        BMv2's JSON, without the places in the sources that each part comes from.

    Raises
    ------
    MissingRequirement
        If there is no compiler.
    CcbenchError
        If it refuses the program; the message is the compiler's first error.
    """
    wanted = (compiler,) if compiler else _COMPILERS
    found = next((path for path in map(shutil.which, wanted) if path), None)
    if found is None:
        raise MissingRequirement(
            f"{' or '.join(wanted)} is not installed: p4lang packages p4c for Ubuntu and Debian "
            "(https://p4.org); the compiled program in ccbench works without it"
        )
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "bfc.json")
        if Path(found).name == "p4c":  # the driver names its output after the source
            arguments = ["--target", "bmv2", "--arch", "v1model", "-o", scratch]
        else:
            arguments = ["-o", str(out)]
        done = subprocess.run(  # noqa: S603 - a compiler that the user has installed or named
            [found, *arguments, "bfc.p4"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not out.is_file():
            lines = done.stderr.splitlines() or ["it says nothing"]
            first = next((line for line in lines if "error" in line), lines[-1])
            raise CcbenchError(f"{found} refuses bfc.p4: {first}")
        made = json.loads(out.read_text(encoding="utf-8"))
    return json.dumps(_without_places(made), separators=(",", ":")) + "\n"


def store_compiled(text: str, folder: Path) -> None:
    """Put a compiled program into the package, beside the hash of its sources."""
    for path, content in ((COMPILED, text), (DIGEST, f"{source_digest(folder)}\n")):
        with new_file(path) as made:
            made.write_text(content, encoding="utf-8")


def load_compiled() -> Program:
    """Read the compiled program that lies in the package.

    Raises
    ------
    InputError
        If its sources have changed since.
    """
    if DIGEST.read_text(encoding="utf-8").strip() != source_digest(source_folder()):
        raise InputError(
            f"{COMPILED} was compiled from other sources than those in {source_folder()}: "
            "run `ccbench bfc p4 compile`"
        )
    return Program.load(COMPILED)


def _without_places(made: object) -> object:
    if isinstance(made, dict):
        return {
            name: _without_places(value) for name, value in made.items() if name != "source_info"
        }
    if isinstance(made, list):
        return [_without_places(value) for value in made]
    return made
