# SPDX-License-Identifier: Apache-2.0
"""A sender's window over time, and the network that it implies.

Recordings at the sender have no queue. But packets in flight beyond those that fill the path wait
in the queue: rate, round-trip time and queue of the bottleneck follow from the window, the rate of
delivery and the round-trip times.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import validation
from ccbench.classify.setting import Setting
from ccbench.experiment.flow import MTU_BYTES

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Window", "longest_busy_part"]

#: Interval over which the rate of delivery is measured: at least this, and a round-trip time.
_LEAST_INTERVAL_S = 0.2
#: Quantiles that stand for the rate of a busy link, and the window that fills the queue; the others
#: are disturbances.
_BUSY, _FULLEST = 0.95, 0.999
#: Longest time without packets in flight that is not a pause, in seconds and round-trip times.
_LONGEST_IDLE_S, _LONGEST_IDLE_RTTS = 0.3, 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """A connection's packets in flight over time.

    Parameters
    ----------
    name : str
        The file, and the connection if the file has several.
    time_ns : ndarray of int64, shape (n_points,)
        Times in ascending order.
    packets : ndarray, shape (n_points,)
        Packets in flight.
    delivered : ndarray, shape (n_points,), optional
        Packets delivered since the start.
    rtt_ms : ndarray, shape (n_points,), optional
        Round-trip times in milliseconds; NaN where there is none.
    server : str
        The address of the sender; empty if unknown.
    is_from_start : bool
        Whether the recording contains the start of the connection.
    note : str
        The source of the recording, for people, such as ``"capture at the sender"``.
    """

    name: str
    time_ns: npt.NDArray[np.int64]
    packets: npt.NDArray[np.float64]
    delivered: npt.NDArray[np.float64] | None = None
    rtt_ms: npt.NDArray[np.float64] | None = None
    server: str = ""
    is_from_start: bool = False
    note: str = ""

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return float(self.time_ns[-1] - self.time_ns[0]) / 1e9 if len(self.time_ns) else 0.0

    def setting(self) -> Setting:
        """Estimate the bottleneck, with its rate in packets of full size.

        Raises
        ------
        InputError
            If the recording has no round-trip times.

        Examples
        --------
        A window of 60 packets, 50 ms, and 100 packets per second and RTT above it:

        >>> time_ns = np.arange(2000) * 10_000_000
        >>> packets = np.where(np.arange(2000) % 200 < 100, 40.0, 60.0)
        >>> window = Window(
        ...     name="w",
        ...     time_ns=time_ns,
        ...     packets=packets,
        ...     delivered=time_ns * 400 / 1e9,
        ...     rtt_ms=packets / 400 * 1e3,
        ... )
        >>> window.setting().name
        '4.8bw-100rtt-20q'
        """
        if self.rtt_ms is None or not np.isfinite(self.rtt_ms).any():
            step = "write --setting FILE=NAME with Mbit/s, ms and packets, such as 10bw-50rtt-64q"
            raise validation.bad(f"network of {self.name}", None, "given: it has no RTTs", step)
        base_s = float(np.nanmin(self.rtt_ms)) / 1e3
        per_s = self._packets_per_s(base_s)
        in_path = per_s * base_s
        # The first includes packets that were dropped, the second follows rapid changes late.
        most = min(
            float(np.quantile(self.packets, _FULLEST)),
            float(np.nanquantile(self.rtt_ms, _FULLEST)) / 1e3 * per_s,
        )
        return Setting(
            bandwidth_mbps=_rounded(per_s * 8 * MTU_BYTES / 1e6),
            rtt_ms=_rounded(max(base_s * 1e3, 0.01)),
            queue_packets=max(1, round(most - in_path)),
        )

    def events(self, setting: Setting) -> dict[str, npt.NDArray[Any]]:
        """Return the estimated queue: the packets in flight that do not fit into the path.

        Returns
        -------
        dict of str to ndarray
            Columns ``time_ns``, ``backlog_packets`` and ``in_flight_packets``.
        """
        in_path = setting.capacity_packets - setting.queue_packets
        # More are in flight only until the sender learns which of them were dropped.
        packets = np.minimum(self.packets, setting.capacity_packets)
        return {
            "time_ns": self.time_ns,
            "backlog_packets": np.maximum(packets - in_path, 0),
            "in_flight_packets": packets,
        }

    def between(self, first: int, last: int) -> Window:
        """Return the part from one point to another."""
        part = slice(first, last + 1)
        return Window(
            name=self.name,
            time_ns=self.time_ns[part],
            packets=self.packets[part],
            delivered=None if self.delivered is None else self.delivered[part],
            rtt_ms=None if self.rtt_ms is None else self.rtt_ms[part],
            server=self.server,
            is_from_start=self.is_from_start and first == 0,
            note=self.note,
        )

    def _packets_per_s(self, base_s: float) -> float:
        """Return the rate of delivery of a busy link."""
        if self.delivered is None:
            assert self.rtt_ms is not None
            rates = self.packets * 1e3 / self.rtt_ms
            return float(np.nanquantile(rates, _BUSY))
        interval_ns = round(max(base_s, _LEAST_INTERVAL_S) * 1e9)
        starts = np.arange(self.time_ns[0], self.time_ns[-1] - interval_ns, interval_ns // 4)
        if not len(starts):
            return float(self.delivered[-1] - self.delivered[0]) / max(self.duration_s, 1e-9)
        at = [
            self.delivered[np.searchsorted(self.time_ns, times_ns, side="right") - 1]
            for times_ns in (starts, starts + interval_ns)
        ]
        return float(np.quantile(at[1] - at[0], _BUSY)) * 1e9 / interval_ns


def longest_busy_part(window: Window) -> tuple[Window, list[float]]:
    """Return the longest part of a connection without pauses of the application, and the pauses.

    A sender that has data has packets in flight at any time. A pause is an interval without any, of
    more than two round-trip times and 0.3 s: the application has nothing to send, or the client
    does not ask, as a video player with a full buffer. A retransmission timeout is not a pause, as
    the lost packets count as in flight.

    Returns
    -------
    Window
        The part.
    list of float
        The length of each pause in seconds.
    """
    rtt_s = 0.0
    if window.rtt_ms is not None and np.isfinite(window.rtt_ms).any():
        rtt_s = float(np.nanmedian(window.rtt_ms)) / 1e3
    longest_ns = max(_LONGEST_IDLE_S, _LONGEST_IDLE_RTTS * rtt_s) * 1e9
    idle = np.flatnonzero((window.packets[:-1] <= 0) & (np.diff(window.time_ns) > longest_ns))
    edges = [-1, *idle.tolist(), len(window.packets) - 1]
    parts = [(first + 1, last) for first, last in itertools.pairwise(edges)]
    best = max(parts, key=lambda part: window.time_ns[part[1]] - window.time_ns[part[0]])
    lengths = (window.time_ns[idle + 1] - window.time_ns[idle]) / 1e9
    return window.between(*best), lengths.tolist()


def _rounded(value: float) -> float:
    """Return three significant digits."""
    return float(f"{value:.3g}")
