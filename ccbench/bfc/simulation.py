# SPDX-License-Identifier: Apache-2.0
"""Simulating a data centre packet by packet.

The compiled core (``native/datacenter``) does the work: switches with shared buffers, ECMP, deficit
round robin, PFC and BFC; hosts with Go-Back-N, an ACK for each packet, and DCTCP, DCQCN, HPCC or a
window. The same seed gives the same result, byte for byte, and no simulation ends without all of
its packets having been counted.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench import _atomic, _native, _validate
from ccbench._sealed import check_files, file_digest, sealed, unsealed
from ccbench._validate import Range
from ccbench.bfc.scheme import ASSIGNMENTS, CONTROLS, Scheme
from ccbench.bfc.workload import HEADER_BYTES, PAYLOAD_BYTES, Workload, check_flows
from ccbench.errors import DamagedRun, EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from ccbench.bfc.topology import Topology

__all__ = ["Simulation", "simulate"]

#: Bytes of an ACK on the wire, and of what HPCC adds to it and to data.
ACK_BYTES = 64
TELEMETRY_BYTES = 80
#: Version of the folder that a result is saved as.
FORMAT = 1

_PS = 1e12
_TABLES = ("flows", "samples", "buffers", "ports", "active_flows", "queue_delays")
_DESCRIPTION = "simulation.json"
_MOST_SECONDS = 1000.0
#: Edges of the core's histogram of delays in ns: 1 ns up to 32, then 16 for each doubling.
_DELAY_EDGES_NS = np.concatenate(
    [np.arange(32), (np.arange(16, 32)[None, :] * 2.0 ** np.arange(1, 41)[:, None]).ravel()]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """What happened in a simulated data centre.

    Parameters
    ----------
    flows : DataFrame
        One row per flow, in order of its start. Columns: ``start_s``; ``source``; ``destination``;
        ``bytes`` (0: it never ends); ``kind`` (``background``, ``incast``, ``long``);
        ``delivered_bytes``; ``fct_s``, from the start until the receiver had every byte (NaN: it
        never had); ``ideal_s``, the same in an empty network; ``slowdown``, the one by the other.
    samples : DataFrame
        Index ``time_s``. Columns: ``delivered_bytes`` of payload up to then, ``long_bytes`` of
        these of flows that never end, ``packets`` in the network.
    buffers : DataFrame
        Bytes in each switch's buffer; index ``time_s``, a column for each switch.
    ports : DataFrame
        One row per port. Columns: ``node`` and ``to`` that it joins; ``gbps``; ``sent_bytes`` of
        all packets; ``data_packets``, ``marked_packets``, ``dropped_packets``;
        ``peak_queue_bytes``; ``pauses`` and ``paused_s`` by PFC; ``queue_pauses`` by BFC;
        ``assignments`` of a queue to a flow that had no packets there, and ``collisions`` with
        others among these.
    active_flows : DataFrame
        How often (``count``) a port of a switch had how many ``flows`` with packets queued.
    queue_delays : DataFrame
        How often (``count``) a data packet waited for ``delay_ns`` (the least of the bucket) at a
        ``port``; empty unless asked for.
    summary : mapping
        Totals: events, packets, retransmissions and the like, by name.
    provenance : mapping
        JSON-able values that say what was simulated, and by which version.
    """

    flows: pd.DataFrame = field(repr=False)
    samples: pd.DataFrame = field(repr=False)
    buffers: pd.DataFrame = field(repr=False)
    ports: pd.DataFrame = field(repr=False)
    active_flows: pd.DataFrame = field(repr=False)
    queue_delays: pd.DataFrame = field(repr=False)
    summary: Mapping[str, Any]
    provenance: Mapping[str, Any]

    def slowdowns(
        self, edges_bytes: tuple[float, ...] = (), *, kind: str = "background"
    ) -> pd.DataFrame:
        """Return the slowdown of flows by size.

        Parameters
        ----------
        edges_bytes : tuple of float
            Sizes at which one row ends and the next begins; none for a single row.
        kind : str
            Of the flows.

        Returns
        -------
        DataFrame
            One row per range; index ``up_to_bytes``. Columns: ``flows`` that are complete,
            ``unfinished``, and the ``mean``, ``p50``, ``p95`` and ``p99`` of their slowdown.
        """
        flows = self.flows[self.flows["kind"] == kind]
        edges = np.array([*edges_bytes, np.inf])
        part = np.searchsorted(edges, flows["bytes"].to_numpy(), side="left")
        rows = []
        for index in range(len(edges)):
            slowdown = flows["slowdown"].to_numpy()[part == index]
            complete = slowdown[~np.isnan(slowdown)]
            quantiles = np.quantile(complete, [0.5, 0.95, 0.99]) if len(complete) else [np.nan] * 3
            rows.append(
                {
                    "flows": len(complete),
                    "unfinished": len(slowdown) - len(complete),
                    "mean": complete.mean() if len(complete) else np.nan,
                    **dict(zip(("p50", "p95", "p99"), map(float, quantiles), strict=True)),
                }
            )
        return pd.DataFrame(rows, index=pd.Index(edges, name="up_to_bytes"))

    def paused_share(self) -> float:
        """Return the share of time that ports were stopped by PFC, over all ports."""
        return float(self.ports["paused_s"].mean() / self.summary["end_s"])

    def save(self, folder: str | Path) -> None:
        """Save it as a folder of Parquet files and a JSON file; one that is there is replaced.

        Raises
        ------
        InputError
            If the folder holds anything else.
        """
        path = Path(folder)
        _check_folder(path)
        with _atomic.new_folder(path, replace=True) as temporary:
            files = {}
            for name in _TABLES:
                file = temporary / f"{name}.parquet"
                getattr(self, name).to_parquet(file, compression="zstd")
                files[file.name] = file_digest(file.read_bytes())
            document = {
                "format": FORMAT,
                "summary": dict(self.summary),
                "provenance": dict(self.provenance),
                "files": files,
            }
            text = json.dumps(sealed(document), indent=1, ensure_ascii=False) + "\n"
            (temporary / _DESCRIPTION).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Simulation:
        """Read what :meth:`save` wrote.

        Raises
        ------
        DamagedRun
            If a file is missing, differs from what was written, or has another format.
        """
        path = Path(folder)
        try:
            document = unsealed((path / _DESCRIPTION).read_bytes())
            if document["format"] != FORMAT:
                message = f"{path} has format {document['format']}; this ccbench reads {FORMAT}"
                raise DamagedRun(f"{message}: simulate it again")
            check_files(path, document["files"])
            tables = {name: pd.read_parquet(path / f"{name}.parquet") for name in _TABLES}
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path} cannot be read as a simulation ({error!r}): simulate it again"
            raise DamagedRun(message) from error
        return cls(**tables, summary=document["summary"], provenance=document["provenance"])


def simulate(  # noqa: PLR0913 - each is one setting of the experiment
    topology: Topology,
    workload: Workload | pd.DataFrame,
    scheme: Scheme,
    duration_s: float,
    seed: int = 1,
    *,
    drain_s: float | None = None,
    sample_interval_s: float = 1e-5,
    queue_delays: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Simulate a data centre.

    Parameters
    ----------
    topology : Topology
        Its network.
    workload : Workload or DataFrame
        Its traffic, or the flows themselves as :meth:`Workload.flows` returns them.
    scheme : Scheme
        How switches and senders behave.
    duration_s : float
        Flows start in that many seconds, 10⁻⁷ to 1000.
    seed : int
        For all that is random.
    drain_s : float, optional
        How long flows may go on after that; it ends earlier once all are complete. As long as the
        duration if left out.
    sample_interval_s : float
        Time between samples, in seconds.
    queue_delays : bool
        Whether to note how long each data packet has waited at each port.
    progress : callable, optional
        Called now and then with the seconds simulated so far.

    Returns
    -------
    Simulation
        What happened.

    Raises
    ------
    InputError
        If the traffic names servers that do not exist, or a value is out of range.
    EngineError
        If packets got lost that nobody dropped: a fault of the simulator.

    Examples
    --------
    >>> from ccbench.bfc.scheme import scheme
    >>> from ccbench.bfc.topology import star
    >>> from ccbench.bfc.workload import flow_table
    >>> flows = flow_table([(0.0, 0, 1, 1000, "background")])
    >>> result = simulate(star(servers=2), flows, scheme("bfc"), duration_s=1e-5)
    >>> float(result.flows["slowdown"].iloc[0])
    1.0
    """
    seconds = Range(1e-7, _MOST_SECONDS)
    duration_s = _validate.number("duration_s", duration_s, seconds, example=0.01)
    if drain_s is None:
        drain_s = duration_s
    drain_s = _validate.number("drain_s", drain_s, Range(0, _MOST_SECONDS), example=0.01)
    sample_interval_s = _validate.number(
        "sample_interval_s", sample_interval_s, seconds, example=1e-5
    )
    seed = _validate.whole("seed", seed, Range(0, 2**63 - 1), example=1)
    if isinstance(workload, Workload):
        flows = workload.flows(topology, duration_s, seed)
    else:
        flows = workload
        check_flows(flows, topology)
        if not flows["start_ps"].is_monotonic_increasing:
            raise InputError("flows are not in order of start_ps: sort them")
    ports = _ports(topology)
    settings = {
        "duration_ps": round(duration_s * _PS),
        "drain_ps": round(drain_s * _PS),
        "sample_interval_ps": round(sample_interval_s * _PS),
        "seed": seed,
        "queue_delays": queue_delays,
        **_settings(scheme, topology),
    }
    report = None if progress is None else lambda now_ps: progress(now_ps / _PS)
    try:
        raw = _native.datacenter_simulate(
            settings,
            topology.servers,
            topology.servers + topology.switches,
            np.ascontiguousarray(ports[:, 0]),
            np.ascontiguousarray(ports[:, 1]),
            np.ascontiguousarray(ports[:, 2]),
            np.ascontiguousarray(ports[:, 3]),
            np.ascontiguousarray(flows["start_ps"].to_numpy(np.int64)),
            np.ascontiguousarray(flows["bytes"].to_numpy(np.int64)),
            np.ascontiguousarray(flows["source"].to_numpy(np.int32)),
            np.ascontiguousarray(flows["destination"].to_numpy(np.int32)),
            np.ascontiguousarray((flows["kind"] == "incast").to_numpy(bool)),
            report,
        )
    except ValueError as error:
        raise InputError(f"this network cannot be simulated: {error}") from error
    except RuntimeError as error:
        raise EngineError(f"{error} (a fault of ccbench)") from error
    provenance = {
        "ccbench_version": version("ccbench"),
        "topology": _describe_topology(topology),
        "workload": asdict(workload) if isinstance(workload, Workload) else "flows",
        "scheme": asdict(scheme),
        "duration_s": duration_s,
        "drain_s": drain_s,
        "sample_interval_s": sample_interval_s,
        "seed": seed,
    }
    return _result(raw, flows, ports, topology, provenance)


def _describe_topology(topology: Topology) -> dict[str, Any]:
    described = asdict(topology)
    described["links"] = [[link.a, link.b, link.gbps, link.delay_us] for link in topology.links]
    return described


def _ports(topology: Topology) -> npt.NDArray[np.int64]:
    """Return from, to, Mbit/s and picoseconds of each port, those of a node in a row."""
    rows = []
    for link in topology.links:
        setting = (round(link.gbps * 1000), round(link.delay_us * 1e6))
        rows += [(link.a, link.b, *setting), (link.b, link.a, *setting)]
    return np.array(sorted(rows), dtype=np.int64)


def _settings(scheme: Scheme, topology: Topology) -> dict[str, Any]:
    """Return what the compiled core is told of a scheme."""
    fastest_mbps = max(link.gbps for link in topology.links) * 1000
    low_kb, high_kb = scheme.ecn_kb or (0.0, 0.0)
    data_queues = 1 if scheme.assignment == "single" else scheme.queues - 1
    return {
        "payload_bytes": PAYLOAD_BYTES,
        "header_bytes": HEADER_BYTES,
        "telemetry_bytes": TELEMETRY_BYTES if scheme.control == "hpcc" else 0,
        "ack_bytes": ACK_BYTES,
        "retransmission_timeout_ps": 500_000_000,
        "buffer_bytes": 0 if scheme.endless_buffer else round(topology.buffer_mb * 1e6),
        "pfc": scheme.pfc,
        "pfc_share": scheme.pfc_share,
        "assignment": ASSIGNMENTS.index(scheme.assignment),
        "queues": data_queues,
        "shortest_first": scheme.shortest_first,
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
        "window_bdp": scheme.window_bdp,
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
    }


def _result(
    raw: dict[str, Any],
    flows: pd.DataFrame,
    ports: npt.NDArray[np.int64],
    topology: Topology,
    provenance: dict[str, Any],
) -> Simulation:
    times_s = pd.Index(raw["sample_ps"] / _PS, name="time_s")
    switches = range(topology.servers, topology.servers + topology.switches)
    buffers = raw["buffers"].reshape(len(times_s), topology.switches)
    totals = dict(raw["totals"])
    end_s = totals.pop("end_ps") / _PS
    summary = {
        **totals,
        "end_s": end_s,
        "base_rtt_s": totals.pop("base_rtt_ps") / _PS,
        "flows": len(flows),
        "unfinished_flows": int(((flows["bytes"] > 0) & (raw["completion_ps"] < 0)).sum()),
        "delivered_bytes": int(raw["delivered_bytes"].sum()),
        "peak_buffer_bytes": int(raw["peak_buffers"].max()),
    }
    summary.pop("base_rtt_ps", None)
    return Simulation(
        flows=_flows(raw, flows),
        samples=pd.DataFrame(
            {
                "delivered_bytes": raw["delivered"],
                "long_bytes": raw["delivered_long"],
                "packets": raw["live_packets"],
            },
            index=times_s,
        ),
        buffers=pd.DataFrame(buffers, index=times_s, columns=[f"{node}" for node in switches]),
        ports=_port_table(raw, ports),
        active_flows=pd.DataFrame(
            {"flows": np.arange(len(raw["active_flows"])), "count": raw["active_flows"]}
        ),
        queue_delays=_delays(raw["delays"], len(ports)),
        summary=summary,
        provenance=provenance,
    )


def _flows(raw: dict[str, Any], flows: pd.DataFrame) -> pd.DataFrame:
    completion = raw["completion_ps"]
    ideal = raw["ideal_ps"]
    complete = completion >= 0
    slowdown = np.full(len(flows), np.nan)
    slowdown[complete] = completion[complete] / ideal[complete]
    return pd.DataFrame(
        {
            "start_s": flows["start_ps"].to_numpy() / _PS,
            "source": flows["source"].to_numpy(),
            "destination": flows["destination"].to_numpy(),
            "bytes": flows["bytes"].to_numpy(),
            "kind": flows["kind"].to_numpy(),
            "delivered_bytes": raw["delivered_bytes"],
            "fct_s": np.where(complete, completion / _PS, np.nan),
            "ideal_s": np.where(ideal > 0, ideal / _PS, np.nan),
            "slowdown": slowdown,
        }
    )


def _port_table(raw: dict[str, Any], ports: npt.NDArray[np.int64]) -> pd.DataFrame:
    counts = (
        *("sent_bytes", "data_packets", "marked_packets", "dropped_packets", "peak_queue_bytes"),
        *("pauses", "queue_pauses", "assignments", "collisions"),
    )
    return pd.DataFrame(
        {
            "node": ports[:, 0],
            "to": ports[:, 1],
            "gbps": ports[:, 2] / 1000,
            **{name: raw[name].astype(np.int64) for name in counts},
            "paused_s": raw["paused_ps"] / _PS,
        }
    )


def _delays(counts: npt.NDArray[np.uint32], ports: int) -> pd.DataFrame:
    table = counts.reshape(ports, -1) if len(counts) else np.zeros((0, 1), dtype=np.uint32)
    port, bucket = np.nonzero(table)
    return pd.DataFrame(
        {"port": port, "delay_ns": _DELAY_EDGES_NS[bucket], "count": table[port, bucket]}
    )


def _check_folder(folder: Path) -> None:
    known = {_DESCRIPTION, *(f"{name}.parquet" for name in _TABLES)}
    if folder.is_dir():
        strangers = sorted({path.name for path in folder.iterdir()} - known)
        if strangers:
            message = f"{folder} holds {strangers[0]}, and saving would remove it"
            raise InputError(f"{message}: name another folder")
    elif folder.exists():
        raise InputError(f"{folder} is a file: name a folder for the simulation")
