# SPDX-License-Identifier: Apache-2.0
"""Parallel execution of many scenarios."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

from ccbench.base import validation
from ccbench.base.cores import cores
from ccbench.base.errors import EngineError, InputError, RefusedInput
from ccbench.emulate._cluster import WorkersKilled, executor_errors
from ccbench.emulate._machine import Machine
from ccbench.emulate._run import DEFAULT_STORE, advise, check_is_scenario, make
from ccbench.emulate._worker import Task
from ccbench.emulate.registry import resolve
from ccbench.emulate.resources import Room, check_room, size
from ccbench.experiment.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ccbench.emulate.engine import Engine
    from ccbench.emulate.resources import Needs
    from ccbench.emulate.store import Store
    from ccbench.run.run import Run

__all__ = ["run_many"]

_log = logging.getLogger(__name__)

#: Maximum number of runs that an executor has been given and that have not been returned: several
#: for each of a thousand workers. Each takes 40 kB of dask's client and scheduler.
_AT_ONCE = 10_000

#: Starts one scenario.
_Submit: TypeAlias = "Callable[[Scenario], Future[Run]]"


def run_many(  # noqa: PLR0913 - choices that are independent, all by keyword
    scenarios: Iterable[Scenario],
    *,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
    on_failure: Callable[[int, EngineError], None] | None = None,
    machine: Machine | None = None,
) -> Generator[tuple[int, Run], None, None]:
    """Run scenarios in parallel and yield each result as soon as it is complete.

    Runs start when the first result is requested. Leaving the loop early, by an exception, Ctrl-C
    or ``break``, stops unfinished runs; finished ones are in the store.

    Parameters
    ----------
    scenarios : iterable of Scenario
        The scenarios. Equal ones run once.
    engine : str or Engine
        The engine.
    executor : concurrent.futures.Executor, optional
        Executor of the runs, such as a process pool or a dask cluster (:func:`cluster`). It is not
        shut down, and runs that it has started are not stopped. Its workers need the same ccbench
        and send their results to this process. A worker without this process's virtual kernel
        builds it; a different result is an error. By default, the runs execute in this process.
    jobs : int, optional
        Number of parallel runs without `executor`; by default the number of cores. It is lowered,
        with a message in the log, if memory or scratch space does not suffice.
    store : Store or None
        Store for looking up and storing runs in this process; None for no store.
    fresh : bool
        Whether to repeat runs that are in the store.
    on_failure : callable, optional
        Called with the position of the scenario and the error for each failed run (for each of
        equal scenarios), while the others continue. By default, the first failed run ends
        everything, as do errors that are not a run's fault: a full store, a worker without a
        kernel, a lost cluster.
    machine : Machine, optional
        Resources of this machine for all runs together, including results that wait for the caller;
        by default those that are free at the start.

    Yields
    ------
    index : int
        Position in `scenarios`.
    run : Run
        The result.

    Raises
    ------
    InputError
        If the engine cannot run one of the scenarios, or one exceeds the available memory or
        scratch space; then none is started.
    EngineError
        If a run fails and there is no `on_failure`; the message names the scenario.
    MissingRequirement
        If a worker has another ccbench or virtual kernel and cannot build the right one.
    CcbenchError
        If the executor has lost its workers or its scheduler, or the store cannot be written.

    Examples
    --------
    >>> for i, result in run_many(scenarios):  # doctest: +SKIP
    ...     print(i, result.summary())
    """
    given: object = scenarios
    if isinstance(given, Scenario | str):
        step = "write run_many([scenario]), or use run(scenario)"
        raise validation.bad("scenarios", given, "several", step)
    scenarios = list(scenarios)
    for i, scenario in enumerate(scenarios):
        check_is_scenario(f"scenarios[{i}]", scenario)
    if executor is not None and jobs is not None:
        raise InputError(f"jobs is {jobs}, but the executor has its own number: remove one of them")
    if jobs is not None:
        validation.whole("jobs", jobs, validation.Range(1, 10_000), example=2)
    resolved = resolve(engine)
    is_local = executor is None
    groups = defaultdict(list)
    for i, scenario in enumerate(scenarios):
        groups[scenario].append(i)
    for scenario, indices in groups.items():
        with validation.within(f"scenarios[{indices[0]}]: "):
            resolved.check(scenario)
    waiting: deque[list[int]] = deque()
    stored: deque[list[int]] = deque()
    for group in groups.values():
        is_stored = store is not None and not fresh and store.has(scenarios[group[0]], resolved)
        (stored if is_stored else waiting).append(group)
    room = Room(machine or Machine.here(), makes_runs=is_local)
    needs = {indices[0]: resolved.needs(scenario) for scenario, indices in groups.items()}
    batch = _Batch(
        scenarios,
        resolved,
        store,
        fresh,
        on_failure,
        waiting,
        stored,
        needs=needs,
        room=room,
        translated_errors=nullcontext if is_local else executor_errors,
    )
    advise(groups)
    if executor is None:
        for i, *_ in waiting:
            with validation.within(f"scenarios[{i}]: "):
                check_room(needs[i], room.machine)
        jobs = jobs or cores()
        # Twice as many, so that workers do not wait for the caller to request the next result;
        # not all, as the results of a slow caller would accumulate in memory.
        batch.jobs = jobs
        return batch.results(_local(resolved, store, jobs, fresh=fresh), at_once=2 * jobs)
    task = Task.of(resolved)
    workers = nullcontext(lambda scenario: executor.submit(task.called(), scenario))
    return batch.results(workers, at_once=_AT_ONCE, keep=store)


class _StoppedError(Exception):
    """Stops a run whose result is no longer needed."""


@contextmanager
def _local(engine: Engine, store: Store | None, jobs: int, *, fresh: bool) -> Iterator[_Submit]:
    """Run in threads of this process, which store their results and stop at the end of the block.

    Threads suffice: most of the work is done by the engine's processes, and reading their records
    by numpy and pyarrow, which release the GIL. A worker process would take half a second to start,
    and could not be notified to stop its engine.
    """
    stop = Event()

    def watch(_: float) -> None:
        if stop.is_set():
            raise _StoppedError

    work = partial(make, engine=engine, store=store, fresh=fresh, on_progress=watch)
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="ccbench")
    try:
        yield lambda scenario: pool.submit(work, scenario)
    finally:
        stop.set()
        pool.shutdown()


@dataclass
class _Batch:
    """State of :func:`run_many`. Equal scenarios form a group, a list of their positions."""

    scenarios: list[Scenario]
    engine: Engine
    store: Store | None
    fresh: bool
    on_failure: Callable[[int, EngineError], None] | None

    #: Groups to be run, and to be read from the store.
    waiting: deque[list[int]]
    stored: deque[list[int]]

    #: Resources of each group by its first position, and the remaining resources.
    needs: dict[int, Needs]
    room: Room
    #: Translates the errors of an executor.
    translated_errors: Callable[[], AbstractContextManager[None]]
    #: Number of parallel runs if the resources suffice; None if it is not limited here.
    jobs: int | None = None
    #: Groups whose workers were killed several times, possibly by other runs on the same workers;
    #: they run again one at a time.
    suspects: deque[list[int]] = field(default_factory=deque)
    alone: list[int] | None = None
    running: dict[Future[Run], list[int]] = field(default_factory=dict)
    finished: SimpleQueue[Future[Run]] = field(default_factory=SimpleQueue)
    #: Results that wait for the caller.
    arrived: deque[tuple[list[int], Run]] = field(default_factory=deque)

    def results(
        self,
        workers: AbstractContextManager[_Submit],
        at_once: int,
        keep: Store | None = None,
    ) -> Generator[tuple[int, Run], None, None]:
        """Run the groups and yield their results.

        Parameters
        ----------
        workers : context manager
            Yields the function that submits a scenario.
        at_once : int
            Maximum number of groups that are submitted or wait for the caller.
        keep : Store, optional
            Store for results, unless the workers store them.
        """
        with workers as submit:
            try:
                while self.waiting or self.stored or self.suspects or self.running or self.arrived:
                    self._start(submit, at_once)
                    if not self.finished.empty() or not (self.arrived or self.stored):
                        self._take(keep)
                        continue
                    group, result = self._next()
                    if result is None:  # the stored run was damaged
                        self.waiting.append(group)
                        continue
                    for i in group:  # equal except for names and labels
                        yield i, result.named_as(self.scenarios[i])
            finally:
                for future in self.running:
                    if not future.cancel() and future.done() and keep is not None:
                        # Store a result that arrived after the caller's last one. A full store may
                        # be the reason for the exception that ended the loop.
                        with suppress(Exception):
                            self._put(future.result(), keep)

    def _start(self, submit: _Submit, at_once: int) -> None:
        """Submit groups as far as `at_once` and the remaining resources allow."""
        groups: list[list[int]] = []
        while self.waiting and len(self.running) + len(self.arrived) + len(groups) < at_once:
            needs = self.needs[self.waiting[0][0]]
            if not self.room.has(needs) and (groups or self.running or self.arrived):
                self._warn_of_limit(needs, len(groups) + len(self.running))
                break
            self.room.start(needs)
            groups.append(self.waiting.popleft())
        if self.suspects and not groups and not self.running:
            self.alone = self.suspects.popleft()
            self.room.start(self.needs[self.alone[0]])
            groups.append(self.alone)
        for group in groups:
            with self.translated_errors():
                future = submit(self.scenarios[group[0]])
            self.running[future] = group
            future.add_done_callback(self.finished.put)

    def _warn_of_limit(self, needs: Needs, running: int) -> None:
        """Warn once that memory or scratch space limits the number of parallel runs."""
        if self.jobs is not None and running < self.jobs:
            _log.warning(
                "%d of %d runs in parallel: the next takes about %s of memory and %s in %s, more "
                "than is left",
                running,
                self.jobs,
                size(needs.peak_bytes(self.room.machine)),
                size(needs.scratch_bytes),
                self.room.machine.scratch,
            )
            self.jobs = None

    def _take(self, keep: Store | None) -> None:
        """Wait for the next run to end, and process its result or error."""
        future = self.finished.get()
        group = self.running.pop(future)
        try:
            with self.translated_errors():
                result = future.result()
        except EngineError as error:
            self.room.end(self.needs[group[0]], failed=True)
            if isinstance(error, WorkersKilled) and group is not self.alone:
                self.suspects.append(group)
            else:
                self._fail(group, error)
            return
        self.room.end(self.needs[group[0]])
        if keep is not None:
            self._put(result, keep)
        self.arrived.append((group, result))

    def _put(self, result: Run, store: Store) -> None:
        """Store a result, unless it is late: repeating the run may help."""
        if not result.is_late:
            store.put(result, overwrite=self.fresh)

    def _fail(self, group: list[int], error: EngineError) -> None:
        if self.on_failure is None:
            position, name = f"scenarios[{group[0]}]", self.scenarios[group[0]].name
            label = f"{position} ({name})" if name else position
            kind = RefusedInput if isinstance(error, RefusedInput) else EngineError
            raise kind(f"{label}: {error}", error.console) from error
        for i in group:
            self.on_failure(i, error)

    def _next(self) -> tuple[list[int], Run | None]:
        """Return the caller's next result: new ones first, as runs continue during reading."""
        if self.arrived:
            group, result = self.arrived.popleft()
            self.room.give(self.needs[group[0]])
            return group, result
        group = self.stored.popleft()
        assert self.store is not None  # as `stored` is not empty
        return group, self.store.get(self.scenarios[group[0]], self.engine)
