# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.boot import pinning
from ccbench.emulate.kernel.boot.pinning import core_wait_s, pinned

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Physical cores with two threads each, in the order of a common processor: 0 and 2, 1 and 3.
SIBLINGS = {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}


@pytest.fixture(autouse=True)
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a machine of four cores, whose folders only this test locks."""
    for core, siblings in SIBLINGS.items():
        topology = tmp_path / f"cpu{core}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    monkeypatch.setattr(pinning, "CORES", tmp_path)
    return tmp_path


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> dict[int, set[int]]:
    """Give the cores of each pinned process; all cores are available to this one."""
    assigned: dict[int, set[int]] = {}
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(SIBLINGS))
    monkeypatch.setattr("os.sched_setaffinity", assigned.__setitem__)
    return assigned


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that creates another one after its first input."""
    command = ["sh", "-c", "read _; sleep 60 & echo $!; wait"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        yield process
        os.killpg(process.pid, signal.SIGKILL)


def test_one_core(process: subprocess.Popen[bytes]) -> None:
    """A guest has one of this process's cores, and so has the process that it starts."""
    assert process.stdin is not None
    assert process.stdout is not None
    available = os.sched_getaffinity(0)
    with pinned(process.pid):
        own = os.sched_getaffinity(process.pid)
        assert 1 == len(own)
        assert own <= available
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert own == os.sched_getaffinity(int(process.stdout.readline()))
        assert available == os.sched_getaffinity(0)


def test_core_wait() -> None:
    """A process that computes either has a core or waits for one; so does one of its children."""
    command = ["sh", "-c", "(while :; do :; done) & while :; do :; done"]
    begin_s = time.monotonic()
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            pinning._pin(process.pid, min(os.sched_getaffinity(0)))
            time.sleep(1)
            waited_s, elapsed_s = core_wait_s(process.pid), time.monotonic() - begin_s
            if not Path(f"/proc/{process.pid}/schedstat").exists():
                pytest.skip("this machine's kernel does not record waits for cores")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    # Two processes on a core: together they wait for as long as one of them exists.
    assert 0.5 * elapsed_s < waited_s < 2 * elapsed_s


def test_core_each(cores: dict[int, set[int]]) -> None:
    """Concurrent guests have different cores; one that finds all claimed is not pinned."""
    with ExitStack() as stack:
        for pid in range(5):
            stack.enter_context(pinned(pid))
    assert [{0}, {1}, {2}, {3}] == sorted(cores.values(), key=min)
    assert 4 not in cores


def test_programs(cores: dict[int, set[int]]) -> None:
    """A guest with programs is on one core, even if it must share that."""
    with ExitStack() as stack:
        for pid in range(4):
            stack.enter_context(pinned(pid))
        stack.enter_context(pinned(4, takes_turns=True))
    assert cores[4] in [{0}, {1}, {2}, {3}]


def test_physical_cores_first(cores: dict[int, set[int]]) -> None:
    """Two guests share a physical core only if there is no other."""
    with ExitStack() as stack:
        for pid in range(2):
            stack.enter_context(pinned(pid))
    assert {frozenset({0}), frozenset({1})} == set(map(frozenset, cores.values()))


def test_available_cores(cores: dict[int, set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the cores available to this process are assigned, as under taskset."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3})
    with pinned(1), pinned(2):
        pass
    assert {1: {3}} == cores


def test_end(cores: dict[int, set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A core is free after the guest's end, even if a process forked meanwhile still runs."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3})
    with pinned(1):
        child = os.fork()
        if not child:
            signal.pause()
    try:
        with pinned(2):
            assert {3} == cores[2]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_killed(cores: dict[int, set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process leaves no claim."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3})
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        with pinned(1):
            os.write(writable, b"\n")
            signal.pause()
    os.read(readable, 1)
    with pinned(2):
        assert 2 not in cores
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with pinned(3):
        assert {3} == cores[3]


@pytest.mark.parametrize("damage", ["missing", "unreadable"])
def test_topology(cores: dict[int, set[int]], sysfs: Path, damage: str) -> None:
    """Cores are assigned without knowledge of threads too, as in a container."""
    for core in SIBLINGS:
        file = sysfs / f"cpu{core}" / "topology" / "thread_siblings_list"
        file.unlink() if damage == "missing" else file.write_text("\n")
    with pinned(1):
        assert cores[1] <= set(SIBLINGS)


def test_no_claims(
    cores: dict[int, set[int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a folder of cores, guests run and are not pinned."""
    monkeypatch.setattr(pinning, "CORES", tmp_path / "none")
    with pinned(1):
        pass
    assert {} == cores


def test_ended(sysfs: Path) -> None:
    """A guest that has ended already is no error."""
    with subprocess.Popen("true") as process:
        process.wait()
        with pinned(process.pid):
            assert any(sysfs.iterdir())
