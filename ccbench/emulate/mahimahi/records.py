# SPDX-License-Identifier: Apache-2.0
"""From what a run has left in its folder to a :class:`~ccbench.run.Run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench._frames import QUEUE_COLUMNS
from ccbench.emulate.mahimahi import files
from ccbench.emulate.mahimahi.link_log import LinkLog
from ccbench.emulate.mahimahi.rate import TUN_HEADER_BYTES
from ccbench.emulate.mahimahi.replay import replay
from ccbench.emulate.mahimahi.sniffer import PACKET_RECORD
from ccbench.emulate.mahimahi.traffic import FIRST_PORT
from ccbench.errors import EngineError
from ccbench.run import STATE_DTYPE, Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.scenario import Scenario

__all__ = ["read_run"]

#: Packets leave mm-link when its clock has reached a whole millisecond. A run in which one in a
#: hundred left later than this after its time was made on too busy a machine.
LATE_MS = 5.0

_NS_PER_MS = 1_000_000
#: The flow of packets of no flow.
_NO_FLOW = 2**32 - 1


def read_run(scenario: Scenario, folder: Path, provenance: Mapping[str, Any]) -> Run:
    """Read what a run has left.

    Raises
    ------
    EngineError
        If the records contradict each other.
    """
    log = LinkLog.read(folder / files.LINK_LOG)
    zero_ns = int((folder / files.ZERO).read_text(encoding="utf-8"))
    end_ns = round(scenario.duration_s * 1e9)
    arrivals, departures = (_packets(folder / n) for n in (files.ARRIVALS, files.DEPARTURES))
    arrival_lines, departure_lines = (log.lines[log.lines["kind"] == kind] for kind in "+-")
    _match(arrival_lines, arrivals, "arrived at")
    _match(departure_lines, departures, "left")
    unheard = len(arrival_lines) - len(arrivals)  # before anybody listened
    came_out = None
    if scenario.bottlenecks[0].qdisc != "droptail":
        came_out = [True] * unheard + _which(arrivals, departures).tolist()
    queue = replay(log, [_NO_FLOW] * unheard + _flow_of(arrivals).tolist(), came_out)
    queue["time_ns"] += log.started_ms * _NS_PER_MS - zero_ns
    if (folder / files.SENT).exists():
        sent = _packets(folder / files.SENT)
        queue = _with_losses(queue, sent[~_which(sent, arrivals)], zero_ns)
    queue = queue[queue["time_ns"].between(0, end_ns)].reset_index(drop=True)
    if (queue["flow"] >= scenario.flow_count).any():
        raise EngineError("packets of no flow of the scenario passed the bottleneck")
    if len(queue) and queue["backlog_packets"].iloc[0] > 1:
        raise EngineError("packets waited at the bottleneck before the scenario began")
    samples, completions = (np.load(folder / n) for n in (files.SAMPLES, files.COMPLETIONS))
    return Run(
        scenario=scenario,
        queue=queue if scenario.queue_log else queue.iloc[:0],
        flows=_flows(samples, queue, _last_sent_ns(scenario)),
        completions=pd.DataFrame({name: completions[name] for name in completions.dtype.names}),
        provenance={**provenance, **_lateness(departure_lines, departures, log, zero_ns)},
    )


def _last_sent_ns(scenario: Scenario) -> list[float]:
    """Return until when each flow sends; -1 of TCP flows, whose sockets tell."""
    table = scenario.flow_table()
    return (table["stop_s"] * 1e9).where(table["cca"] == "", -1).tolist()


def _packets(path: Path) -> npt.NDArray[Any]:
    return np.fromfile(path, PACKET_RECORD)


def _flow_of(packets: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    # What has no port of ours wraps around to numbers that no scenario has.
    return packets["port"].astype(np.uint32) - np.uint32(FIRST_PORT)


def _match(lines: pd.DataFrame, packets: npt.NDArray[Any], what: str) -> None:
    """Make sure that packets are those of the last lines of the log, each in its place."""
    lengths = lines["size"].tail(len(packets)) - TUN_HEADER_BYTES
    if not np.array_equal(lengths, packets["length"]):
        message = f"the packets that {what} mm-link are not those in its log"
        raise EngineError(f"{message}: the machine is too busy, or other programs sent some")


def _which(packets: npt.NDArray[Any], later: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which packets were seen later; none overtakes another.

    Raises
    ------
    EngineError
        If one was seen later only.
    """
    identity = ["port", "length", "identification", "key"]
    expected = iter(later[later["port"] != 0][identity].tolist())
    following = next(expected, None)
    found: npt.NDArray[np.bool_] = packets["port"] == 0  # what is no flow's does not tell
    for i, packet in enumerate(packets[identity].tolist()):
        if packet == following:
            found[i] = True
            following = next(expected, None)
    if following is not None:
        raise EngineError("packets passed Mahimahi in another order than they were sent")
    return found


def _lateness(
    lines: pd.DataFrame, packets: npt.NDArray[Any], log: LinkLog, zero_ns: int
) -> dict[str, Any]:
    """Return how much later than the log says packets left the link, as they did in fact."""
    due_ns = (lines["time_ms"].tail(len(packets)).to_numpy() + log.started_ms) * _NS_PER_MS
    late_ms = (packets["time_ns"] - due_ns)[packets["time_ns"] >= zero_ns] / _NS_PER_MS
    if not len(late_ms):
        return {"is_late": False}
    median, most = np.percentile(late_ms, [50, 99])
    return {
        "late_ms_median": round(float(median), 3),
        "late_ms_p99": round(float(most), 3),
        "late_ms_max": round(float(late_ms.max()), 3),
        "is_late": bool(most > LATE_MS),
    }


def _with_losses(queue: pd.DataFrame, lost: npt.NDArray[Any], zero_ns: int) -> pd.DataFrame:
    """Add the packets that were lost before the queue."""
    rows = pd.DataFrame(
        {
            "time_ns": lost["time_ns"] - zero_ns,
            "bottleneck": 0,
            "event": "loss",
            "flow": _flow_of(lost),
            "bytes": lost["length"],
        }
    )
    whole = pd.concat([queue, rows]).sort_values("time_ns", kind="stable", ignore_index=True)
    for column in ("backlog_packets", "backlog_bytes"):
        whole[column] = whole[column].ffill().fillna(0)
    return whole.astype(dict(QUEUE_COLUMNS))


def _flows(
    samples: npt.NDArray[Any], queue: pd.DataFrame, stop_ns: Sequence[float]
) -> pd.DataFrame:
    """Add to the samples what the queue's record says about each flow; none is longer than that."""
    table = pd.DataFrame({name: samples[name] for name in samples.dtype.names or ()})
    table["state"] = pd.Categorical.from_codes(table["state"], dtype=STATE_DTYPE)
    passed = queue["bytes"].where(queue["event"] == "dequeue", 0)
    dropped = (queue["event"] == "drop").astype("u4")
    times_ns = queue["time_ns"].to_numpy()
    table["throughput_bytes"] = table["drops"] = 0
    whole = []
    for flow in table["flow"].unique().tolist():
        rows = table[table["flow"] == flow].copy()
        own = (queue["flow"] == flow).to_numpy()
        before = np.searchsorted(times_ns[own], rows["time_ns"].to_numpy(), side="right")
        for name, steps in (("throughput_bytes", passed), ("drops", dropped)):
            totals = np.concatenate([[0], np.cumsum(steps[own].to_numpy(), dtype="i8")])
            rows[name] = totals[before]
        # A closed socket is sampled as long as packets of its flow wait.
        is_open = (rows["cwnd_packets"] > 0) | (rows["time_ns"] <= stop_ns[flow])
        in_use = is_open | (before < own.sum())
        whole.append(rows[in_use | in_use.shift(1, fill_value=True)])
    all_rows: pd.DataFrame = pd.concat([table.iloc[:0], *whole])
    return all_rows.sort_values(["time_ns", "flow"], ignore_index=True)
