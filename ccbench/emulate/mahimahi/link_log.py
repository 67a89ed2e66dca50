# SPDX-License-Identifier: Apache-2.0
"""mm-link's log of the packets in one direction.

After a header, each line is one of

``T # BYTES``
    a delivery opportunity, whether used or not;
``T + BYTES``
    the arrival of a packet, even if the queue then drops it;
``T - BYTES DELAY``
    the complete delivery of a packet, DELAY after its arrival;
``T d PACKETS BYTES``
    a drop of arriving packets (in builds newer than the packaged version 0.98).

Times are in whole milliseconds; sizes include IP and the TUN header.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.errors import EngineError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LinkLog", "started_ms"]

_COLUMNS = {"time_ms": "int64", "kind": "string", "size": "int64", "delay_ms": "float64"}
#: The end of the header, after the command, which may have several lines.
_HEADER = re.compile(
    r"^# queue: (?P<queue>.*)\n"
    r"# init timestamp: (?P<init>\d{1,15})\n"
    r"# base timestamp: (?P<base>\d{1,15})\n"
    r"(# mahimahi config: .*\n)?",
    re.MULTILINE,
)
#: Maximum size of the header; the rest of a file is read only if it has one.
_HEAD_BYTES = 2**20
_KINDS = {"#", "+", "-", "d"}


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkLog:
    """The log of one direction of an mm-link.

    Parameters
    ----------
    queue : str
        mm-link's description of its queue, such as ``droptail [packets=64]``.
    started_ms : int
        Start of the link's clock and trace in milliseconds since 1970.
    lines : DataFrame
        The lines in order. Columns: ``time_ms`` since the start; ``kind`` (see above); ``size`` in
        bytes (of ``d`` in packets); ``delay_ms`` (NaN if absent; of ``d`` the bytes).
    """

    queue: str
    started_ms: int
    lines: pd.DataFrame = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> LinkLog:
        """Read the file written by ``--uplink-log`` or ``--downlink-log``.

        Raises
        ------
        EngineError
            If it cannot be read, is not such a log, or ends within a line.

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
        import pandas as pd  # noqa: PLC0415 - not needed to recognise a file

        # The command may contain any bytes.
        text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
        header = _HEADER.search(text)
        if header is None and text:
            raise EngineError(f"{path} is not a log of mm-link (its header is missing)")
        if header is None or not text.endswith("\n"):
            raise EngineError(f"mm-link's log {path} ends within a line: mm-link was killed")
        base_ms = int(header["base"])
        body = io.StringIO(text[header.end() :])
        try:
            with np.errstate(invalid="ignore"):  # suppresses NumPy's warning about 1e999
                lines = pd.read_csv(body, sep=" ", names=list(_COLUMNS), dtype=_COLUMNS)
        except (OverflowError, ValueError) as error:
            reason = " ".join(str(error).split())  # some of pandas' messages end with a line break
            raise EngineError(f"{path} is not a log of mm-link ({reason})") from error
        if unknown := set(lines["kind"]) - _KINDS:
            first = min(map(str, unknown))  # a missing kind is not a string
            raise EngineError(f"{path} is not a log of mm-link (kind {first[:20]!r})")
        if not lines["time_ms"].is_monotonic_increasing:
            message = "the host's clock was set back during the run"
            raise EngineError(f"{path} is not a reliable log of mm-link: {message}")
        lines["time_ms"] -= base_ms
        return cls(queue=header["queue"], started_ms=started_ms(text), lines=lines)


def started_ms(text: str) -> int:
    """Return the start of a link's clock in milliseconds since 1970; 0 if the header is incomplete.

    Parameters
    ----------
    text : str
        The log so far.
    """
    header = _HEADER.search(text)
    return int(header["init"]) + int(header["base"]) if header else 0
