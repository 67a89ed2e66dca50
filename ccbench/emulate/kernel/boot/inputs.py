# SPDX-License-Identifier: Apache-2.0
"""Input of a guest; together with the kernel, it determines a run."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base import program_files
from ccbench.emulate.kernel.boot import features, parameters, protocol, queues, shared, triggers
from ccbench.emulate.kernel.boot.loading import loaded
from ccbench.emulate.kernel.boot.plan import HERE, guest_memory_mb, plan, removal
from ccbench.emulate.kernel.boot.programs import Programs, epoch_s

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.experiment.qdiscs import Qdisc
    from ccbench.experiment.scenario import Scenario

__all__ = ["GuestInput", "guest_input"]

#: Initial time of the guest's clock by default, and modification time of its files, in seconds:
#: 2020-01-01.
_EPOCH_S = 1_577_836_800

#: Byte in memory that a user's modules have not set, or have freed, if it is to be filled. It is a
#: prime number whose low bits are not those of the pattern in flows/memory.c.
_FILL = 0xC5

#: The guest refers to its folder as the working directory of its own process. The command line,
#: which affects the kernel's random numbers, therefore contains no path of the host.
_COMMAND_LINE = (
    "root=/dev/root",
    "rootfstype=hostfs",
    f"rootflags={HERE}/root",
    "ro",
    "init=/init",
    f"uml_dir={HERE}/",
    "umid=guest",
    "con=null",
    "con0=null,fd:1",
    "loglevel=5",
    "oops=panic",
    "panic=-1",
    "time-travel=inf-cpu",
    f"time-travel-start={_EPOCH_S}{'0' * 9}",
    # Small slabs cost a tenth of the run time when many packets are queued or in flight.
    "slab_min_order=2",
    f"CCBENCH_RUN={HERE}",
)


@dataclass(frozen=True, kw_only=True)
class GuestInput:
    """Complete input of a run, except for the kernel, its modules and its programs.

    Parameters
    ----------
    files : mapping of str to bytes
        Files by their paths in the run's folder: ``plan``, ``link.bin``, ``flows.bin``, and the
        files of programs.
    memory_mb : int
        Memory of the guest in MB.
    seed : int
        Seed of the guest kernel's random numbers.
    epoch_s : int
        Initial time of the guest's clock, in seconds since 1970.
    parameters : tuple of str
        Words of the kernel's command line that are specific to the run.
    modules : tuple of str
        Names of the modules that the plan loads, in this order.
    """

    files: Mapping[str, bytes]
    memory_mb: int
    seed: int
    epoch_s: int = _EPOCH_S
    parameters: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def command_line(self) -> tuple[str, ...]:
        """The words of the kernel's command line."""
        words = (word.replace(str(_EPOCH_S), str(self.epoch_s)) for word in _COMMAND_LINE)
        return (f"mem={self.memory_mb}M", *words, *self.parameters)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that the kernel itself reads."""
        return {"CCBENCH_SEED": str(self.seed)}

    @property
    def bottlenecks(self) -> int:
        """Number of bottlenecks of the path."""
        return int(self._link["bottlenecks"])

    @property
    def has_programs(self) -> bool:
        """Whether programs run in the guest, in processes of their own."""
        return any(name.startswith(f"{program_files.FOLDER}/") for name in self.files)

    @property
    def has_l4s_queue(self) -> bool:
        """Whether a bottleneck has a classic and an L4S queue."""
        content, start = self.files["link.bin"], shared.structure("link_header").itemsize
        links = np.frombuffer(content, shared.structure("bottleneck"), self.bottlenecks, start)
        return bool(links["l4s_mask"].any())

    @property
    def duration_ns(self) -> int:
        """Duration of the experiment in nanoseconds."""
        return int(self._link["duration_ns"])

    @property
    def queue_log(self) -> bool | str:
        """Logging of queues; see :class:`~ccbench.experiment.scenario.Scenario`."""
        return protocol.QUEUE_LOGS[int(self._link["queue_log"])]

    @property
    def ccas(self) -> npt.NDArray[np.str_]:
        """The congestion control of each flow, empty for UDP, shape (flows,)."""
        return self._specs["cca"].astype(np.str_)

    @property
    def messages(self) -> npt.NDArray[np.uint32]:
        """The number of short flows over each connection, shape (flows,)."""
        return self._specs["messages"].astype(np.uint32)

    @property
    def carried(self) -> npt.NDArray[Any]:
        """The short flows over each connection in turn: ``time_ns`` and ``bytes``."""
        start = shared.structure("flows_header").itemsize + self._specs.nbytes
        count = int(self._specs["messages"].sum())
        return np.frombuffer(self.files["flows.bin"], shared.structure("message"), count, start)

    @property
    def _specs(self) -> npt.NDArray[Any]:
        content, start = self.files["flows.bin"], shared.structure("flows_header").itemsize
        (header,) = np.frombuffer(content, shared.structure("flows_header"), 1)
        return np.frombuffer(content, shared.structure("flow_spec"), int(header["flows"]), start)

    @property
    def _link(self) -> np.void:
        dtype = shared.structure("link_header")
        header: np.void = np.frombuffer(self.files["link.bin"], dtype, 1)[0]
        return header

    def write(self, folder: Path) -> None:
        """Write the files to a run's folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (_EPOCH_S, _EPOCH_S))

    def digest(self) -> str:
        """Return the SHA-256 of the entire input in hexadecimal.

        Examples
        --------
        >>> given = GuestInput(files={"plan": b"netns"}, memory_mb=256, seed=1)
        >>> given.digest() == GuestInput(files={"plan": b"netns"}, memory_mb=256, seed=2).digest()
        False
        """
        digest = hashlib.sha256()
        for name, content in self._parts():
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()

    def _parts(self) -> Iterator[tuple[str, bytes]]:
        yield from ((f"file {name}", content) for name, content in sorted(self.files.items()))
        yield from (("word", word.encode()) for word in self.command_line)
        for name, value in self.environment.items():
            yield f"variable {name}", value.encode()


def guest_input(
    scenario: Scenario,
    kernel: KernelBuild,
    programs: Programs = Programs(),  # noqa: B008 - a constant
    *,
    captures: bool = False,
    also: Collection[str] = (),
) -> GuestInput:
    """Return the input of a guest for a scenario.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    kernel : KernelBuild
        The kernel whose modules are loaded.
    programs : Programs, optional
        Programs that send and receive; by default ccbench's modules do.
    captures : bool
        Whether the guest captures packets, which changes nothing else.
    also : collection of str
        Modules to load even if the scenario does not use them.

    Raises
    ------
    InputError
        If the kernel does not have the qdisc of a bottleneck.
    """
    names = loaded(scenario, kernel, also)
    # A module of the user may fail where it releases what it has.
    releases = any(kernel.modules[name].is_own for name in names)
    qdiscs = [kernel.queue(bottleneck.qdisc) for bottleneck in scenario.path.links]
    modules = {name: parameters.module_options(scenario, name) for name in names} | {
        "ccbench_link": _link_options(scenario, kernel, qdiscs, captures=captures),
        "ccbench_flows": _flows_options(scenario, kernel, releases=releases),
    }
    steps = plan(scenario, modules, qdiscs, programs) + (removal(scenario) if releases else "")
    return GuestInput(
        files={
            "plan": steps.encode(),
            "link.bin": protocol.describe_link(
                scenario, triggers.of_changes(scenario, kernel), queues.changed(scenario, kernel)
            ),
            "flows.bin": protocol.describe_flows(scenario, served=programs.serve_bulk),
            **programs.files(),
        },
        memory_mb=guest_memory_mb(scenario) + programs.memory_mb,
        seed=scenario.seed,
        epoch_s=epoch_s(scenario),
        parameters=parameters.command_line(scenario, kernel),
        modules=names,
    )


def _link_options(
    scenario: Scenario, kernel: KernelBuild, qdiscs: Iterable[Qdisc], *, captures: bool
) -> str:
    """Return the parameters of the module of the path."""
    clearing = sum(1 << i for i, link in enumerate(scenario.path.links) if link.clears_ecn)
    longest = queues.longest_bytes(scenario, kernel)
    rewriting = sorted({qdisc.kernel_name for qdisc in qdiscs if qdisc.rewrites})
    options = {
        f"out={HERE}": True,
        f"clears_ecn={clearing}": clearing,
        "capture=1": captures,
        f"rewriting={','.join(rewriting)}": rewriting,
        f"longest={','.join(map(str, longest))}": any(longest),
    }
    return " ".join(option for option, is_used in options.items() if is_used)


def _flows_options(scenario: Scenario, kernel: KernelBuild, *, releases: bool) -> str:
    """Return the parameters of the module that sends and receives."""
    records_ecn = "accecn" in scenario.path.hosts_ecn or features.needing_accecn(scenario, kernel)
    # An ordinary host negotiates the ECN of its own, not that of the flows' congestion controls.
    is_ordinary = scenario.path.receiver_ecn is not None
    own = sorted({flow.cca for flow in scenario.split_flows}.intersection(kernel.own.ccas))
    options = {
        "ecn=1": bool(records_ecn),
        "receiver_cca=reno": is_ordinary,
        "close_all=1": releases,
        f"guarded={','.join(own)}": own,
        f"fill={_FILL}": kernel.fills,
    }
    return " ".join(option for option, is_used in options.items() if is_used)
