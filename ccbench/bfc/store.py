# SPDX-License-Identifier: Apache-2.0
"""The store of simulations: none is run twice."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ccbench import _atomic, _native
from ccbench._code import code_digest
from ccbench.bfc.simulation import Simulation
from ccbench.bfc.simulation.result import FORMAT
from ccbench.bfc.simulation.simulator import prepared
from ccbench.cache import cache_dir, unwritable
from ccbench.errors import DamagedRun, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.bfc.case import Case

__all__ = ["SimulationStore", "case_key", "core_version"]

_log = logging.getLogger(__name__)

#: What makes the tables of a result of the core's answer.
_READER = "ccbench.bfc.simulation.tables"


@dataclass(frozen=True)
class SimulationStore:
    """Simulations by what they are simulations of.

    Any number of processes may use a store at once; if two simulate the same, one result is kept.

    Parameters
    ----------
    root : Path, optional
        Its folder. Left out: ``simulations`` in the cache folder
        (:func:`ccbench.cache.cache_dir`).

    Examples
    --------
    >>> from pathlib import Path
    >>> from ccbench.bfc.case import Case
    >>> from ccbench.bfc.scheme import scheme
    >>> from ccbench.bfc.topology import star
    >>> from ccbench.bfc.workload import Workload
    >>> case = Case(
    ...     name="small",
    ...     topology=star(servers=4),
    ...     workload=Workload(load=0.1),
    ...     scheme=scheme("bfc"),
    ...     duration_s=1e-5,
    ... )
    >>> SimulationStore(Path("simulations")).get(case) is None
    True
    """

    root: Path | None = None

    @property
    def folder(self) -> Path:
        """The store's folder."""
        return self.root if self.root is not None else cache_dir() / "simulations"

    def get(self, case: Case) -> Simulation | None:
        """Return the result of a case by this version of the simulator, or None.

        A damaged one is removed with a warning in the log.
        """
        path = self._path(case)
        if not path.is_dir():
            return None
        try:
            return Simulation.load(path)
        except DamagedRun as error:
            _log.warning("removed a damaged simulation from the store: %s", error)
            _atomic.remove(path)
            return None

    def put(self, case: Case, result: Simulation) -> None:
        """Keep the result of a case, as a whole or not at all.

        Raises
        ------
        CcbenchError
            If the store cannot be written.
        """
        try:
            result.save(self._path(case))
        except (OSError, InputError) as error:
            raise unwritable(self.folder, error) from error

    def _path(self, case: Case) -> Path:
        key = case_key(case)
        return self.folder / key[:2] / key


@lru_cache(maxsize=64)  # asked before and after a simulation, and all traffic is drawn for it
def case_key(case: Case) -> str:
    """Return the SHA-256 in hexadecimal of all that decides what a case's result looks like.

    That is what the core is given, the core, and the code that reads its answer: not the names of
    the case and of its scheme.
    """
    parts = [FORMAT, core_version(), prepared(**case.settings()).digest()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def core_version() -> str:
    """Return the SHA-256 in hexadecimal of the simulator: of its core, and what reads its answer.

    The other compiled cores are no part of it.
    """
    parts = [_native.datacenter_digest, code_digest(_READER)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
