# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel, and runs shared by several tests."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow, Scenario
from ccbench.base.cache import cache_dir
from ccbench.base.errors import EngineError
from ccbench.cli.main import main
from ccbench.emulate._load import Load
from ccbench.emulate.kernel.boot import inputs as inputs_module
from ccbench.emulate.kernel.boot import plan as plan_module
from ccbench.emulate.kernel.boot import trapping
from ccbench.emulate.kernel.boot.boot import boot
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.needs import needs
from ccbench.emulate.kernel.source.lookup import installed, of_release
from tests.scenarios import flat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    from ccbench import Run
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

#: An estimate may exceed 2.5 times the actual use by a few small files.
_NEGLIGIBLE_BYTES = 1e6

#: Time limit for processes of a killed program to end.
_SOON_S = 300.0


@pytest.fixture(scope="session")
def engine() -> KernelEngine:
    """Give the engine with the installed kernel."""
    return KernelEngine()


def dumbbell(
    *flows: Flow,
    bandwidth_mbps: float = 10,
    rtt_ms: float = 40,
    queue_packets: int = 64,
    duration_s: float = 10,
    qdisc: str = "droptail",
    loss: float = 0,
    **settings: Any,
) -> Scenario:
    """Return a scenario with one bottleneck."""
    bottleneck = Bottleneck(
        bandwidth_mbps=bandwidth_mbps, queue_packets=queue_packets, qdisc=qdisc, loss=loss
    )
    return flat(
        flows=flows or (Flow(cca="cubic"),),
        bottlenecks=(bottleneck,),
        rtt_ms=rtt_ms,
        duration_s=duration_s,
        **settings,
    )


@cache
def kernel_with(*names: str) -> KernelBuild:
    """Return a built kernel with these features, CCAs, qdiscs or ways of trapping, or skip.

    It is the installed kernel, if that has all of them.
    """
    for kernel in filter(None, (installed(), of_release("7.3"))):
        features = {*kernel.descriptions.features, *trapping.ways(kernel.release)}
        if {*names} <= {*features, *kernel.ccas, *kernel.queues}:
            return kernel
    pytest.skip(f"no kernel with {' and '.join(names)} is built: ccbench kernel build 7.3")


@pytest.fixture(params=["ptrace", "seccomp"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Demand each way of trapping programs, and give it; see :func:`kernel_with`."""
    monkeypatch.setenv(trapping.TRAPPING, request.param)
    return str(request.param)


@cache
def run_with(name: str, scenario: Scenario) -> Run:
    """Run a scenario once on :func:`kernel_with` for all tests of a process."""
    return KernelEngine(kernel_with(name)).run(scenario)


@cache
def run(scenario: Scenario) -> Run:
    """Run a scenario once, on a kernel with its qdiscs, for all tests of a process."""
    return KernelEngine(kernel_with(*(link.qdisc for link in scenario.path.bottlenecks))).run(
        scenario
    )


def check_estimate(result: Run) -> None:
    """Check that the estimates of a run's memory, records and work are close upper bounds."""
    scenario, summary = result.scenario, result.queue_summary
    if summary is None:
        events = result.queue[result.queue["event"] == "enqueue"].groupby("bottleneck").size()
    else:
        counts = summary.counts[summary.counts["event"] == "enqueue"]
        events = counts.groupby("bottleneck")["packets"].sum()
    arrived = events.reindex(range(len(scenario.path.links)), fill_value=0)
    actual = needs(scenario, Load(tuple(arrived), len(result.flows), scenario.path.mtu_bytes))
    estimated = needs(scenario)
    for name in ("reading_bytes", "result_bytes", "scratch_bytes", "work"):
        least, estimate = getattr(actual, name), getattr(estimated, name)
        assert least <= estimate <= 2.5 * least + _NEGLIGIBLE_BYTES, name


def ask(
    source: str,
    root: Path,
    *arguments: str,
    kernel: KernelBuild | None = None,
    parameters: tuple[str, ...] = (),
) -> str:
    """Boot a kernel with an init of this source and root folder; return its output."""
    init = ["gcc", "-static", "-o", str(root / "init"), str(Path(__file__).parent / source)]
    subprocess.run(init, check=True)
    command = [
        str((kernel or installed()).linux),
        "mem=128M",
        f"uml_dir={root}/",
        "time-travel=inf-cpu",
        "root=/dev/root",
        "rootfstype=hostfs",
        f"rootflags={root}",
        "init=/init",
        "con=null",
        "con0=null,fd:1",
        "quiet",
        *parameters,
        *(("--", *arguments) if arguments else ()),
    ]
    return subprocess.run(
        command,
        # The guest's memory must be in memory.
        env={"TMPDIR": "/dev/shm", "CCBENCH_SEED": "1"},  # noqa: S108
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def guests(folder: Path) -> set[int]:
    """Return the processes, except this one, that work below a folder, as virtual kernels do."""
    pids = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            with suppress(OSError):
                if (process / "cwd").readlink().is_relative_to(folder):
                    pids.add(int(process.name))
    return pids


def children(pid: int) -> list[int]:
    """Return the processes that a guest's kernel has created: those of its programs."""
    with suppress(FileNotFoundError):
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    return []


def gone(folder: Path) -> bool:
    """Wait until no other process works below a folder: a host may be slow to clean up."""
    deadline = time.monotonic() + _SOON_S
    while guests(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def workspaces() -> list[Path]:
    """Return the folders in which runs work, including leftovers."""
    parent = Path(tempfile.gettempdir()) / f"ccbench-{os.getuid()}"
    return list(parent.iterdir()) if parent.exists() else []


@pytest.fixture
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test its own folder for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def cache_with_kernel(cache: Path) -> Path:
    """Create a cache with the user's virtual kernel and no runs, unless another worker has."""
    cache.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (cache / "kernel").symlink_to(cache_dir() / "kernel")
    return cache


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a cache with the user's virtual kernel and no runs; return its run store."""
    cache = cache_with_kernel(tmp_path / "cache")
    monkeypatch.setenv("CCBENCH_CACHE", str(cache))
    return cache / "runs"


@pytest.fixture(scope="session")
def session_cache(shared_folder: Path) -> Path:
    """Give a cache with the user's virtual kernel and the runs that tests of this session share."""
    return cache_with_kernel(shared_folder / "session")


@pytest.fixture
def session_store(session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test the cache of the session, so that no worker repeats a run of another."""
    monkeypatch.setenv("CCBENCH_CACHE", str(session_cache))


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Give a list that grows with every boot of the virtual kernel in this process."""
    booted: list[Path] = []

    def counting(build: KernelBuild, directory: Path, **settings: Any) -> str:
        booted.append(directory)
        return boot(build, directory, **settings)

    monkeypatch.setattr("ccbench.emulate.kernel.boot.boot.boot", counting)
    return booted


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Give a list that grows by the process of the kernel of every guest."""
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def noted(*args: Any, **settings: Any) -> subprocess.Popen[bytes]:
        process = start(*args, **settings)
        if Path(args[0][0]).name == "linux":
            started.append(process)
        return process

    monkeypatch.setattr("ccbench.emulate.kernel.boot.boot.subprocess.Popen", noted)
    return started


@pytest.fixture
def program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., str]]:
    """Give a function that runs the program, expects status 0 and returns its output."""

    def run(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["ccbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        output, errors = capsys.readouterr()
        assert (end.value.code, errors) == (0, "")
        return output

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def other_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the kernel part of a cache that contains the user's kernel tree and current build.

    It lies in the user's cache, because a build makes hard links.
    """
    build = installed().path
    tree = Path(build.parents[1] / "current").resolve()
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix="build-") as name:
        kernel = Path(name) / "kernel"
        for path in (tree, build):
            folder = kernel / path.parent.name
            folder.mkdir(parents=True)
            (folder / path.name).symlink_to(path)
        (kernel / "current").symlink_to(f"trees/{tree.name}")
        monkeypatch.setenv("CCBENCH_CACHE", name)
        yield kernel


def attributes(data: bytes) -> dict[int, bytes]:
    """Return the attributes of a netlink message."""
    values = {}
    while data:
        size, kind = struct.unpack_from("=HH", data)
        values[kind & 0x3FFF] = data[4:size]
        data = data[-(-size // 4) * 4 :]
    return values


def qdisc_options(message: bytes) -> dict[int, bytes]:
    """Return the options in a message that describes a qdisc."""
    return attributes(attributes(message[36:])[2])


def read_back(
    engine: KernelEngine,
    monkeypatch: pytest.MonkeyPatch,
    qdisc: str,
    options: Mapping[str, float | str],
) -> dict[int, bytes]:
    """Return the options of a bottleneck's qdisc as reported by the guest's kernel."""
    ask = struct.pack("=IHHII", 36, 38, 9, 1, 0) + struct.pack("=BxxxiIII", 0, 2, 0, 2**32 - 1, 0)
    step = f"netlink qdisc {ask.hex()}\nwait /nothing\n"
    plan = plan_module.plan
    monkeypatch.setattr(
        inputs_module, "plan", lambda *args: plan(*args).replace("netns\n", f"{step}netns\n", 1)
    )
    bottleneck = Bottleneck(
        bandwidth_mbps=10,
        queue_packets=123,
        qdisc=qdisc,
        qdisc_options=tuple(options.items()),
    )
    with pytest.raises(EngineError, match="/nothing") as caught:
        engine.run(replace(dumbbell(), path=replace(dumbbell().path, bottlenecks=(bottleneck,))))
    (answer,) = (line for line in caught.value.console if line.startswith("ccbench: answer: qdisc"))
    return qdisc_options(bytes.fromhex(answer.split()[-1]))


def qdisc_statistics(
    monkeypatch: pytest.MonkeyPatch, engine: KernelEngine, scenario: Scenario
) -> list[bytes]:
    """Run a scenario; return the final statistics of its qdiscs' own structures."""
    ask = [
        struct.pack("=IHHII", 36, 38, 9, 1, 0) + struct.pack("=BxxxiIII", 0, 2 + i, 0, 2**32 - 1, 0)
        for i in range(len(scenario.path.bottlenecks))
    ]
    asking = "".join(f"netlink xstats{i} {message.hex()}\n" for i, message in enumerate(ask))
    last = f"first-netns\n{asking}wait /nothing\n"
    plan = plan_module.plan
    with monkeypatch.context() as patch:
        patch.setattr(inputs_module, "plan", lambda *args: plan(*args) + last)
        with pytest.raises(EngineError, match="/nothing") as caught:
            engine.run(scenario)
    answers = [line for line in caught.value.console if "answer: xstats" in line]
    return [attributes(bytes.fromhex(answer.split()[-1])[36:])[4] for answer in answers]


def events(run: Run, event: str, bottleneck: int = 0) -> pd.DataFrame:
    """Return the rows of one kind of event at one bottleneck."""
    queue = run.queue
    return queue[(queue["event"] == event) & (queue["bottleneck"] == bottleneck)]
