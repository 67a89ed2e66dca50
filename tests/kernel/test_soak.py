# SPDX-License-Identifier: Apache-2.0
"""Many consecutive runs take no more memory or files than few, whatever their modules' parameters.

``CCBENCH_RUNS=2000`` sets their number, 60 by default; ``make soak`` does that.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Flow, emulate
from ccbench.emulate.kernel.boot import ending
from ccbench.emulate.store import Store
from tests.kernel.conftest import dumbbell, gone, workspaces

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

pytestmark = pytest.mark.kernel

_RUNS = int(os.environ.get("CCBENCH_RUNS", "60"))
_CCAS = ("cubic", "bbr", "reno", "vegas", "copa", "nimbus", "rapid", "dctcp", "bbr3")


def resident_mb() -> float:
    """Return the resident memory of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def descriptors() -> int:
    """Return the number of files that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def parameter_ranges(module: str, kernel: KernelBuild) -> dict[str, tuple[int, int]]:
    """Return the ranges of a module's parameters, which are part of their descriptions."""
    if module not in kernel.modules:
        return {}
    described = rb"\0parm=(\w+):[^\0]* \((\d+) to (\d+)\)(?=\0)"
    found = re.findall(described, kernel.module(module).read_bytes())
    return {name.decode(): (int(low), int(high)) for name, low, high in found}


def drawn(ranges: dict[str, tuple[int, int]], seed: int) -> tuple[tuple[str, str], ...]:
    """Return a random value for each parameter, often one of the ends of its range."""
    draw = np.random.default_rng(seed)
    return tuple(
        (name, str(draw.choice([low, high, int(draw.integers(low, high + 1))])))
        for name, (low, high) in ranges.items()
    )


@pytest.fixture
def consoles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give a list that grows by the console output of every guest."""
    texts: list[str] = []
    failure = ending.failure

    def noting(console: str, *arguments: Any, **settings: Any) -> Any:
        texts.append(console)
        return failure(console, *arguments, **settings)

    monkeypatch.setattr(ending, "failure", noting)
    return texts


def test_parameter_ranges(engine: KernelEngine) -> None:
    """The ranges of ccbench's congestion controls are known."""
    ranges = {cca: parameter_ranges(f"tcp_{cca}", engine.kernel) for cca in _CCAS}
    assert {cca for cca in _CCAS if ranges[cca]} == {"copa", "rapid", "bbr3"}
    assert ranges["bbr3"]["headroom_percent"] == (0, 90)


def test_runs_in_a_row(
    engine: KernelEngine, own_temporary: Path, tmp_path: Path, consoles: list[str]
) -> None:
    """After the first third, neither memory nor open files nor folders nor processes grow.

    No guest's kernel warns.
    """
    store = Store(tmp_path / "store")
    ranges = {cca: parameter_ranges(f"tcp_{cca}", engine.kernel) for cca in _CCAS}
    memory_mb, files = [], []
    begin_s = time.monotonic()
    for i in range(_RUNS):
        cca = _CCAS[i % len(_CCAS)]
        values = {f"tcp_{cca}.{name}": value for name, value in drawn(ranges[cca], seed=i)}
        settings: dict[str, Any] = {"duration_s": 0.5, "seed": i + 1}
        run = emulate.run(
            dumbbell(Flow(cca=cca), module_parameters=values, **settings),
            engine=engine,
            store=store,
        )
        assert run.completions["delivered_bytes"].sum() > 0, values
        assert "WARNING" not in consoles.pop()
        if i % 10 == 9:
            memory_mb.append(resident_mb())
            files.append(descriptors())
    took_s = time.monotonic() - begin_s
    said = f"{_RUNS} runs in {took_s:.0f} s: {memory_mb[0]:.0f} to {memory_mb[-1]:.0f} MB"
    sys.stdout.write(f"{said}, {files[0]} to {files[-1]} open files\n")
    settled = len(memory_mb) // 3
    assert max(memory_mb[settled:]) - memory_mb[settled] < 10
    assert len(set(files)) == 1
    assert gone(own_temporary)
    assert not workspaces()
    assert store.usage().runs == _RUNS
