# SPDX-License-Identifier: Apache-2.0
"""From the records of a run in real time to a :class:`~ccbench.run.run.Run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime import files, packet_record
from ccbench.run.run import Run
from ccbench.run.tables import QUEUE_COLUMNS, STATE_DTYPE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.emulate.realtime.packet_record import PacketRecords
    from ccbench.experiment.scenario import Scenario

__all__ = ["lateness", "to_run", "with_losses"]

#: A run in which one packet in a hundred left the link later than this after its time was made on
#: too busy a machine.
LATE_MS = 5.0


def to_run(
    scenario: Scenario, folder: Path, queue: pd.DataFrame, provenance: Mapping[str, Any]
) -> Run:
    """Put together what a run has left.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    folder : Path
        Where :func:`ccbench.emulate.realtime.world.talk` has left what the hosts have seen.
    queue : DataFrame
        What happened at the bottleneck, as in ``queue`` of a Run, before and after the scenario
        too.
    provenance : mapping
        What made the run.

    Raises
    ------
    EngineError
        If others than the scenario's flows used the path.
    """
    end_ns = round(scenario.duration_s * 1e9)
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
        provenance=dict(provenance),
    )


def lateness(late_ns: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return what a run's provenance says about how late packets left the link.

    Parameters
    ----------
    late_ns : array of float
        How late each left, in nanoseconds.
    """
    if not len(late_ns):
        return {"is_late": False}
    median, most = np.percentile(late_ns, [50, 99]) / 1e6
    return {
        "late_ms_median": round(float(median), 3),
        "late_ms_p99": round(float(most), 3),
        "late_ms_max": round(float(late_ns.max()) / 1e6, 3),
        "is_late": bool(most > LATE_MS),
    }


def with_losses(queue: pd.DataFrame, lost: PacketRecords, zero_ns: int) -> pd.DataFrame:
    """Add the packets that were lost before the queue."""
    rows = pd.DataFrame(
        {
            "time_ns": lost["time_ns"] - zero_ns,
            "bottleneck": 0,
            "event": "loss",
            "flow": packet_record.flow_of(lost),
            "bytes": lost["length"],
        }
    )
    whole = pd.concat([queue, rows]).sort_values("time_ns", kind="stable", ignore_index=True)
    for column in ("backlog_packets", "backlog_bytes"):
        whole[column] = whole[column].ffill().fillna(0)
    return whole.astype(dict(QUEUE_COLUMNS))


def _last_sent_ns(scenario: Scenario) -> pd.Series[float]:
    """Return until when each flow sends; -1 of TCP flows, whose sockets tell."""
    table = scenario.flow_table()
    return (table["stop_s"] * 1e9).where(table["cca"] == "", -1)


def _flows(
    samples: npt.NDArray[Any], queue: pd.DataFrame, stop_ns: pd.Series[float]
) -> pd.DataFrame:
    """Add to the samples what the queue's record says about each flow; none is longer than that."""
    table = pd.DataFrame({name: samples[name] for name in samples.dtype.names or ()})
    table["state"] = pd.Categorical.from_codes(table["state"], dtype=STATE_DTYPE)
    events = queue.assign(
        throughput_bytes=queue["bytes"].where(queue["event"] == "dequeue", 0),
        drops=queue["event"] == "drop",
    )
    of_flow = dict(list(events.groupby("flow")))
    table["throughput_bytes"] = table["drops"] = 0
    whole = []
    for flow, of_one in table.groupby("flow"):
        rows, own = of_one.copy(), of_flow.get(flow, events.iloc[:0])
        before = np.searchsorted(own["time_ns"], rows["time_ns"], side="right")
        for name in ("throughput_bytes", "drops"):
            totals = np.cumsum(own[name].to_numpy(), dtype="i8")
            rows[name] = np.concatenate([[0], totals])[before]
        # A closed socket is sampled as long as packets of its flow wait.
        is_open = (rows["cwnd_packets"] > 0) | (rows["time_ns"] <= stop_ns.loc[flow])
        in_use = is_open | (before < len(own))
        whole.append(rows[in_use | in_use.shift(1, fill_value=True)])
    all_rows: pd.DataFrame = pd.concat([table.iloc[:0], *whole])
    return all_rows.sort_values(["time_ns", "flow"], ignore_index=True)
