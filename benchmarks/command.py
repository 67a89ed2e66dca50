# SPDX-License-Identifier: Apache-2.0
"""Measure whole commands, from the shell's call to its end: wall time, processor time and memory.

    .venv/bin/python benchmarks/command.py [--before OTHER/bin/ccbench]

``ccbench run -o`` of one BBR flow against one CUBIC flow, 40 ms, a drop-tail queue of 1.5 BDP, with
the full queue log, at several link rates, and the time of the guest alone; the same run shown
from the store; ``ccbench classify`` on the folder of a run and on a capture; and ``--help``. With
``--before``, the commands of another installation take turns with these, and the table has both.
Each installation has a cache of its own, with a kernel from the cache in use.

The fastest of several counts. Memory is that of the largest process. Do not use the machine
meanwhile; the output states its load.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.base.cache import cache_dir
from ccbench.base.cores import cores
from ccbench.emulate.kernel import engine
from ccbench.emulate.kernel.boot.boot import boot
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

RATES_MBPS = (10.0, 100.0, 400.0)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of a command."""

    wall_s: float
    processor_s: float
    memory_mb: float

    def or_less(self, other: Cost) -> Cost:
        """Return the smaller of each."""
        pairs = {name: min(value, getattr(other, name)) for name, value in vars(self).items()}
        return replace(self, **pairs)


#: Runs a command, and prints its status and its cost. Linux counts the memory of a process's parent
#: as its own until it starts its program, so that the parent is small.
_SPAWN = """
import os, sys, time
began_s = time.perf_counter()
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in (1, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, used = os.wait4(pid, 0)
took_s = time.perf_counter() - began_s
print(status, took_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)
"""


def cost(words: Sequence[str | Path], cache: Path) -> Cost:
    """Return the cost of a command that must succeed."""
    # Installed programs have compiled modules, which a checkout may lack.
    own = {"PYTHONPYCACHEPREFIX": f"{cache}/compiled", "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _SPAWN, *map(str, words)],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "CCBENCH_CACHE": str(cache), **own},
    )
    status, wall_s, processor_s, memory_mb = map(float, done.stdout.split())
    if status:
        raise SystemExit(f"{' '.join(map(str, words))} failed: wait status {status:g}")
    return Cost(wall_s=wall_s, processor_s=processor_s, memory_mb=memory_mb)


def scenario(rate_mbps: float, duration_s: float) -> Scenario:
    """Return the scenario at a link rate."""
    link = Bottleneck(bandwidth_mbps=rate_mbps, queue_bdp=1.5)
    path = NetworkPath(bottlenecks=(link,), rtt_ms=40)
    flows = (Flow(cca="bbr"), Flow(cca="cubic"))
    return Scenario(flows=flows, path=path, duration_s=duration_s, queue_log=True)


def guest_s(run: Scenario, rounds: int) -> float:
    """Return the time of the guest of a run alone, from its start to its end."""
    times_s = []

    def timed(*arguments: Any, meanwhile: object, **others: Any) -> str:
        del meanwhile  # the records are read afterwards
        began_s = time.perf_counter()
        console = boot(*arguments, **others)
        times_s.append(time.perf_counter() - began_s)
        return console

    with patch.object(engine, "boot", timed):
        for _ in range(rounds):
            engine.KernelEngine().run(run)
    return min(times_s)


def costs(
    programs: Sequence[Path], folder: Path, words: Sequence[str | Path], rounds: int
) -> list[Cost]:
    """Return the least costs of a command of each installation, which take turns.

    The first turn, in which Python compiles the modules, does not count.
    """
    best: list[Cost] = []
    for number in range(rounds + 1):
        for i, program in enumerate(programs):
            own = [folder / str(i) / word if isinstance(word, Path) else word for word in words]
            now = cost([program, *own], folder / f"cache-{i}")
            best[i : i + 1] = [now if number < 2 else best[i].or_less(now)]  # noqa: PLR2004
    return best


def measure(programs: Sequence[Path], duration_s: float, rounds: int, folder: Path) -> Table:
    """Return a table of the costs of all commands."""
    table = Table(box=box.SIMPLE_HEAD, title="Costs of commands")
    table.add_column("")
    for heading in ("guest s", *("s", "processor s", "MB") * len(programs), "ratio"):
        table.add_column(heading, justify="right")

    def add(name: str, words: Sequence[str | Path], guest: float | None = None) -> None:
        own = costs(programs, folder, words, rounds)
        cells = [
            cell
            for each in own
            for cell in (f"{each.wall_s:.2f}", f"{each.processor_s:.2f}", f"{each.memory_mb:.0f}")
        ]
        shown = "" if guest is None else f"{guest:.2f}"
        ratio = f"{own[0].wall_s / own[-1].wall_s:.2f}" if len(own) > 1 else ""
        table.add_row(name, shown, *cells, ratio)

    for i in range(len(programs)):
        (folder / str(i)).mkdir()
        (folder / f"cache-{i}").mkdir()
        shutil.copytree(cache_dir() / "kernel", folder / f"cache-{i}" / "kernel", symlinks=True)
    for rate_mbps in RATES_MBPS:
        run = scenario(rate_mbps, duration_s)
        file = folder / f"{rate_mbps:g}.toml"
        run.save(file)
        title = f"{rate_mbps:g} Mbit/s × {duration_s:g} s"
        words = ("run", str(file), "--fresh", "-o", Path("run"))
        add(f"run -o, {title}", words, guest_s(run, rounds))
        add(f"stored run, {title}", ["run", str(file)])
    link = Bottleneck(bandwidth_mbps=5, queue_packets=64)
    path = NetworkPath(bottlenecks=(link,), rtt_ms=85)
    Scenario(flows=(Flow(),), path=path, duration_s=60).save(folder / "one.toml")
    recorded = ("run", str(folder / "one.toml"), "-o", Path("one"), "--pcap", Path("packets"))
    costs(programs, folder, recorded, 1)
    add("classify, run", ["classify", Path("one")])
    add("classify, capture", ["classify", Path("packets/sender.pcapng")])
    add("run --help", ["run", "--help"])
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--before", type=Path, metavar="OTHER/bin/ccbench")
    parser.add_argument("--duration", type=float, default=180.0, metavar="S")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}; it must be at least 1: write --rounds 3")
    own = Path(sys.executable).with_name("ccbench")
    programs = [own] if options.before is None else [options.before.absolute(), own]
    console = Console(width=130, highlight=False)
    console.print(f"{cores()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as folder:
        console.print(measure(programs, options.duration, options.rounds, Path(folder)))
    if len(programs) > 1:
        console.print("Columns: before, then now. The ratio is that of their wall times.")


if __name__ == "__main__":
    main()
