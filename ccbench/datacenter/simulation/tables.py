# SPDX-License-Identifier: Apache-2.0
"""Conversion of the core's output to the tables of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.datacenter.simulation.units import PS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from ccbench.datacenter.simulation.core import CoreInput

__all__ = ["tabulated"]

#: Bin edges of the core's histogram of delays in ns: 1 ns wide up to 32, then 16 per doubling.
_DELAY_EDGES_NS = np.concatenate(
    [np.arange(32), (np.arange(16, 32)[None, :] * 2.0 ** np.arange(1, 41)[:, None]).ravel()]
)


def tabulated(answer: Mapping[str, Any], given: CoreInput) -> dict[str, Any]:
    """Return the tables and the summary of a :class:`~.simulation.Simulation` by name.

    Parameters
    ----------
    answer : mapping
        The result of :func:`ccbench.datacenter.simulation.core.run`.
    given : CoreInput
        The core's input.
    """
    flows, ports = given.flows, given.ports
    times_s = pd.Index(answer["sample_ps"] / PS, name="time_s")
    switches = range(given.servers, given.servers + given.switches)
    buffers = answer["buffers"].reshape(len(times_s), given.switches)
    totals = dict(answer["totals"])
    end_s, base_rtt_s = (totals.pop(f"{name}_ps") / PS for name in ("end", "base_rtt"))
    summary = {
        **totals,
        "end_s": end_s,
        "base_rtt_s": base_rtt_s,
        "flows": len(flows),
        "unfinished_flows": int(((flows["bytes"] > 0) & (answer["completion_ps"] < 0)).sum()),
        "delivered_bytes": int(answer["delivered_bytes"].sum()),
        "peak_buffer_bytes": int(answer["peak_buffers"].max()),
    }
    return {
        "flows": _flows(answer, flows),
        "samples": pd.DataFrame(
            {
                "delivered_bytes": answer["delivered"],
                "long_bytes": answer["delivered_long"],
                "packets": answer["live_packets"],
                "paused_s": answer["paused_so_far_ps"] / PS,
            },
            index=times_s,
        ),
        "buffers": pd.DataFrame(buffers, index=times_s, columns=[f"{node}" for node in switches]),
        "ports": _ports(answer, ports),
        "active_flows": pd.DataFrame(
            {"flows": answer["active_flows"], "ports": answer["active_ports"]},
            index=times_s[answer["active_sample"]],
        ),
        "queue_delays": _delays(answer["delays"], len(ports)),
        "summary": summary,
    }


def _flows(answer: Mapping[str, Any], flows: pd.DataFrame) -> pd.DataFrame:
    completion = answer["completion_ps"]
    ideal = answer["ideal_ps"]
    acked = answer["acknowledged_ps"]
    complete = completion >= 0
    slowdown = np.full(len(flows), np.nan)
    slowdown[complete] = completion[complete] / ideal[complete]
    return pd.DataFrame(
        {
            "start_s": flows["start_ps"].to_numpy() / PS,
            "source": flows["source"].to_numpy(),
            "destination": flows["destination"].to_numpy(),
            "bytes": flows["bytes"].to_numpy(),
            "kind": flows["kind"].to_numpy(),
            "priority": flows["priority"].to_numpy(),
            "delivered_bytes": answer["delivered_bytes"],
            "fct_s": np.where(complete, completion / PS, np.nan),
            "ideal_s": np.where(ideal > 0, ideal / PS, np.nan),
            "slowdown": slowdown,
            "acked_s": np.where(acked >= 0, acked / PS, np.nan),
            "ideal_acked_s": np.where(ideal > 0, answer["ideal_acknowledged_ps"] / PS, np.nan),
        }
    )


def _ports(answer: Mapping[str, Any], ports: npt.NDArray[np.int64]) -> pd.DataFrame:
    counts = (
        *("sent_bytes", "data_packets", "marked_packets", "dropped_packets", "peak_queue_bytes"),
        *("pauses", "queue_pauses", "assignments", "collisions"),
    )
    return pd.DataFrame(
        {
            "node": ports[:, 0],
            "to": ports[:, 1],
            "gbps": ports[:, 2] / 1000,
            **{name: answer[name].astype(np.int64) for name in counts},
            "paused_s": answer["paused_ps"] / PS,
        }
    )


def _delays(counts: npt.NDArray[np.uint32], ports: int) -> pd.DataFrame:
    table = counts.reshape(ports, -1) if len(counts) else np.zeros((0, 1), dtype=np.uint32)
    port, bucket = np.nonzero(table)
    return pd.DataFrame(
        {"port": port, "delay_ns": _DELAY_EDGES_NS[bucket], "count": table[port, bucket]}
    )
