# SPDX-License-Identifier: Apache-2.0
"""Interface to the compiled core: network, traffic and scheme in the core's units."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench import _native
from ccbench.base.errors import EngineError, InputError
from ccbench.datacenter.scheme import ASSIGNMENTS, CONTROLS
from ccbench.datacenter.simulation.units import PS
from ccbench.datacenter.workload import HEADER_BYTES, KIND_DTYPE, PAYLOAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt
    import pandas as pd

    from ccbench.datacenter.scheme import Scheme
    from ccbench.datacenter.topology import Topology

__all__ = ["CoreInput", "core_input", "port_table", "run"]

#: Bytes of an ACK on the wire, and of the telemetry that HPCC adds to ACKs and data.
_ACK_BYTES = 64
_TELEMETRY_BYTES = 80
#: Bytes of a credit of ExpressPass, as of a minimal frame with preamble and gap.
_CREDIT_BYTES = 84


@dataclass(frozen=True, kw_only=True, eq=False)
class CoreInput:
    """The complete input of the core for a simulation.

    Parameters
    ----------
    settings : mapping
        Numeric settings by name.
    servers, switches : int
        Number of nodes of each kind; servers come first.
    ports : ndarray, shape (ports, 4)
        The result of :func:`port_table`.
    flows : DataFrame
        The result of :meth:`ccbench.datacenter.workload.Workload.flows`.
    """

    settings: Mapping[str, float]
    servers: int
    switches: int
    ports: npt.NDArray[np.int64]
    flows: pd.DataFrame

    def digest(self) -> str:
        """Return the SHA-256 digest of the input, in hexadecimal."""
        numbers = {"servers": self.servers, "switches": self.switches, **self.settings}
        digest = hashlib.sha256(json.dumps(numbers, sort_keys=True).encode())
        columns = {name: column.to_numpy() for name, column in self.flows.items() if name != "kind"}
        kinds = self.flows["kind"].astype(KIND_DTYPE).cat.codes.to_numpy()
        for name, values in sorted({**columns, "kind": kinds, "ports": self.ports}.items()):
            digest.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()


def core_input(
    topology: Topology, flows: pd.DataFrame, scheme: Scheme, experiment: Mapping[str, float]
) -> CoreInput:
    """Return the core's input for a simulation.

    Parameters
    ----------
    topology, flows, scheme
        As in :func:`~ccbench.datacenter.simulation.simulate`; flows in order of their start.
    experiment : mapping
        Settings that depend neither on the network nor on the scheme: ``duration_ps``,
        ``drain_ps``, ``sample_interval_ps``, ``seed``, ``queue_delays``.
    """
    return CoreInput(
        settings={**experiment, **_settings(scheme, topology)},
        servers=topology.servers,
        switches=topology.switches,
        ports=port_table(topology),
        flows=flows,
    )


def run(given: CoreInput, progress: Callable[[float], None] | None) -> dict[str, Any]:
    """Run a simulation in the core and return its output: arrays by name, and totals.

    Parameters
    ----------
    given : CoreInput
        The input.
    progress : callable, optional
        As in :func:`~ccbench.datacenter.simulation.simulate`.

    Returns
    -------
    dict
        ``totals`` by name, and arrays. Per flow: ``completion_ps`` (-1: incomplete) and
        ``ideal_ps``; ``acknowledged_ps`` and ``ideal_acknowledged_ps``, the same until the sender
        has the last ACK; ``delivered_bytes``. Per sample: ``sample_ps``, ``delivered``,
        ``delivered_long``, ``live_packets``, ``paused_so_far_ps``. Per sample and switch:
        ``buffers``. Per switch: ``peak_buffers``. Per row of :func:`port_table`: the counters of a
        port. Per sample (its index ``active_sample``) and number of ``active_flows`` that a switch
        port had: the number of such ``active_ports``. If requested, a histogram of ``delays`` per
        port.

    Raises
    ------
    InputError
        If the core cannot simulate this network.
    EngineError
        If packets were lost without having been dropped.
    """
    ports, flows = given.ports, given.flows
    report = None if progress is None else lambda now_ps: progress(now_ps / PS)
    try:
        return _native.datacenter_simulate(
            dict(given.settings),
            given.servers,
            given.servers + given.switches,
            np.ascontiguousarray(ports[:, 0]),
            np.ascontiguousarray(ports[:, 1]),
            np.ascontiguousarray(ports[:, 2]),
            np.ascontiguousarray(ports[:, 3]),
            np.ascontiguousarray(flows["start_ps"].to_numpy(np.int64)),
            np.ascontiguousarray(flows["bytes"].to_numpy(np.int64)),
            np.ascontiguousarray(flows["source"].to_numpy(np.int32)),
            np.ascontiguousarray(flows["destination"].to_numpy(np.int32)),
            np.ascontiguousarray((flows["kind"] == "incast").to_numpy(bool)),
            np.ascontiguousarray(flows["priority"].to_numpy(np.uint8)),
            report,
        )
    except ValueError as error:
        raise InputError(f"this network cannot be simulated: {error}") from error
    except RuntimeError as error:
        raise EngineError(f"{error} (a bug in ccbench)") from error


def port_table(topology: Topology) -> npt.NDArray[np.int64]:
    """Return source node, destination node, Mbit/s and delay in picoseconds of each port.

    Returns
    -------
    ndarray, shape (ports, 4)
        Two rows per link, sorted by node.

    Examples
    --------
    >>> from ccbench.datacenter.topology import star
    >>> port_table(star(servers=2)).tolist()[:2]
    [[0, 2, 100000, 1000000], [1, 2, 100000, 1000000]]
    """
    rows = []
    for link in topology.links:
        setting = (round(link.gbps * 1000), round(link.delay_us * 1e6))
        rows += [(link.a, link.b, *setting), (link.b, link.a, *setting)]
    return np.array(sorted(rows), dtype=np.int64)


def _settings(scheme: Scheme, topology: Topology) -> dict[str, Any]:
    """Return the core's settings for a scheme."""
    fastest_mbps = max(link.gbps for link in topology.links) * 1000
    low_kb, high_kb = scheme.ecn_kb or (0.0, 0.0)
    data_queues = scheme.queues - 1 - (scheme.queues - 1) % scheme.classes
    if scheme.assignment == "single":
        data_queues = scheme.classes
    return {
        "payload_bytes": PAYLOAD_BYTES,
        "header_bytes": HEADER_BYTES,
        "telemetry_bytes": _TELEMETRY_BYTES if scheme.control == "hpcc" else 0,
        "ack_bytes": _ACK_BYTES,
        "packets_per_ack": scheme.packets_per_ack,
        "queued_acks": scheme.queued_acks,
        "retransmission_timeout_ps": 500_000_000,
        "buffer_bytes": 0 if scheme.endless_buffer else round(topology.buffer_mb * 1e6),
        "drop_notices": scheme.drop_notices,
        "pfc": scheme.pfc,
        "pfc_share": scheme.pfc_share,
        "assignment": ASSIGNMENTS.index(scheme.assignment),
        "queues": data_queues,
        "classes": scheme.classes,
        "shortest_first": scheme.shortest_first,
        "spray": scheme.spray,
        "backpressure": scheme.backpressure,
        "nic_backpressure": scheme.nic_backpressure,
        "nic_queues": scheme.nic_queues,
        "table_entries": scheme.table_per_queue * scheme.queues,
        "skip_paused": scheme.skip_paused,
        "pause_threshold_hops": scheme.pause_threshold_hops,
        "pause_packets": scheme.pause_packets,
        "sticky_hops": scheme.sticky_hops,
        "sampling": scheme.sampling,
        "incast_label": scheme.incast_label,
        "ecn": scheme.ecn_kb is not None,
        "ecn_min_bytes": low_kb * 1000,
        "ecn_max_bytes": high_kb * 1000,
        "ecn_max_probability": scheme.ecn_probability,
        "control": CONTROLS.index(scheme.control),
        "pair_rtt": scheme.pair_rtt,
        "window_bdp": scheme.window_bdp,
        "slow_start_packets": scheme.slow_start_packets,
        "dctcp_gain": scheme.dctcp_gain,
        "dcqcn_gain": scheme.dcqcn_gain,
        "dcqcn_notification_interval_ps": 50_000_000,
        "dcqcn_alpha_interval_ps": 55_000_000,
        "dcqcn_increase_interval_ps": 55_000_000,
        "dcqcn_counter_bytes": 1e7,
        "dcqcn_recovery_steps": 5,
        "dcqcn_additive_mbps": fastest_mbps / 1000,
        "dcqcn_hyper_mbps": fastest_mbps / 200,
        "hpcc_target": scheme.hpcc_target,
        "hpcc_stages": scheme.hpcc_stages,
        "hpcc_additive_bytes": 80.0,
        "target_rtts": scheme.target_rtts,
        "credit_bytes": _CREDIT_BYTES,
        "credit_queue": scheme.credit_queue,
        "credit_alpha": scheme.credit_alpha,
        "credit_weight": scheme.credit_weight,
    }
