# SPDX-License-Identifier: Apache-2.0
"""Programs of this machine as processes in the guest: their steps, files and environment.

A flow of kind ``"program"`` is two programs, one at each host. `kernel_modules/init` starts and
supervises them, and `kernel_modules/flows/program.c` attributes their packets to the flow.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import program_files, validation
from ccbench.emulate.kernel.boot import hosts, shared
from ccbench.experiment import stacks
from ccbench.experiment.kinds import KINDS, program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ccbench.experiment.scenario import Flow, Scenario

__all__ = [
    "NOBODY",
    "Program",
    "Programs",
    "Qlog",
    "check",
    "epoch_s",
    "find",
    "group_of",
    "last_flow",
    "memory_mb",
    "of_scenario",
    "port_of",
    "qlogs",
    "work",
]

#: Time that servers have before the experiment.
_START_UP_NS = 1_000_000_000

#: Group of a program of several flows.
NOBODY = 0

_LAST_PORT = 65_535

#: Memory of both programs of a flow by default, and additional memory of the kernel, in MB.
_PAIR_MB = 256

#: Work of a packet that a program sends, relative to one of the kernel: about that of ngtcp2, of
#: whose time a stack may take a half or five times as much.
_WORK = 200

#: Search path of programs; servers are in folders that are not on ordinary users' PATH.
_SYSTEM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#: Folder of the programs' scratch folders.
_SCRATCH = "/tmp"  # noqa: S108 - the guest's

#: Library in scratch folders that programs preload (``native/programs``).
_PRELOADED = ".random_device.so"

#: Folders of the host in whose places the guest has empty ones.
_HIDDEN = ("/tmp/", "/run/", "/dev/shm/", "/var/tmp/")  # noqa: S108 - the guest's

#: Threads of a program are one process of the host, and the kernel of the guest saves the SSE
#: registers of each, but no wider ones (edits.py). The C library and OpenSSL would select these by
#: the features of the processor, so they are disabled; likewise RDRAND, of whose random numbers
#: BoringSSL and AWS-LC, which read the same variable, take some. Homes are the scratch folders.
_ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,"
    "-AVX_Fast_Unaligned_Load,-FMA,-FMA4,-XSAVE,-XSAVEC",
    "LANG": "C.UTF-8",
    "OPENSSL_ia32cap": "~0x5000000000000000:0",
    "PATH": _SYSTEM_FOLDERS,
    "PYTHONUNBUFFERED": "1",  # the stop of a program discards what it has not written
    "TZ": "UTC",
}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program in the guest.

    Parameters
    ----------
    name : str
        Name of its folder.
    words : tuple of str
        Its path and its arguments.
    group : int
        Number of its group, which identifies its flow, or :data:`NOBODY`.
    may_end : bool
        Whether it may end by itself.
    from_ns, to_ns : int or None
        Its start and its stop in nanoseconds of the experiment. By default, it starts before the
        experiment, and stops after it.
    env : mapping of str to str
        Additional environment variables.
    files : mapping of str to bytes
        Files in its scratch folder.
    keep : tuple of str
        Patterns of files to keep.
    """

    name: str
    words: tuple[str, ...]
    group: int = NOBODY
    may_end: bool = False
    from_ns: int | None = None
    to_ns: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    keep: tuple[str, ...] = ()

    @property
    def step(self) -> str:
        """The step of the plan that starts it."""
        start = f"program {self.name} {self.group} {'may-end' if self.may_end else 'stays'}"
        if self.from_ns is None:
            return start
        length_ns = 0 if self.to_ns is None else self.to_ns - self.from_ns
        return f"{start} {shared.constant('LEAD_NS') + self.from_ns} {length_ns}"

    def all_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files for the run's folder."""
        scratch = f"{_SCRATCH}/{self.name}"
        environment = {**_ENVIRONMENT, "HOME": scratch, "TMPDIR": scratch, **self.env}
        pairs = (f"{name}={value}" for name, value in sorted(environment.items()))
        yield f"{program_files.FOLDER}/{self.name}/words", _joined(self.words)
        yield f"{program_files.FOLDER}/{self.name}/environment", _joined(pairs)
        for name, content in self.files.items():
            yield f"{program_files.FOLDER}/{self.name}/files/{name}", content


def _joined(words: Sequence[str] | Iterator[str]) -> bytes:
    return "".join(f"{word}\0" for word in words).encode()


@dataclass(frozen=True, kw_only=True)
class Qlog:
    """The qlog of the sender of a flow, if its program writes one.

    Parameters
    ----------
    start_ns : int
        Time in nanoseconds of the experiment at which its connection starts at the sender. Those of
        Python start later by the time that it needs; their qlogs have the time of the day.
    day_ns : int
        Start of the experiment in nanoseconds since 1970.
    rtt_ms : float
        Unit of its RTTs in milliseconds.
    is_kept : bool
        Whether the run keeps it.
    """

    start_ns: int
    day_ns: int
    rtt_ms: float
    is_kept: bool


@dataclass(frozen=True, kw_only=True)
class Programs:
    """The programs of a run.

    Parameters
    ----------
    sender, receiver : tuple of Program
        The programs of each host.
    memory_mb : int
        Their memory in MB.
    serve_bulk : bool
        Whether they are also the ends of bulk flows.
    """

    sender: tuple[Program, ...] = ()
    receiver: tuple[Program, ...] = ()
    memory_mb: int = 0
    serve_bulk: bool = False

    def __add__(self, other: Programs) -> Programs:
        """Return the programs of both."""
        return Programs(
            sender=self.sender + other.sender,
            receiver=self.receiver + other.receiver,
            memory_mb=self.memory_mb + other.memory_mb,
            serve_bulk=self.serve_bulk or other.serve_bulk,
        )

    @cached_property
    def all(self) -> tuple[Program, ...]:
        """The programs of both hosts."""
        return (*self.sender, *self.receiver)

    def setup(self) -> Iterator[str]:
        """Yield the steps before the hosts are set up: what programs see of files."""
        if self.all:
            yield "hostfs /host /"
            yield "proc /host/proc"
            yield "sysfs /host/sys"
            # Programs' own files belong to the guest's root, whatever the host's user.
            yield from (f"memory /host{folder.rstrip('/')}" for folder in _HIDDEN)

    def before(self) -> Iterator[str]:
        """Yield the steps after the hosts are set up: servers start."""
        if self.all:
            yield f"sleep {_START_UP_NS}"

    def start(self) -> Iterator[str]:
        """Yield the steps just before the experiment."""
        if self.all:
            yield "go"

    def end(self) -> Iterator[str]:
        """Yield the steps after the experiment."""
        if self.all:
            yield "stop"
            for each in self.all:
                yield from (f"keep {each.name} {pattern}" for pattern in each.keep)

    def files(self) -> dict[str, bytes]:
        """Return the files for the run's folder by their paths."""
        return dict(file for each in self.all for file in each.all_files())


def port_of(flow: int) -> int:
    """Return the port of a flow's server.

    Examples
    --------
    >>> port_of(2)
    8002
    """
    return shared.constant("FIRST_PORT") + flow


def group_of(flow: int) -> int:
    """Return the number of the group of a flow's programs."""
    return shared.constant("FIRST_GROUP") + flow


def last_flow() -> int:
    """Return the largest number of a flow whose server has a port."""
    return _LAST_PORT - shared.constant("FIRST_PORT")


def of_scenario(scenario: Scenario) -> Programs:
    """Return the programs of the flows of a scenario."""
    ends: dict[str, list[Program]] = {"sender": [], "receiver": []}
    for number, flow in _numbered(scenario):
        start_ns = round(float(scenario.starts_s()[number]) * 1e9)
        for end, host, command in _ends(flow):
            path, *arguments = program.words(command, _values(number, flow, scenario))
            name = f"{number}-{end}"
            is_server = end == (flow.server or program.SERVERS[0])
            stop_s = scenario.duration_s if flow.stop_s is None else flow.stop_s
            stops = stop_s < scenario.duration_s and not is_server
            ends[host].append(
                Program(
                    name=name,
                    words=(find(path) or path, *arguments),
                    group=group_of(number),
                    may_end=flow.may_exit,
                    from_ns=None if is_server else start_ns,
                    to_ns=round(stop_s * 1e9) if stops else None,
                    env={"LD_PRELOAD": f"{_SCRATCH}/{name}/{_PRELOADED}", **dict(flow.env)},
                    files={
                        _PRELOADED: _random_device(),
                        **{file: content.encode() for file, content in flow.files},
                    },
                    keep=flow.keep,
                )
            )
    return Programs(
        sender=tuple(ends["sender"]),
        receiver=tuple(ends["receiver"]),
        memory_mb=memory_mb(scenario),
    )


@cache
def _random_device() -> bytes:
    """Return the library that gives C++ random numbers of the guest's kernel."""
    native = importlib.util.find_spec("ccbench._native")
    assert native is not None
    assert native.origin is not None
    return Path(native.origin).with_name("random_device.so").read_bytes()


def _numbered(scenario: Scenario) -> Iterator[tuple[int, Flow]]:
    """Yield the flows between programs with their numbers."""
    number = 0
    for flow in scenario.flows:
        if KINDS[flow.kind].is_program:
            yield from ((number + i, flow) for i in range(flow.flow_count))
        number += flow.flow_count


def _ends(flow: Flow) -> Iterator[tuple[str, str, str]]:
    """Yield both ends of a flow, with their hosts and command lines."""
    assert flow.receiver is not None
    there = ("receiver", "sender") if flow.is_reverse else ("sender", "receiver")
    yield "sender", there[0], flow.sender
    yield "receiver", there[1], flow.receiver.program or ""


def _values(number: int, flow: Flow, scenario: Scenario) -> dict[str, str]:
    """Return the values of the placeholders of a flow's command lines."""
    is_sender = (flow.server or program.SERVERS[0]) == "sender"
    address = hosts.plain_address(flow.ip_version, sends=is_sender != flow.is_reverse)
    stop_s = scenario.duration_s if flow.stop_s is None else flow.stop_s
    return {
        "address": address,
        "url_address": f"[{address}]" if ":" in address else address,
        "port": str(port_of(number)),
        "flow": str(number),
        "duration_s": f"{stop_s - flow.start_s:g}",
        "cca": flow.cca,
    }


def qlogs(scenario: Scenario) -> dict[int, Qlog]:
    """Return the qlogs of the flows of a scenario, including those of stacks, by their numbers."""
    # The steps between the boot and the experiment take no other time.
    day_ns = epoch_s(scenario) * 10**9 + _START_UP_NS + shared.constant("LEAD_NS")
    found, number = {}, 0
    for flow in scenario.flows:
        if flow.is_stack or (KINDS[flow.kind].is_program and flow.keep):
            for i in range(number, number + flow.flow_count):
                start_ms = float(scenario.starts_s()[i]) * 1e3
                found[i] = Qlog(
                    start_ns=round((start_ms + _request_ms(flow, scenario)) * 1e6),
                    day_ns=day_ns,
                    rtt_ms=stacks.named(flow.cca).qlog_rtt_ms if flow.is_stack else 1.0,
                    is_kept=not flow.is_stack,
                )
        number += flow.flow_count
    return found


def _request_ms(flow: Flow, scenario: Scenario) -> float:
    """Return the delay of the first packet of a flow until it arrives at the sender."""
    server = stacks.named(flow.cca).server if flow.is_stack else flow.server
    if server == "receiver":
        return 0.0
    forward_ms = scenario.path.forward_delay_ms or 0.0
    rtt_ms = scenario.path.rtt_ms + flow.extra_rtt_ms
    return forward_ms if flow.is_reverse else rtt_ms - forward_ms


def check(scenario: Scenario) -> None:
    """Check that the programs of a scenario are installed where the guest sees them.

    Raises
    ------
    InputError
        If a program is missing, hidden, or has no port.
    """
    for number, flow in _numbered(scenario):
        group = scenario.group_of(number)
        if number > last_flow():
            allowed = f"at most {last_flow()} flows before those of programs, as each has a port"
            raise validation.bad(f"flows[{group}]", number, allowed, "put them first")
        for end, _, command in _ends(flow):
            path = program.words(command, _values(number, flow, scenario))[0]
            where = f"flows[{group}].{end}"
            found = find(path)
            if found is None:
                allowed = "a program of this machine, on the PATH or with its absolute path"
                raise validation.bad(where, path, allowed, "install it, or name another one")
            if found.startswith(_HIDDEN):
                allowed = f"a program outside of {', '.join(_HIDDEN)}, which the guest does not see"
                raise validation.bad(where, found, allowed, "move it, or add a script to files")


def epoch_s(scenario: Scenario) -> int:
    """Return the time at the boot, in seconds since 1970."""
    return round(datetime.fromisoformat(f"{scenario.date}T00:00:00+00:00").timestamp())


def memory_mb(scenario: Scenario) -> int:
    """Return the memory of the programs of a scenario in MB."""
    flows = (flow for flow in scenario.flows if KINDS[flow.kind].is_program)
    return sum(flow.flow_count * (flow.memory_mb or _PAIR_MB) for flow in flows)


def work(scenario: Scenario) -> float:
    """Return the work of a scenario with its programs, relative to flows of the kernel."""
    flows = (flow.flow_count for flow in scenario.flows if KINDS[flow.kind].is_program)
    return 1 + _WORK * sum(flows) / scenario.flow_count


def find(name: str) -> str | None:
    """Return the absolute path of a program, or None if it is not installed.

    Examples
    --------
    >>> find("sh") in {"/bin/sh", "/usr/bin/sh"}, find("no-such-program")
    (True, None)
    """
    folders = os.pathsep.join([os.environ.get("PATH", os.defpath), _SYSTEM_FOLDERS])
    found = shutil.which(name, path=folders)
    return found and os.path.abspath(found)  # noqa: PTH100 - keeps symbolic links, such as a venv's
