# SPDX-License-Identifier: Apache-2.0
"""From what a run on BESS has left in its folder to a :class:`~ccbench.run.run.Run`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.errors import EngineError
from ccbench.emulate.bess import pcap
from ccbench.emulate.bess.account import Account
from ccbench.emulate.bess.files import ACCOUNT
from ccbench.emulate.bess.pipeline import FRAME_BYTES, limit_bps
from ccbench.emulate.realtime import files, packet_record
from ccbench.emulate.realtime.recording import Recording
from ccbench.emulate.realtime.records import lateness, to_run, with_losses
from ccbench.experiment.flow import MTU_BYTES
from ccbench.run.tables import QUEUE_COLUMNS, normalised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.emulate.realtime.packet_record import PacketRecords
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "LARGEST_RATE_ERROR",
    "gaps_ns",
    "queue_record",
    "rate_error",
    "read_command",
    "read_run",
]

#: By how much the link's rate may differ from what it is to be, as a share of that; and for what
#: share of a run the switch may have waited for its core, in which no packet was seen in time.
LARGEST_RATE_ERROR = 0.005
#: So many packets in a row tell the rate.
_ENOUGH_PACKETS = 100


@dataclass(frozen=True, eq=False)
class _Records:
    """Packets as they left the sender, came to the queue and left it, and what was counted."""

    sent: PacketRecords
    arrivals: PacketRecords
    departures: PacketRecords
    account: Account

    @classmethod
    def read(cls, folder: Path) -> _Records:
        """Read what lies in a folder; an EngineError if not every packet is there."""
        arrivals, departures = (pcap.read(folder / n) for n in (files.ARRIVALS, files.DEPARTURES))
        sent = pcap.read(folder / files.SENT) if (folder / files.SENT).exists() else arrivals
        account = Account(**json.loads((folder / ACCOUNT).read_text(encoding="utf-8")))
        account.check(sent=len(sent), arrived=len(arrivals), departed=len(departures))
        return cls(sent, arrivals, departures, account)

    def with_ports(self) -> _Records:
        """Return the same as if every packet had a port, as what has none does not count."""
        sent, arrivals, departures = (
            packets.copy() for packets in (self.sent, self.arrivals, self.departures)
        )
        for packets in (sent, arrivals, departures):
            packets["port"] = np.maximum(packets["port"], 1)
        if self.sent is self.arrivals:
            sent = arrivals
        return replace(self, sent=sent, arrivals=arrivals, departures=departures)

    def queue(self, bottleneck: Bottleneck, zero_ns: int) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return what happened at the queue, and what is to be said of how late it was."""
        came_out = packet_record.seen_later(self.arrivals, self.departures)
        queue = queue_record(self.arrivals, came_out, self.departures)
        queue["time_ns"] -= zero_ns
        if self.sent is not self.arrivals:
            lost = self.sent[~packet_record.seen_later(self.sent, self.arrivals)]
            queue = with_losses(queue, lost, zero_ns)
        begun = self.departures["time_ns"] >= zero_ns
        passed, departures = self.arrivals[came_out][begun], self.departures[begun]
        late = _lateness(passed, departures, bottleneck)
        late["switch_waited_share"] = round(self.account.waited_share, 6)
        late["is_late"] |= self.account.waited_share > LARGEST_RATE_ERROR
        return queue, late


def read_run(scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
    """Read what a run has left.

    Raises
    ------
    EngineError
        If the records contradict each other.
    """
    (bottleneck,) = scenario.bottlenecks
    zero_ns = int((folder / files.ZERO).read_text(encoding="utf-8"))
    records = _Records.read(folder)
    if (packet_record.flow_of(records.sent) >= scenario.flow_count).any():
        raise EngineError("packets of no flow of the scenario passed the bottleneck")
    queue, late = records.queue(bottleneck, zero_ns)
    return to_run(scenario, folder, queue, {**provenance, **late})


def read_command(folder: Path, bottleneck: Bottleneck, **what: Any) -> Recording:
    """Read what a command behind the bottleneck has left.

    Parameters
    ----------
    folder : Path
        Of the command's session.
    bottleneck : Bottleneck
        What it was behind.
    **what
        ``status``, ``provenance`` and ``was_interrupted`` of the Recording.

    Raises
    ------
    EngineError
        If the records contradict each other, or the link was not what it was to be.
    """
    zero_ns = int((folder / files.ZERO).read_text(encoding="utf-8"))
    records = _Records.read(folder).with_ports()
    longest = int(records.sent["length"].max(initial=0))
    if longest > MTU_BYTES:
        raise EngineError(f"a packet of {longest} bytes came to the switch, more than {MTU_BYTES}")
    queue, late = records.queue(bottleneck, zero_ns)
    if late["is_late"]:
        said = ", ".join(f"{name} {value}" for name, value in late.items() if name != "is_late")
        raise EngineError(f"the switch was late, as this machine is too busy ({said}): try again")
    return Recording(
        **{**what, "provenance": {**what["provenance"], **late}},
        duration_s=round(records.account.time_s, 6),
        queue=normalised("queue", queue.assign(flow=0), QUEUE_COLUMNS),
    )


def _lateness(
    arrivals: PacketRecords, departures: PacketRecords, bottleneck: Bottleneck
) -> dict[str, Any]:
    gaps = gaps_ns(departures, bottleneck)
    late = lateness(_late_ns(arrivals, departures, gaps))
    error = rate_error(arrivals, departures, gaps)
    if error is not None:
        late["rate_error"] = round(error, 6)
        late["is_late"] |= abs(error) > LARGEST_RATE_ERROR
    return late


def queue_record(
    arrivals: PacketRecords, came_out: npt.NDArray[np.bool_], departures: PacketRecords
) -> pd.DataFrame:
    """Return what happened to every packet at a drop-tail queue.

    Parameters
    ----------
    arrivals, departures : array of ``PACKET_RECORD``
        What came to the queue, and what left it.
    came_out : array of bool
        Which arrivals left it; the others were dropped.

    Returns
    -------
    DataFrame
        Like ``queue`` of a Run, times as they are in the arrays.

    Raises
    ------
    EngineError
        If more have left than had come.
    """
    dropped = np.flatnonzero(~came_out)
    packets = np.concatenate([arrivals, arrivals[dropped], departures])
    # In one instant packets arrive, each is dropped right after its arrival, and others leave.
    n = len(arrivals)
    turn = np.concatenate([np.arange(n), dropped, np.full(len(departures), n)])
    kind = np.repeat([0, 1, 2], [n, len(dropped), len(departures)])
    order = np.lexsort((kind, turn, packets["time_ns"]))
    packets, kind = packets[order], kind[order]
    sizes = packets["length"].astype(np.int64)
    comes_in = np.where(kind == 0, 1, -1)
    frame = pd.DataFrame(
        {
            "time_ns": packets["time_ns"],
            "bottleneck": 0,
            "event": np.array(["enqueue", "drop", "dequeue"])[kind],
            "flow": packet_record.flow_of(packets),
            "bytes": sizes,
            "backlog_packets": np.cumsum(comes_in),
            "backlog_bytes": np.cumsum(comes_in * sizes),
        }
    )
    if (frame["backlog_packets"] < 0).any():
        raise EngineError("packets left BESS's queue before they came: its records are damaged")
    return frame[list(QUEUE_COLUMNS)].astype(dict(QUEUE_COLUMNS))


def gaps_ns(packets: PacketRecords, bottleneck: Bottleneck) -> npt.NDArray[np.float64]:
    """Return how long the link is to be busy with each packet, in nanoseconds."""
    assert bottleneck.bandwidth_mbps is not None
    gaps: npt.NDArray[np.float64] = (packets["length"] + FRAME_BYTES) * 8e9
    return gaps / limit_bps(bottleneck.bandwidth_mbps)


def rate_error(
    arrivals: PacketRecords, departures: PacketRecords, gaps: npt.NDArray[np.float64]
) -> float | None:
    """Return by how much the link was too fast, as a share; None if it was hardly ever busy.

    Parameters
    ----------
    arrivals, departures : array of ``PACKET_RECORD``
        The same packets, as they came to the queue and as they left it.
    gaps : array of float
        How long the link is to be busy with each (:func:`gaps_ns`).
    """
    times_ns = departures["time_ns"]
    waited = arrivals["time_ns"][1:] <= times_ns[:-1]
    if waited.sum() < _ENOUGH_PACKETS:
        return None
    return float(gaps[:-1][waited].sum() / np.diff(times_ns)[waited].sum()) - 1


def _late_ns(
    arrivals: PacketRecords, departures: PacketRecords, gaps: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return how much later packets left than they could have, given when the one before did."""
    free_ns = np.concatenate([[-np.inf], departures["time_ns"][:-1] + gaps[:-1]])
    late_ns: npt.NDArray[np.float64] = departures["time_ns"] - np.maximum(
        arrivals["time_ns"], free_ns
    )
    return late_ns
