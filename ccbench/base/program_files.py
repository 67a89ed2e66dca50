# SPDX-License-Identifier: Apache-2.0
"""The files of programs: the same in the folders of a guest and of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FOLDER", "KEPT", "SIDES", "read_words", "subject"]

#: Folder with the folder of each program, such as ``0-sender`` of flow 0; also in
#: ``kernel_modules/init/init.c``.
FOLDER = "programs"

#: Ends of a flow.
SIDES = ("sender", "receiver")

#: Folder of the files that are kept, in the folder of each program.
KEPT = "kept"


def read_words(folder: Path) -> list[str]:
    """Return the words of a program from its folder; none if it has none."""
    try:
        return (folder / "words").read_text(encoding="utf-8").split("\0")[:-1]
    except OSError:
        return []


def subject(folder: Path) -> str:
    """Return a program in words, by its folder: ``"the sender of flow 0, 'cat'"``."""
    number, _, side = folder.name.partition("-")
    end = f"the {side} of flow {number}" if side in SIDES else f"the {folder.name}"
    return f"{end}, {' '.join(read_words(folder))!r}"
