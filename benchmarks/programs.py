# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of programs in the guest: pinned or not, trapped by ptrace or by seccomp.

    .venv/bin/python benchmarks/programs.py --kernel 6.12 --kernel 7.3

The work is the web server of the engine kernel-http, 20 s at 10 Mbit/s, and a program of one kind
of operation each (``programs.c``): system calls, page faults, messages between two processes. All
cases take turns, so that other load affects all of them. Start-up is included.

Pinned, the fastest of several runs counts. Without pinning, runs vary by the host's scheduler, so
the table has the fastest and the slowest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from engine import machine
from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.base.errors import CcbenchError, InputError
from ccbench.emulate.kernel.boot import boot as boot_module
from ccbench.emulate.kernel.boot import trapping
from ccbench.emulate.kernel.boot.inputs import GuestInput
from ccbench.emulate.kernel.boot.pinning import pinned
from ccbench.emulate.kernel.http import HttpKernelEngine
from ccbench.emulate.kernel.source.lookup import installed, named
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

SOURCE = Path(__file__).with_suffix(".c")
WEB = Scenario(
    flows=(Flow(cca="cubic"),),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=64),), rtt_ms=40),
    duration_s=20,
)
#: Names of the work in the table, and arguments of the program; None for the web server.
WORK = {
    "kernel-http, 20 s": None,
    "200,000 getpid": ("getpid", "200000"),
    "131,072 page faults": ("faults", "131072"),
    "20,000 pipe round trips": ("pipe", "20000"),
}
MEMORY_MB = 256


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of work on one kernel.

    Parameters
    ----------
    work : str
        A key of :data:`WORK`.
    kernel : KernelBuild
        The guest's kernel.
    way : str
        The way of trapping programs.
    is_pinned : bool
        Whether the guest is pinned to a core.
    """

    work: str
    kernel: KernelBuild
    way: str
    is_pinned: bool


def with_program(kernel: KernelBuild, folder: Path) -> KernelBuild:
    """Return a kernel whose init is the program, in an empty folder."""
    (folder / "root").mkdir()
    for name in ("dev", "proc"):
        (folder / "root" / name).mkdir()
    init = str(folder / "root" / "init")
    subprocess.run(["gcc", "-O2", "-static", "-o", init, str(SOURCE)], check=True)
    (folder / "linux").symlink_to(kernel.linux)
    return replace(kernel, path=folder)


def run(case: Case) -> None:
    """Do the work of a case once."""
    arguments = WORK[case.work]
    if arguments is None:
        HttpKernelEngine(case.kernel).run(WEB)
        return
    with (
        tempfile.TemporaryDirectory() as program,
        tempfile.TemporaryDirectory() as records,
    ):
        given = GuestInput(files={}, memory_mb=MEMORY_MB, seed=1, parameters=("--", *arguments))
        boot_module.boot(with_program(case.kernel, Path(program)), Path(records), given=given)


def measure_s(case: Case) -> float:
    """Return the wall time of a case in seconds."""
    pin = pinned if case.is_pinned else lambda _: nullcontext()
    with (
        patch.dict(os.environ, {trapping.TRAPPING: case.way}),
        patch.object(boot_module, "pinned", pin),
    ):
        start_s = time.perf_counter()
        run(case)
        return time.perf_counter() - start_s


def make_table(times_s: dict[Case, list[float]]) -> Table:
    """Return the table of all cases; the first kernel and way of each work is the baseline."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("work", "Linux", "trapped by"):
        table.add_column(heading, no_wrap=True)
    for heading in ("pinned\ns", "times\nthe first", "not pinned\ns", "times\npinned"):
        table.add_column(heading, justify="right", no_wrap=True)
    for work in WORK:
        cases = [case for case in times_s if case.work == work and case.is_pinned]
        first_s = min(times_s[cases[0]])
        for case in cases:
            pinned_s = min(times_s[case])
            free_s = times_s[replace(case, is_pinned=False)]
            table.add_row(
                work if case is cases[0] else "",
                case.kernel.release,
                case.way,
                f"{pinned_s:.2f}",
                f"{pinned_s / first_s:.2f}",
                f"{min(free_s):.2f} – {max(free_s):.2f}",
                f"{min(free_s) / pinned_s:.2f} – {max(free_s) / pinned_s:.2f}",
            )
        table.add_section()
    return table


def main() -> int:
    """Measure everything and print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--kernel",
        action="append",
        metavar="RELEASE",
        help="a built Linux; several in turn (default: the one in use)",
    )
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="runs of each (default: %(default)s)"
    )
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}; it must be at least 1: write --repeats 3")
    notes = [f"before: {machine()}"]
    with Console(stderr=True).status("measuring"):
        try:
            kernels = [named(name) for name in options.kernel or ()] or [installed()]
            times_s: dict[Case, list[float]] = {
                Case(work=work, kernel=kernel, way=way, is_pinned=is_pinned): []
                for work in WORK
                for kernel in kernels
                for way in reversed(trapping.ways(kernel.release))
                for is_pinned in (True, False)
            }
            for _ in range(options.repeats):
                for case, measured_s in times_s.items():
                    measured_s.append(measure_s(case))
        except InputError as error:
            parser.error(str(error))
        except CcbenchError as error:
            print(f"programs.py: {error}", file=sys.stderr)
            return 1
    notes.append(f"after: {machine()}")
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    out.print(make_table(times_s))
    out.print(f"Pinned: best of {options.repeats} runs. Not pinned: best and slowest.")
    for note in notes:
        out.print(note, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
