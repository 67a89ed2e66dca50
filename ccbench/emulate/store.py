# SPDX-License-Identifier: Apache-2.0
"""Store of runs, so that no scenario runs twice."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ccbench.base import durable
from ccbench.base.cache import ELSEWHERE, unwritable
from ccbench.base.folder_store import FolderStore
from ccbench.base.locks import lock_file
from ccbench.base.os_errors import reason, remedy
from ccbench.emulate.engine import Check
from ccbench.run import run_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ccbench.emulate.engine import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["Store", "Usage"]

#: Interval of polling for a run in another process, in seconds.
_POLL_S = 0.1
#: Size of a test file in bytes; file systems store smaller ones without allocating a block.
_TEST_FILE_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Number of runs in a store and their size in bytes."""

    runs: int
    size_bytes: int


@dataclass(frozen=True)
class Store(FolderStore):
    """Runs by their identity (:meth:`ccbench.emulate.engine.Engine.identity`).

    Any number of processes may use a store at once.

    Parameters
    ----------
    root : Path, optional
        The store's folder; by default ``runs`` in the cache folder
        (:func:`ccbench.base.cache.cache_dir`).

    Examples
    --------
    >>> from pathlib import Path
    >>> store = Store(Path("runs"))
    >>> store.usage().runs
    0
    >>> run = emulate.run(scenario, store=store)  # doctest: +SKIP
    >>> store.usage().runs  # doctest: +SKIP
    1
    """

    noun: ClassVar[str] = "run"

    def check(self) -> Check:
        """Check that the store can be written, by means of a temporary file."""
        try:
            folder = durable.existing(self.folder)
            with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
                file.write(bytes(_TEST_FILE_BYTES))
            free_mb = shutil.disk_usage(folder).free // 2**20
        except OSError as error:
            detail = f"{self.folder} cannot be written: {reason(error)}"
            step = remedy(error, ELSEWHERE) or ELSEWHERE
            return Check(name="store of runs", ok=False, detail=detail, remedy=step)
        return Check(name="store of runs", ok=True, detail=f"{free_mb} MB free in {self.folder}")

    def has(self, scenario: Scenario, engine: Engine) -> bool:
        """Return whether the store has a run of `scenario` on `engine`, possibly damaged."""
        return self._path(scenario, engine).is_dir()

    def get(self, scenario: Scenario, engine: Engine) -> Run | None:
        """Return the run of `scenario` on the engine's current version, or None.

        A damaged run is removed with a warning in the log. The run's scenario is `scenario`; its
        name and labels may differ from those when the run was stored.
        """
        identity = engine.identity(scenario)
        if not self.path_for(identity).is_dir():
            return None
        from ccbench.run.run import Run  # noqa: PLC0415 - not needed for lookups

        def named(**parts: Any) -> Run:
            return Run(**{**parts, "scenario": scenario})

        return self.read(identity, partial(run_files.load, make=named))

    def put(self, run: Run, *, overwrite: bool = False) -> Path:
        """Store a run and return its folder.

        Parameters
        ----------
        run : Run
            The run, with its ``identity`` in the provenance.
        overwrite : bool
            Whether to replace a stored run.

        Raises
        ------
        CcbenchError
            If the store cannot be written.
        """
        save = partial(run_files.save, run, replace=overwrite)
        return self.write(run.provenance["identity"], save)

    @contextmanager
    def claim(
        self, scenario: Scenario, engine: Engine, *, waiting: Callable[[], None] = lambda: None
    ) -> Iterator[None]:
        """Prevent other processes from executing the same run during the block.

        If another process has claimed the run, wait until it releases the claim or ends. The caller
        then checks whether the run is in the store.

        Parameters
        ----------
        scenario, engine
            Scenario and engine of the run.
        waiting : callable
            Called several times a second while waiting. An exception that it raises ends the wait.

        Raises
        ------
        CcbenchError
            If the store cannot be written.
        """
        path = self._path(scenario, engine)
        file = path.with_name(f".{path.name}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                with suppress(BlockingIOError):
                    lock = lock_file(file, wait=False)
                    break
                waiting()
                time.sleep(_POLL_S)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        try:
            yield
        finally:
            file.unlink(missing_ok=True)
            os.close(lock)

    def usage(self) -> Usage:
        """Return how many runs the store holds and how large they are."""
        sizes = []
        for folder in self.folder.glob("??/[!.]*"):
            # Removed by another process meanwhile, or a file that does not belong to the store.
            with suppress(FileNotFoundError, NotADirectoryError):
                sizes.append(sum(file.stat().st_size for file in folder.iterdir()))
        return Usage(runs=len(sizes), size_bytes=sum(sizes))

    def _path(self, scenario: Scenario, engine: Engine) -> Path:
        return self.path_for(engine.identity(scenario))
