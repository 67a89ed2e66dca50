# SPDX-License-Identifier: Apache-2.0
"""Conversion of the records in a run's folder to a :class:`~ccbench.run.run.Run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.errors import EngineError
from ccbench.emulate.mahimahi.files import LINK_LOG, WAY_BACK_LOG
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.realtime import files, packet_record
from ccbench.emulate.realtime.records import lateness, to_run, with_losses
from ccbench.run.tables import NO_FLOW

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.emulate.realtime.packet_record import PacketRecords
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["read_run"]

_NS_PER_MS = 1_000_000


def read_run(scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
    """Read a run from its records.

    Raises
    ------
    EngineError
        If the records are inconsistent.
    """
    log = LinkLog.read(folder / LINK_LOG)
    zero_ns = int((folder / files.ZERO).read_text(encoding="utf-8"))
    arrivals, departures = (
        packet_record.read(folder / name) for name in (files.ARRIVALS, files.DEPARTURES)
    )
    arrival_lines, departure_lines = (log.lines[log.lines["kind"] == kind] for kind in "+-")
    _match(arrival_lines, arrivals, "arrived at")
    _match(departure_lines, departures, "left")
    unheard = len(arrival_lines) - len(arrivals)  # before the capture began
    came_out = None
    if scenario.path.bottlenecks[0].qdisc not in {"droptail", "bfifo"}:
        logged = (
            arrival_lines["time_ms"].tail(len(arrivals)),
            (departure_lines["time_ms"] - departure_lines["delay_ms"]).tail(len(departures)),
        )
        seen = packet_record.seen_later(arrivals, departures, logged)
        came_out = [True] * unheard + seen.tolist()
    flows = [NO_FLOW] * unheard + packet_record.flow_of(arrivals).tolist()
    queue = replay(log, flows, came_out)
    queue["time_ns"] += log.started_ms * _NS_PER_MS - zero_ns
    if (folder / files.SENT).exists():
        sent = packet_record.read(folder / files.SENT)
        queue = with_losses(queue, sent[~packet_record.seen_later(sent, arrivals)], zero_ns)
    late = [_late_ns(departure_lines, departures, log, zero_ns)]
    if scenario.path.reverse_bottlenecks:
        way_back, late_on_way_back = _way_back(folder, zero_ns)
        late.append(late_on_way_back)
        queue = pd.concat([queue, way_back]).sort_values(
            "time_ns", kind="stable", ignore_index=True
        )
    return to_run(scenario, folder, queue, {**provenance, **lateness(*late)})


def _way_back(folder: Path, zero_ns: int) -> tuple[pd.DataFrame, npt.NDArray[np.float64]]:
    """Return the record of the acknowledgements' queue, and their lateness in nanoseconds."""
    log = LinkLog.read(folder / WAY_BACK_LOG)
    arrivals, departures = (
        packet_record.read(folder / name)
        for name in (files.WAY_BACK_ARRIVALS, files.WAY_BACK_DEPARTURES)
    )
    arrival_lines, departure_lines = (log.lines[log.lines["kind"] == kind] for kind in "+-")
    _match(arrival_lines, arrivals, "arrived on the reverse path at")
    _match(departure_lines, departures, "left on the reverse path")
    unheard = len(arrival_lines) - len(arrivals)
    queue = replay(log, [NO_FLOW] * unheard + packet_record.flow_of(arrivals).tolist())
    queue["time_ns"] += log.started_ms * _NS_PER_MS - zero_ns
    late_ns = _late_ns(departure_lines, departures, log, zero_ns)
    return queue.assign(bottleneck=np.uint8(1)), late_ns


def _match(lines: pd.DataFrame, packets: PacketRecords, event: str) -> None:
    """Check that the captured packets match the last lines of the log."""
    lengths = lines["size"].tail(len(packets)) - TUN_HEADER_BYTES
    if not np.array_equal(lengths, packets["length"]):
        message = f"the packets that {event} mm-link differ from those in its log"
        raise EngineError(f"{message}: the machine is too busy, or other programs sent packets")


def _late_ns(
    lines: pd.DataFrame, packets: PacketRecords, log: LinkLog, zero_ns: int
) -> npt.NDArray[np.float64]:
    """Return the time from the logged to the actual departure of each packet in nanoseconds."""
    due_ns = (lines["time_ms"].tail(len(packets)).to_numpy() + log.started_ms) * _NS_PER_MS
    late_ns: npt.NDArray[np.float64] = packets["time_ns"] - due_ns
    return late_ns[packets["time_ns"] >= zero_ns]
