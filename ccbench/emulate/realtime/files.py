# SPDX-License-Identifier: Apache-2.0
"""The files in the folder of any run in real time: what each side leaves for the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ARRIVALS",
    "COMPLETIONS",
    "CONSOLE",
    "DEPARTURES",
    "FAILURE",
    "SAMPLES",
    "SCENARIO",
    "SENT",
    "ZERO",
    "first_words",
]

#: What to run, as JSON.
SCENARIO = "scenario.json"
#: What the programs say that make the path.
CONSOLE = "console"
#: Why a command's session has failed, in a line.
FAILURE = "failure"
#: When the scenario began: nanoseconds since 1970.
ZERO = "zero"
#: Packets as they left the sender, arrived at the link and left it.
SENT = "sent"
ARRIVALS = "arrivals"
DEPARTURES = "departures"
#: ``sender.SAMPLE_RECORD`` and ``sender.COMPLETION_RECORD``, as files of numpy.
SAMPLES = "samples.npy"
COMPLETIONS = "completions.npy"


def first_words(folder: Path) -> str:
    """Return what the path's programs said first, which tells most: the others only repeat it."""
    console = folder / CONSOLE
    text = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
    return f": {text.partition(chr(10))[0]}" if text else ""
