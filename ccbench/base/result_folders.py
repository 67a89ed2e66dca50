# SPDX-License-Identifier: Apache-2.0
"""Validation of the user's output folders.

A descriptive file identifies the kind of results in a folder (:data:`KINDS`). :func:`prepare`,
for commands that add files to a folder, rejects folders with results of another kind;
:func:`check_replaceable`, for commands that replace a folder, rejects folders with any other file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import durable, validation
from ccbench.base.errors import InputError
from ccbench.base.os_errors import explain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

__all__ = ["KINDS", "check_replaceable", "kinds_in", "prepare"]

#: Kinds of results with their descriptive files; that of a study is named after the study.
KINDS = {
    "run": "run.json",
    "search": "search.json",
    "evaluation": "evaluation.json",
    "measurement of harm": "harm.json",
    "sweep": "sweep.json",
    "verdict on deployment": "deployable.json",
    "recorded queue": "shell.json",
    "server": "result.json",
    "clustering of servers": "relabelled.json",
    "simulated data centre": "simulation.json",
    "study": "*.json",
}
#: Suffixes of the files that accompany a study's descriptive file.
_STUDY_SUFFIXES = (".csv", ".png")

_STEP = "choose another one"


def kinds_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the kinds of results in a folder (:data:`KINDS`) with their descriptive files.

    Examples
    --------
    >>> from pathlib import Path
    >>> list(kinds_in(Path("no such folder")))
    []
    """
    for kind, pattern in KINDS.items():
        for file in sorted(folder.glob(pattern)):
            if kind != "study" or all(file.with_suffix(end).exists() for end in _STUDY_SUFFIXES):
                yield kind, file
                break


def prepare(folder: Path, kind: str | None) -> None:
    """Create a folder for results of a kind; call this before a long run.

    Parameters
    ----------
    folder : Path
        Created with its parents if missing.
    kind : str or None
        One of :data:`KINDS`; None if the folder is to contain a folder per result.

    Raises
    ------
    InputError
        If it cannot be written, or contains results of another kind.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [entry for entry in kinds_in(folder) if entry[0] != kind]
    except OSError as error:
        allowed = "a folder that can be written"
        raise validation.bad("output folder", str(folder), allowed, explain(error)) from error
    if not durable.is_possible(folder / "file"):
        raise validation.bad("output folder", str(folder), "a folder that can be written", _STEP)
    if others:
        other, file = others[0]
        allowed = f"a folder without other results ({file.name} belongs to a {other})"
        raise validation.bad("output folder", str(folder), allowed, _STEP)


def check_replaceable(folder: Path, kind: str, files: Collection[str]) -> None:
    """Check that results of a kind may replace a folder, which may contain only `files`.

    Call this before a long run, and again before the folder is replaced.

    Raises
    ------
    InputError
        If it is a file or the working directory, contains any other file, or cannot be written.
    """
    if not durable.is_possible(folder):
        message = f"{folder} cannot be created, as its parent folder cannot be written"
        raise InputError(f"{message}: name another folder")
    if folder.exists() and folder.samefile("."):
        message = f"{folder} is the working directory, which a {kind} would replace"
        raise InputError(f"{message}: name another folder")
    others = []
    try:
        others = sorted({path.name for path in folder.iterdir()} - {*files})
    except FileNotFoundError:
        pass  # the usual case: a new folder
    except NotADirectoryError:
        raise InputError(f"{folder} is a file: name a folder for the {kind}") from None
    if others:
        message = f"{folder} contains {others[0]}, which saving a {kind} there would remove"
        raise InputError(f"{message}: name another folder")
