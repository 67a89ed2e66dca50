# SPDX-License-Identifier: Apache-2.0
"""Sources of the P4 program, their compilation, and the packaged compiled program.

The package contains the program compiled for BMv2 as ``data/bfc.json``, with the digest of its
sources as ``data/bfc.sha256``, so that machines without p4c can execute it.
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
#: The compiled program.
COMPILED = _DATA / "bfc.json"
#: The digest of its sources.
DIGEST = _DATA / "bfc.sha256"

#: p4lang's names of the compiler; the second is a driver of the first.
_COMPILERS = ("p4c-bm2-ss", "p4c")


def source_folder() -> Path:
    """Return the folder of the P4 sources, in the package or in the checkout."""
    package = Path(__file__).parents[2]
    for folder in (package / "p4", package.parent / "p4"):
        if (folder / "bfc.p4").is_file():
            return folder
    raise MissingRequirement(
        f"the P4 sources are neither in {package} nor next to it: reinstall ccbench"
    )


def source_files(folder: Path) -> tuple[Path, ...]:
    """Return the sources of the program for BMv2 in the order of the digest."""
    return tuple(
        sorted(
            path
            for path in folder.rglob("*.p4")
            if "tofino2" not in path.relative_to(folder).as_posix()
        )
    )


def source_digest(folder: Path) -> str:
    """Return the digest of the sources' paths and contents.

    Parameters
    ----------
    folder : Path
        As returned by :func:`source_folder`.
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
        The compiler, ``p4c`` or ``p4c-bm2-ss``; by default whichever is installed.

    Returns
    -------
    str
        BMv2's JSON without source locations.

    Raises
    ------
    MissingRequirement
        If there is no compiler.
    CcbenchError
        If the compiler refuses the program; the message is its first error.
    """
    compilers = (compiler,) if compiler else _COMPILERS
    program = next((path for path in map(shutil.which, compilers) if path), None)
    if program is None:
        raise MissingRequirement(
            f"{' or '.join(compilers)} is not installed: p4lang packages p4c for Ubuntu and Debian "
            "(https://p4.org); the compiled program in ccbench works without it"
        )
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "bfc.json")
        if Path(program).name == "p4c":  # the driver names its output after the source
            arguments = ["--target", "bmv2", "--arch", "v1model", "-o", scratch]
        else:
            arguments = ["-o", str(out)]
        done = subprocess.run(  # noqa: S603 - a compiler that the user has installed or named
            [program, *arguments, "bfc.p4"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not out.is_file():
            lines = done.stderr.splitlines() or ["no message"]
            first = next((line for line in lines if "error" in line), lines[-1])
            raise CcbenchError(f"{program} refuses bfc.p4: {first}")
        compiled = json.loads(out.read_text(encoding="utf-8"))
    return json.dumps(_without_locations(compiled), separators=(",", ":")) + "\n"


def store_compiled(text: str, folder: Path) -> None:
    """Store a compiled program in the package, with the digest of its sources."""
    for path, content in ((COMPILED, text), (DIGEST, f"{source_digest(folder)}\n")):
        with new_file(path) as temporary:
            temporary.write_text(content, encoding="utf-8")


def load_compiled() -> Program:
    """Read the packaged compiled program.

    Raises
    ------
    InputError
        If its sources have changed.
    """
    if DIGEST.read_text(encoding="utf-8").strip() != source_digest(source_folder()):
        raise InputError(
            f"{COMPILED} was compiled from sources other than those in {source_folder()}: "
            "run `ccbench bfc p4 compile`"
        )
    return Program.load(COMPILED)


def _without_locations(compiled: object) -> object:
    if isinstance(compiled, dict):
        return {
            name: _without_locations(value)
            for name, value in compiled.items()
            if name != "source_info"
        }
    if isinstance(compiled, list):
        return [_without_locations(value) for value in compiled]
    return compiled
