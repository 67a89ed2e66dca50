# SPDX-License-Identifier: Apache-2.0
"""Modules that do what none should: each run ends, with one clear error, and leaves nothing."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench import Flow
from ccbench.emulate.kernel import boot as boot_module
from ccbench.emulate.kernel.build import installed
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.errors import EngineError
from tests.kernel.conftest import dumbbell, gone, workspaces

if TYPE_CHECKING:
    from ccbench.emulate.kernel.build import KernelBuild

pytestmark = pytest.mark.kernel

_HANG_S = 3.0


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> KernelBuild:
    """Give the virtual kernel with a module that does anything on demand."""
    folder = tmp_path_factory.mktemp("modules") / "tcp_evil"
    shutil.copytree(Path(__file__).with_name("tcp_evil"), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_MODULES", str(folder))
        return installed()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a guest hung after a few seconds."""
    monkeypatch.setattr(boot_module, "HANG_S", _HANG_S)


@pytest.mark.usefixtures("impatient")
class TestEvilModules:
    def test_harmless(self, evil: KernelBuild) -> None:
        """As long as it does nothing of the kind, it is Reno."""
        runs = [
            KernelEngine(evil).run(dumbbell(Flow(cca=cca), duration_s=3))
            for cca in ("evil", "reno")
        ]
        assert runs[0].completions.equals(runs[1].completions)

    @pytest.mark.parametrize(
        ("deed", "message"),
        [
            ("oops", r"panicked: Kernel panic"),
            ("bug", r"panicked: Kernel panic"),
            ("stack", r"panicked|ended|hangs"),
            ("sleep", r"fault of its own.*: BUG: scheduling while atomic"),
            ("loop", r"clock has stood still for 3 s"),
            ("eat", r"ran out of its \d+ MB of memory"),
            ("init-oops", r"panicked: Kernel panic"),
            ("init-deadlock", r"clock has stood still for 3 s"),
            ("init-loop", r"clock has stood still for 3 s"),
            ("init-eat", r"ran out of its \d+ MB of memory"),
        ],
    )
    def test_deed(self, evil: KernelBuild, own_temporary: Path, deed: str, message: str) -> None:
        """It is said in one line what became of the guest, with its last words."""
        scenario = dumbbell(Flow(cca="evil"), module_parameters={"tcp_evil.deed": deed})
        begin_s = time.monotonic()
        with pytest.raises(EngineError, match=message) as caught:
            KernelEngine(evil).run(scenario)
        assert "\n" not in str(caught.value)
        assert time.monotonic() - begin_s < 60
        assert gone(own_temporary)
        assert not workspaces()

    def test_blocked_work(self, evil: KernelBuild, own_temporary: Path) -> None:
        """A deadlock of workers of its own leaves the run as it would have been."""
        scenario = dumbbell(Flow(cca="evil"), module_parameters={"tcp_evil.deed": "block"})
        blocked = KernelEngine(evil).run(scenario)
        assert blocked.queue.equals(KernelEngine(evil).run(dumbbell(Flow(cca="reno"))).queue)
        assert gone(own_temporary)
        assert not workspaces()


def test_stopped_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who watches and was stopped itself, as a whole machine may be, calls no guest hung."""
    clock, looks = time.monotonic, itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 1000.0 * next(looks))
    progress = tmp_path / "progress.bin"  # without a byte: a clock that stands still
    progress.touch()
    with subprocess.Popen(["sleep", "0.5"]) as process:
        assert boot_module._watch(process, progress, None)
    assert next(looks) > 2  # of them the first is before it looks


def test_many_at_once(own_temporary: Path) -> None:
    """64 guests at once are 64 results, each the same as alone, and nothing stays."""
    scenarios = [
        dumbbell(bandwidth_mbps=10 + i % 4, queue_packets=30, duration_s=2) for i in range(64)
    ]
    expected = [KernelEngine().run(scenario) for scenario in scenarios[:4]]
    with ThreadPoolExecutor(64) as pool:
        runs = list(pool.map(KernelEngine().run, scenarios))
    for i, run in enumerate(runs):
        assert run.queue.equals(expected[i % 4].queue)
    assert gone(own_temporary)
    assert not workspaces()
