# SPDX-License-Identifier: Apache-2.0
"""The files in the folder of a run: what each side leaves for the other."""

from __future__ import annotations

__all__ = [
    "ANSWERS_TRACE",
    "ARRIVALS",
    "COMPLETIONS",
    "CONSOLE",
    "DEPARTURES",
    "GATES",
    "LINK_LOG",
    "LINK_TRACE",
    "LOGS",
    "SAMPLES",
    "SCENARIO",
    "SENT",
    "SHELLS",
    "STATUS",
    "ZERO",
]

#: What to run, as JSON.
SCENARIO = "scenario.json"

#: What the shells read and write.
LINK_TRACE = "link.trace"
ANSWERS_TRACE = "answers.trace"
CONSOLE = "console"
GATES = "gates"
LOGS = "logs"
LINK_LOG = f"{LOGS}/link"
#: What the shells of a command are, as JSON, and its exit status.
SHELLS = "shells.json"
STATUS = f"{LOGS}/status"

#: When the scenario began: nanoseconds since 1970.
ZERO = "zero"
#: Packets as they left the sender, arrived at the link and left it (``sniffer.PACKET_RECORD``).
SENT = "sent"
ARRIVALS = "arrivals"
DEPARTURES = "departures"
#: ``traffic.SAMPLE_RECORD`` and ``traffic.COMPLETION_RECORD``, as files of numpy.
SAMPLES = "samples.npy"
COMPLETIONS = "completions.npy"
