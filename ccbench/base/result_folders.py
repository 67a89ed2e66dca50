# SPDX-License-Identifier: Apache-2.0
"""Checks of the folders that users name for results.

A folder says what it holds by the file that describes it (:data:`KINDS`). What adds files to a
folder (:func:`prepare`) refuses one that holds something else; what replaces a folder as a whole
(:func:`check_replaceable`) refuses one with any other file.
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

#: What folders hold, with the file that says so; that of a study bears the study's name.
KINDS = {
    "run": "run.json",
    "search": "search.json",
    "verdict on deployment": "deployable.json",
    "recorded queue": "shell.json",
    "server": "result.json",
    "clustering of servers": "relabelled.json",
    "simulated data centre": "simulation.json",
    "study": "*.json",
}
#: What lies beside a study's description.
_OF_STUDY = (".csv", ".png")

_STEP = "choose another one"


def kinds_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield what a folder says that it holds, of :data:`KINDS`, with the file that says so.

    Examples
    --------
    >>> from pathlib import Path
    >>> list(kinds_in(Path("no such folder")))
    []
    """
    for kind, pattern in KINDS.items():
        for file in sorted(folder.glob(pattern)):
            if kind != "study" or all(file.with_suffix(end).exists() for end in _OF_STUDY):
                yield kind, file
                break


def prepare(folder: Path, kind: str | None) -> None:
    """Make a folder for results of a kind: to be called before a long run, not after it.

    Parameters
    ----------
    folder : Path
        Made with its parents if it is not there.
    kind : str or None
        One of :data:`KINDS`; None if the folder is to hold a folder for each result.

    Raises
    ------
    InputError
        If it cannot be written, or says that it holds results of another kind.
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
        allowed = f"a folder of nothing else (its {file.name} says that it holds a {other})"
        raise validation.bad("output folder", str(folder), allowed, _STEP)


def check_replaceable(folder: Path, kind: str, files: Collection[str]) -> None:
    """Make sure that a folder of a kind, with these files, can take the place of another.

    To be called before a long run, and again before the folder is replaced.

    Raises
    ------
    InputError
        If it is a file or the working directory, holds anything but such files, or cannot be
        written.
    """
    if not durable.is_possible(folder):
        message = f"{folder} cannot be written, as what is above it cannot"
        raise InputError(f"{message}: name another folder")
    if folder.exists() and folder.samefile("."):
        message = f"{folder} is the folder that you are in; a {kind} replaces it"
        raise InputError(f"{message}: name another")
    strangers = []
    try:
        strangers = sorted({path.name for path in folder.iterdir()} - {*files})
    except FileNotFoundError:
        pass  # the usual case: it is new
    except NotADirectoryError:
        raise InputError(f"{folder} is a file: name a folder for the {kind}") from None
    if strangers:
        message = f"{folder} holds {strangers[0]}, and saving a {kind} there would remove it"
        raise InputError(f"{message}: name another folder")
