# SPDX-License-Identifier: Apache-2.0
"""Simulations as data, and their parallel execution."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from ccbench.base.cores import cores
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.simulation.simulator import prepared
from ccbench.datacenter.store import simulation_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ccbench.datacenter.scheme import Scheme
    from ccbench.datacenter.simulation import Simulation
    from ccbench.datacenter.store import SimulationStore
    from ccbench.datacenter.topology import Topology
    from ccbench.datacenter.workload import Workload

    Result = TypeVar("Result")

__all__ = ["SimulationCase", "run_cases"]


@dataclass(frozen=True, kw_only=True)
class SimulationCase:
    """The arguments of one call of :func:`~ccbench.datacenter.simulation.simulate`.

    Parameters
    ----------
    name : str
        Distinguishes the cases of a study.
    topology, workload, scheme, duration_s, seed, drain_s, sample_interval_s, queue_delays
        As in :func:`~ccbench.datacenter.simulation.simulate`.

    Examples
    --------
    >>> from ccbench.datacenter.schemes import scheme
    >>> from ccbench.datacenter.topology import star
    >>> from ccbench.datacenter.workload import Workload
    >>> star_of_4 = {"topology": star(servers=4), "workload": Workload(load=0.1)}
    >>> SimulationCase(name="small", **star_of_4, scheme=scheme("bfc"), duration_s=1e-5).seed
    1
    """

    name: str
    topology: Topology
    workload: Workload
    scheme: Scheme
    duration_s: float
    seed: int = 1
    drain_s: float = 5e-3
    sample_interval_s: float = 1e-5
    queue_delays: bool = False

    def settings(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"
        }


class _Stopped(Exception):
    """Another case failed, or the user interrupted the run."""


def run_cases(  # noqa: PLR0913 - independent options, all by keyword
    cases: Sequence[SimulationCase],
    measure: Callable[[SimulationCase, Simulation], Result],
    *,
    jobs: int | None = None,
    store: SimulationStore | None = None,
    fresh: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> list[Result]:
    """Simulate cases in parallel and return the measurement of each, in their order.

    Parameters
    ----------
    cases : sequence of SimulationCase
        The simulations.
    measure : callable
        Called with each case and its result, which is then discarded.
    jobs : int, optional
        Parallel simulations; by default the number of cores.
    store : SimulationStore, optional
        Reads stored results and stores new ones.
    fresh : bool
        Simulate even if the store has the result.
    on_progress : callable, optional
        Called with the completed fraction, 0 to 1.

    Examples
    --------
    >>> from ccbench.datacenter.schemes import scheme
    >>> from ccbench.datacenter.topology import star
    >>> from ccbench.datacenter.workload import Workload
    >>> case = SimulationCase(
    ...     name="small",
    ...     topology=star(servers=4),
    ...     workload=Workload(load=0.1),
    ...     scheme=scheme("bfc"),
    ...     duration_s=1e-5,
    ... )
    >>> run_cases([case], lambda _, result: result.summary["dropped_packets"])
    [0]
    """
    stopped = threading.Event()

    def watch(_now_s: float) -> None:
        if stopped.is_set():
            raise _Stopped

    def run(case: SimulationCase) -> Result:
        if store is None:
            return measure(case, simulate(**case.settings(), progress=watch))
        given = prepared(**case.settings())
        key = simulation_key(given)
        result = None if fresh else store.get(key)
        if result is None:
            result = simulate(**case.settings(), progress=watch, given=given)
            store.put(key, result)
        return measure(case, result)

    measured = []
    with ThreadPoolExecutor(jobs or cores()) as pool:  # the compiled core runs without the GIL
        futures = [pool.submit(run, case) for case in cases]
        try:
            for done, future in enumerate(futures, start=1):
                measured.append(future.result())
                if on_progress is not None:
                    on_progress(done / len(futures))
        except BaseException:
            stopped.set()
            for future in futures:
                future.cancel()
            raise
    return measured
