# SPDX-License-Identifier: Apache-2.0
"""Gordon's measurement of windows and its rules (Mishra et al., SIGMETRICS 2019).

Gordon requests a file again and again. The connection for round trip `n` lets those packets pass
that earlier connections have received in `n - 1` round trips, then loses all others until one is
retransmitted: their number is the window. The first window above 80 packets shows the reaction to a
loss, as all later connections lose its first packet. The facts are those of its published program
(NUS-SNL/Gordon): packets of 100 bytes, a delay of 100 ms, no selective ACKs, a packet every 2 ms,
and every 3 ms from the 1500th packet on, up to 50 round trips. Its rules, by which the congestion
control follows from the windows, are in :mod:`ccbench.studies.ware.gordon_rules`.

Differences from the program
----------------------------
- Packets are lost before the queue instead of after it, so that they do not delay others.
- In the connection after the lost packet, losses begin when it has been retransmitted, instead of
  with the next new packet but without the retransmission.
- A trace ends after 20,000 packets. The program has room for windows of 200, but does not check it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import Bottleneck, Change, Flow, NetworkPath, Scenario
from ccbench.experiment.when import TCP_STATE, When

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run.run import Run

__all__ = ["LOSS_ABOVE", "SLOWER_FROM_PACKET", "Probe", "Window", "measured", "next_probe"]

#: The first larger window shows the reaction to a loss.
LOSS_ABOVE = 80
#: Number of the packet from which on the link is slower.
SLOWER_FROM_PACKET = 1500

_ROUND_TRIPS = 50
_RTT_MS = 100.0
_PACKET_BYTES = 100
_FIRST_GAP_S, _SECOND_GAP_S = 0.002, 0.003
_MOST_PACKETS = 20_000
#: Packets before the first data packet: SYN and ACK.
_HANDSHAKE = 2
#: Longer than a packet waits within a window, shorter than a timeout.
_SILENCE_NS = 0.15e9
_SEPARATOR = ", "

_WINDOW = "4096 6291456 33554432"
_SYSCTLS = {
    "net.ipv4.tcp_sack": "0",
    "net.ipv4.tcp_rmem": _WINDOW,
    "net.ipv4.tcp_wmem": _WINDOW,
    "net.ipv4.tcp_mtu_probing": "2",
    "net.ipv4.tcp_base_mss": str(_PACKET_BYTES - 52),
    "net.ipv4.tcp_probe_threshold": "100000",
}


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The connection that measures the window of a round trip.

    Parameters
    ----------
    cca : str
        The server's congestion control.
    seed : int
        Seed of the jitter; a trace has one.
    round_trip : int
        Number of the round trip, from 1.
    passing : int
        Packets that pass before all others are lost.
    lost : int
        Number of the packet that is lost before, the first of the first window above 80; 0 if there
        was none.
    reacts : bool
        Whether the lost packet is in the round trip before.
    last : int
        The last round trip of the trace.
    """

    cca: str
    seed: int
    round_trip: int = 1
    passing: int = _HANDSHAKE
    lost: int = 0
    reacts: bool = False
    last: int = _ROUND_TRIPS

    @property
    def scenario(self) -> Scenario:
        """The connection.

        Examples
        --------
        >>> first = Probe(cca="cubic", seed=1)
        >>> Probe.of(first.scenario) == first
        True
        """
        if self.reacts:
            begins = Change(
                when=When(flow=0, info=TCP_STATE, equals="recovery"), after_s=0.001, loss=1.0
            )
        else:
            begins = Change(when=When(flow=0, packet=self.passing + 1), loss=1.0)
        slower = Change(
            when=When(flow=0, packet=SLOWER_FROM_PACKET), bandwidth_mbps=_mbps(_SECOND_GAP_S)
        )
        longest_s = self.round_trip * 1.5 * _RTT_MS / 1e3 + self.passing * _SECOND_GAP_S
        return Scenario(
            flows=(Flow(cca=self.cca),),
            path=NetworkPath(
                bottlenecks=(
                    Bottleneck(
                        bandwidth_mbps=_mbps(_FIRST_GAP_S),
                        queue_packets=1024,
                        loss_packets=(self.lost,) if self.lost else (),
                    ),
                ),
                rtt_ms=_RTT_MS,
                noise=Noise(reverse_jitter_ms=1.0),
                changes=(slower, begins),
                sysctls=tuple(_SYSCTLS.items()),
            ),
            duration_s=math.ceil(2 + longest_s),
            seed=self.seed,
            name=_SEPARATOR.join(
                f"{name} {getattr(self, name)}" for name in (item.name for item in fields(self))
            ),
        )

    @classmethod
    def of(cls, scenario: Scenario) -> Probe:
        """Return the probe of a scenario, which its name describes."""
        values = dict(part.split(" ") for part in scenario.name.split(_SEPARATOR))
        numbers = {
            name: int(values[name]) for name in ("seed", "round_trip", "passing", "lost", "last")
        }
        return cls(cca=values["cca"], reacts=values["reacts"] == "True", **numbers)


@dataclass(frozen=True, kw_only=True)
class Window:
    """What a probe measures.

    Parameters
    ----------
    packets : int
        The window.
    passed : int
        Packets before it.
    megabytes, seconds : float
        Data and time of the connection, until a packet is retransmitted.
    """

    packets: int
    passed: int
    megabytes: float
    seconds: float


def measured(run: Run) -> Window:
    """Return the window that a connection shows."""
    probe = Probe.of(run.scenario)
    sent = run.queue[run.queue["event"].isin(("enqueue", "loss"))]
    times_ns, is_lost = sent["time_ns"].to_numpy(), (sent["event"] == "loss").to_numpy()
    numbers = np.arange(1, len(sent) + 1)
    first = numbers[is_lost & (numbers != probe.lost)]
    if not len(first):
        return Window(packets=0, passed=len(sent), megabytes=_megabytes(sent), seconds=0.0)
    passed = int(first[0]) - 1
    waited = np.diff(times_ns[passed:]) > _SILENCE_NS
    window = int(np.argmax(waited)) + 1 if waited.any() else len(sent) - passed
    until = sent.iloc[: passed + window + 1]
    return Window(
        packets=window,
        passed=passed,
        megabytes=_megabytes(until),
        seconds=float(until["time_ns"].iloc[-1] - times_ns[0]) / 1e9,
    )


def next_probe(run: Run) -> Probe | None:
    """Return the connection for the next round trip, or None at the end of the trace."""
    probe, window = Probe.of(run.scenario), measured(run)
    passing = window.passed + window.packets
    if not window.packets or probe.round_trip == probe.last or passing > _MOST_PACKETS:
        return None
    reacts = not probe.lost and window.packets > LOSS_ABOVE
    return replace(
        probe,
        round_trip=probe.round_trip + 1,
        passing=passing,
        lost=window.passed + 1 if reacts else probe.lost,
        reacts=reacts,
    )


def _megabytes(packets: pd.DataFrame) -> float:
    return float(packets["bytes"].sum()) / 1e6


def _mbps(gap_s: float) -> float:
    """Return the rate with a packet in this time."""
    return _PACKET_BYTES * 8 / gap_s / 1e6
