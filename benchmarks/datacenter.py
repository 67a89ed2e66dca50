# SPDX-License-Identifier: Apache-2.0
"""Measure the speed of the data-centre simulator, compared with ns-3 or another build of it.

    .venv/bin/python benchmarks/datacenter.py
    .venv/bin/python benchmarks/datacenter.py --before PYTHON

First long DCTCP flows to one receiver, here and in ns-3 (``ns3_dctcp.cc``, compiled against the
installed ns-3, or the one in ``NS3_PREFIX``; omitted, with a note, without ns-3): queue and
throughput side by side, and ratios of the speeds. Then a Clos network at 60 % load: 10 ms of the
thesis's 128 servers, and the growth of the cost from 16 to 1024 servers.

Every simulation runs on one core in its own process. CPU time counts, so that other load has little
influence, and ratios are of one run. Memory that grows with the traffic (the input and output
tables of flows) is separate from that of the simulation itself: the greatest number of packets and
flows that it held at once.

``--before`` names an interpreter with another ccbench, such as ``.venv/bin/python`` of another
checkout, and compares only the two: both simulate the Clos networks in turns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING, TypeVar

import ns3
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.base.errors import InputError, MissingRequirement
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import Topology, clos, star
from ccbench.datacenter.workload import HEADER_BYTES, PAYLOAD_BYTES, Workload, flow_table

if TYPE_CHECKING:
    from collections.abc import Callable

    Result = TypeVar("Result")
    #: Arguments of `measure`.
    Case = tuple[tuple[int, int, int], str, str, float]

#: Racks, servers in each, spines: all 2 to 1 oversubscribed.
NETWORKS = ((2, 8, 4), (4, 16, 8), (8, 16, 8), (16, 16, 8), (32, 16, 8), (64, 16, 8))
#: The thesis's network.
COMMON = (8, 16, 8)
SENDERS = (2, 4, 8)
#: The common case, as in the program for ns-3.
GBPS, DELAY_US, THRESHOLD_PACKETS, COMMON_S = 10.0, 10.0, 40, 0.04
FULL_BYTES = PAYLOAD_BYTES + HEADER_BYTES

NS3_SOURCE = Path(__file__).with_name("ns3_dctcp.cc")


@dataclass(frozen=True, kw_only=True)
class Dumbbell:
    """Long DCTCP flows to one receiver, here or in ns-3.

    Parameters
    ----------
    cpu_s : float
        CPU time of the simulation without its set-up.
    events : int
        Events as the simulator counts them.
    queue_packets : float
        Mean queue at the bottleneck in the second half of the time.
    utilisation : float
        Share of the bottleneck used in that time.
    """

    cpu_s: float
    events: int
    queue_packets: float
    utilisation: float


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Cost of a simulation of a Clos network.

    Parameters
    ----------
    cpu_s, wall_s : float
        CPU and wall time of the simulation without the creation of its traffic.
    events : int
        Arrivals, ends of transmissions, timers and starts of flows.
    packets, flows : int
        Peak numbers.
    all_flows : int
        Number of flows started.
    memory_mb : float
        Peak resident memory of the process, including Python and all tables (10⁶ bytes).
    digest : str
        Digest of the resulting tables of flows, ports and samples.
    """

    cpu_s: float
    wall_s: float
    events: int
    packets: int
    flows: int
    all_flows: int
    memory_mb: float
    digest: str


def measure_common(senders: int) -> Dumbbell:
    """Simulate the common case here; to be called in its own process."""
    threshold_kb = THRESHOLD_PACKETS * FULL_BYTES / 1e3
    chosen = replace(
        scheme("dctcp"), pfc=False, ecn_kb=(threshold_kb, threshold_kb), ecn_probability=1.0
    )
    flows = flow_table((0.0, sender, senders, 0, "long") for sender in range(senders))
    network = star(servers=senders + 1, gbps=GBPS, delay_us=DELAY_US)
    start_s = time.process_time()
    result = simulate(network, flows, chosen, COMMON_S, drain_s=0, sample_interval_s=1e-6)
    cpu_s = time.process_time() - start_s
    half = len(result.samples) // 2
    late = result.samples["delivered_bytes"].iloc[half:]
    goodput_gbps = (late.iloc[-1] - late.iloc[0]) * 8 / (late.index[-1] - late.index[0]) / 1e9
    return Dumbbell(
        cpu_s=cpu_s,
        events=result.summary["events"],
        queue_packets=float(result.buffers.iloc[half:, 0].mean()) / FULL_BYTES,
        utilisation=goodput_gbps * FULL_BYTES / PAYLOAD_BYTES / GBPS,
    )


def measure_ns3(program: Path, senders: int) -> Dumbbell:
    """Simulate the common case in ns-3."""
    options = {
        "gbps": GBPS,
        "delay_us": DELAY_US,
        "duration_s": COMMON_S,
        "senders": senders,
        "threshold_packets": THRESHOLD_PACKETS,
    }
    command = [str(program), *(f"--{name}={value}" for name, value in options.items())]
    return Dumbbell(**json.loads(subprocess.check_output(command)))


def measure(network: tuple[int, int, int], name: str, sizes: str, duration_s: float) -> Measurement:
    """Simulate a Clos network at 60 % load; to be called in its own process."""
    topology = _topology(network)
    flows = Workload(sizes=sizes, load=0.6).flows(topology, duration_s, seed=1)
    start_s, wall_s = time.process_time(), time.monotonic()
    result = simulate(topology, flows, scheme(name), duration_s, drain_s=0)
    cpu_s, wall_s = time.process_time() - start_s, time.monotonic() - wall_s
    memory_mb = getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    digest = hashlib.sha256()
    for table in (result.flows, result.ports, result.samples):
        digest.update(pd.util.hash_pandas_object(table).to_numpy().tobytes())
    return Measurement(
        cpu_s=cpu_s,
        wall_s=wall_s,
        events=result.summary["events"],
        packets=result.summary["peak_packets"],
        flows=result.summary["peak_flows"],
        all_flows=len(flows),
        memory_mb=memory_mb,
        digest=digest.hexdigest(),
    )


def measure_elsewhere(python: Path, case: Case) -> Measurement:
    """Call :func:`measure` in another interpreter."""
    command = [str(python), __file__, "--case", json.dumps(case)]
    return Measurement(**json.loads(subprocess.check_output(command)))


def _topology(network: tuple[int, int, int]) -> Topology:
    racks, servers, spines = network
    return clos(racks=racks, servers_per_rack=servers, spines=spines)


def _apart(function: Callable[..., Result], *arguments: object) -> Result:
    """Call a function in its own process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def compare(out: Console) -> None:
    """Print the common case here, and ns-3's."""
    table = Table(box=box.SIMPLE_HEAD, title=f"DCTCP, {COMMON_S * 1e3:g} ms, K = 40 packets")
    for heading in ("senders", "simulator", "queue\npackets", "link used\n%", "events\nM"):
        table.add_column(heading, justify="right")
    for heading in ("CPU s", "events/s\nM", "events/s\nratio", "time\nratio", "queue\ndiffers"):
        table.add_column(heading, justify="right")
    note = None
    with tempfile.TemporaryDirectory(prefix="ccbench-") as directory:
        try:
            program = ns3.build(NS3_SOURCE, Path(directory))
        except MissingRequirement as missing:
            program, note = None, str(missing)
        for senders in SENDERS:
            here = _apart(measure_common, senders)
            ns3_result = None if program is None else measure_ns3(program, senders)
            ratios: tuple[str, ...] = ()
            if ns3_result is not None:
                rates = here.events / here.cpu_s / (ns3_result.events / ns3_result.cpu_s)
                queue = here.queue_packets / ns3_result.queue_packets - 1
                ratios = (
                    f"{rates:.1f}",
                    f"{ns3_result.cpu_s / here.cpu_s:.0f}",
                    f"{100 * queue:+.1f} %",
                )
            for name, one in (("ccbench", here), ("ns-3", ns3_result)):
                if one is not None:
                    table.add_row(
                        f"{senders}",
                        *(name, f"{one.queue_packets:.1f}", f"{100 * one.utilisation:.1f}"),
                        *(f"{one.events / 1e6:.2f}", f"{one.cpu_s:.3f}"),
                        f"{one.events / one.cpu_s / 1e6:.2f}",
                        *(ratios if name == "ccbench" else ()),
                    )
    out.print(table)
    if note is not None:
        out.print(note)


def print_comparison(out: Console, before: Path, cases: list[Case], repeats: int) -> None:
    """Compare the simulator of another interpreter with this one's, and print the table."""
    table = Table(box=box.SIMPLE_HEAD, title="Clos networks at 60 % load")
    for heading in ("servers", "scheme", "workload", "virtual\nms", "events\nM"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("before\nCPU s", "now\nCPU s", "events/s\nM", "before ÷\nnow", "same\nresults"):
        table.add_column(heading, justify="right", no_wrap=True)
    for case in cases:
        network, name, sizes, duration_s = case
        pairs = [
            [measure_elsewhere(python, case) for python in (before, Path(sys.executable))]
            for _ in range(repeats)
        ]
        before_s, now_s = (statistics.median(pair[i].cpu_s for pair in pairs) for i in range(2))
        ratio = statistics.median(first.cpu_s / second.cpu_s for first, second in pairs)
        events, digests = pairs[0][1].events, {cost.digest for pair in pairs for cost in pair}
        table.add_row(
            f"{network[0] * network[1]}",
            *(name, sizes, f"{duration_s * 1e3:g}", f"{events / 1e6:.1f}"),
            *(f"{before_s:.2f}", f"{now_s:.2f}", f"{events / now_s / 1e6:.1f}"),
            *(f"{ratio:.2f}", "yes" if len(digests) == 1 else "no"),
        )
    out.print(table)
    out.print(f"CPU times are medians of {repeats}, and ratios those of pairs.")


def print_measurements(out: Console, cases: list[Case]) -> None:
    """Measure Clos networks, and print the table."""
    table = Table(box=box.SIMPLE_HEAD, title="Clos networks at 60 % load")
    headings = ("servers", "scheme", "workload", "virtual\nms", "events\nM", "CPU s", "wall s")
    for heading in (*headings, "CPU s\nper ms", "events/s\nM", "packets\nat most"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("flows\nat most", "flows\nin all", "memory\nMB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for network, name, sizes, duration_s in cases:
        cost = _apart(measure, network, name, sizes, duration_s)
        virtual_ms = duration_s * 1e3
        table.add_row(
            f"{network[0] * network[1]}",
            *(name, sizes, f"{virtual_ms:g}", f"{cost.events / 1e6:.1f}"),
            *(f"{cost.cpu_s:.2f}", f"{cost.wall_s:.1f}", f"{cost.cpu_s / virtual_ms:.2f}"),
            f"{cost.events / cost.cpu_s / 1e6:.1f}",
            *(f"{number:,}" for number in (cost.packets, cost.flows, cost.all_flows)),
            f"{cost.memory_mb:.0f}",
        )
    out.print(table)


def main() -> int:
    """Measure everything and print it; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration", type=float, default=1.0, metavar="MS", help="virtual ms (default: 1)"
    )
    parser.add_argument("--schemes", default="bfc,dctcp,hpcc", help="(default: %(default)s)")
    parser.add_argument("--workload", default="google,facebook", help="(default: %(default)s)")
    parser.add_argument(
        "--before", type=Path, metavar="PYTHON", help="compare with this interpreter's ccbench"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        metavar="N",
        help="pairs of runs with --before (default: %(default)s)",
    )
    # One simulation, for another process of this program.
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(asdict(measure(*options.case))))
        return 0
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}; it must be at least 1: write --repeats 5")
    out = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    schemes, workloads = options.schemes.split(","), options.workload.split(",")
    duration_s = options.duration * 1e-3
    cases = [(COMMON, schemes[0], sizes, 0.01) for sizes in workloads]
    cases += [(COMMON, name, sizes, duration_s) for name in schemes for sizes in workloads]
    cases += [(network, schemes[0], workloads[-1], duration_s) for network in NETWORKS]
    try:
        for _, name, sizes, _ in cases:
            scheme(name)
            Workload(sizes=sizes)
    except InputError as error:
        parser.error(str(error))
    if options.before is None:
        compare(out)
        print_measurements(out, cases)
    else:
        try:
            print_comparison(out, options.before, cases, options.repeats)
        except (OSError, subprocess.CalledProcessError) as error:
            parser.error(f"--before cannot simulate: {error}")
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    out.print(f"load of the machine: {load} (1, 5, 15 min)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
