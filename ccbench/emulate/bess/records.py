# SPDX-License-Identifier: Apache-2.0
"""Conversion of the records of a run on BESS to a :class:`~ccbench.run.run.Run`."""

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
from ccbench.emulate.realtime.records import lateness, to_run, with_losses
from ccbench.emulate.recording import CommandRecording
from ccbench.experiment.flow import MTU_BYTES
from ccbench.run.tables import QUEUE_COLUMNS, dtypes, normalised

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

#: Maximum relative error of the link's rate; also the maximum share of a run in which the switch
#: waits for its core, when all packets are late.
LARGEST_RATE_ERROR = 0.005
#: Minimum number of back-to-back packets for an estimate of the rate.
_MIN_PACKETS = 100


@dataclass(frozen=True, eq=False)
class _Records:
    """Packets that left the sender, arrived at the queue and left it, and packet counters."""

    sent: PacketRecords
    arrivals: PacketRecords
    departures: PacketRecords
    account: Account

    @classmethod
    def read(cls, folder: Path) -> _Records:
        """Read the records in a folder; an EngineError if a packet is missing."""
        arrivals, departures = (pcap.read(folder / n) for n in (files.ARRIVALS, files.DEPARTURES))
        sent = pcap.read(folder / files.SENT) if (folder / files.SENT).exists() else arrivals
        account = Account(**json.loads((folder / ACCOUNT).read_text(encoding="utf-8")))
        account.check(sent=len(sent), arrived=len(arrivals), departed=len(departures))
        return cls(sent, arrivals, departures, account)

    def with_ports(self) -> _Records:
        """Return the records with a port for every packet, as packets without one are ignored."""
        sent, arrivals, departures = (
            packets.copy() for packets in (self.sent, self.arrivals, self.departures)
        )
        for packets in (sent, arrivals, departures):
            packets["port"] = np.maximum(packets["port"], 1)
        if self.sent is self.arrivals:
            sent = arrivals
        return replace(self, sent=sent, arrivals=arrivals, departures=departures)

    def queue(self, bottleneck: Bottleneck, zero_ns: int) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the record of the queue, and the lateness for the provenance."""
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
    """Read a run from its records.

    Raises
    ------
    EngineError
        If the records are inconsistent.
    """
    (bottleneck,) = scenario.path.bottlenecks
    zero_ns = int((folder / files.ZERO).read_text(encoding="utf-8"))
    records = _Records.read(folder)
    if (packet_record.flow_of(records.sent) >= scenario.flow_count).any():
        raise EngineError("packets of no flow of the scenario passed the bottleneck")
    queue, late = records.queue(bottleneck, zero_ns)
    return to_run(scenario, folder, queue, {**provenance, **late})


def read_command(folder: Path, bottleneck: Bottleneck, **fields: Any) -> CommandRecording:
    """Read the recording of a command behind the bottleneck.

    Parameters
    ----------
    folder : Path
        The session's folder.
    bottleneck : Bottleneck
        The bottleneck of the link.
    **fields
        ``status``, ``provenance`` and ``was_interrupted`` of the CommandRecording.

    Raises
    ------
    EngineError
        If the records are inconsistent, or the link was late or had another rate.
    """
    zero_ns = int((folder / files.ZERO).read_text(encoding="utf-8"))
    records = _Records.read(folder).with_ports()
    longest = int(records.sent["length"].max(initial=0))
    if longest > MTU_BYTES:
        message = f"a packet of {longest} bytes arrived at the switch, more than {MTU_BYTES}"
        raise EngineError(message)
    queue, late = records.queue(bottleneck, zero_ns)
    if late["is_late"]:
        figures = ", ".join(f"{name} {value}" for name, value in late.items() if name != "is_late")
        message = f"the switch was late, as this machine is too busy ({figures}): try again"
        raise EngineError(message)
    return CommandRecording(
        **{**fields, "provenance": {**fields["provenance"], **late}},
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
    """Return the record of all packets at a drop-tail queue.

    Parameters
    ----------
    arrivals, departures : array of ``PACKET_RECORD``
        Packets that arrived at the queue and that left it.
    came_out : array of bool
        Whether each arrival left the queue; the others were dropped.

    Returns
    -------
    DataFrame
        Like ``queue`` of a Run, with the times of the arrays.

    Raises
    ------
    EngineError
        If a packet left the queue before it arrived.
    """
    dropped = np.flatnonzero(~came_out)
    packets = np.concatenate([arrivals, arrivals[dropped], departures])
    # Order at equal times: arrivals, each followed by its drop, then departures.
    n = len(arrivals)
    turn = np.concatenate([np.arange(n), dropped, np.full(len(departures), n)])
    kind = np.repeat([0, 1, 2], [n, len(dropped), len(departures)])
    order = np.lexsort((kind, turn, packets["time_ns"]))
    packets, kind = packets[order], kind[order]
    sizes = packets["length"].astype(np.int64)
    step = np.where(kind == 0, 1, -1)
    frame = pd.DataFrame(
        {
            "time_ns": packets["time_ns"],
            "bottleneck": 0,
            "event": np.array(["enqueue", "drop", "dequeue"])[kind],
            "flow": packet_record.flow_of(packets),
            "bytes": sizes,
            "backlog_packets": np.cumsum(step),
            "backlog_bytes": np.cumsum(step * sizes),
        }
    )
    if (frame["backlog_packets"] < 0).any():
        raise EngineError("packets left BESS's queue before their arrival: its records are damaged")
    return frame[list(QUEUE_COLUMNS)].astype(dtypes(QUEUE_COLUMNS))


def gaps_ns(packets: PacketRecords, bottleneck: Bottleneck) -> npt.NDArray[np.float64]:
    """Return the nominal transmission time of each packet in nanoseconds."""
    assert bottleneck.bandwidth_mbps is not None
    gaps: npt.NDArray[np.float64] = (packets["length"] + FRAME_BYTES) * 8e9
    return gaps / limit_bps(bottleneck.bandwidth_mbps)


def rate_error(
    arrivals: PacketRecords, departures: PacketRecords, gaps: npt.NDArray[np.float64]
) -> float | None:
    """Return the relative error of the link's rate, positive if too fast; None if rarely busy.

    Parameters
    ----------
    arrivals, departures : array of ``PACKET_RECORD``
        The same packets at their arrival at the queue and at their departure.
    gaps : array of float
        Nominal transmission time of each (:func:`gaps_ns`).
    """
    times_ns = departures["time_ns"]
    waited = arrivals["time_ns"][1:] <= times_ns[:-1]
    if waited.sum() < _MIN_PACKETS:
        return None
    return float(gaps[:-1][waited].sum() / np.diff(times_ns)[waited].sum()) - 1


def _late_ns(
    arrivals: PacketRecords, departures: PacketRecords, gaps: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the delay of each departure after the earliest possible time, in nanoseconds.

    The earliest time is the arrival, or the end of the previous packet's transmission.
    """
    free_ns = np.concatenate([[-np.inf], departures["time_ns"][:-1] + gaps[:-1]])
    late_ns: npt.NDArray[np.float64] = departures["time_ns"] - np.maximum(
        arrivals["time_ns"], free_ns
    )
    return late_ns
