# SPDX-License-Identifier: Apache-2.0
"""Windows as Inspector Gadget counts them (Gong et al., TMA 2020), as the thesis describes it.

Inspector Gadget forces one timeout, later changes the delay, and counts the packets of each round
trip, of up to 50 in one connection, and of at most 2 MB. Here a path of one second without a
bottleneck loses all packets of the round trip in which the window first exceeds 64 packets. Twelve
round trips after the timeout, the round-trip time grows by a quarter. The packets of each round
trip are counted, until 2 MB have been sent.

Choices left open by the thesis: the round-trip times, with which 50 round trips take less than the
90 s that it states, the window of the timeout, and the time of the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Bottleneck, Change, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.run.run import Run

__all__ = ["MOST_BYTES", "ROUND_TRIPS", "TIMED_OUT", "Windows", "connection", "windows"]

#: Round trips, and bytes, of a trace at most.
ROUND_TRIPS, MOST_BYTES = 50, 2e6
#: Number of the round trip after the one whose packets are lost, the first with more than 64: the
#: others have 10, 20, 40 and 80.
TIMED_OUT = 4

_RTT_S, _LONGER_RTT_S = 1.0, 1.25
_LOST_FROM_S, _LOST_TO_S = 3.5, 4.5
#: Round trips before the longer ones.
_SHORT = TIMED_OUT + 12


@dataclass(frozen=True, kw_only=True)
class Windows:
    """A trace.

    Parameters
    ----------
    packets : ndarray
        Packets of each round trip.
    megabytes, seconds : float
        Data and time of the connection.
    """

    packets: npt.NDArray[np.float32]
    megabytes: float
    seconds: float


def connection(
    cca: str, seed: int, *, jitter_ms: float = 1.0, round_trips: int = ROUND_TRIPS
) -> Scenario:
    """Return a connection with a timeout, over a path without a bottleneck.

    Examples
    --------
    >>> connection("cubic", 1).duration_s
    58.5
    """
    losses = Change(at_s=_LOST_FROM_S, loss=1.0), Change(at_s=_LOST_TO_S, loss=0.0)
    longer = Change(at_s=_begin_s(_SHORT), rtt_ms=1e3 * _LONGER_RTT_S)
    return Scenario(
        flows=(Flow(cca=cca),),
        path=NetworkPath(
            bottlenecks=(Bottleneck(bandwidth_mbps=1000, queue_packets=10_000),),
            rtt_ms=1e3 * _RTT_S,
            noise=Noise(reverse_jitter_ms=jitter_ms),
            changes=(*losses, longer) if round_trips > _SHORT else losses,
        ),
        duration_s=_begin_s(round_trips),
        seed=seed,
        name=f"{cca}, a timeout, seed {seed}",
    )


def windows(run: Run) -> Windows:
    """Return the packets of each round trip of a connection."""
    arrived = run.queue[run.queue["event"] == "enqueue"]
    begins_s = np.array([_begin_s(number) for number in range(ROUND_TRIPS + 1)])
    begins_s = begins_s[begins_s <= run.scenario.duration_s]
    packets, sent = (
        np.histogram(arrived["time_ns"], begins_s * 1e9, weights=weights)[0]
        for weights in (None, arrived["bytes"].astype(float))
    )
    is_traced = np.cumsum(sent) <= MOST_BYTES
    return Windows(
        packets=packets[is_traced].astype(np.float32),
        megabytes=float(sent[is_traced].sum()) / 1e6,
        seconds=float(begins_s[is_traced.sum()]),
    )


def _begin_s(number: int) -> float:
    """Return the time at which a round trip begins, counted from 0."""
    return min(number, _SHORT) * _RTT_S + max(0, number - _SHORT) * _LONGER_RTT_S
