# SPDX-License-Identifier: Apache-2.0
"""Versions of a module: commits of its Git repository, or the patches of a series.

The user's files are only read: the sources of a version are written to another folder.
"""

from __future__ import annotations

import email.parser
import email.policy
import io
import os
import re
import shutil
import subprocess
import tarfile
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from ccbench.base import validation
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.kernel.source import patches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.kernel.source.patches import Patch

__all__ = ["Commits", "History", "Series", "Version"]

#: Fields of a commit in the output of `git log`, as those of a Version.
_FORMAT = "%H%x00%h%x00%s%x00%an%x00%as%x00%P"


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version of a module.

    Attributes
    ----------
    name : str
        Hash of the commit, or name of the file of the last patch; empty before the first patch.
    short : str
        Its abbreviation.
    subject, author, date : str
        Empty if unknown, as of patches without a header. The date is as 2026-11-27.
    parents : tuple of str
        Hashes of the commits before it; several of a merge.
    """

    name: str
    short: str
    subject: str = ""
    author: str = ""
    date: str = ""
    parents: tuple[str, ...] = ()


class History(Protocol):
    """Versions of a module in their order."""

    @property
    def folder(self) -> Path:
        """The module's folder."""

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions, of which the first is good and the last bad."""

    def write(self, number: int, folder: Path) -> Path:
        """Write the sources of a version below a new folder; return the module's folder.

        Raises
        ------
        InputError
            If the version lacks the module, or a patch does not apply.
        """

    def options(self, good: int, bad: int) -> list[str]:
        """Return the options of ``ccbench bisect`` for the versions between two of these."""


@dataclass(frozen=True)
class Commits:
    """Commits that change a module's folder.

    Attributes
    ----------
    folder : Path
        The folder in a work tree.
    top : Path
        The work tree.
    versions : tuple of Version
    """

    folder: Path
    top: Path
    versions: tuple[Version, ...]

    @classmethod
    def between(cls, folder: Path, good: str, bad: str = "HEAD") -> Commits:
        """Return the commit `good`, and those until `bad` that change a folder.

        Of a branch that was merged, only the merge counts: each version is the next one's
        predecessor.

        Parameters
        ----------
        folder : Path
        good, bad : str
            Commits in any of Git's forms, such as ``v1.0`` or ``HEAD~8``.

        Raises
        ------
        InputError
            If the folder is not in a repository, a commit does not exist, `good` is not an ancestor
            of `bad`, or nothing has changed between them.
        MissingRequirement
            If Git is not installed.

        Examples
        --------
        The commits that change a module, after a tag::

            Commits.between(Path("tcp_mine"), "v1.0").versions
        """
        if not folder.is_dir():
            raise validation.bad("module", str(folder), "an existing folder", "correct the path")
        top = _git(folder, "rev-parse", "--show-toplevel")
        if top.returncode != 0:
            step = f"give --patch for a series of patches ({_message(top)})"
            raise validation.bad("module", str(folder), "a folder in a Git repository", step)
        ends = [_commit(folder, field, name) for field, name in (("good", good), ("bad", bad))]
        if _git(folder, "merge-base", "--is-ancestor", *ends).returncode != 0:
            allowed = f"an ancestor of {bad}"
            raise validation.bad("good", good, allowed, "exchange the two, or name an earlier one")
        log = ("log", f"--format={_FORMAT}", "--no-show-signature", "--no-color", "-s")
        first = _git(folder, *log, "-1", ends[0])
        later = _git(
            folder, *log, "--first-parent", "--reverse", f"{ends[0]}..{ends[1]}", "--", "."
        )
        for answer in (first, later):
            if answer.returncode != 0:
                raise InputError(f"{folder}: git log failed: {_message(answer)}: repair it")
        lines = [*_text(first).splitlines(), *_text(later).splitlines()]
        if len(lines) == 1:
            allowed = f"a commit before a change of {folder} up to {bad}"
            raise validation.bad("good", good, allowed, "commit the change, or name another one")
        return cls(folder, Path(_text(top).rstrip("\n")), tuple(map(_version, lines)))

    def write(self, number: int, folder: Path) -> Path:
        """Write the module's folder of a commit; see :class:`History`."""
        place = self.folder.resolve().relative_to(self.top)
        tree = f"{self.versions[number].name}:{'' if place == Path() else place}"
        archive = _git(self.top, "archive", "--format=tar", tree)
        if archive.returncode != 0:
            raise InputError(f"it has no folder {place} ({_message(archive)})")
        written = folder / self.folder.resolve().name
        written.mkdir()
        try:
            with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
                tar.extractall(written, filter="data")
        except tarfile.TarError as error:
            raise InputError(f"its folder {place} cannot be read ({error})") from error
        return written

    def options(self, good: int, bad: int) -> list[str]:
        """Return the options of two commits; see :class:`History`."""
        ends = (self.versions[i].short for i in (good, bad))
        return [f"--{name}={short}" for name, short in zip(("good", "bad"), ends, strict=True)]


@dataclass(frozen=True)
class Series:
    """A series of patches on a module's folder.

    The paths in the patches are below the folder, or below one that contains it.

    Attributes
    ----------
    folder : Path
    files : tuple of Path
        The files of the patches in their order.
    patches : tuple of Patch
    """

    folder: Path
    files: tuple[Path, ...]
    patches: tuple[Patch, ...]

    @classmethod
    def of(cls, folder: Path, files: Sequence[Path]) -> Series:
        """Read the patches.

        Raises
        ------
        InputError
            If the folder does not exist, or a file is not a patch.
        MissingRequirement
            If Git is not installed.
        """
        if not folder.is_dir():
            raise validation.bad("module", str(folder), "an existing folder", "correct the path")
        return cls(folder, tuple(files), tuple(map(patches.read, files)))

    @property
    def versions(self) -> tuple[Version, ...]:
        """The module without patches, and after each patch."""
        base = Version(name="", short="no patch")
        return (base, *(_of_patch(patch) for patch in self.patches))

    def write(self, number: int, folder: Path) -> Path:
        """Write the folder with the first patches; see :class:`History`."""
        name = self.folder.resolve().name
        place = self._place(name)
        written = folder / (place / name if place is not None else name)
        shutil.copytree(self.folder, written)
        step = "name the patches that it needs before it"
        for patch in self.patches[:number]:
            root, outside = (
                (written, []) if place is None else (folder, _outside(patch, place / name))
            )
            patches.apply_patch(root, patch, str(self.folder), step, outside)
        return written

    def _place(self, name: str) -> PurePosixPath | None:
        """Return the folder with the module in the patches' paths; None if those are below it."""
        for path in (PurePosixPath(path) for patch in self.patches for path in patch.paths):
            if name in path.parts[:-1]:
                return PurePosixPath(*path.parts[: path.parts.index(name)])
        return None

    def options(self, good: int, bad: int) -> list[str]:  # noqa: ARG002 - of the protocol
        """Return the options of the patches up to a version; see :class:`History`."""
        return ["--patch", *map(str, self.files[:bad])]


def _outside(patch: Patch, folder: PurePosixPath) -> list[str]:
    """Return the files of a patch that are not in a folder."""
    return [path for path in patch.paths if not PurePosixPath(path).is_relative_to(folder)]


def _of_patch(patch: Patch) -> Version:
    """Return the version after a patch, by the header of `git format-patch` if it has one."""
    header = email.parser.BytesHeaderParser(policy=email.policy.default).parsebytes(patch.content)
    subject = re.sub(r"^\[PATCH[^]]*\]\s*", "", " ".join(str(header["subject"] or "").split()))
    date = ""
    with suppress(TypeError, ValueError):
        date = parsedate_to_datetime(str(header["date"])).date().isoformat()
    author = parseaddr(str(header["from"] or ""))[0]
    return Version(name=patch.name, short=patch.name, subject=subject, author=author, date=date)


def _commit(folder: Path, field: str, name: str) -> str:
    """Return the hash of a commit."""
    found = _git(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
    )
    if found.returncode != 0:
        step = "list them with `git log`"
        raise validation.bad(field, name, "a commit of the module's repository", step)
    return _text(found).strip()


def _version(line: str) -> Version:
    name, short, subject, author, date, parents = line.split("\0")
    return Version(
        name=name,
        short=short,
        subject=subject,
        author=author,
        date=date,
        parents=tuple(parents.split()),
    )


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command of Git that only reads, in the repository of a folder."""
    if shutil.which("git") is None:
        raise MissingRequirement("commits need git: sudo apt-get install -y git")
    # Variables of a hook or of `git bisect run` would name another repository.
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", "--no-optional-locks", *arguments],
        cwd=folder,
        env={**others, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def _text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stdout.decode(errors="replace")


def _message(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").splitlines()
    return lines[0].removeprefix("fatal: ") if lines else "no message"
