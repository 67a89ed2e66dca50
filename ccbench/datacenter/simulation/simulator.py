# SPDX-License-Identifier: Apache-2.0
"""Validation, execution and provenance of simulations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.base.versions import installed_version
from ccbench.datacenter.simulation import core
from ccbench.datacenter.simulation.result import Simulation
from ccbench.datacenter.simulation.tables import tabulated
from ccbench.datacenter.simulation.units import picoseconds
from ccbench.datacenter.workload import Workload, check_flows

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from ccbench.datacenter.scheme import Scheme
    from ccbench.datacenter.simulation.core import CoreInput
    from ccbench.datacenter.topology import Topology

__all__ = ["prepared", "simulate"]

_MOST_SECONDS = 1000.0


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
    given: CoreInput | None = None,
) -> Simulation:
    """Simulate a data centre.

    Parameters
    ----------
    topology : Topology
        The network.
    workload : Workload or DataFrame
        The traffic, or a table of flows as :meth:`Workload.flows` returns it.
    scheme : Scheme
        Behaviour of switches and senders.
    duration_s : float
        Period in which flows start, in seconds, 10⁻⁷ to 1000.
    seed : int
        Seed of all randomness.
    drain_s : float, optional
        Additional time for flows to complete, in seconds; the simulation ends earlier once all are
        complete. By default `duration_s`.
    sample_interval_s : float
        Time between samples, in seconds.
    queue_delays : bool
        Record the waiting time of every data packet at every port.
    progress : callable, optional
        Called occasionally with the simulated seconds so far.
    given : CoreInput, optional
        The result of :func:`prepared` for the same arguments, if already available.

    Raises
    ------
    InputError
        If a flow names a server that does not exist, or a value is out of range.
    EngineError
        If packets were lost without having been dropped: a bug in the simulator.

    Examples
    --------
    >>> from ccbench.datacenter.schemes import scheme
    >>> from ccbench.datacenter.topology import star
    >>> from ccbench.datacenter.workload import flow_table
    >>> flows = flow_table([(0.0, 0, 1, 1000, "background")])
    >>> result = simulate(star(servers=2), flows, scheme("bfc"), duration_s=1e-5)
    >>> float(result.flows["slowdown"].iloc[0])
    1.0
    """
    if given is None:
        given = prepared(
            topology,
            workload,
            scheme,
            duration_s,
            seed,
            drain_s=drain_s,
            sample_interval_s=sample_interval_s,
            queue_delays=queue_delays,
        )
    tables = tabulated(core.run(given, progress), given)
    provenance = {
        "ccbench_version": installed_version(),
        "topology": _describe_topology(topology),
        "workload": asdict(workload) if isinstance(workload, Workload) else "flows",
        "scheme": {k: v for k, v in asdict(scheme).items() if k != "summary"},
        "duration_s": float(duration_s),
        "drain_s": float(duration_s if drain_s is None else drain_s),
        "sample_interval_s": float(sample_interval_s),
        "seed": seed,
    }
    return Simulation(**tables, provenance=provenance)


def prepared(  # noqa: PLR0913 - likewise
    topology: Topology,
    workload: Workload | pd.DataFrame,
    scheme: Scheme,
    duration_s: float,
    seed: int = 1,
    *,
    drain_s: float | None = None,
    sample_interval_s: float = 1e-5,
    queue_delays: bool = False,
) -> CoreInput:
    """Return the core's input for a simulation, validated.

    Parameters
    ----------
    topology, workload, scheme, duration_s, seed, drain_s, sample_interval_s, queue_delays
        As in :func:`simulate`.

    Raises
    ------
    InputError
        If a flow names a server that does not exist, or a value is out of range.
    """
    seconds = Range(1e-7, _MOST_SECONDS)
    duration_s = validation.number("duration_s", duration_s, seconds, example=0.01)
    if drain_s is None:
        drain_s = duration_s
    drain_s = validation.number("drain_s", drain_s, Range(0, _MOST_SECONDS), example=0.01)
    sample_interval_s = validation.number(
        "sample_interval_s", sample_interval_s, seconds, example=1e-5
    )
    seed = validation.whole("seed", seed, Range(0, 2**63 - 1), example=1)
    if isinstance(workload, Workload):
        flows = workload.flows(topology, duration_s, seed)
    else:
        flows = workload
        check_flows(flows, topology)
        if not flows["start_ps"].is_monotonic_increasing:
            raise InputError("flows are not in order of start_ps: sort them")
    return core.core_input(
        topology,
        flows,
        scheme,
        {
            "duration_ps": picoseconds(duration_s),
            "drain_ps": picoseconds(drain_s),
            "sample_interval_ps": picoseconds(sample_interval_s),
            "seed": seed,
            "queue_delays": queue_delays,
        },
    )


def _describe_topology(topology: Topology) -> dict[str, Any]:
    described = asdict(topology)
    described["links"] = [[link.a, link.b, link.gbps, link.delay_us] for link in topology.links]
    return described
