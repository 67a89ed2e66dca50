# SPDX-License-Identifier: Apache-2.0
"""Task of an executor's worker process, on this or another machine."""

from __future__ import annotations

import platform
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ccbench.base.errors import CcbenchError, EngineError, MissingRequirement
from ccbench.base.versions import installed_version
from ccbench.emulate._run import run
from ccbench.emulate.registry import ENGINES, get_engine

if TYPE_CHECKING:
    from ccbench.emulate.engine import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["Task"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """Runs a scenario on a worker with the same engine and ccbench as the submitting process.

    Parameters
    ----------
    engine : str or Engine
        The engine. A registered engine is created by its name on the worker.
    engine_version, ccbench : str
        The required versions of engine and ccbench.
    call : str
        A unique identifier. Dask reuses the result of an equal call, even of an old one, such as an
        error whose cause has been removed.
    """

    engine: str | Engine
    engine_version: str
    ccbench: str
    call: str = ""

    @classmethod
    def of(cls, engine: Engine) -> Task:
        """Return the task for this process's versions of engine and ccbench."""
        info = ENGINES.get(engine.name)
        is_registered = info is not None and info.load() is type(engine)
        return cls(
            engine=engine.name if is_registered else engine,
            engine_version=engine.version(),
            ccbench=installed_version(),
        )

    def called(self) -> Task:
        """Return the task for one more call."""
        return replace(self, call=uuid.uuid4().hex)

    def __call__(self, scenario: Scenario) -> Run:
        """Run `scenario`, and encode its tables: the caller is busiest, as it stores all results.

        Raises
        ------
        EngineError
            If the run fails.
        MissingRequirement
            If the worker has another ccbench or engine, and cannot build the right one. This and
            all other errors except EngineError name the worker's host.
        """
        try:
            return run(scenario, engine=self._engine(), store=None).packed()
        except EngineError:  # the same on any worker
            raise
        except (CcbenchError, OSError) as error:
            kind = type(error) if isinstance(error, CcbenchError) else CcbenchError
            raise kind(f"worker {platform.node()}: {error}") from error

    def _engine(self) -> Engine:
        installed = installed_version()
        if installed != self.ccbench:
            message = f"ccbench here is {installed}, but {self.ccbench} is needed: pip install"
            raise MissingRequirement(f"{message} ccbench=={self.ccbench}")
        if isinstance(self.engine, str):
            return get_engine(self.engine, self.engine_version)
        if self.engine.version() != self.engine_version:
            raise MissingRequirement(
                f"engine {self.engine.name} here is {self.engine.version()}, but "
                f"{self.engine_version} is needed: install that"
            )
        return self.engine
