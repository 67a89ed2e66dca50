# SPDX-License-Identifier: Apache-2.0
"""Output of programs, read while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import program_files
from ccbench.base.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Outputs"]

#: Maximum output of a program, which is part of its run, in bytes.
_MAX_BYTES = 100_000_000


class Outputs:
    """The output of the programs of a guest, which may be read while the guest writes it.

    Parameters
    ----------
    directory : Path
        Folder of the guest's records.
    on_output : callable, optional
        Called with the name of a program and what it has printed since the last call.
    """

    def __init__(
        self, directory: Path, on_output: Callable[[str, bytes], object] | None = None
    ) -> None:
        self._folder = directory / program_files.FOLDER
        self._on_output = on_output
        self._done: dict[str, int] = {}

    def advance(self) -> None:
        """Read what programs have printed since the last call.

        Raises
        ------
        EngineError
            If one has printed too much.
        """
        for file in sorted(self._folder.glob("*/output")):
            size = file.stat().st_size
            if size > _MAX_BYTES:
                who, most_mb = program_files.subject(file.parent), _MAX_BYTES / 1e6
                message = f"{who}, has printed more than {most_mb:g} MB"
                raise EngineError(f"{message}: make it print less, or let it write to /dev/null")
            if self._on_output is not None:
                self._pass_on(file, size, self._on_output)

    def _pass_on(self, file: Path, size: int, on_output: Callable[[str, bytes], object]) -> None:
        """Pass on what is new in the first `size` bytes of a file that may grow meanwhile."""
        name = file.parent.name
        done = self._done.get(name, 0)
        with file.open("rb") as output:
            output.seek(done)
            if new := output.read(size - done):
                self._done[name] = done + len(new)
                on_output(name, new)
