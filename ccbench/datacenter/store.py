# SPDX-License-Identifier: Apache-2.0
"""The store of simulations."""

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

#: The module that converts the core's output into tables.
_READER = "ccbench.datacenter.simulation.tables"


@dataclass(frozen=True)
class SimulationStore(FolderStore):
    """Simulations by the digest of their input.

    Any number of processes may use a store concurrently; if two simulate the same case, one result
    is stored.

    Parameters
    ----------
    root : Path, optional
        The folder; by default ``simulations`` in the cache folder
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
        """Return the result stored under a key of :func:`simulation_key`, or None.

        A damaged result is removed with a warning in the log.
        """
        return self.read(key, Simulation.load)

    def put(self, key: str, result: Simulation) -> None:
        """Store a result atomically.

        Raises
        ------
        CcbenchError
            If the store cannot be written.
        """
        self.write(key, result.save)


def simulation_key(given: CoreInput) -> str:
    """Return the SHA-256 in hexadecimal of everything that determines a simulation's result.

    This is the core's input, the core, and the code that converts its output. The scheme's name is
    not part of it.
    """
    parts = [FORMAT, core_version(), given.digest()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def core_version() -> str:
    """Return the SHA-256 in hexadecimal of the core and the code that converts its output.

    Other compiled cores are not part of it.
    """
    parts = [_native.datacenter_digest, code_digest(_READER)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
