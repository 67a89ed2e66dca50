# SPDX-License-Identifier: Apache-2.0
r"""Patches of Linux: unified diffs, as of ``git format-patch`` and ``diff -ru``.

Patches are applied as by ``patch -p1 --fuzz=0``: lines may have moved, but the context of a change
must be equal. No program is needed. Only files in the tree can be changed.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["Patch", "added_options", "apply_patches", "read"]

_FIELD = "patch"
_STEP = "name files of `git format-patch` or `diff -ru`"
_NOWHERE = b"/dev/null"
_NO_NEWLINE = b"\\"

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
#: Lines of Git that a unified diff does not have, before the first hunk of a file.
_GIT_LINE = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to"
    rb"|index|similarity|dissimilarity|GIT binary patch|Binary files) ?(.*?)\r?\n?"
)
#: File modes of Git other than those of ordinary files: links and other repositories.
_SPECIAL_MODE = re.compile(rb"(?:.* )?(120000|160000)")

#: Options of congestion controls and qdiscs, in lines that a patch adds to a Kconfig file.
_OPTION = re.compile(rb"config ((?:TCP_CONG|NET_SCH)_\w+)\s*")


@dataclass(frozen=True)
class _Hunk:
    """One change: its number in the file, its line, and the lines before and after the change."""

    number: int
    line: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(kw_only=True)
class _Change:
    """The change of one file; without `old` it is created, without `new` it is removed."""

    old: str | None
    new: str | None
    hunks: list[_Hunk] = field(default_factory=list)
    is_executable: bool = False
    is_copy: bool = False

    @property
    def path(self) -> str:
        return self.new or self.old or ""


@dataclass(frozen=True)
class Patch:
    r"""A patch that changes files of Linux only.

    Parameters
    ----------
    name : str
        The name of its file.
    content : bytes
        The content of its file.

    Raises
    ------
    InputError
        If it is not a patch, or changes a file outside the tree.

    Examples
    --------
    >>> text = b"--- a/Makefile\n+++ b/Makefile\n@@ -1 +1 @@\n-VERSION = 6\n+VERSION = 7\n"
    >>> Patch("seven.patch", text).paths
    ('Makefile',)
    """

    name: str
    content: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Parse the patch."""
        if not self.changes:
            raise self.error(
                f"is not a patch: it has no lines such as --- a/FILE, +++ b/FILE and "
                f"@@ -1,7 +1,7 @@; {_STEP}"
            )

    @property
    def digest(self) -> str:
        """The SHA-256 of its content."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it changes, in its order."""
        return tuple(dict.fromkeys(change.path for change in self.changes))

    @cached_property
    def changes(self) -> tuple[_Change, ...]:
        """The changes of files in its order."""
        return tuple(_Parser(self).changes())

    def error(self, problem: str) -> InputError:
        """Return the error that states a problem of this patch."""
        return InputError(" ".join(f"{_FIELD}: {self.name} {problem}".split()))


def read(path: Path) -> Patch:
    """Return the patch in a file.

    Raises
    ------
    InputError
        If it cannot be read or is not a patch.
    """
    path = validation.user_path(_FIELD, str(path))
    try:
        return Patch(path.name, path.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        allowed = f"a file that can be read ({reason})"
        step = f"{_STEP}, and a release before --patch"
        raise validation.bad(_FIELD, str(path), allowed, step) from None


def added_options(patches: Iterable[Patch]) -> tuple[str, ...]:
    """Return the options of congestion controls and qdiscs that patches add, in their order."""
    options = (
        f"CONFIG_{match[1].decode()}=y"
        for patch in patches
        for change in patch.changes
        if PurePosixPath(change.path).name.startswith("Kconfig")
        for hunk in change.hunks
        for match in map(_OPTION.fullmatch, hunk.new)
        if match and match[0] not in hunk.old
    )
    return tuple(dict.fromkeys(options))


def apply_patches(
    tree: Path, patches: Iterable[Patch], release: str, is_unused: Callable[[str], bool]
) -> None:
    """Apply patches to a tree in order.

    Parameters
    ----------
    tree : Path
        A copy of the source.
    patches : iterable of Patch
        The patches.
    release : str
        The release of Linux, for errors.
    is_unused : callable
        Whether a file is not in the tree because builds do not read it. Its changes are skipped.

    Raises
    ------
    InputError
        If a patch does not apply. The tree is then incomplete.
    """
    for patch in patches:
        for change in patch.changes:
            if not is_unused(change.path):
                _Application(tree, patch, release, change).apply()


@dataclass(frozen=True)
class _Application:
    """Application of the change of a file."""

    tree: Path
    patch: Patch
    release: str
    change: _Change

    def apply(self) -> None:
        old, new = self.change.old, self.change.new
        lines = self._old_lines()
        for hunk, place in self._places(lines):
            lines[place : place + len(hunk.old)] = hunk.new
        if old is not None and old != new and not self.change.is_copy:
            self._file(old).unlink()
        if new is None:
            return
        file = self._file(new)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(lines))
        if self.change.is_executable:
            file.chmod(0o755)

    def _old_lines(self) -> list[bytes]:
        old, new = self.change.old, self.change.new
        if old != new and new is not None and self._file(new).exists():
            raise self._error(f"{new} exists already")
        if old is None:
            return []
        file = self._file(old)
        if not file.is_file():
            raise self._error(f"it has no file {old}")
        return _lines(file.read_bytes())

    def _file(self, path: str) -> Path:
        """Return a file of the tree, which is not behind a symbolic link to elsewhere."""
        file = self.tree / path
        if any(part.is_symlink() for part in (file, *file.parents) if part != self.tree):
            raise self.patch.error(f"changes {path}, which is behind a symbolic link")
        return file

    def _places(self, lines: list[bytes]) -> list[tuple[_Hunk, int]]:
        """Return hunks with their first lines, the last first, so that no line has moved."""
        places: list[tuple[_Hunk, int]] = []
        begin = moved = 0
        for hunk in self.change.hunks:
            expected = max(hunk.line - 1 + moved, 0) if hunk.old else hunk.line + moved
            place = _found(lines, hunk.old, expected, begin)
            if place is None:
                raise self._mismatch(hunk, lines)
            moved += place - expected
            begin = place + len(hunk.old)
            places.append((hunk, place))
        return places[::-1]

    def _mismatch(self, hunk: _Hunk, lines: list[bytes]) -> InputError:
        problem = f"hunk {hunk.number} of {self.change.path} (line {hunk.line}) does not match"
        if hunk.new and _found(lines, hunk.new, max(hunk.line - 1, 0), 0) is not None:
            problem += ", but its result is there already"
        return self._error(problem)

    def _error(self, problem: str) -> InputError:
        return self.patch.error(
            f"does not apply to Linux {self.release}: {problem}; name the patch for this release, "
            "or the patches that it needs before it"
        )


def _found(lines: list[bytes], wanted: tuple[bytes, ...], expected: int, begin: int) -> int | None:
    """Return the place of lines that is nearest to the expected one, and not before `begin`."""
    last = len(lines) - len(wanted)
    if not wanted:  # nothing to recognise the place by
        return expected if begin <= expected <= last else None
    candidates = (
        place
        for place in range(begin, last + 1)
        if lines[place] == wanted[0] and tuple(lines[place : place + len(wanted)]) == wanted
    )
    return min(candidates, key=lambda place: abs(place - expected), default=None)


class _Parser:
    """Parses the lines of a patch."""

    def __init__(self, patch: Patch) -> None:
        self._patch = patch
        self._lines = _lines(patch.content)
        self._next = 0

    def changes(self) -> Iterator[_Change]:
        """Yield the changes of files; other lines, such as those of a mail, are skipped."""
        while self._next < len(self._lines):
            line = self._lines[self._next]
            if line.startswith(b"diff --git "):
                change = self._git_change(line)
            elif self._is_header():
                change = self._change({})
            else:
                self._next += 1
                continue
            if change is not None:
                yield change

    def _is_header(self) -> bool:
        """Return whether the next lines are --- and +++."""
        pair = self._lines[self._next : self._next + 2]
        return [line[:4] for line in pair] == [b"--- ", b"+++ "]

    def _git_change(self, first: bytes) -> _Change | None:
        """Return the change after a line of Git; None if it only changes modes."""
        self._next += 1
        given: dict[bytes, bytes] = {}
        while self._next < len(self._lines):
            match = _GIT_LINE.fullmatch(self._lines[self._next])
            if match is None:
                break
            self._check_git_line(match[1], match[2])
            given[match[1]] = match[2]
            self._next += 1
        if self._next < len(self._lines) and self._is_header():
            return self._change(given)
        return self._change_without_hunks(first, given)

    def _check_git_line(self, key: bytes, value: bytes) -> None:
        if key in {b"GIT binary patch", b"Binary files"}:
            raise self._patch.error(f"changes binary files; {_STEP}, of text files only")
        if (key.endswith(b"mode") or key == b"index") and _SPECIAL_MODE.fullmatch(value):
            raise self._patch.error(
                "makes a symbolic link or a submodule; only changes of ordinary files are "
                "supported: remove it from the patch"
            )

    def _change(self, given: dict[bytes, bytes]) -> _Change:
        old, new = (self._name(self._lines[self._next + i][4:]) for i in (0, 1))
        self._next += 2
        hunks = list(self._hunks(new or old or ""))
        if not hunks:
            raise self._patch.error(f"has no lines @@ for {new or old}; {_STEP}")
        if b"rename from" not in given and b"copy from" not in given:
            # diff -ru may name the original's file differently, such as tcp.c.orig.
            is_new = old is None or (hunks[0].line == 0 and not hunks[0].old)
            is_gone = new is None
            path = new or old
            old, new = None if is_new else path, None if is_gone else path
        return _Change(
            old=old,
            new=new,
            hunks=hunks,
            is_executable=given.get(b"new file mode", given.get(b"new mode")) == b"100755",
            is_copy=b"copy from" in given,
        )

    def _change_without_hunks(self, first: bytes, given: dict[bytes, bytes]) -> _Change | None:
        for verb in (b"rename", b"copy"):
            if verb + b" from" in given and verb + b" to" in given:
                old, new = (given[verb + end] for end in (b" from", b" to"))
                is_copy = verb == b"copy"
                return _Change(old=self._checked(old), new=self._checked(new), is_copy=is_copy)
        name = self._name(first.split(b" ")[-1])  # of an empty file
        if b"new file mode" in given:
            return _Change(old=None, new=name)
        return _Change(old=name, new=None) if b"deleted file mode" in given else None

    def _name(self, text: bytes) -> str | None:
        """Return the name of a file without its first folder, or None for no file."""
        name = text.split(b"\t")[0].rstrip(b"\r\n").rstrip()
        if name == _NOWHERE:
            return None
        first, _, rest = name.partition(b"/")
        if not first or not rest:
            raise self._patch.error(
                f"changes {name.decode(errors='replace')!r}; paths must be those of Linux below "
                "one folder, such as a/net/ipv4/tcp.c"
            )
        return self._checked(rest)

    def _checked(self, name: bytes) -> str:
        path = name.decode(errors="replace")
        parts = path.split("/")
        if {"", ".", ".."} & {*parts} or not path.isprintable() or '"' in path:
            raise self._patch.error(
                f"changes {path!r}; it may change files of Linux only: paths without .. and not "
                "absolute"
            )
        return path

    def _hunks(self, path: str) -> Iterator[_Hunk]:
        number = 0
        while self._next < len(self._lines):
            match = _HUNK.match(self._lines[self._next])
            if match is None:
                return
            number += 1
            self._next += 1
            old_count, new_count = (int(match[i]) if match[i] else 1 for i in (2, 4))
            old, new = self._hunk_lines(old_count, new_count, f"hunk {number} of {path}")
            yield _Hunk(number, int(match[1]), old, new)

    def _hunk_lines(
        self, old_count: int, new_count: int, what: str
    ) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
        old: list[bytes] = []
        new: list[bytes] = []
        while len(old) < old_count or len(new) < new_count or self._is_no_newline():
            line = self._lines[self._next] if self._next < len(self._lines) else b""
            kind, text = line[:1], line[1:]
            if kind in b"\r\n" and line:  # mail programs remove the space of an empty line
                kind, text = b" ", line
            if kind == _NO_NEWLINE:
                _strip_newline(old, new, self._lines[self._next - 1][:1])
            elif kind in {b" ", b"-", b"+"}:
                old.extend([text] if kind != b"+" else [])
                new.extend([text] if kind != b"-" else [])
            else:
                raise self._patch.error(
                    f"is damaged: {what} ends before its {old_count} old and {new_count} new lines"
                )
            self._next += 1
        return tuple(old), tuple(new)

    def _is_no_newline(self) -> bool:
        return self._next < len(self._lines) and self._lines[self._next].startswith(_NO_NEWLINE)


def _lines(content: bytes) -> list[bytes]:
    """Return the lines with their ends, which are newlines only, as to Git."""
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def _strip_newline(old: list[bytes], new: list[bytes], kind: bytes) -> None:
    """Remove the end of the last line, which was of this kind."""
    for lines, others in ((old, b"+"), (new, b"-")):
        if kind != others and lines:
            lines[-1] = lines[-1].removesuffix(b"\n")
