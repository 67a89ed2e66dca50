# SPDX-License-Identifier: Apache-2.0
"""Many scenarios side by side."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

from ccbench.base import validation
from ccbench.base.cores import cores
from ccbench.base.errors import EngineError, InputError
from ccbench.emulate._cluster import WorkersKilled, losses_explained
from ccbench.emulate._machine import Machine
from ccbench.emulate._run import DEFAULT_STORE, check_is_scenario, make
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
    """Run scenarios side by side and give each result as soon as it is there.

    The runs start when the first result is asked for. Leaving the loop early, by an exception,
    Ctrl-C or ``break``, stops those that have not finished; finished ones are in the store.

    Parameters
    ----------
    scenarios : iterable of Scenario
        What to run. Equal ones run once.
    engine : str or Engine
        What runs them.
    executor : concurrent.futures.Executor, optional
        Where they run: a process pool, a dask cluster (:func:`cluster`), ... It stays the caller's:
        it is not shut down, and a run that it has started is not stopped. Its workers send runs
        here in memory, and need the same ccbench. A worker that does not have this process's
        virtual kernel builds one; if that is another, it is an error. Left out: here.
    jobs : int, optional
        Runs side by side if `executor` is left out; by default one for each core. Where memory or
        scratch space is too small for so many, it is fewer, and the log says so.
    store : Store or None
        Where finished runs are kept and looked up, by this process; None: nowhere.
    fresh : bool
        Whether to run even what the store has.
    on_failure : callable, optional
        Called for each failed run with the position of its scenario and the error (for each of
        equal scenarios); the others go on. Left out, the first failed run ends everything. What is
        no fault of a run always does: a full store, a worker without a kernel, a lost cluster.
    machine : Machine, optional
        What all of them together may take of this machine, results that wait for the caller
        included; left out, what is free when it begins.

    Yields
    ------
    index : int
        Position in `scenarios`.
    run : Run
        What happened.

    Raises
    ------
    InputError
        If the engine cannot run one of the scenarios, or one takes more memory or scratch space
        than it may; then none is started.
    EngineError
        If a run fails and `on_failure` is left out; the message says which.
    MissingRequirement
        If a worker has another ccbench or virtual kernel, and cannot build the right one.
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
    room = Room(machine or Machine.here(), makes_runs=executor is None)
    needs = {indices[0]: resolved.needs(scenario) for scenario, indices in groups.items()}
    batch = _Batch(
        scenarios, resolved, store, fresh, on_failure, waiting, stored, needs=needs, room=room
    )
    if executor is None:
        for i, *_ in waiting:
            with validation.within(f"scenarios[{i}]: "):
                check_room(needs[i], room.machine)
        jobs = jobs or cores()
        # Twice as many, so that no worker waits for the caller to come back for the next result;
        # not all, as then a caller who falls behind would find all results in memory.
        batch.jobs = jobs
        return batch.results(_local(resolved, store, jobs, fresh=fresh), at_once=2 * jobs)
    workers = nullcontext(lambda scenario: executor.submit(Task.of(resolved), scenario))
    return batch.results(workers, at_once=len(groups), keep=store)


class _StoppedError(Exception):
    """Ends a run whose result nobody waits for."""


@contextmanager
def _local(engine: Engine, store: Store | None, jobs: int, *, fresh: bool) -> Iterator[_Submit]:
    """Run here, in threads; when the block ends, so do the runs. They are stored when they end.

    Threads do, as the engine's own processes do the work; what is left for Python, reading their
    results, is the work of numpy and pyarrow, which let other threads run meanwhile. A worker
    process would take half a second to start, and could not be told to stop its engine.
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
    """Scenarios on their way; those that are equal go together, as a group of positions."""

    scenarios: list[Scenario]
    engine: Engine
    store: Store | None
    fresh: bool
    on_failure: Callable[[int, EngineError], None] | None

    #: To be run, and to be read from the store.
    waiting: deque[list[int]]
    stored: deque[list[int]]

    #: What each group takes, by its first position, and what is left.
    needs: dict[int, Needs]
    room: Room
    #: How many are run at once if there is room; None: somebody else sees to that.
    jobs: int | None = None
    #: Their workers were killed several times, maybe by others that those had: to be run again, one
    #: at a time.
    suspects: deque[list[int]] = field(default_factory=deque)
    alone: list[int] | None = None
    running: dict[Future[Run], list[int]] = field(default_factory=dict)
    finished: SimpleQueue[Future[Run]] = field(default_factory=SimpleQueue)
    #: Run, and not yet with the caller.
    arrived: deque[tuple[list[int], Run]] = field(default_factory=deque)

    def results(
        self,
        workers: AbstractContextManager[_Submit],
        at_once: int,
        keep: Store | None = None,
    ) -> Generator[tuple[int, Run], None, None]:
        """Do the work of :func:`run_many`.

        Parameters
        ----------
        workers : context manager
            Gives what starts a scenario.
        at_once : int
            How many are handed to the workers, or wait for the caller, at once.
        keep : Store, optional
            Where to put what the workers bring, unless they have done so themselves.
        """
        with workers as submit:
            try:
                while self.waiting or self.stored or self.suspects or self.running or self.arrived:
                    self._start(submit, at_once)
                    if not self.finished.empty() or not (self.arrived or self.stored):
                        self._take(keep)
                        continue
                    group, result = self._next()
                    if result is None:  # it was damaged
                        self.waiting.append(group)
                        continue
                    for i in group:  # equal, but for names and labels
                        yield i, replace(result, scenario=self.scenarios[i])
            finally:
                for future in self.running:
                    if not future.cancel() and future.done() and keep is not None:
                        # It came since the caller took the last result. That the store is full may
                        # be why we are here.
                        with suppress(Exception):
                            self._put(future.result(), keep)

    def _start(self, submit: _Submit, at_once: int) -> None:
        """Hand to the workers what they may have."""
        groups: list[list[int]] = []
        while self.waiting and len(self.running) + len(self.arrived) + len(groups) < at_once:
            needs = self.needs[self.waiting[0][0]]
            if not self.room.has(needs) and (groups or self.running or self.arrived):
                self._say_limit(needs, len(groups) + len(self.running))
                break
            self.room.start(needs)
            groups.append(self.waiting.popleft())
        if self.suspects and not groups and not self.running:
            self.alone = self.suspects.popleft()
            self.room.start(self.needs[self.alone[0]])
            groups.append(self.alone)
        for group in groups:
            with losses_explained():
                future = submit(self.scenarios[group[0]])
            self.running[future] = group
            future.add_done_callback(self.finished.put)

    def _say_limit(self, needs: Needs, running: int) -> None:
        """Say once that memory or scratch space, and not the number of cores, is the limit."""
        if self.jobs is not None and running < self.jobs:
            _log.warning(
                "%d of %d runs side by side: the next takes about %s of memory and %s in %s, more "
                "than the others leave",
                running,
                self.jobs,
                size(needs.peak_bytes(self.room.machine)),
                size(needs.scratch_bytes),
                self.room.machine.scratch,
            )
            self.jobs = None

    def _take(self, keep: Store | None) -> None:
        """Wait for the next run to end; see what came of it."""
        future = self.finished.get()
        group = self.running.pop(future)
        try:
            with losses_explained():
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
        """Keep a result, unless the next one may be better."""
        if not result.is_late:
            store.put(result, overwrite=self.fresh)

    def _fail(self, group: list[int], error: EngineError) -> None:
        if self.on_failure is None:
            where, name = f"scenarios[{group[0]}]", self.scenarios[group[0]].name
            named = f"{where} ({name})" if name else where
            raise EngineError(f"{named}: {error}", error.console) from error
        for i in group:
            self.on_failure(i, error)

    def _next(self) -> tuple[list[int], Run | None]:
        """Return a result for the caller, from the store last: meanwhile others are being run."""
        if self.arrived:
            group, result = self.arrived.popleft()
            self.room.give(self.needs[group[0]])
            return group, result
        group = self.stored.popleft()
        assert self.store is not None  # which has it
        return group, self.store.get(self.scenarios[group[0]], self.engine)
