# SPDX-License-Identifier: Apache-2.0
"""Conversion of the records of a real-time run to a :class:`~ccbench.run.run.Run`."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime import files, packet_record
from ccbench.experiment import dynamics
from ccbench.run import packets
from ccbench.run.run import Run
from ccbench.run.tables import MEASURED_COLUMNS, QUEUE_COLUMNS, category, dtypes, measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.emulate.realtime.packet_record import PacketRecords
    from ccbench.experiment.scenario import Scenario

__all__ = ["lateness", "to_run", "with_losses"]

#: Limit of the 99th percentile of packets' lateness at the link's exit, in milliseconds. Above it,
#: the machine was too busy for the run.
LATE_MS = 5.0


def to_run(
    scenario: Scenario, folder: Path, queue: pd.DataFrame, provenance: Mapping[str, Any]
) -> Run:
    """Return the run of the records of hosts and queue.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    folder : Path
        Folder of the hosts' records, written by :func:`ccbench.emulate.realtime.world.talk`.
    queue : DataFrame
        Record of the bottleneck's queue, as in ``queue`` of a Run, including the time before and
        after the scenario.
    provenance : mapping
        The provenance of the run.

    Raises
    ------
    EngineError
        If packets other than those of the scenario's flows used the path.
    """
    end_ns = round(scenario.duration_s * 1e9)
    queue = queue[queue["time_ns"].between(0, end_ns)].reset_index(drop=True)
    if (queue["flow"] >= scenario.flow_count).any():
        raise EngineError("packets of no flow of the scenario passed the bottleneck")
    if (queue.groupby("bottleneck")["backlog_packets"].first() > 1).any():
        raise EngineError("packets waited at the bottleneck before the scenario began")
    samples, completions = (np.load(folder / n) for n in (files.SAMPLES, files.COMPLETIONS))
    logged = Run(
        scenario=replace(scenario, queue_log=True),
        queue=queue,
        flows=_flows(samples, queue, _stop_ns(scenario)),
        completions=pd.DataFrame({name: completions[name] for name in completions.dtype.names}),
        provenance=dict(provenance),
    )
    return replace(
        logged,
        scenario=scenario,
        queue=queue if scenario.queue_log else queue.iloc[:0],
        links=_links(logged),
    )


def lateness(*late_ns: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return the entries of a run's provenance about the packets' lateness.

    Parameters
    ----------
    *late_ns : array of float
        Lateness of each packet at the exit of each link in nanoseconds. The entries are those of
        the link with the highest 99th percentile.

    Examples
    --------
    >>> lateness(np.full(1000, 1e6), np.full(10, 9e6))["is_late"]
    True
    """
    links = [_link_lateness(link) for link in late_ns if len(link)]
    return max(links, key=itemgetter("late_ms_p99"), default={"is_late": False})


def _link_lateness(late_ns: npt.NDArray[np.float64]) -> dict[str, Any]:
    median, p99 = np.percentile(late_ns, [50, 99]) / 1e6
    return {
        "late_ms_median": round(float(median), 3),
        "late_ms_p99": round(float(p99), 3),
        "late_ms_max": round(float(late_ns.max()) / 1e6, 3),
        "is_late": bool(p99 > LATE_MS),
    }


def with_losses(queue: pd.DataFrame, lost: PacketRecords, zero_ns: int) -> pd.DataFrame:
    """Return a queue record with the packets that were lost before the queue."""
    rows = pd.DataFrame(
        {
            "time_ns": lost["time_ns"] - zero_ns,
            "bottleneck": 0,
            "event": "loss",
            "flow": packet_record.flow_of(lost),
            "bytes": lost["length"],
        }
    )
    merged = pd.concat([queue, rows]).sort_values("time_ns", kind="stable", ignore_index=True)
    for column in ("backlog_packets", "backlog_bytes"):
        merged[column] = merged[column].ffill().fillna(0)
    return merged.astype(dtypes(QUEUE_COLUMNS))


def _stop_ns(scenario: Scenario) -> pd.Series[float]:
    """Return the stop time of each flow; -1 for TCP flows, whose sockets show whether they send."""
    table = scenario.flow_table()
    return (table["stop_s"] * 1e9).where(table["cca"] == "", -1)


def _links(run: Run) -> pd.DataFrame:
    """Return what has left each queue, and what its link has carried.

    The record has starts of transmissions. Packets beyond the link's capacity have not been sent
    by the end.
    """
    rows = []
    for number in range(len(run.scenario.path.links)):
        events = run.queue_events(number)
        left_bytes = events.loc[events["event"] == "dequeue", "bytes"].to_numpy(np.int64)
        sent_bytes = np.cumsum(left_bytes)
        capacity = dynamics.capacity_bytes(run.scenario, number, run.scenario.duration_s)
        carried = sent_bytes[sent_bytes <= capacity]
        rows.append(
            {
                "bottleneck": number,
                "carried_packets": carried.size,
                "carried_bytes": carried.max(initial=0),
                "left_packets": left_bytes.size,
                "waited_ns": packets.waits_ns(run, number).sum(),
                "l4s_left_packets": 0,
                "l4s_waited_ns": 0,
            }
        )
    return pd.DataFrame(rows)


def _flows(
    samples: npt.NDArray[Any], queue: pd.DataFrame, stop_ns: pd.Series[float]
) -> pd.DataFrame:
    """Return the samples with throughput and drops from the queue's record of each flow."""
    table = pd.DataFrame({name: samples[name] for name in samples.dtype.names or ()})
    for name, unit in MEASURED_COLUMNS.items():
        table[name] = measured(samples[name], unit)
    table["state"] = pd.Categorical.from_codes(table["state"], dtype=category("state"))
    events = queue[queue["bottleneck"] == 0]
    events = events.assign(
        throughput_bytes=events["bytes"].where(events["event"] == "dequeue", 0),
        drops=events["event"] == "drop",
    )
    events_by_flow = dict(list(events.groupby("flow")))
    table["throughput_bytes"] = table["drops"] = 0
    parts = []
    for flow, flow_samples in table.groupby("flow"):
        rows, flow_events = flow_samples.copy(), events_by_flow.get(flow, events.iloc[:0])
        before = np.searchsorted(flow_events["time_ns"], rows["time_ns"], side="right")
        for name in ("throughput_bytes", "drops"):
            totals = np.cumsum(flow_events[name].to_numpy(), dtype="i8")
            rows[name] = np.concatenate([[0], totals])[before]
        # A closed socket is sampled as long as packets of its flow are queued.
        is_open = (rows["cwnd_packets"] > 0) | (rows["time_ns"] <= stop_ns.loc[flow])
        in_use = is_open | (before < len(flow_events))
        parts.append(rows[in_use | in_use.shift(1, fill_value=True)])
    all_rows: pd.DataFrame = pd.concat([table.iloc[:0], *parts])
    return all_rows.sort_values(["time_ns", "flow"], ignore_index=True)
