# SPDX-License-Identifier: Apache-2.0
"""Memory and scratch space of runs, compared with the free resources of a machine before the start.

Engines estimate the :class:`Needs` of a run; :class:`~ccbench.emulate.Machine` holds the free
resources.
"""

from __future__ import annotations

from dataclasses import dataclass

from ccbench.base.errors import InputError
from ccbench.emulate._machine import SHARED_MEMORY, Machine

__all__ = ["Needs", "Room", "check_room", "size"]

_GB_FROM = 999e6


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Conservative estimate of a run's resources.

    Parameters
    ----------
    running_bytes : float
        Memory of the engine's processes during the run.
    reading_bytes : float
        Memory for reading the records, when `running_bytes` are free again.
    result_bytes : float
        Memory of the :class:`~ccbench.run.run.Run`.
    scratch_bytes : float
        Size of the records in the folder for temporary files, until they are read.
    work : float
        Work that determines the run time, in a unit specific to the engine.
    running_remedy, reading_remedy : str
        Changes of the scenario that lower `running_bytes`, and `reading_bytes` and `scratch_bytes`.
    shared_bytes : float
        The part of `running_bytes` that is in ``/dev/shm``.
    """

    running_bytes: float
    reading_bytes: float
    result_bytes: float
    scratch_bytes: float
    work: float
    running_remedy: str
    reading_remedy: str
    shared_bytes: float = 0.0

    def peak_bytes(self, machine: Machine) -> float:
        """Return the peak memory of the run on a machine."""
        in_memory = self.scratch_bytes if machine.scratch_in_memory else 0.0
        return max(self.running_bytes, self.reading_bytes) + in_memory


def check_room(needs: Needs, machine: Machine) -> None:
    """Check that a machine has the resources for a run.

    Raises
    ------
    InputError
        If it takes more than is free; the message states the remedy.

    Examples
    --------
    >>> check_room(engine.needs(scenario), Machine.here())  # doctest: +SKIP
    """
    if needs.shared_bytes > machine.shared_bytes:
        raise InputError(
            f"this run takes about {size(needs.shared_bytes)} in {SHARED_MEMORY}, where "
            f"{size(machine.shared_bytes)} are free: make room there (mount -o "
            f"remount,size=50% {SHARED_MEMORY}; in a container: --shm-size=1g), or "
            f"{needs.running_remedy}"
        )
    if needs.scratch_bytes > machine.scratch_bytes:
        raise InputError(
            f"this run records about {size(needs.scratch_bytes)} in {machine.scratch}, where "
            f"{size(machine.scratch_bytes)} are free: make room there, or set TMPDIR to another "
            f"folder, or {needs.reading_remedy}"
        )
    peak_bytes = needs.peak_bytes(machine)
    if peak_bytes > machine.memory_bytes:
        is_reading = needs.reading_bytes >= needs.running_bytes
        remedy = needs.reading_remedy if is_reading else needs.running_remedy
        if machine.scratch_in_memory and needs.scratch_bytes:
            remedy += f", or set TMPDIR to a folder on a disk, as {machine.scratch} is in memory"
        raise InputError(
            f"this run takes about {size(peak_bytes)} of memory, and {size(machine.memory_bytes)} "
            f"are available: {remedy}"
        )


class Room:
    """Allocation of a machine's resources to parallel runs.

    Parameters
    ----------
    machine : Machine
        The available resources.
    makes_runs : bool
        Whether the runs execute on this machine; otherwise it only receives them.
    """

    def __init__(self, machine: Machine, *, makes_runs: bool) -> None:
        self.machine = machine
        self._makes_runs = makes_runs
        self._memory_bytes = self._shared_bytes = self._scratch_bytes = 0.0

    def has(self, needs: Needs) -> bool:
        """Return whether the remaining resources suffice for a run."""
        machine, (memory, shared, scratch) = self.machine, self._share(needs)
        return (
            self._memory_bytes + memory <= machine.memory_bytes
            and self._shared_bytes + shared <= machine.shared_bytes
            and self._scratch_bytes + scratch <= machine.scratch_bytes
        )

    def start(self, needs: Needs) -> None:
        """Allocate the resources of a run."""
        self._add(1, *self._share(needs))

    def end(self, needs: Needs, *, failed: bool = False) -> None:
        """Free the resources of a run, except for the memory of its result unless it failed."""
        self._add(-1, *self._share(needs))
        if not failed:
            self._add(1, needs.result_bytes)

    def give(self, needs: Needs) -> None:
        """Free the memory of a result that was handed to the caller."""
        self._add(-1, needs.result_bytes)

    def _share(self, needs: Needs) -> tuple[float, float, float]:
        if not self._makes_runs:
            return needs.result_bytes, 0.0, 0.0
        return needs.peak_bytes(self.machine), needs.shared_bytes, needs.scratch_bytes

    def _add(self, sign: int, memory: float, shared: float = 0.0, scratch: float = 0.0) -> None:
        self._memory_bytes += sign * memory
        self._shared_bytes += sign * shared
        self._scratch_bytes += sign * scratch


def size(number: float) -> str:
    """Return a human-readable size in bytes.

    Examples
    --------
    >>> size(83.2e9), size(5.1e9), size(64e6)
    ('83 GB', '5.1 GB', '64 MB')
    """
    unit, bytes_each = ("GB", 1e9) if number >= _GB_FROM else ("MB", 1e6)
    return f"{float(f'{number / bytes_each:.2g}'):,g} {unit}"
