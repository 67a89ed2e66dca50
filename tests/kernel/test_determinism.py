# SPDX-License-Identifier: Apache-2.0
"""The same scenario gives the same bytes."""

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
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Flow
from ccbench.emulate.kernel.boot import inputs as inputs_module
from ccbench.emulate.kernel.boot import plan as plan_module
from ccbench.emulate.kernel.engine import KernelEngine
from tests.kernel.conftest import children, dumbbell, kernel_with

if TYPE_CHECKING:
    from ccbench import Run

pytestmark = pytest.mark.kernel

# fq_codel hashes flows with a random key, CUBIC's and BBR's start-up draw random numbers, and so
# do loss and Poisson traffic.
SCENARIO = dumbbell(
    Flow(cca="bbr", count=2),
    Flow(cca="cubic", count=2),
    Flow(kind="poisson", rate_mbps=1),
    bandwidth_mbps=20,
    qdisc="fq_codel",
    loss=0.001,
    duration_s=10,
)


def content(run: Run, folder: Path) -> dict[str, bytes]:
    """Return the files of a saved run."""
    run.save(folder)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


class TestObservation:
    def test_sampling_changes_nothing(self, engine: KernelEngine) -> None:
        """Neither the sampling interval nor the queue log changes any packet."""
        scenario = dumbbell(Flow(cca="bbr"), Flow(cca="cdg"), duration_s=40)
        runs = [
            engine.run(replace(scenario, sample_interval_ms=interval))
            for interval in (7, 100, 1000)
        ]
        assert runs[0].queue.equals(runs[1].queue)
        assert runs[2].queue.equals(runs[1].queue)
        unlogged = engine.run(replace(scenario, queue_log=False))
        assert unlogged.flows.equals(runs[1].flows)

    @pytest.mark.parametrize("summary", [False, True])
    def test_shortest_interval(self, engine: KernelEngine, *, summary: bool) -> None:
        """Samples at the shortest interval change no packet, and include those of longer ones."""
        log = "summary" if summary else True
        scenario = dumbbell(Flow(cca="bbr"), Flow(cca="cdg"), duration_s=3, queue_log=log)
        often, seldom = (
            engine.run(replace(scenario, sample_interval_ms=interval)) for interval in (0.01, 100)
        )
        assert len(often.flows) >= 2 * 299_990
        assert often.queue.equals(seldom.queue)
        if often.queue_summary is not None and seldom.queue_summary is not None:
            assert often.queue_summary.counts.equals(seldom.queue_summary.counts)
            assert often.queue_summary.waits.equals(seldom.queue_summary.waits)
        common = often.flows[often.flows["time_ns"] % 100_000_000 == 0].reset_index(drop=True)
        assert common.equals(seldom.flows)


class TestClock:
    def test_moving_the_clock_skips_nothing(
        self, engine: KernelEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The path moves the clock itself; without that every packet arrives at the same time."""
        quick = engine.run(SCENARIO)
        plan = plan_module.plan
        module = "module /modules/ccbench_link.ko"

        def patient(*args: Any) -> str:
            assert module in plan(*args)
            return plan(*args).replace(module, f"{module} advance=0")

        monkeypatch.setattr(inputs_module, "plan", patient)
        slow = engine.run(SCENARIO)
        assert slow.queue.equals(quick.queue)
        assert slow.flows.equals(quick.flows)


class TestMachine:
    def test_stopped_guest(self, way: str, kernels: list[subprocess.Popen[bytes]]) -> None:
        """A guest that the machine stops for a while gives the same packets.

        All of its processes are stopped: the kernel's own, and that of its program.
        """
        engine, scenario = KernelEngine(kernel_with(way)), replace(SCENARIO, duration_s=300)
        undisturbed = engine.run(scenario)
        kernels.clear()
        with ThreadPoolExecutor(1) as executor:
            stopped = executor.submit(engine.run, scenario)
            while not kernels:
                time.sleep(0.001)
            # Before it boots, a kernel tests the host with processes that must not be stopped.
            program: list[int] = []
            while not program or program != children(kernels[0].pid):
                program = children(kernels[0].pid)
                assert kernels[0].poll() is None
                time.sleep(0.1)
            stops = 0
            while kernels[0].poll() is None:
                both = (kernels[0].pid, *program)
                for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGTSTP, signal.SIGCONT):
                    for pid in both:
                        with suppress(ProcessLookupError):
                            os.kill(pid, number)
                    time.sleep(0.02)
                stops += kernels[0].poll() is None
        result = stopped.result()
        assert stops
        assert result.queue.equals(undisturbed.queue)
        assert result.flows.equals(undisturbed.flows)


class TestSeed:
    @pytest.mark.usefixtures("own_store")
    def test_script(self, tmp_path: Path) -> None:
        """The proof of docs/determinism.md holds, in a folder with a space in its name."""
        folder = tmp_path / "else where"
        folder.mkdir()
        script = Path(__file__).parents[2] / "examples" / "determinism.py"
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "TMPDIR": str(folder)},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert len(done.stdout.splitlines()) == 10

    def test_same_seed_same_bytes(self, engine: KernelEngine, tmp_path: Path) -> None:
        """Two runs of a scenario, even concurrent ones, are saved as the same bytes."""
        with ThreadPoolExecutor(2) as executor:
            first, second = executor.map(engine.run, [SCENARIO, SCENARIO])
        assert content(first, tmp_path / "first") == content(second, tmp_path / "second")

    def test_directory_does_not_matter(
        self, engine: KernelEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The working folder makes no difference, even with spaces in its name."""
        first = engine.run(SCENARIO)
        elsewhere = tmp_path / "else where"
        elsewhere.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
        second = engine.run(SCENARIO)
        assert content(first, tmp_path / "first") == content(second, tmp_path / "second")

    def test_other_seed_other_draw(self, engine: KernelEngine) -> None:
        """Another seed gives other random losses and other arrivals."""
        first, second = engine.run(SCENARIO), engine.run(replace(SCENARIO, seed=2))
        losses = [
            tuple(run.queue.loc[run.queue["event"] == "loss", "time_ns"]) for run in (first, second)
        ]
        assert losses[0] != losses[1]

    def test_kernel_random_numbers_come_from_the_seed(self, engine: KernelEngine) -> None:
        """If only the kernel itself draws (BBR's phase), the seed still makes the difference."""
        scenario = dumbbell(Flow(cca="bbr", count=4), duration_s=10)
        runs = [engine.run(replace(scenario, seed=seed)) for seed in (1, 1, 2)]
        first, again, other = (run.queue["time_ns"].to_numpy() for run in runs)
        assert first.tobytes() == again.tobytes()
        assert first.tobytes() != other.tobytes()
