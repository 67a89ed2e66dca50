# SPDX-License-Identifier: Apache-2.0
"""Programs in the guest, trapped by ptrace or by seccomp: the same bytes, stops and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench import Flow, Run, Scenario
from ccbench.base.errors import EngineError
from ccbench.emulate.kernel.boot import boot as boot_module
from ccbench.emulate.kernel.boot.trapping import TRAPPING
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.http import HttpKernelEngine
from ccbench.experiment.noise import Noise
from tests.kernel.conftest import children, dumbbell, gone, kernel_with, workspaces
from tests.kernel.test_determinism import content
from tests.kernel.test_http import needs_programs

if TYPE_CHECKING:
    from concurrent.futures import Future


pytestmark = [pytest.mark.kernel, needs_programs]

#: Clients end during the run, and so do the host's processes for them.
SCENARIO = dumbbell(
    Flow(cca="bbr", count=2, stop_s=6),
    Flow(cca="cubic", start_s=1, stop_s=4),
    Flow(kind="poisson", rate_mbps=0.5),
    duration_s=10,
    loss=0.0005,
    noise=Noise(reverse_jitter_ms=1),
)

#: Clients that do not end, for so long that no test sees the end of the run.
UNFINISHED = replace(
    SCENARIO,
    flows=(Flow(cca="bbr", count=2), Flow(cca="cubic", start_s=1)),
    duration_s=10_000,
)

#: Forbids this process and its children the system call whose number is the first argument, by a
#: filter that fails it with EPERM, and executes the others.
FORBID = """
import ctypes, os, struct, sys
filters = struct.pack("HBBI" * 4,
    0x20, 0, 0, 0,                      # load the number of the system call
    0x15, 0, 1, int(sys.argv[1]),       # unless it is this one, skip an instruction
    0x06, 0, 0, 0x00050001,             # fail with EPERM
    0x06, 0, 0, 0x7FFF0000)             # allow
buffer = ctypes.create_string_buffer(filters)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.prctl(38, 1, 0, 0, 0)
assert not libc.prctl(22, 2, program, 0, 0)
os.execv(sys.argv[2], sys.argv[2:])
"""
PTRACE, SECCOMP, EXECVEAT = 101, 317, 322


def forbidding(call: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Execute ccbench on a machine that forbids a system call."""
    main = ("-c", "from ccbench.cli.main import main; main()")
    command = [sys.executable, "-c", FORBID, call, sys.executable, *main, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@pytest.fixture
def by_ptrace(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give the run by ptrace of the kernel that has seccomp."""
    with monkeypatch.context() as patch:
        patch.setenv(TRAPPING, "ptrace")
        return HttpKernelEngine(kernel_with("seccomp")).run(SCENARIO)


def start(
    way: str, kernels: list[subprocess.Popen[bytes]], scenario: Scenario = UNFINISHED
) -> Future[Run]:
    """Start a run with programs, and wait for their processes: init, the server and clients."""
    kernels.clear()
    run = ThreadPoolExecutor(1).submit(HttpKernelEngine(kernel_with(way)).run, scenario)
    while not kernels or len(children(kernels[0].pid)) < 4:
        assert not run.done(), run.result()
        time.sleep(0.01)
    return run


def is_being_made(pid: int, kernel: int, way: str) -> bool:
    """Return whether a program's process still is a copy of the kernel's, which waits (vfork).

    With ptrace it stays a copy, and is made when the kernel's process traces it: stopped before, it
    looks as if it were ready, and the kernel cannot trace it.
    """
    with suppress(FileNotFoundError):
        if way == "ptrace":
            return "\nTracerPid:\t0\n" in Path("/proc", str(pid), "status").read_text()
        own, copied = (Path("/proc", str(number), "exe").readlink() for number in (pid, kernel))
        return own == copied
    return True


class TestSameBytes:
    def test_programs(
        self, by_ptrace: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A run with real programs is the same bytes both ways, also beside others."""
        monkeypatch.setenv(TRAPPING, "seccomp")
        engine = HttpKernelEngine(kernel_with("seccomp"))
        with ThreadPoolExecutor(4) as pool:
            runs = list(pool.map(engine.run, [SCENARIO] * 4))
        expected = content(by_ptrace, tmp_path / "ptrace")
        for i, run in enumerate(runs):
            assert expected == content(run, tmp_path / str(i))

    def test_flows_in_kernel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run without programs of the host is the same bytes both ways."""
        engine, contents = KernelEngine(kernel_with("seccomp")), []
        for way in ("ptrace", "seccomp"):
            monkeypatch.setenv(TRAPPING, way)
            contents.append(content(engine.run(SCENARIO), tmp_path / way))
        assert contents[0] == contents[1]


class TestDisturbed:
    def test_stopped_programs(
        self, way: str, kernels: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        """Programs that are stopped, and by nobody continued, go on with the same bytes."""
        undisturbed = HttpKernelEngine(kernel_with(way)).run(SCENARIO)
        expected = content(undisturbed, tmp_path / "undisturbed")
        run = start(way, kernels, SCENARIO)
        stops = 0
        while not run.done():
            for pid in children(kernels[0].pid):
                if is_being_made(pid, kernels[0].pid, way):
                    continue
                os.kill(pid, signal.SIGSTOP)
                stops += 1
            time.sleep(0.05)
        assert stops
        assert expected == content(run.result(), tmp_path / "stopped")

    def test_lost_programs(
        self, way: str, kernels: list[subprocess.Popen[bytes]], own_temporary: Path
    ) -> None:
        """If the host kills programs, the run ends soon with an error, and leaves nothing.

        The loss of a single one may make no difference: nginx's first process waits until the end.
        """
        run = start(way, kernels)
        for pid in children(kernels[0].pid)[1:]:  # all but init
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(EngineError):
            run.result(300)
        assert gone(own_temporary)
        assert not workspaces()

    def test_lost_supervisor(self, way: str, kernels: list[subprocess.Popen[bytes]]) -> None:
        """If the host kills the process that starts and stops a client, the run is an error."""
        run = start(way, kernels, replace(UNFINISHED, duration_s=60))
        _, _, supervisor, *_ = children(kernels[0].pid)  # after init and that of the server
        os.kill(supervisor, signal.SIGKILL)
        with pytest.raises(EngineError):  # by the kernel, or at the end
            run.result(300)

    def test_lost_kernel(
        self, way: str, kernels: list[subprocess.Popen[bytes]], own_temporary: Path
    ) -> None:
        """The programs of a killed guest end with it, even if they are stopped."""
        run = start(way, kernels)
        kernels[0].send_signal(signal.SIGSTOP)
        for pid in children(kernels[0].pid):
            os.kill(pid, signal.SIGSTOP)
        kernels[0].kill()
        with pytest.raises(EngineError, match="killed by signal 9"):
            run.result(300)
        assert gone(own_temporary)
        assert not workspaces()

    def test_hang(
        self,
        way: str,
        kernels: list[subprocess.Popen[bytes]],
        own_temporary: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A guest that makes no progress is ended with all its programs."""
        run = start(way, kernels)
        monkeypatch.setattr(boot_module, "HANG_S", 2.0)  # not before it has started
        kernels[0].send_signal(signal.SIGSTOP)
        with pytest.raises(EngineError, match="clock has not advanced for 2 s"):
            run.result(300)
        assert gone(own_temporary)
        assert not workspaces()


@pytest.mark.usefixtures("own_store")
class TestRefusals:
    def test_no_seccomp(self, by_ptrace: Run, tmp_path: Path) -> None:
        """Where seccomp filters are forbidden, ptrace is used, to the same bytes."""
        options = ("--engine", "kernel-http", "--kernel", kernel_with("seccomp").version)
        by_ptrace.scenario.save(tmp_path / "scenario.toml")
        done = forbidding(
            SECCOMP, "run", tmp_path / "scenario.toml", *options, "-o", tmp_path / "run"
        )
        assert 0 == done.returncode, done.stderr
        assert Run.load(tmp_path / "run").queue.equals(by_ptrace.queue)
        done = forbidding(SECCOMP, "doctor", *options)
        assert "trapped by ptrace, which is slower than seccomp, refused by" in done.stdout

    def test_demanded_seccomp(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """If seccomp is demanded where it is forbidden, one line says so."""
        monkeypatch.setenv(TRAPPING, "seccomp")
        dumbbell(duration_s=1).save(tmp_path / "scenario.toml")
        kernel = kernel_with("seccomp").version
        done = forbidding(SECCOMP, "run", tmp_path / "scenario.toml", "--kernel", kernel)
        assert 2 == done.returncode
        assert done.stderr.endswith("which this machine refuses: unset it\n")
        assert 1 == len(done.stderr.splitlines())

    def test_no_start(self) -> None:
        """Where no process of a program can start, that is an error at once, and no hang."""
        begin_s = time.monotonic()
        options = ("--engine", "kernel-http", "--kernel", kernel_with("seccomp").version)
        done = forbidding(EXECVEAT, "doctor", *options)
        assert 1 == done.returncode
        assert "missing  programs in a guest: the virtual kernel" in done.stdout
        assert time.monotonic() - begin_s < boot_module.HANG_S

    def test_no_ptrace(self) -> None:
        """Where ptrace is forbidden, kernels with seccomp run programs."""
        options = ("--engine", "kernel-http", "--kernel", kernel_with("seccomp").version)
        done = forbidding(PTRACE, "doctor", *options)
        assert "programs in a guest: trapped by seccomp\n" in done.stdout
        assert 0 == done.returncode, done.stdout

    def test_demanded_ptrace(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """If ptrace is the only way and forbidden, one line says so."""
        monkeypatch.setenv(TRAPPING, "ptrace")
        dumbbell(duration_s=1).save(tmp_path / "scenario.toml")
        done = forbidding(PTRACE, "run", tmp_path / "scenario.toml")
        assert 1 == done.returncode
        assert done.stderr.startswith("ccbench: this machine refuses ptrace, by which")
        assert 1 == len(done.stderr.splitlines())
