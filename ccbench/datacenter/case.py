# SPDX-License-Identifier: Apache-2.0
"""Simulations as data, and their parallel execution."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from ccbench.base.cores import cores
from ccbench.base.errors import EngineError
from ccbench.base.failures import raise_failures
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.simulation.simulator import prepared
from ccbench.datacenter.store import simulation_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

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
    workload: Workload | pd.DataFrame
    scheme: Scheme
    duration_s: float
    seed: int = 1
    drain_s: float = 5e-3
    sample_interval_s: float = 1e-5
    queue_delays: bool = False

    @property
    def length_s(self) -> float:
        """The longest simulated time in seconds."""
        return self.duration_s + self.drain_s

    def settings(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"
        }


#: Time between two reports of progress in seconds.
_REPORT_S = 0.2


class _Stopped(Exception):
    """Another case failed, or the user interrupted the run."""


def _simulated(
    case: SimulationCase,
    store: SimulationStore | None,
    watch: Callable[[float], None],
    *,
    fresh: bool,
) -> Simulation:
    """Return the result of a case, from the store if it has it."""
    given = prepared(**case.settings())
    key = simulation_key(given)
    result = None if fresh or store is None else store.get(key)
    if result is None:
        result = simulate(**case.settings(), progress=watch, given=given)
        if store is not None:
            store.put(key, result)
    return result


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

    Raises
    ------
    InputError
        If a network cannot be simulated; then the others stop.
    EngineError
        If simulations fail. All others finish; the error names each failed one with its reason.

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
    passed_s = [0.0] * len(cases)

    def run(i: int, case: SimulationCase) -> Result:
        def watch(now_s: float) -> None:
            passed_s[i] = now_s
            if stopped.is_set():
                raise _Stopped

        measured = measure(case, _simulated(case, store, watch, fresh=fresh))
        passed_s[i] = case.length_s
        return measured

    total_s = sum(case.length_s for case in cases)
    with ThreadPoolExecutor(jobs or cores()) as pool:  # the compiled core runs without the GIL
        futures = [pool.submit(run, i, case) for i, case in enumerate(cases)]
        try:
            waiting = {*futures}
            while waiting:
                done, waiting = wait(waiting, timeout=_REPORT_S, return_when=FIRST_COMPLETED)
                unexpected = (f for f in done if not isinstance(f.exception(), EngineError | None))
                for future in unexpected:
                    future.result()
                if on_progress is not None:
                    on_progress(sum(passed_s) / total_s)
        except BaseException:
            stopped.set()
            for future in futures:
                future.cancel()
            raise
    failed = [
        (case.name, error)
        for case, future in zip(cases, futures, strict=True)
        if isinstance(error := future.exception(), EngineError)
    ]
    raise_failures(failed, len(cases), "finished")
    return [future.result() for future in futures]
