# SPDX-License-Identifier: Apache-2.0
"""The store of simulations: none is run twice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from ccbench import _native
from ccbench.base.code_digests import code_digest
from ccbench.base.folder_store import FolderStore
from ccbench.datacenter.simulation import Simulation
from ccbench.datacenter.simulation.result import FORMAT

if TYPE_CHECKING:
    from ccbench.datacenter.simulation.core import CoreInput

__all__ = ["SimulationStore", "core_version", "simulation_key"]

#: What makes the tables of a result of the core's answer.
_READER = "ccbench.datacenter.simulation.tables"


@dataclass(frozen=True)
class SimulationStore(FolderStore):
    """Simulations by what they are simulations of.

    Any number of processes may use a store at once; if two simulate the same, one result is kept.

    Parameters
    ----------
    root : Path, optional
        Its folder. Left out: ``simulations`` in the cache folder
        (:func:`ccbench.base.cache.cache_dir`).

    Examples
    --------
    >>> from pathlib import Path
    >>> from ccbench.datacenter.schemes import scheme
    >>> from ccbench.datacenter.simulation.simulator import prepared
    >>> from ccbench.datacenter.topology import star
    >>> from ccbench.datacenter.workload import Workload
    >>> given = prepared(star(servers=4), Workload(load=0.1), scheme("bfc"), duration_s=1e-5)
    >>> SimulationStore(Path("simulations")).get(simulation_key(given)) is None
    True
    """

    noun: ClassVar[str] = "simulation"

    def get(self, key: str) -> Simulation | None:
        """Return the result under a key of :func:`simulation_key`, or None.

        A damaged one is removed with a warning in the log.
        """
        return self.read(key, Simulation.load)

    def put(self, key: str, result: Simulation) -> None:
        """Store a result as a whole or not at all.

        Raises
        ------
        CcbenchError
            If the store cannot be written.
        """
        self.write(key, result.save)


def simulation_key(given: CoreInput) -> str:
    """Return the SHA-256 in hexadecimal of all that decides the result of a simulation.

    That is the core's input, the core, and the code that reads its answer: not the name of the
    scheme.
    """
    parts = [FORMAT, core_version(), given.digest()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def core_version() -> str:
    """Return the SHA-256 in hexadecimal of the simulator: of its core, and what reads its answer.

    The other compiled cores are no part of it.
    """
    parts = [_native.datacenter_digest, code_digest(_READER)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
