# SPDX-License-Identifier: Apache-2.0
"""Many scenarios side by side."""

from __future__ import annotations

import os
from collections import defaultdict, deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

from ccbench import _validate
from ccbench.emulate._run import DEFAULT_STORE, resolve, run
from ccbench.emulate.store import Store
from ccbench.errors import CcbenchError, EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from ccbench.emulate.engine import Engine, Progress
    from ccbench.run import Run
    from ccbench.scenario import Scenario

__all__ = ["run_many"]

#: Starts one scenario.
_Submit: TypeAlias = "Callable[[Scenario], Future[Run | None]]"


def run_many(  # noqa: PLR0913 - choices that are independent, all by keyword
    scenarios: Iterable[Scenario],
    *,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
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
        Where they run: a process pool, ``dask.distributed``'s ``Client.get_executor()``, ... It
        stays the caller's: it is not shut down, and a run that it has started is not stopped.
        Workers on other machines need the same ccbench and engine, and either the store on a
        file system that they share with this process or ``store=None``. Left out: here.
    jobs : int, optional
        Runs side by side if `executor` is left out; by default one for each core.
    store : Store or None
        Where finished runs are kept and looked up. None: nowhere, and runs travel from the workers
        to here in memory.
    fresh : bool
        Whether to run even what the store has.

    Yields
    ------
    index : int
        Position in `scenarios`.
    run : Run
        What happened.

    Raises
    ------
    InputError
        If the engine cannot run one of the scenarios; then none is started.
    EngineError
        If a run fails; the message says which.

    Examples
    --------
    >>> for i, result in run_many(scenarios):  # doctest: +SKIP
    ...     print(i, result.summary())
    """
    scenarios = list(scenarios)
    if executor is not None and jobs is not None:
        raise InputError(f"jobs is {jobs}, but the executor has its own number: remove one of them")
    if jobs is not None:
        _validate.whole("jobs", jobs, _validate.Range(1, 10_000), example=2)
    resolved = resolve(engine)
    groups = defaultdict(list)
    for i, scenario in enumerate(scenarios):
        groups[scenario].append(i)
    for scenario, indices in groups.items():
        with _validate.within(f"scenarios[{indices[0]}]: "):
            resolved.check(scenario)
    # The store's folder is fixed here, as a worker elsewhere may have another cache folder; an
    # engine that is known by its name is made where it runs.
    pinned = None if store is None else Store(store.folder)
    batch = _Batch(scenarios, list(groups.values()), resolved, pinned, fresh)
    if executor is None:
        jobs = jobs or _cores()
        # Twice as many, so that no worker waits for the caller to come back for the next result;
        # not all, as then a caller who falls behind would find all results in memory.
        return batch.results(_local(_Task(resolved, pinned, fresh), jobs), at_once=2 * jobs)
    task = _Task(engine, pinned, fresh)
    workers = nullcontext(lambda scenario: executor.submit(task, scenario))
    return batch.results(workers, at_once=len(groups))


@dataclass(frozen=True)
class _Task:
    """What a worker does; it may be sent to another process."""

    engine: str | Engine
    store: Store | None
    fresh: bool

    def __call__(self, scenario: Scenario, on_progress: Progress | None = None) -> Run | None:
        """Run `scenario`; return the result only if there is no store to leave it in."""
        result = run(
            scenario,
            engine=self.engine,
            store=self.store,
            fresh=self.fresh,
            on_progress=on_progress,
        )
        return result if self.store is None else None


class _StoppedError(Exception):
    """Ends a run whose result nobody waits for."""


@contextmanager
def _local(task: _Task, jobs: int) -> Iterator[_Submit]:
    """Run here, in threads; when the block ends, so do the runs.

    Threads do, as the engine's own processes do the work; what is left for Python, reading their
    results, is the work of numpy and pyarrow, which let other threads run meanwhile. A worker
    process would take half a second to start, and could not be told to stop its engine.
    """
    stop = Event()

    def watch(_: float) -> None:
        if stop.is_set():
            raise _StoppedError

    pool = ThreadPoolExecutor(jobs, thread_name_prefix="ccbench")
    try:
        yield lambda scenario: pool.submit(task, scenario, watch)
    finally:
        stop.set()
        pool.shutdown()


@dataclass(frozen=True)
class _Batch:
    """Scenarios to run; `groups` are the positions of equal ones."""

    scenarios: list[Scenario]
    groups: list[list[int]]
    engine: Engine
    store: Store | None
    fresh: bool

    def results(
        self, workers: AbstractContextManager[_Submit], at_once: int
    ) -> Generator[tuple[int, Run], None, None]:
        """Do the work of :func:`run_many`, with that many handed to the workers at once."""
        waiting: deque[list[int]] = deque()
        stored: deque[list[int]] = deque()
        for group in self.groups:
            (stored if self._is_stored(group) else waiting).append(group)
        running: dict[Future[Run | None], list[int]] = {}
        finished: SimpleQueue[Future[Run | None]] = SimpleQueue()
        with workers as submit:
            try:
                while waiting or stored or running:
                    while waiting and len(running) < at_once:
                        group = waiting.popleft()
                        future = submit(self.scenarios[group[0]])
                        running[future] = group
                        future.add_done_callback(finished.put)
                    if stored:  # the workers have something to do meanwhile
                        group = stored.popleft()
                        result = self._stored(group)
                        if result is None:  # it was damaged
                            waiting.append(group)
                            continue
                    else:
                        future = finished.get()
                        group = running.pop(future)
                        result = self._outcome(group, future)
                    for i in group:  # equal, but for names and labels
                        yield i, replace(result, scenario=self.scenarios[i])
            finally:
                for future in running:
                    future.cancel()

    def _is_stored(self, group: list[int]) -> bool:
        if self.store is None or self.fresh:
            return False
        return self.store.has(self.scenarios[group[0]], self.engine)

    def _stored(self, group: list[int]) -> Run | None:
        if self.store is None:
            return None
        return self.store.get(self.scenarios[group[0]], self.engine)

    def _outcome(self, group: list[int], future: Future[Run | None]) -> Run:
        """Return the result of a finished future, from the store if it was left there."""
        where = f"scenarios[{group[0]}]"
        try:
            result = future.result() or self._stored(group)
        except EngineError as error:
            name = self.scenarios[group[0]].name
            named = f"{where} ({name})" if name else where
            raise EngineError(f"{named}: {error}", error.console) from error
        if result is None:
            message = (
                f"{where} was run, but its result is not in {self.store and self.store.folder}"
            )
            step = "give the workers the same ccbench, engine and folder, or pass store=None"
            raise CcbenchError(f"{message}: {step}")
        return result


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # not Linux
