# SPDX-License-Identifier: Apache-2.0
"""mm-link's log of the packets of one direction.

After a header, a line is one of

``T # BYTES``
    a delivery opportunity, used or not;
``T + BYTES``
    a packet arrived, also one that the queue then refuses;
``T - BYTES DELAY``
    a packet has been delivered in full, DELAY after its arrival;
``T d PACKETS BYTES``
    the queue has dropped what arrived (builds newer than 0.98, which is the packaged version).

Times are whole milliseconds, bytes those of IP and the TUN header.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ccbench.base.errors import EngineError

__all__ = ["LinkLog", "started_ms"]

_COLUMNS = {"time_ms": "int64", "kind": "string", "size": "int64", "delay_ms": "float64"}
#: The end of the header. Before it is the command, which may have several lines.
_HEADER = re.compile(
    r"^# queue: (?P<queue>.*)\n"
    r"# init timestamp: (?P<init>\d{1,15})\n"
    r"# base timestamp: (?P<base>\d{1,15})\n"
    r"(# mahimahi config: .*\n)?",
    re.MULTILINE,
)
#: The header of a log ends before these: no other file is read further.
_HEAD_BYTES = 2**20
_KINDS = {"#", "+", "-", "d"}


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkLog:
    """The log of one direction of an mm-link.

    Parameters
    ----------
    queue : str
        What kind of queue it was, in mm-link's words: ``droptail [packets=64]``.
    started_ms : int
        When the link's clock and its trace started, in milliseconds since 1970.
    lines : DataFrame
        In order; columns ``time_ms`` since the start; ``kind`` (see above); ``size`` in bytes (of
        ``d`` in packets); ``delay_ms`` (NaN where there is none; of ``d`` the bytes).
    """

    queue: str
    started_ms: int
    lines: pd.DataFrame = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> LinkLog:
        """Read the file that ``--uplink-log`` or ``--downlink-log`` named.

        Raises
        ------
        EngineError
            If it cannot be read, is no such log, or was cut short in the middle of a line.

        Examples
        --------
        >>> LinkLog.read("tests/realtime/mahimahi/reno.log").queue
        'droptail [packets=10]'
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(_HEAD_BYTES)
                data += file.read() if b"\n# base timestamp: " in data else b""
        except OSError as error:
            raise EngineError(f"mm-link's log {path} cannot be read ({error.strerror})") from error
        # The command may be anything.
        text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
        header = _HEADER.search(text)
        if header is None and text:
            raise EngineError(f"{path} is no log of mm-link (its header is missing)")
        if header is None or not text.endswith("\n"):
            raise EngineError(f"mm-link's log {path} ends within a line: mm-link was killed")
        base_ms = int(header["base"])
        body = io.StringIO(text[header.end() :])
        try:
            with np.errstate(invalid="ignore"):  # else 1e999 is also a warning of numpy's
                lines = pd.read_csv(body, sep=" ", names=list(_COLUMNS), dtype=_COLUMNS)
        except (OverflowError, ValueError) as error:
            reason = " ".join(str(error).split())  # pandas ends some with a new line
            raise EngineError(f"{path} is no log of mm-link ({reason})") from error
        if unknown := set(lines["kind"]) - _KINDS:
            first = min(map(str, unknown))  # one that is missing is neither text nor comparable
            raise EngineError(f"{path} is no log of mm-link (kind {first[:20]!r})")
        if not lines["time_ms"].is_monotonic_increasing:
            message = "the host's clock was set back during the run"
            raise EngineError(f"{path} is no log of mm-link to rely on: {message}")
        lines["time_ms"] -= base_ms
        return cls(queue=header["queue"], started_ms=started_ms(text), lines=lines)


def started_ms(text: str) -> int:
    """Return when the clock of a link started that has written this so far.

    Returns
    -------
    int
        Milliseconds since 1970; 0 if the header is not complete yet.
    """
    header = _HEADER.search(text)
    return int(header["init"]) + int(header["base"]) if header else 0
