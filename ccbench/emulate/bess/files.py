# SPDX-License-Identifier: Apache-2.0
"""The files in a BESS's folder, and those in the folder of a run that only BESS has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ACCOUNT",
    "BESSD_OUTPUT",
    "DESCRIPTORS",
    "PID",
    "PROBE",
    "SESSION",
    "SOCKET",
    "STATUS",
    "program",
    "protocol",
]

#: What bessd says besides its log.
BESSD_OUTPUT = "bessd"
#: Its process, and where it listens.
PID = "bessd.pid"
SOCKET = "bessd.socket"
#: Its protocol, compiled.
DESCRIPTORS = "protocol"
#: Packets of the probe, as they came to the queue and as they left it.
PROBE = ("probe-arrivals", "probe-departures")
#: What everybody on the path has counted, as JSON.
ACCOUNT = "account.json"
#: What a command's session is to be, as JSON, and the command's exit status.
SESSION = "session.json"
STATUS = "status"


def program(directory: Path) -> Path:
    """Return where bessd is in BESS's folder."""
    return directory / "core" / "bessd"


def protocol(directory: Path) -> Path:
    """Return where its protocol is."""
    return directory / "protobuf"
