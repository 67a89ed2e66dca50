# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of the virtual kernel, compared with ns-3 or another build on the same network.

    .venv/bin/python benchmarks/engine.py
    .venv/bin/python benchmarks/engine.py --before FOLDER

One BBR flow against one CUBIC flow, 40 ms, a drop-tail queue of one BDP, at three link rates, with
the full queue log on; and an empty run, from boot to power-off. All runs are timed in one session,
the fastest of several counts, start-up is included. The same dumbbell in ns-3 (``ns3_dumbbell.cc``,
with ns-3's own models of both algorithms) runs for a shorter virtual time, because it is slow; it
is omitted, with a note, without ns-3.

Do not use the machine meanwhile; the table states its load.

``--before`` names the folder of another build of the kernel, such as ``kernel/builds/VERSION`` of
another cache, and compares only the two: their guests run in turns, and the least processor time of
each counts, which other programs disturb little.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING, TypeVar

import ns3
from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.kernel_build import load_build
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.emulate.registry import get_engine
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.run.run import Run

_Result = TypeVar("_Result")

RTT_MS = 40.0
CCBENCH_S = 180.0
#: Virtual seconds of ns-3 at each link rate (Mbit/s): a few wall seconds per run.
NS3_S = {10.0: 20.0, 100.0: 20.0, 400.0: 10.0}
NS3_SOURCE = Path(__file__).with_name("ns3_dumbbell.cc")

_WATCH_INTERVAL_S = 0.01


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of one simulation: wall time of several runs, peak memory of one.

    Parameters
    ----------
    wall_s : tuple of float
        Wall time of each run in seconds, start-up included.
    memory_mb : float
        Peak resident memory of the process that simulates (10⁶ bytes).
    python_mb : float
        Peak resident memory of the Python process that started it and holds the result, or 0.
    """

    wall_s: tuple[float, ...]
    memory_mb: float
    python_mb: float = 0.0

    @property
    def best_s(self) -> float:
        """Wall time of the fastest run in seconds, which is the least disturbed."""
        return min(self.wall_s)

    @property
    def spread(self) -> float:
        """Excess of the slowest run's time over the fastest (0.1 = 10 %)."""
        return max(self.wall_s) / self.best_s - 1


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One dumbbell on one engine: results and cost.

    Parameters
    ----------
    engine : str
        Engine with its version.
    virtual_s : float
        Virtual time simulated, in seconds.
    packets : int
        Data packets that left the bottleneck.
    bbr_mbps, cubic_mbps : float
        Goodput of the two flows in Mbit/s.
    cost : Cost
        Wall time and memory.
    """

    engine: str
    virtual_s: float
    packets: int
    bbr_mbps: float
    cubic_mbps: float
    cost: Cost

    @property
    def times_real_time(self) -> float:
        """Virtual seconds simulated in one second of wall time."""
        return self.virtual_s / self.cost.best_s

    @property
    def us_per_packet(self) -> float:
        """Microseconds of wall time per delivered data packet."""
        return self.cost.best_s * 1e6 / self.packets


def watch_memory(run: Callable[[], _Result]) -> tuple[_Result, float]:
    """Call a function and watch the memory of the programs that it starts.

    The system's sum for finished children is not usable: it counts a child from its fork on,
    while it still has the memory of this Python process.

    Parameters
    ----------
    run : callable
        Called once.

    Returns
    -------
    result : object
        Return value of `run`.
    peak_mb : float
        Peak resident memory of the largest of the programs (10⁶ bytes).
    """
    peaks_mb = [0.0]
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(_WATCH_INTERVAL_S):
            for pid in _descendants(os.getpid()):
                with suppress(OSError):  # it ended in the meantime
                    peaks_mb.append(_peak_resident_mb(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        result = run()
    finally:
        finished.set()
        watcher.join()
    return result, max(peaks_mb)


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, directly or not."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread ended in the meantime
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)


def _peak_resident_mb(pid: int) -> float:
    """Return the peak resident memory of a process; 0 until it has executed another program."""
    process = Path(f"/proc/{pid}")
    if (process / "exe").readlink() == Path("/proc/self/exe").readlink():
        return 0.0
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0  # a zombie has none


def measure(run: Callable[[], _Result], repeats: int) -> tuple[_Result, Cost]:
    """Call a function once to warm up and watch its memory, then time it.

    Parameters
    ----------
    run : callable
        It must do the same every time.
    repeats : int
        Number of timed calls.

    Returns
    -------
    result : object
        First return value of `run`.
    cost : Cost
        Cost of the runs.
    """
    result, memory_mb = watch_memory(run)
    wall_s = []
    for _ in range(repeats):
        start_s = time.perf_counter()
        run()
        wall_s.append(time.perf_counter() - start_s)
    return result, Cost(wall_s=tuple(wall_s), memory_mb=memory_mb)


def dumbbell(bandwidth_mbps: float, duration_s: float) -> Scenario:
    """Return the measured scenario: BBR against CUBIC, 40 ms, one BDP of queue."""
    return Scenario(
        flows=(Flow(cca="bbr"), Flow(cca="cubic")),
        path=NetworkPath(
            bottlenecks=(Bottleneck(bandwidth_mbps=bandwidth_mbps, queue_bdp=1),), rtt_ms=RTT_MS
        ),
        duration_s=duration_s,
        queue_log=True,
    )


def nothing() -> Scenario:
    """Return a scenario that ends at once: boot, set-up and power-off."""
    return Scenario(
        flows=(Flow(cca="cubic"),),
        path=NetworkPath(
            bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=100),), rtt_ms=RTT_MS
        ),
        duration_s=0.001,
    )


def measure_ccbench(scenario: Scenario, repeats: int) -> Measurement:
    """Measure the virtual kernel on a scenario.

    Call it in a fresh process (:func:`in_fresh_process`): Python's peak memory is the process's.

    Parameters
    ----------
    scenario : Scenario
        A dumbbell, or an empty run.
    repeats : int
        How many runs are timed.

    Returns
    -------
    Measurement
        The cost is that of ``engine.run``: from the scenario to the finished ``Run``.
    """
    engine = get_engine("kernel")
    run, cost = measure(lambda: engine.run(scenario), repeats)
    python_mb = getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    goodput_mbps = run.completions["delivered_bytes"] * 8 / 1e6 / scenario.duration_s
    return Measurement(
        engine=f"ccbench, Linux {run.provenance['kernel_release']}",
        virtual_s=scenario.duration_s,
        packets=int((run.queue["event"] == "dequeue").sum()),
        bbr_mbps=float(goodput_mbps.iloc[0]),
        cubic_mbps=float(goodput_mbps.iloc[-1]),
        cost=Cost(wall_s=cost.wall_s, memory_mb=cost.memory_mb, python_mb=python_mb),
    )


def in_fresh_process(scenario: Scenario, repeats: int) -> Measurement:
    """Call :func:`measure_ccbench` in its own process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure_ccbench, scenario, repeats).result()


def measure_ns3(program: Path, scenario: Scenario, repeats: int) -> Measurement:
    """Measure ns-3 on a dumbbell.

    Parameters
    ----------
    program : Path
        From :func:`ns3.build`.
    scenario : Scenario
        From :func:`dumbbell`.
    repeats : int
        How many runs are timed.

    Returns
    -------
    Measurement
        The cost is that of the whole program.
    """
    (bottleneck,) = scenario.path.bottlenecks
    command = [
        str(program),
        f"--bandwidth_mbps={bottleneck.bandwidth_mbps}",
        f"--rtt_ms={scenario.path.rtt_ms}",
        f"--queue_packets={bottleneck.queue_packets}",
        f"--duration_s={scenario.duration_s}",
    ]
    printed, cost = measure(lambda: subprocess.check_output(command), repeats)
    result = json.loads(printed)
    return Measurement(
        engine=f"ns-3 {result['build']}",
        virtual_s=scenario.duration_s,
        packets=result["packets"],
        bbr_mbps=result["bbr_goodput_mbps"],
        cubic_mbps=result["cubic_goodput_mbps"],
        cost=cost,
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One dumbbell on two builds of the kernel.

    Parameters
    ----------
    packets : int
        Data packets that left the bottleneck.
    before_s, now_s : tuple of float
        Processor time of each guest in seconds.
    is_same : bool
        Whether both builds gave the same events at the same times.
    """

    packets: int
    before_s: tuple[float, ...]
    now_s: tuple[float, ...]
    is_same: bool


def guest_time(kernel: KernelBuild, scenario: Scenario) -> tuple[Run, float]:
    """Run a scenario; return the run and the processor time of its guest in seconds."""
    before = getrusage(RUSAGE_CHILDREN)
    run = KernelEngine(kernel).run(scenario)
    after = getrusage(RUSAGE_CHILDREN)
    return run, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(before: KernelBuild, scenario: Scenario, repeats: int) -> Comparison:
    """Run a scenario on another build and the installed one in turns."""
    builds = (before, installed())
    times_s: tuple[list[float], list[float]] = ([], [])
    runs: list[Run] = []
    for _ in range(repeats):
        runs.clear()
        for kernel, each_s in zip(builds, times_s, strict=True):
            run, took_s = guest_time(kernel, scenario)
            runs.append(run)
            each_s.append(took_s)
    first, second = runs
    return Comparison(
        packets=int((second.queue["event"] == "dequeue").sum()),
        before_s=tuple(times_s[0]),
        now_s=tuple(times_s[1]),
        is_same=first.queue.equals(second.queue) and first.flows.equals(second.flows),
    )


def make_comparison(rows: dict[float, Comparison]) -> Table:
    """Return the table of comparisons by link rate in Mbit/s, for rich to print."""
    table = Table(box=box.SIMPLE_HEAD)
    headings = ("link\nMbit/s", "data\npackets", "before\nμs", "now\nμs", "now ÷\nbefore")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("same\npackets", no_wrap=True)
    for bandwidth_mbps, row in rows.items():
        before_s, now_s = min(row.before_s), min(row.now_s)
        table.add_row(
            f"{bandwidth_mbps:g}",
            f"{row.packets:,}",
            f"{before_s * 1e6 / row.packets:.3f}",
            f"{now_s * 1e6 / row.packets:.3f}",
            f"{now_s / before_s:.3f}",
            "yes" if row.is_same else "no",
        )
    return table


def print_comparison(out: Console, before: Path, duration_s: float, repeats: int) -> None:
    """Compare a build with the installed one at each link rate, and print the table."""
    other, rows = load_build(before), {}
    for bandwidth_mbps in NS3_S:
        with Console(stderr=True).status(f"{bandwidth_mbps:g} Mbit/s"):
            rows[bandwidth_mbps] = compare(other, dumbbell(bandwidth_mbps, duration_s), repeats)
    out.print(make_comparison(rows))
    out.print(
        f"Processor time of the guest per data packet, start-up included, the least of {repeats}"
        f" runs: {other.title} {other.version} and {installed().title} {installed().version}."
        f"\n{machine()}",
        soft_wrap=True,
    )


def make_table(
    empty: Measurement, pairs: dict[float, tuple[Measurement, Measurement | None]]
) -> Table:
    """Return the table of measurements.

    Parameters
    ----------
    empty : Measurement
        Measurement of the empty run.
    pairs : dict
        For each link rate in Mbit/s, ccbench's measurement and ns-3's (None without ns-3).

    Returns
    -------
    Table
        One row per measurement, for rich to print.
    """
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("link\nMbit/s", "engine"):
        table.add_column(heading, no_wrap=True)
    for heading in (
        "virtual\ns",
        "data\npackets",
        "wall\ns",
        "× real\ntime",
        "μs per\npacket",
        "memory\nMB",
        "+ Python\nMB",
        "BBR\nMbit/s",
        "CUBIC\nMbit/s",
        "× ns-3",
    ):
        table.add_column(heading, justify="right", no_wrap=True)

    def memory(cost: Cost) -> tuple[str, str]:
        return f"{cost.memory_mb:.0f}", f"{cost.python_mb:.0f}" if cost.python_mb else "–"

    def row(first: str, measurement: Measurement, ratio: str) -> None:
        table.add_row(
            first,
            measurement.engine,
            f"{measurement.virtual_s:g}",
            f"{measurement.packets:,}",
            f"{measurement.cost.best_s:.2f}",
            f"{measurement.times_real_time:.1f}",
            f"{measurement.us_per_packet:.2f}",
            *memory(measurement.cost),
            f"{measurement.bbr_mbps:.2f}",
            f"{measurement.cubic_mbps:.2f}",
            ratio,
        )

    table.add_row(
        "empty run",
        empty.engine,
        *("–", "–", f"{empty.cost.best_s:.2f}", "–", "–"),
        *memory(empty.cost),
        *("–", "–", "–"),
        end_section=True,
    )
    for bandwidth_mbps, (ccbench_result, ns3_result) in pairs.items():
        ratio = (
            f"{ccbench_result.times_real_time / ns3_result.times_real_time:.1f}"
            if ns3_result
            else "–"
        )
        row(f"{bandwidth_mbps:g}", ccbench_result, ratio)
        if ns3_result:
            row("", ns3_result, "")
        table.add_section()
    return table


def machine() -> str:
    """Return the processor, the number of cores in use and their load, as text."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if "model name" in line), "?")
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"{model}, {len(os.sched_getaffinity(0))} cores; load {load} (1, 5, 15 min)"


def print_measurements(out: Console, duration_s: float, repeats: int) -> None:
    """Measure ccbench and ns-3 on all links, and print the table."""
    notes = [f"before: {machine()}"]
    with (
        Console(stderr=True).status("starting") as status,
        tempfile.TemporaryDirectory(prefix="ccbench-") as directory,
    ):
        try:
            status.update("compiling the ns-3 program")
            program = ns3.build(NS3_SOURCE, Path(directory))
        except MissingRequirement as missing:
            program = None
            notes.append(str(missing))
        status.update("ccbench: empty run")
        empty = in_fresh_process(nothing(), repeats)
        pairs: dict[float, tuple[Measurement, Measurement | None]] = {}
        for bandwidth_mbps, ns3_s in NS3_S.items():
            status.update(f"ccbench: {bandwidth_mbps:g} Mbit/s")
            ccbench_result = in_fresh_process(dumbbell(bandwidth_mbps, duration_s), repeats)
            ns3_result = None
            if program is not None:
                status.update(f"ns-3: {bandwidth_mbps:g} Mbit/s")
                scenario = dumbbell(bandwidth_mbps, min(ns3_s, duration_s))
                ns3_result = measure_ns3(program, scenario, repeats)
            pairs[bandwidth_mbps] = ccbench_result, ns3_result
    notes.append(f"after: {machine()}")

    costs = [empty.cost, *(m.cost for pair in pairs.values() for m in pair if m)]
    out.print(make_table(empty, pairs))
    out.print(
        f"BBR against CUBIC, {RTT_MS:g} ms, drop-tail queue of 1 BDP."
        f" Best of {repeats} runs, start-up included;"
        f" the slowest took at most {max(cost.spread for cost in costs):.0%} longer."
        "\nThe virtual times differ, so “× ns-3” compares virtual seconds per wall second."
        " ccbench records every packet's events and returns a Run; ns-3 records nothing.",
        soft_wrap=True,
    )
    for note in notes:
        out.print(note, soft_wrap=True)


def main() -> int:
    """Measure everything and print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration",
        type=float,
        default=CCBENCH_S,
        metavar="S",
        help="virtual seconds of each run, the maximum for ns-3 (default: %(default)g)",
    )
    parser.add_argument(
        "--repeats", type=int, default=3, metavar="N", help="runs to time (default: %(default)s)"
    )
    parser.add_argument(
        "--before", type=Path, metavar="FOLDER", help="compare with this build of the kernel"
    )
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}; it must be at least 1: write --repeats 3")
    if not options.duration >= 1:  # otherwise hardly a packet leaves the bottleneck
        parser.error(f"--duration is {options.duration:g}; it must be at least 1: write more")

    out = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    try:
        if options.before is None:
            print_measurements(out, options.duration, options.repeats)
        else:
            print_comparison(out, options.before, options.duration, options.repeats)
    except InputError as error:
        parser.error(str(error))
    except CcbenchError as error:
        print(f"engine.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
