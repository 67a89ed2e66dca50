# SPDX-License-Identifier: Apache-2.0
"""Files in the folder of a real-time run."""

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
    "WAY_BACK_ARRIVALS",
    "WAY_BACK_DEPARTURES",
    "ZERO",
    "first_words",
]

#: The scenario as JSON.
SCENARIO = "scenario.json"
#: Output of the path's programs.
CONSOLE = "console"
#: Reason of a failed session in one line.
FAILURE = "failure"
#: Start of the scenario in nanoseconds since 1970.
ZERO = "zero"
#: Packets that left the sender, arrived at the link and left the link.
SENT = "sent"
ARRIVALS = "arrivals"
DEPARTURES = "departures"
#: The same for acknowledgements at a bottleneck of theirs.
WAY_BACK_ARRIVALS = "way-back-arrivals"
WAY_BACK_DEPARTURES = "way-back-departures"
#: NumPy files of ``sender.SAMPLE_RECORD`` and ``sender.COMPLETION_RECORD``.
SAMPLES = "samples.npy"
COMPLETIONS = "completions.npy"


def first_words(folder: Path) -> str:
    """Return the first line of the path's programs, which states the error that others repeat."""
    console = folder / CONSOLE
    text = console.read_text(encoding="utf-8", errors="replace") if console.exists() else ""
    return f": {text.partition(chr(10))[0]}" if text else ""
