# SPDX-License-Identifier: Apache-2.0
"""Linux's source: version check and unpacking.

A source is a tarball or the user's tree. Neither is modified: a build works on a copy.
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

from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "NAME_A_SOURCE",
    "OLDEST",
    "UNUSED",
    "check_version",
    "digest",
    "find",
    "message_line",
    "unpack",
    "version",
]

#: The oldest supported kernel as (VERSION, PATCHLEVEL).
OLDEST = (6, 1)

#: The next step of errors.
NAME_A_SOURCE = (
    "name a kernel tree or tarball, 6.1 or newer: ccbench kernel build --source DIR|TARBALL"
)

#: Patterns of files that builds for user mode do not read, which are most of them. Kconfig and make
#: files are kept, as they refer to each other. There are few patterns, as tar tries all of them on
#: every file. In tar, `git apply` and fnmatch, * and ? also match slashes.
UNUSED = (
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

#: Patterns of files left by earlier builds in the user's tree, which are not copied.
_BUILD_OUTPUT = (
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


#: Openers of compressed tarballs by their first bytes. They are Python's own, so that no
#: decompression program is required.
_OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_LONGEST_MAGIC = max(map(len, _OPENERS))

#: Exceptions of the openers for damaged or truncated content.
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)


def find(source: Path) -> Path:
    """Return the tarball or the tree that a user names, as an absolute path.

    Raises
    ------
    InputError
        If it is neither the folder of a kernel nor a tarball.
    """
    if source.is_dir():
        if any(source.iterdir()):
            check_version(source, source)  # before the entire tree is read
        return source.resolve()
    if not source.is_file():
        raise InputError(f"source: there is no {source}; {NAME_A_SOURCE}")
    _top(source)
    return source.resolve()


def digest(source: Path) -> str:
    """Return the SHA-256 of a tarball, or of the files of a tree that :func:`unpack` copies."""
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
    """Copy the files of a source that a build needs to an empty folder.

    Parameters
    ----------
    source : Path
        A tarball or a tree.
    tree : Path
        The folder.

    Raises
    ------
    InputError
        If the tarball is damaged, or its content is not a kernel or too old.
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
    """Check that a tree is a kernel's and not too old.

    Parameters
    ----------
    tree : Path
        The tree.
    source : Path
        Its source, for the error.

    Raises
    ------
    InputError
        If it is not a kernel or too old.
    """
    try:
        release = version((tree / "Makefile").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            f"source: {source} is not the source of a Linux kernel; {NAME_A_SOURCE}"
        ) from None
    if release[:2] < OLDEST:
        raise InputError(
            f"source: {source} is Linux {'.'.join(map(str, release))}, which is too old; "
            f"{NAME_A_SOURCE}"
        )


def _extract(tarball: Path, tree: Path) -> None:
    """Unpack the files of a tarball that a build needs."""
    top = _top(tarball)
    command = ["tar", "--extract", f"--directory={tree}", "--strip-components=1", "--anchored"]
    command += [f"--exclude={top}/{pattern}" for pattern in UNUSED]
    # The pipe ends tar with this process, even if this process is killed.
    with (
        _opened(tarball) as archive,
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors) as tar,
    ):
        assert tar.stdin is not None
        try:
            with suppress(BrokenPipeError):  # tar has failed or completed
                for block in _blocks(archive, tarball):
                    tar.stdin.write(block)
        except BaseException:
            tar.kill()  # otherwise it would write to a folder that is being removed
            raise
        finally:
            with suppress(BrokenPipeError):
                tar.stdin.close()
        if tar.wait() != 0:
            errors.seek(0)
            message = f"source: {tarball} cannot be unpacked: {message_line(errors.read(), 0)}"
            raise InputError(message)


def _opened(tarball: Path) -> IO[bytes]:
    """Open a tarball for reading, decompressing it if necessary."""
    with tarball.open("rb") as file:
        start = file.read(_LONGEST_MAGIC)
    for magic, opener in _OPENERS.items():
        if start.startswith(magic):
            return cast("IO[bytes]", opener(tarball))
    return tarball.open("rb")


def _blocks(archive: IO[bytes], tarball: Path) -> Iterator[bytes]:
    """Yield the content of a tarball in blocks of 1 MiB."""
    while True:
        try:
            block = archive.read(1 << 20)
        except _DAMAGE as error:
            raise InputError(f"source: {tarball} is damaged: {error}") from None
        if not block:
            return
        yield block


def message_line(text: str, index: int) -> str:
    """Return the first (0) or last (-1) line of a program's output."""
    lines = text.strip().splitlines()
    return lines[index].strip() if lines else "no message"


def _top(tarball: Path) -> str:
    """Return the name of the top folder in a tarball."""
    try:
        with _opened(tarball) as file, tarfile.open(fileobj=file, mode="r:") as archive:
            first = archive.next()
    except (*_DAMAGE, tarfile.TarError):
        raise InputError(f"source: {tarball} is not a tarball; {NAME_A_SOURCE}") from None
    if first is None:
        raise InputError(f"source: {tarball} is empty; {NAME_A_SOURCE}")
    return first.name.split("/")[0]


def _used_files(tree: Path) -> Iterator[Path]:
    """Yield the files of the user's tree that a build needs, in a fixed order."""
    patterns = [fnmatch.translate(pattern) for pattern in (*UNUSED, *_BUILD_OUTPUT)]
    unused = re.compile("|".join(patterns))
    for folder, names, files in os.walk(tree):
        here = Path(folder)
        prefix = "" if here == tree else f"{here.relative_to(tree)}/"
        # Links to folders are copied as links.
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
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
