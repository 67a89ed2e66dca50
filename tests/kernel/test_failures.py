# SPDX-License-Identifier: Apache-2.0
"""Failures in the guest are reported, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow
from ccbench.base.errors import CcbenchError, EngineError, InputError
from ccbench.emulate.kernel import doctor
from ccbench.emulate.kernel.boot import boot as boot_module
from ccbench.emulate.kernel.boot import inputs as inputs_module
from ccbench.emulate.kernel.boot import plan as plan_module
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import integrity, kernel_build
from tests.kernel.conftest import dumbbell, gone, guests, workspaces

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

pytestmark = pytest.mark.kernel


LONG = dumbbell(bandwidth_mbps=1000, queue_packets=3000, duration_s=1000)


def steps(plan: str, *, before: str, step: str) -> str:
    """Insert a step into a plan."""
    assert before in plan
    return plan.replace(before, f"{step}\n{before}", 1)


class TestErrors:
    def test_unknown_cca(self, engine: KernelEngine) -> None:
        """A CCA that the kernel does not have is bad input, with the nearest name."""
        with pytest.raises(InputError, match=r"flows\[0\].cca .*'cubix'.*did you mean 'cubic'"):
            engine.run(dumbbell(Flow(cca="cubix")))

    @pytest.mark.parametrize(
        ("name", "step"),
        [
            ("quic", r"name a QUIC stack and its congestion control, such as quic:ngtcp2/bbr$"),
            ("udp", r'a UDP flow has none; write kind = "cbr" or kind = "poisson"$'),
            ("newreno", r"did you mean 'reno'\?"),
            (
                "remy",
                r"choose one of these \(one of your own: name its folder",
            ),
        ],
    )
    def test_no_cca(self, engine: KernelEngine, name: str, step: str) -> None:
        """A transport or an unknown CCA is bad input, with a step that leads on."""
        with pytest.raises(InputError, match=rf"^cca is '{name}'; it must be one of .*{step}"):
            engine.check_cca(name)

    def test_unknown_qdisc(self, engine: KernelEngine) -> None:
        """An unknown qdisc and an unknown qdisc option are bad input."""
        with pytest.raises(InputError, match=r"bottlenecks\[0\].qdisc = 'cobalt'"):
            engine.run(dumbbell(qdisc="cobalt"))
        link = Bottleneck(
            bandwidth_mbps=10, queue_packets=9, qdisc="pie", qdisc_options=(("flows", 3),)
        )
        with pytest.raises(InputError, match=r"bottlenecks\[0\].qdisc_options.flows: pie takes"):
            engine.run(replace(dumbbell(), path=replace(dumbbell().path, bottlenecks=(link,))))

    @pytest.mark.usefixtures("own_temporary")
    @pytest.mark.parametrize("name", ["linux", "root/init", "root/modules/ccbench_link.ko"])
    def test_damaged(self, engine: KernelEngine, tmp_path: Path, name: str) -> None:
        """A run with a truncated or missing file of the kernel names the file and the repair."""
        kernel = engine.kernel
        shutil.copytree(kernel.path, tmp_path / kernel.version)
        copy = kernel_build.load_build(tmp_path / kernel.version)
        integrity.seal(copy.path)
        for damage in (lambda path: os.truncate(path, 99), lambda path: path.unlink()):
            damage(copy.path / name)
            with pytest.raises(CcbenchError, match=rf"damaged \({name} .*; run: {kernel.again}"):
                KernelEngine(copy).run(dumbbell(duration_s=1))
            (check,) = [one for one in doctor.checks(copy) if one.name == "virtual kernel"]
            assert (check.ok, check.remedy) == (False, kernel.again)

    @pytest.mark.usefixtures("own_temporary")
    def test_step_that_fails(self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A module that does not load is an error that names it, with the last console lines."""
        plan = plan_module.plan
        monkeypatch.setattr(
            inputs_module,
            "plan",
            lambda *args: steps(plan(*args), before="feed", step="module /modules/none.ko"),
        )
        with pytest.raises(EngineError, match=r"module /modules/none\.ko: No such file") as caught:
            engine.run(dumbbell())
        assert caught.value.console
        assert not workspaces()

    def test_unknown_sysctl(self, engine: KernelEngine) -> None:
        """An unknown sysctl is an error that names it."""
        scenario = dumbbell(sysctls=(("net.ipv4.no_such_thing", "1"),))
        with pytest.raises(EngineError, match="no_such_thing"):
            engine.run(scenario)

    def test_panic(
        self, engine: KernelEngine, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A panic is an error with the kernel's own words."""
        line = tuple(
            "init=/none" if word == "init=/init" else word for word in inputs_module._COMMAND_LINE
        )
        monkeypatch.setattr(inputs_module, "_COMMAND_LINE", line)
        with pytest.raises(
            EngineError, match=r"in kernel_init.*: panic: .* /none failed"
        ) as caught:
            engine.run(dumbbell())
        assert any("Kernel panic" in line for line in caught.value.console)
        assert gone(own_temporary)
        assert not workspaces()

    def test_killed(self, engine: KernelEngine, own_temporary: Path) -> None:
        """A guest killed by the host, as for lack of memory, is an error that says so."""

        def kill(_: float) -> None:
            for guest in guests(own_temporary):
                os.kill(guest, signal.SIGKILL)

        with pytest.raises(EngineError, match=r"killed by signal 9, Killed: free memory"):
            engine.run(LONG, on_progress=kill)
        assert gone(own_temporary)
        assert not workspaces()

    def test_hang(
        self, engine: KernelEngine, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A guest whose clock stands still is killed and reported."""
        monkeypatch.setattr(boot_module, "HANG_S", 1.0)

        def stop(_: float) -> None:
            for guest in guests(own_temporary):
                os.kill(guest, signal.SIGSTOP)

        with pytest.raises(EngineError, match=r"clock has not advanced for 1 s"):
            engine.run(LONG, on_progress=stop)
        assert gone(own_temporary)
        assert not workspaces()


class TestRoom:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
    @pytest.mark.usefixtures("own_temporary")
    def test_full(self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """If the disk is full, one line names the folder of the records."""
        boot = boot_module.boot

        def start(build: KernelBuild, directory: Path, **settings: Any) -> str:
            (directory / "queue.bin").symlink_to("/dev/full")
            return boot(build, directory, **settings)

        monkeypatch.setattr(boot_module, "boot", start)
        with pytest.raises(CcbenchError, match=r"is full: .*TMPDIR to another folder$") as caught:
            engine.run(LONG)
        assert not isinstance(caught.value, EngineError)  # another scenario would fail as well
        assert not workspaces()


class TestMemory:
    #: A scenario that uses 180 MB.
    HUNGRY = dumbbell(
        Flow(cca="scalable", count=5),
        Flow(cca="bic", count=5),
        bandwidth_mbps=400,
        rtt_ms=320,
        queue_packets=53_333,
        duration_s=15,
        queue_log=False,
    )

    @pytest.mark.usefixtures("own_temporary")
    def test_too_little(self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A guest without enough memory is an error that says so."""
        monkeypatch.setattr(inputs_module, "guest_memory_mb", lambda _: 50)
        with pytest.raises(EngineError, match=r"ran out of its 50 MB of memory"):
            engine.run(self.HUNGRY)
        assert not workspaces()

    def test_nearly_enough(self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """With nearly enough memory, the result is either correct or an error."""
        right = engine.run(self.HUNGRY).completions
        outcomes: set[bool | None] = set()
        for memory_mb in (120, 145):
            monkeypatch.setattr(inputs_module, "guest_memory_mb", lambda _, mb=memory_mb: mb)
            try:
                outcomes.add(engine.run(self.HUNGRY).completions.equals(right))
            except EngineError:
                outcomes.add(None)
        assert outcomes <= {True, None}


SCRIPT = """
from ccbench.emulate.kernel.engine import KernelEngine
from tests.kernel.test_failures import LONG

def started(_):
    print("started", flush=True)

KernelEngine().run(LONG, on_progress=started)
"""


class TestInterruption:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_no_process_remains(self, tmp_path: Path, number: signal.Signals) -> None:
        """Ctrl-C, kill and kill -9 of ccbench end the guest too."""
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            cwd=Path(__file__).parents[2],
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            assert guests(tmp_path)
            process.send_signal(number)
        assert gone(tmp_path)

    def test_workspaces_of_the_killed_are_swept(
        self, engine: KernelEngine, own_temporary: Path
    ) -> None:
        """Leftovers of a killed run are removed by the next one; those of a live run stay."""
        dead = own_temporary / f"ccbench-{os.getuid()}" / "dead"
        dead.mkdir(parents=True)
        (dead / "queue.bin").write_bytes(b"half")
        engine.run(dumbbell(duration_s=0.1))
        assert not workspaces()

    def test_foreign_files_stay(self, engine: KernelEngine, own_temporary: Path) -> None:
        """Foreign files in the folder of workspaces are harmless, and stay."""
        stranger = own_temporary / f"ccbench-{os.getuid()}" / "notes"
        stranger.parent.mkdir()
        stranger.touch()
        engine.run(dumbbell(duration_s=0.1))
        assert [stranger] == workspaces()

    @pytest.mark.usefixtures("own_temporary")
    def test_exception_in_on_progress_stops_the_run(self, engine: KernelEngine) -> None:
        """An exception in the caller's callback ends the run and is propagated."""

        class StopError(Exception):
            pass

        def stop(_: float) -> None:
            raise StopError

        with pytest.raises(StopError):
            engine.run(LONG, on_progress=stop)
        assert not workspaces()
