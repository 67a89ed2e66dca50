# SPDX-License-Identifier: Apache-2.0
"""Console of a guest: signs of a failure during the run, and its text afterwards.

After some faults Linux prints call traces without end, so a guest is stopped at the first one, and
only the beginning and the end of a long console are read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

__all__ = ["FLOOD", "ConsoleWatch", "read_console"]

#: Size from which a console is considered a flood, in bytes.
MAX_BYTES = 8 << 20

#: Size of the beginning and of the end of a console that are read, in bytes.
_PART_BYTES = 1 << 19

#: Line in the place of the unread part of a console.
_LEFT_OUT = "\n... (the console was too long) ...\n"

#: First line of the text of a console that was a flood.
FLOOD = "ccbench: the console is a flood"

#: Messages after which Linux continues, although the run has failed: code sleeps where it must not,
#: or has left a lock taken.
_FAULT = re.compile(r"\] (BUG: |bad: scheduling|softirq: huh)")
#: Message of a WARN(), by which Linux checks what the user's modules do.
_WARNING = re.compile(r"\] WARNING: ")


class ConsoleWatch:
    """Watches the console of a running guest.

    Parameters
    ----------
    path : Path
        The console.
    own_modules : collection of str
        The user's modules, with which warnings are failures.
    """

    def __init__(self, path: Path, own_modules: Collection[str]) -> None:
        self._path = path
        self._has_own_modules = bool(own_modules)
        self._offset = 0
        self._is_complete = False

    def is_over(self) -> bool:
        """Return whether the guest need not continue, as its run has failed.

        After the first sign of this, the guest has time for the call trace until the next call.
        """
        if self._is_complete:
            return True
        if self._path.stat().st_size > MAX_BYTES:
            return True
        with self._path.open("rb") as file:
            file.seek(self._offset)
            new = file.read(_PART_BYTES)
        text = new.decode(errors="replace")
        warned = self._has_own_modules and _WARNING.search(text)
        self._is_complete = bool(warned or _FAULT.search(text))
        # The last line may be incomplete.
        self._offset += new.rfind(b"\n") + 1
        return False


def read_console(path: Path) -> str:
    """Return the text of a console, without the middle if it is too long."""
    size = path.stat().st_size
    if size <= 2 * _PART_BYTES:
        return path.read_text(errors="replace")
    with path.open("rb") as file:
        begin = file.read(_PART_BYTES)
        file.seek(-_PART_BYTES, 2)
        parts = (part.decode(errors="replace") for part in (begin, file.read()))
    return (f"{FLOOD}\n" if size > MAX_BYTES else "") + _LEFT_OUT.join(parts)
