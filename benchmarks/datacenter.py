# SPDX-License-Identifier: Apache-2.0
"""Measure how fast the simulator of data centres runs.

    .venv/bin/python benchmarks/datacenter.py

A Clos network at 60 % load, 16 to 1024 servers, under each of the schemes asked for, on one core;
every simulation in a process of its own. CPU time counts, so that a busy machine disturbs little.
What grows with the traffic (the table of flows, given and returned) is counted apart from what the
simulation itself needs: the greatest number of packets and flows that it held at once.

ns-3 is not started from here yet: its side of a common case, DCTCP flows to one receiver, is
``ns3_dctcp.cc``, to be compiled as its Debian package (libns3-dev) has it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage

from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.bfc.scheme import scheme
from ccbench.bfc.simulation import simulate
from ccbench.bfc.topology import Topology, clos
from ccbench.bfc.workload import Workload
from ccbench.errors import InputError

#: Racks, servers in each, spines: all 2 to 1 oversubscribed.
NETWORKS = ((2, 8, 4), (4, 16, 8), (8, 16, 8), (16, 16, 8), (32, 16, 8), (64, 16, 8))
#: The thesis's network.
COMMON = (8, 16, 8)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What one simulation took.

    Parameters
    ----------
    cpu_s : float
        CPU time of the simulation without the making of its traffic.
    events : int
        Arrivals, ends of transmissions, timers and starts of flows.
    packets, flows : int
        The most that were there at once.
    all_flows : int
        How many started.
    memory_mb : float
        Peak resident memory of the process, Python and all tables included (10⁶ bytes).
    """

    cpu_s: float
    events: int
    packets: int
    flows: int
    all_flows: int
    memory_mb: float


def measure(network: tuple[int, int, int], name: str, sizes: str, duration_s: float) -> Measurement:
    """Simulate a Clos network at 60 % load; to be called in a process of its own."""
    topology = _topology(network)
    flows = Workload(sizes=sizes, load=0.6).flows(topology, duration_s, seed=1)
    start_s = time.process_time()
    result = simulate(topology, flows, scheme(name), duration_s, drain_s=0)
    cpu_s = time.process_time() - start_s
    return Measurement(
        cpu_s=cpu_s,
        events=result.summary["events"],
        packets=result.summary["peak_packets"],
        flows=result.summary["peak_flows"],
        all_flows=len(flows),
        memory_mb=getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    )


def _topology(network: tuple[int, int, int]) -> Topology:
    racks, servers, spines = network
    return clos(racks=racks, servers_per_rack=servers, spines=spines)


def main() -> int:
    """Measure everything and print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration", type=float, default=1.0, metavar="MS", help="virtual ms (default: 1)"
    )
    parser.add_argument("--schemes", default="bfc,dctcp,hpcc", help="(default: %(default)s)")
    parser.add_argument("--workload", default="google,facebook", help="(default: %(default)s)")
    options = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD)
    headings = ("servers", "scheme", "workload", "events\nM", "CPU s\nper ms", "events/s\nM")
    for heading in (*headings, "packets\nat most", "flows\nat most", "flows\nin all", "memory\nMB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for network in NETWORKS:
        for name in options.schemes.split(",") if network == COMMON else ("bfc",):
            for sizes in options.workload.split(",") if network == COMMON else ("facebook",):
                try:
                    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                        cost = pool.submit(
                            measure, network, name, sizes, options.duration * 1e-3
                        ).result()
                except InputError as error:
                    parser.error(str(error))
                table.add_row(
                    f"{network[0] * network[1]}",
                    *(name, sizes, f"{cost.events / 1e6:.1f}"),
                    f"{cost.cpu_s / options.duration:.2f}",
                    f"{cost.events / cost.cpu_s / 1e6:.1f}",
                    *(f"{number:,}" for number in (cost.packets, cost.flows, cost.all_flows)),
                    f"{cost.memory_mb:.0f}",
                )
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"load of the machine: {load} (1, 5, 15 min)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
