# SPDX-License-Identifier: Apache-2.0
"""Many consecutive runs take no more memory or files than few.

``CCBENCH_RUNS=2000`` sets their number, 60 by default; ``make soak`` does that.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench import Flow, emulate
from ccbench.emulate.store import Store
from tests.kernel.conftest import dumbbell, gone, workspaces

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

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


def test_runs_in_a_row(engine: KernelEngine, own_temporary: Path, tmp_path: Path) -> None:
    """After the first third, neither memory nor open files nor folders nor processes grow."""
    store = Store(tmp_path / "store")
    memory_mb, files = [], []
    begin_s = time.monotonic()
    for i in range(_RUNS):
        flow = Flow(cca=_CCAS[i % len(_CCAS)])
        run = emulate.run(dumbbell(flow, duration_s=0.5, seed=i + 1), engine=engine, store=store)
        assert run.completions["delivered_bytes"].sum() > 0
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
