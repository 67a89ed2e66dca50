# SPDX-License-Identifier: Apache-2.0
"""The files in the folder of any run in real time: what each side leaves for the other."""

from __future__ import annotations

__all__ = [
    "ARRIVALS",
    "COMPLETIONS",
    "CONSOLE",
    "DEPARTURES",
    "SAMPLES",
    "SCENARIO",
    "SENT",
    "ZERO",
]

#: What to run, as JSON.
SCENARIO = "scenario.json"
#: What the programs say that make the path.
CONSOLE = "console"
#: When the scenario began: nanoseconds since 1970.
ZERO = "zero"
#: Packets as they left the sender, arrived at the link and left it.
SENT = "sent"
ARRIVALS = "arrivals"
DEPARTURES = "departures"
#: ``traffic.SAMPLE_RECORD`` and ``traffic.COMPLETION_RECORD``, as files of numpy.
SAMPLES = "samples.npy"
COMPLETIONS = "completions.npy"
