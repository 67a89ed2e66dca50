# SPDX-License-Identifier: Apache-2.0
"""Patches of Linux, as of ``git format-patch`` and ``diff -ru``, applied by ``git apply``.

Lines may have moved, but the context of a change must be equal. A patch is applied completely or
not at all, and only files in the tree can be changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.kernel.source.linux import UNUSED, message_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Patch", "apply_patch", "apply_patches", "read"]

_FIELD = "patch"
_STEP = "name files of `git format-patch` or `diff -ru`"

#: The environment of Git: without settings of the system and the user (as HOME is not set), and
#: outside of a repository that contains the cache, of which it could skip the tree silently.
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DIR": os.devnull,
}

#: Errors of Git, and the problems as stated to the user.
_PROBLEMS = {
    r"No valid patches in input.*|unrecognized input": (
        "it has no lines such as --- a/FILE, +++ b/FILE and @@ -1,7 +1,7 @@"
    ),
    r"patch failed: (.+):(\d+)": r"the change at line \2 of \1 does not match",
    r"(.+): No such file or directory": r"it has no file \1",
    r"(.+): already exists in working directory": r"\1 exists already",
}

#: Modes of symbolic links and submodules.
_SPECIAL_MODE = re.compile(rb"^(new file mode|new mode|index \S+) (120|160)000\b", re.MULTILINE)

#: Options of congestion controls and qdiscs in a Kconfig file.
_OPTION = re.compile(rb"^config ((?:TCP_CONG|NET_SCH)_\w+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Patch:
    """A patch of Linux.

    Parameters
    ----------
    name : str
        The name of its file.
    content : bytes
        The content of its file.

    Examples
    --------
    >>> Patch("empty.patch", b"").digest[:12]
    'e3b0c44298fc'
    """

    name: str
    content: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of its content."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The files that it changes, renames or copies.

        Raises
        ------
        InputError
            If it is not a patch, changes a file outside the tree, or is not one of text files.
        MissingRequirement
            If Git is not installed.
        """
        if _SPECIAL_MODE.search(self.content):
            allowed = "only changes of ordinary files are supported: remove it from the patch"
            raise self.error(f"makes a symbolic link or a submodule; {allowed}")
        found: list[tuple[bytes, bytes]] = []
        for options in ((), ("--reverse",)):  # paths after and before a rename or copy
            listed = _git_apply(self, Path("/"), "--numstat", "-z", *options)
            if listed.returncode != 0:
                raise self.error(f"is not a valid patch: {_problem(listed)}; {_STEP}")
            found += re.findall(rb"(\S+)\t\S+\t([^\0]+)\0", listed.stdout)
        if any(lines == b"-" for lines, _ in found):
            raise self.error(f"changes binary files; {_STEP}, of text files only")
        paths = tuple(dict.fromkeys(os.fsdecode(path) for _, path in found))
        for path in paths:
            if path.startswith("/") or ".." in path.split("/"):
                allowed = "files of Linux only: paths without .. and not absolute"
                raise self.error(f"changes {path!r}; it may change {allowed}")
        return paths

    def error(self, problem: str) -> InputError:
        """Return the error that states a problem of this patch."""
        return InputError(" ".join(f"{_FIELD}: {self.name} {problem}".split()))


def read(path: Path) -> Patch:
    """Return the patch in a file.

    Raises
    ------
    InputError
        If it cannot be read or is not a patch of files of Linux.
    MissingRequirement
        If Git is not installed.
    """
    path = validation.user_path(_FIELD, str(path))
    try:
        patch = Patch(path.name, path.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        allowed = f"a file that can be read ({reason})"
        step = f"{_STEP}, and a release before --patch"
        raise validation.bad(_FIELD, str(path), allowed, step) from None
    _ = patch.paths  # raises the error
    return patch


def apply_patches(tree: Path, patches: Sequence[Patch], release: str) -> tuple[str, ...]:
    """Apply patches to a tree in order.

    Changes of files that are not in the tree because builds do not read them are skipped.

    Parameters
    ----------
    tree : Path
        A copy of the source.
    patches : sequence of Patch
        The patches.
    release : str
        The release of Linux, for errors.

    Returns
    -------
    tuple of str
        The options of congestion controls and qdiscs that the patches add, set to y.

    Raises
    ------
    InputError
        If a patch does not apply. The patches before it are applied then.
    """
    paths = dict.fromkeys(path for patch in patches for path in patch.paths)
    before = _options(tree, paths)
    step = "name the patch for this release, or the patches that it needs before it"
    for patch in patches:
        apply_patch(tree, patch, f"Linux {release}", step, UNUSED)
    return tuple(option for option in _options(tree, paths) if option not in before)


def _options(tree: Path, paths: Iterable[str]) -> dict[str, None]:
    """Return the options of congestion controls and qdiscs in those files that are of Kconfig."""
    files = (tree / path for path in paths if Path(path).name.startswith("Kconfig"))
    texts = (file.read_bytes() for file in files if file.is_file())
    names = (name.decode() for text in texts for name in _OPTION.findall(text))
    return dict.fromkeys(f"CONFIG_{name}=y" for name in names)


def apply_patch(
    folder: Path, patch: Patch, title: str, step: str, unused: Iterable[str] = ()
) -> None:
    """Apply a patch to a folder.

    Parameters
    ----------
    folder : Path
        A copy of the source.
    patch : Patch
    title, step : str
        Name of the source, and the next step if the patch does not apply, for errors.
    unused : iterable of str
        Patterns of files that are not in the folder, whose changes are skipped.

    Raises
    ------
    InputError
        If it does not apply. The folder is unchanged then.
    """
    options = [f"--exclude={pattern}" for pattern in unused]
    applied = _git_apply(patch, folder, *options)
    if applied.returncode == 0:
        return
    problem = _problem(applied)
    if _git_apply(patch, folder, *options, "--reverse", "--check").returncode == 0:
        problem += ", but its result is there already"
        step = "leave it out"
    raise patch.error(f"does not apply to {title}: {problem}; {step}")


def _git_apply(patch: Patch, folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    if shutil.which("git") is None:
        raise MissingRequirement("applying patches needs git: sudo apt-get install -y git")
    return subprocess.run(
        ["git", "apply", "-p1", "--whitespace=nowarn", *options],
        cwd=folder,
        env={"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT},
        input=patch.content,
        capture_output=True,
        check=False,
    )


def _problem(failed: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first error of Git, as stated to the user."""
    text = failed.stderr.decode(errors="replace")
    error = re.search(r"^(?:error|fatal): (.+)", text, re.MULTILINE)
    problem = error[1] if error else message_line(text, -1)
    for pattern, words in _PROBLEMS.items():
        if match := re.fullmatch(pattern, problem):
            return match.expand(words)
    return problem
