# SPDX-License-Identifier: Apache-2.0
"""The kernel's source: where it comes from, which version it is, and how it is unpacked.

A source is a tarball or somebody's tree. Neither is ever changed: a build works on a copy.
"""

from __future__ import annotations

import bz2
import fnmatch
import gzip
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ccbench.base.errors import InputError, MissingRequirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["OLDEST", "check_version", "digest", "fetch", "find", "unpack", "version"]

#: The oldest kernel that the modules can be built for, as (VERSION, PATCHLEVEL).
OLDEST = (6, 1)

_PREFERRED_PACKAGE = "linux-source-6.12"
_PACKAGE = re.compile(r"linux-source-(\d+)\.(\d+)(?:\.\d+)?")

_NAME_A_SOURCE = (
    "name a kernel tree or tarball, 6.1 or newer: ccbench kernel build --source DIR|TARBALL"
)

#: What no build for user mode reads: most of the files. Kconfig and make files stay, they refer to
#: each other. Few patterns: tar tries all of them on every file.
_UNUSED = (
    "Documentation/?*/*",
    "arch/[!ux]*/*.[chSd]*",
    "drivers/clk/*.[ch]",
    "drivers/gpu/*.[ch]",
    "drivers/infiniband/*.[ch]",
    "drivers/media/*.[ch]",
    "drivers/net/ethernet/*.[ch]",
    "drivers/net/wireless/*.[ch]",
    "drivers/pinctrl/*.[ch]",
    "drivers/scsi/*.[ch]",
    "drivers/staging/*.[ch]",
    "drivers/usb/*.[ch]",
    "drivers/video/*.[ch]",
    "sound/*.[ch]",
    "tools/perf",
    "tools/perf/*",
    "tools/testing",
    "tools/testing/*",
)

#: What earlier builds have left in somebody's tree. It must not end up in ours.
_MADE_BY_BUILDS = (
    ".config*",
    ".git",
    ".git/*",
    "*.[ao]",
    "*.cmd",
    "*.ko",
    "*.mod",
    "*.mod.c",
    "*.order",
    "*.symvers",
    "arch/*/include/generated",
    "arch/*/include/generated/*",
    "include/config",
    "include/config/*",
    "include/generated",
    "include/generated/*",
    "vmlinux*",
)


#: What compressed tarballs begin with, and what opens them: Python's own means, so that nobody has
#: to install a program for the compression that their distribution has chosen.
_OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_LONGEST_MAGIC = max(map(len, _OPENERS))

#: What those raise when the content is damaged or ends early.
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)


def find(source: Path | None, directory: Path, report: Callable[[str], None]) -> Path:
    """Return the tarball or the tree to build from.

    Parameters
    ----------
    source : Path or None
        What the user has named, if anything.
    directory : Path
        Where downloaded tarballs are kept.
    report : callable
        Called with what is being done, if it takes long.

    Raises
    ------
    InputError
        If what the user has named is neither the folder of a kernel nor a tarball.
    MissingRequirement
        If nothing was named and nothing can be downloaded.
    """
    if source is None:
        return fetch(directory, report)
    if source.is_dir():
        if any(source.iterdir()):
            check_version(source, source)  # before all that is in it is read
        return source.resolve()
    if not source.is_file():
        raise InputError(f"source: there is no {source}; {_NAME_A_SOURCE}")
    _top(source)
    return source.resolve()


def fetch(directory: Path, report: Callable[[str], None]) -> Path:
    """Return a tarball of the kernel's source, downloaded as a package if there is none yet.

    Debian's ``linux-source-6.12`` if the machine's package lists have it, else the newest
    ``linux-source-*`` from 6.1 on. It takes neither root nor an installation.

    Parameters
    ----------
    directory : Path
        Where downloaded tarballs are kept, under the package's name and version.
    report : callable
        Called with what is being done, if it takes long.

    Raises
    ------
    MissingRequirement
        If the machine has no apt, if apt knows no such package or cannot download it.
    """
    kept = {path.name.split("_")[0]: path for path in directory.glob("linux-source-*.tar.*")}
    if kept:
        return kept[_choose(kept)]
    absent = [
        program for program in ("apt-cache", "apt-get", "dpkg") if shutil.which(program) is None
    ]
    if absent:
        raise MissingRequirement(
            f"the kernel's source cannot be downloaded, as this machine has no {absent[0]}; "
            f"{_NAME_A_SOURCE}"
        )
    listed = _output(["apt-cache", "--names-only", "search", "^linux-source-[0-9.]+$"], directory)
    package = _choose(line.split()[0] for line in listed.splitlines() if line)
    report(f"downloading {package}")
    with tempfile.TemporaryDirectory(dir=directory, prefix=".download-") as name:
        work = Path(name)
        _output(["apt-get", "download", package], work)
        (deb,) = work.glob("*.deb")
        _output(["dpkg", "-x", deb.name, "."], work)
        tarballs = [path for path in work.rglob("linux-source-*.tar.*") if not path.is_symlink()]
        if len(tarballs) != 1:
            raise MissingRequirement(f"there is no tarball in package {package}; {_NAME_A_SOURCE}")
        compression = tarballs[0].suffix
        return tarballs[0].rename(directory / f"{deb.stem}.tar{compression}")


def digest(source: Path) -> str:
    """Return what identifies the source's content: a SHA-256 in hexadecimal digits.

    Parameters
    ----------
    source : Path
        A tarball, or a tree: of that, what :func:`unpack` takes.
    """
    if source.is_file():
        with source.open("rb") as file:
            return _sha256(iter(lambda: file.read(1 << 20), b""))
    return _sha256(
        part
        for path in _used_files(source)
        for part in (
            os.fsencode(path.relative_to(source)) + b"\0",
            hashlib.sha256(_content(path)).digest(),
        )
    )


def unpack(source: Path, tree: Path) -> None:
    """Put what a build takes of a source into an empty folder.

    Parameters
    ----------
    source : Path
        A tarball or a tree.
    tree : Path
        The folder.

    Raises
    ------
    InputError
        If the tarball is damaged, or if its content is no kernel that is new enough.
    """
    if source.is_dir():
        for path in _used_files(source):
            target = tree / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
    else:
        _extract(source, tree)
    check_version(tree, source)


def version(makefile: str) -> tuple[int, int, int]:
    r"""Return (VERSION, PATCHLEVEL, SUBLEVEL) from the text of a kernel's Makefile.

    Raises
    ------
    ValueError
        If it is not the Makefile of a kernel.

    Examples
    --------
    >>> version("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 48\nEXTRAVERSION =\n")
    (6, 12, 48)
    """
    numbers = dict(
        re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+) *$", makefile, re.MULTILINE)
    )
    try:
        return int(numbers["VERSION"]), int(numbers["PATCHLEVEL"]), int(numbers["SUBLEVEL"])
    except KeyError as error:
        raise ValueError(f"there is no {error.args[0]} in it") from None


def check_version(tree: Path, source: Path) -> None:
    """Make sure that a tree is that of a kernel, and new enough.

    Parameters
    ----------
    tree : Path
        The tree.
    source : Path
        Where it comes from, for the error.

    Raises
    ------
    InputError
        If it is not.
    """
    try:
        found = version((tree / "Makefile").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"source: {source} is not the source of a Linux kernel; {_NAME_A_SOURCE}"
        ) from None
    if found[:2] < OLDEST:
        raise InputError(
            f"source: {source} is Linux {'.'.join(map(str, found))}, which is too old; "
            f"{_NAME_A_SOURCE}"
        )


def _extract(tarball: Path, tree: Path) -> None:
    """Put what a build takes of a tarball into a folder."""
    command = ["tar", "--extract", f"--directory={tree}", "--strip-components=1", "--anchored"]
    command += [f"--exclude={_top(tarball)}/{pattern}" for pattern in _UNUSED]
    # Through a pipe, so that tar ends when we do, even if we are killed.
    with (
        _opened(tarball) as archive,
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said) as tar,
    ):
        assert tar.stdin is not None
        try:
            with suppress(BrokenPipeError):  # tar has found a mistake, or is done
                for block in _blocks(archive, tarball):
                    tar.stdin.write(block)
        except BaseException:
            tar.kill()  # else it goes on to write into what is being removed
            raise
        finally:
            with suppress(BrokenPipeError):
                tar.stdin.close()
        if tar.wait() != 0:
            said.seek(0)
            message = f"source: {tarball} cannot be unpacked: {_line(said.read(), 0)}"
            raise InputError(message)


def _opened(tarball: Path) -> IO[bytes]:
    """Open a tarball, to be read as if it were not compressed."""
    with tarball.open("rb") as file:
        start = file.read(_LONGEST_MAGIC)
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            return cast("IO[bytes]", opener(tarball))
    return tarball.open("rb")


def _blocks(archive: IO[bytes], tarball: Path) -> Iterator[bytes]:
    """Yield what is in a tarball, piece by piece."""
    while True:
        try:
            block = archive.read(1 << 20)
        except _DAMAGE as error:
            raise InputError(f"source: {tarball} is damaged: {error}") from None
        if not block:
            return
        yield block


def _choose(packages: Iterator[str] | dict[str, Path]) -> str:
    """Return the package to take: the preferred one, or else the newest that is new enough."""
    versions = {}
    for package in packages:
        match = _PACKAGE.fullmatch(package)
        if match and (number := (int(match[1]), int(match[2]))) >= OLDEST:
            versions[package] = number
    if not versions:
        raise MissingRequirement(
            "apt knows no package with the source of Linux 6.1 or newer: "
            f"sudo apt-get update, then try again, or {_NAME_A_SOURCE}"
        )
    if _PREFERRED_PACKAGE in versions:
        return _PREFERRED_PACKAGE
    return max(versions, key=versions.__getitem__)


def _output(arguments: list[str], directory: Path) -> str:
    """Run one of apt's programs in a folder and return what it prints."""
    try:
        return subprocess.run(
            arguments, cwd=directory, check=True, capture_output=True, text=True
        ).stdout
    except subprocess.CalledProcessError as error:
        raise MissingRequirement(
            f"the kernel's source cannot be downloaded: {' '.join(arguments)} says: "
            f"{_line(error.stderr, -1)}; try again, or {_NAME_A_SOURCE}"
        ) from None


def _line(text: str, index: int) -> str:
    """Return the first line (0) or the last one (-1) of what a program has said."""
    lines = text.strip().splitlines()
    return lines[index].strip() if lines else "nothing"


def _top(tarball: Path) -> str:
    """Return the folder that everything in a tarball is in."""
    try:
        with _opened(tarball) as file, tarfile.open(fileobj=file, mode="r:") as archive:
            first = archive.next()
    except (*_DAMAGE, tarfile.TarError):
        raise InputError(f"source: {tarball} is not a tarball; {_NAME_A_SOURCE}") from None
    if first is None:
        raise InputError(f"source: {tarball} is empty; {_NAME_A_SOURCE}")
    return first.name.split("/")[0]


def _used_files(tree: Path) -> Iterator[Path]:
    """Yield the files of somebody's tree that a build takes, in a fixed order."""
    patterns = [fnmatch.translate(pattern) for pattern in (*_UNUSED, *_MADE_BY_BUILDS)]
    unused = re.compile("|".join(patterns))
    for folder, names, files in os.walk(tree):
        here = Path(folder)
        prefix = "" if here == tree else f"{here.relative_to(tree)}/"
        # Links to folders are kept as what they are, and not followed.
        links = [name for name in names if (here / name).is_symlink()]
        names[:] = sorted(name for name in names if not unused.match(prefix + name))
        for name in sorted(files + links):
            if not unused.match(prefix + name):
                yield here / name


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes()


def _sha256(parts: Iterator[bytes]) -> str:
    sum_ = hashlib.sha256()
    for part in parts:
        sum_.update(part)
    return sum_.hexdigest()
