# SPDX-License-Identifier: Apache-2.0
"""Measure the duration of a search, compared with the same experiments in real time.

    .venv/bin/python benchmarks/search.py

The search of the thesis, 300 experiments of 180 s (Ware section 5.4), on all cores, from an empty
store; "about 30 hours" on a testbed in real time. Then shorter searches: the growth with the
budget, and the speed-up by the number of jobs. For each the share of processor time in the guests:
the rest is Python's, for choosing, reading and measuring.

Do not use the machine meanwhile; the table states its load.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.base.errors import CcbenchError
from ccbench.emulate import Store, cores
from ccbench.raygen import SearchConfig, search

CORES = cores()
#: Budget and jobs of the shorter searches, and the length of their runs in seconds.
SHORTER = ((60, 1), (60, CORES), (120, CORES), (240, CORES))
SHORTER_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of a search.

    Parameters
    ----------
    runs : int
        Number of distinct runs.
    real_time_h : float
        Total virtual time of all runs in hours.
    wall_s, guest_s, python_s : float
        Wall time, and processor time of the guests and of this process, in seconds.
    """

    runs: int
    real_time_h: float
    wall_s: float
    guest_s: float
    python_s: float

    @property
    def in_guests(self) -> float:
        """Share of the processor time spent in guests."""
        return self.guest_s / (self.guest_s + self.python_s)


def processor_s(who: int) -> float:
    """Return the processor time of this process or of its children in seconds."""
    usage = getrusage(who)
    return usage.ru_utime + usage.ru_stime


def cost(*, budget: int, duration_s: float, jobs: int) -> Cost:
    """Search from an empty store, and return its cost."""
    config = SearchConfig(
        alpha="bbr",
        beta="cubic",
        budget=budget,
        population=budget // 5,
        duration_s=duration_s,
        strategy="genetic",
    )
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs")
        started_s = time.monotonic()
        guest_s, python_s = processor_s(RUSAGE_CHILDREN), processor_s(RUSAGE_SELF)
        search(config, store=store, jobs=jobs, output_dir=Path(folder) / "results")
        return Cost(
            runs=store.usage().runs,
            real_time_h=store.usage().runs * duration_s / 3600,
            wall_s=time.monotonic() - started_s,
            guest_s=processor_s(RUSAGE_CHILDREN) - guest_s,
            python_s=processor_s(RUSAGE_SELF) - python_s,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--budget", type=int, default=300, metavar="N")
    parser.add_argument("--duration", type=float, default=180.0, metavar="S")
    options = parser.parse_args()
    console = Console(width=110, highlight=False)
    console.print(f"{CORES} cores, load {os.getloadavg()[0]:.1f} at the start")
    table = Table(box=box.SIMPLE_HEAD)
    for heading in (
        *("budget", "each run\ns", "jobs", "runs", "in real time\nh", "wall time\nmin"),
        *("core-hours", "times\nreal time", "in guests"),
    ):
        table.add_column(heading, justify="right")
    searches = [(options.budget, options.duration, CORES)]
    searches += [(budget, SHORTER_S, jobs) for budget, jobs in SHORTER]
    try:
        for budget, duration_s, jobs in searches:
            took = cost(budget=budget, duration_s=duration_s, jobs=jobs)
            table.add_row(
                *(str(budget), f"{duration_s:g}", str(jobs), str(took.runs)),
                *(f"{took.real_time_h:.1f}", f"{took.wall_s / 60:.1f}"),
                f"{(took.guest_s + took.python_s) / 3600:.2f}",
                f"{took.real_time_h * 3600 / took.wall_s:.0f}",
                f"{took.in_guests:.1%}",
            )
    except CcbenchError as error:
        sys.exit(f"search.py: {error}")
    console.print(table)


if __name__ == "__main__":
    main()
