# SPDX-License-Identifier: Apache-2.0
"""Scenarios from a file, from standard input, and from the folder of a saved run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ccbench.base import toml_files, validation
from ccbench.base.errors import InputError
from ccbench.experiment.scenario import Scenario
from ccbench.run import run_files

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STANDARD_INPUT", "Source", "read"]

#: The name of standard input on the command line.
STANDARD_INPUT = Path("-")


class Source(NamedTuple):
    """The document of a scenario, its place for errors, and the folder of files that it names."""

    document: Mapping[str, Any]
    place: str
    folder: Path

    def scenario(self) -> Scenario:
        """Return the scenario.

        Raises
        ------
        InputError
            If it is not valid. The message names the place.
        """
        with validation.within(f"{self.place}: "):
            return Scenario.from_dict(self.document, self.folder)


def read(path: Path) -> Source:
    """Read the document of a scenario.

    Parameters
    ----------
    path : Path
        A TOML file, the folder of a saved run, or :data:`STANDARD_INPUT`.

    Raises
    ------
    InputError
        If it cannot be read or is not TOML. The message names the place.
    DamagedRun
        If the folder's run was changed.
    """
    if path.is_dir():
        return Source(run_files.scenario(path), str(path), path)
    if path == STANDARD_INPUT:
        place, folder, text = "standard input", Path(), _standard_input()
    else:
        place, folder = str(path), path.parent
        text = validation.text_file(path, "scenario file")
    with validation.within(f"{place}: "):
        return Source(toml_files.loads(text), place, folder)


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input: byte {error.start} is not UTF-8: write a scenario in TOML"
        raise InputError(message) from None
