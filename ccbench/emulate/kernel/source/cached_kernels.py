# SPDX-License-Identifier: Apache-2.0
"""The kernels in the cache: which there are, what they take, and removing the old ones."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ccbench.base.durable import remove
from ccbench.base.errors import CcbenchError
from ccbench.base.locks import locked
from ccbench.emulate.kernel.source.build import (
    DESCRIPTION,
    kernels_dir,
    load_build,
    only_one,
    ready,
)
from ccbench.emulate.kernel.source.tree import load_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

__all__ = ["Kept", "kept", "prune"]

#: Bytes of a block, as ``stat`` counts them on every file system.
_BLOCK = 512


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A compiled kernel tree, or a kernel with its guest, in the cache.

    Parameters
    ----------
    path : Path
        Its folder.
    kind : str
        ``"tree"``, which modules are compiled with, or ``"build"``, which runs.
    release : str
        The kernel's release; empty if it is damaged.
    hz : int
        Timer ticks per second; 0 if it is damaged.
    made_s : float
        When it was made, a tree also when it was last chosen, in seconds since 1970.
    size_bytes : int
        What it takes on the disk. What several share is counted with the first of them.
    state : str
        ``"running"``, what a process uses; ``"current"``, what the next run takes; ``"newest"`` of
        its release and HZ; ``"old"`` or ``"damaged"``, what :func:`prune` removes.
    """

    path: Path
    kind: str
    release: str
    hz: int
    made_s: float
    size_bytes: int
    state: str

    @property
    def is_needed(self) -> bool:
        """Whether :func:`prune` leaves it alone."""
        return self.state not in {"old", "damaged"}


def kept() -> tuple[Kept, ...]:
    """Return the trees and the builds in the cache, each the newest first.

    Examples
    --------
    >>> {one.state for one in kept()} <= {"current", "running", "newest", "old", "damaged"}
    True
    """
    known = ready()
    current = {(kernels_dir() / "current").resolve()}
    if known is not None:
        current.add(known.path.resolve())
    counted: set[tuple[int, int]] = set()
    found = [*_found("tree", _tree, counted), *_found("build", _build, counted)]
    newest: dict[tuple[str, str, int], float] = {}
    for one in found:
        group = (one.kind, one.release, one.hz)
        newest[group] = max(newest.get(group, 0.0), one.made_s)
    return tuple(replace(one, state=_state(one, current, newest)) for one in found)


def prune(
    *, dry_run: bool = False, report: Callable[[str, float], None] = lambda _what, _part: None
) -> tuple[Kept, ...]:
    """Remove all trees and builds but those in use and the newest of each release and HZ.

    What a search or a study was run with can be built again from the same source and ccbench.

    Parameters
    ----------
    dry_run : bool
        Whether to remove nothing.
    report : callable, optional
        Is told with 0 what this waits for, if it does.

    Returns
    -------
    tuple of Kept
        What is removed.

    Raises
    ------
    OSError
        If the cache cannot be written.
    """
    if dry_run or not kernels_dir().exists():
        return tuple(one for one in kept() if not one.is_needed)
    with only_one(kernels_dir(), report):
        return tuple(one for one in kept() if not one.is_needed and _removed(one))


def _found(
    kind: str, describe: Callable[[Path], tuple[str, int, float]], counted: set[tuple[int, int]]
) -> list[Kept]:
    found = []
    for path in sorted((kernels_dir() / f"{kind}s").glob("[!.]*")):
        with suppress(FileNotFoundError):  # removed by another process meanwhile
            try:
                release, hz, made_s = describe(path)
            except CcbenchError:
                release, hz, made_s = "", 0, path.stat().st_mtime
            size = _size_bytes(path, counted)
            found.append(
                Kept(
                    path=path,
                    kind=kind,
                    release=release,
                    hz=hz,
                    made_s=made_s,
                    size_bytes=size,
                    state="",
                )
            )
    return sorted(found, key=lambda one: one.made_s, reverse=True)


def _tree(path: Path) -> tuple[str, int, float]:
    known = load_tree(path)
    return known.release, known.hz, path.stat().st_mtime


def _build(path: Path) -> tuple[str, int, float]:
    known = load_build(path)
    return known.release, known.hz, (path / DESCRIPTION).stat().st_mtime


def _state(one: Kept, current: Iterable[Path], newest: Mapping[tuple[str, str, int], float]) -> str:
    if _is_running(one.path):
        return "running"
    if not one.release:
        return "damaged"
    if one.path.resolve() in current:
        return "current"
    return "newest" if one.made_s == newest[one.kind, one.release, one.hz] else "old"


def _is_running(path: Path) -> bool:
    try:
        os.close(locked(path, wait=False))
    except FileNotFoundError:
        return False
    except OSError:  # locked; or nobody can know, where there are no locks
        return True
    return False


def _removed(one: Kept) -> bool:
    """Remove it, unless somebody has begun to use it."""
    try:
        lock = locked(one.path, wait=False)
    except OSError:
        return False
    try:
        remove(one.path)
    finally:
        os.close(lock)
    for log in (kernels_dir() / "logs").glob(f"*-{one.path.name}.log"):
        log.unlink(missing_ok=True)
    return True


def _size_bytes(folder: Path, counted: set[tuple[int, int]]) -> int:
    total = 0
    for path in (folder, *folder.rglob("*")):
        about = path.lstat()
        if (about.st_dev, about.st_ino) not in counted or stat.S_ISDIR(about.st_mode):
            counted.add((about.st_dev, about.st_ino))
            total += about.st_blocks * _BLOCK
    return total
