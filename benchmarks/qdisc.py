# SPDX-License-Identifier: Apache-2.0
"""Measure the cost of a packet in ABC's queueing discipline, compared with pfifo, CoDel and PIE.

    .venv/bin/python benchmarks/qdisc.py

The measure is the processor time of a whole run of the virtual kernel, divided by the number of
packets that left the bottleneck. It is the minimum of several runs; the queues take turns, so that
other load affects all of them. The link of 1 Gbit/s carries one of two kinds of traffic:

light
    An application sends at half the link rate. No packet waits and no queue drops: the packets and
    their times are the same with every queue, so the difference is the code of the queue.
full
    The sender always has data. The number of waiting packets and the sender's behaviour depend on
    the queue, and their cost is included.

All runs use ABC's sender, whose packets ABC's router marks; CoDel and PIE drop.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

from ccbench.base.errors import CcbenchError
from ccbench.emulate.registry import get_engine
from ccbench.experiment.scenario import MTU_BYTES, Bottleneck, Flow, NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LINK_MBPS = 1000.0
RTT_MS = 10.0
#: Names of the queues in the table.
QUEUES: Mapping[str, tuple[str, tuple[tuple[str, bool], ...]]] = {
    "pfifo": ("pfifo", ()),
    "codel": ("codel", ()),
    "pie": ("pie", ()),
    "abc": ("abc", ()),
    "abc, two queues": ("abc", (("two_queues", True),)),
}
TRAFFIC = {
    "light": Flow(cca="abc", kind="rate", rate_mbps=LINK_MBPS / 2),
    "full": Flow(cca="abc"),
}
#: The baseline of the comparison.
BASELINE = "pfifo"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of a run.

    Parameters
    ----------
    processor_s : float
        Processor time of the guest in seconds, start-up included.
    packets : int
        Packets that left the bottleneck, by their bytes.
    """

    processor_s: float
    packets: int

    @property
    def ns_per_packet(self) -> float:
        """Nanoseconds of processor time for each packet."""
        return self.processor_s * 1e9 / self.packets


def scenario(queue: str, traffic: str, duration_s: float) -> Scenario:
    """Return the run of a queue with a kind of traffic."""
    qdisc, options = QUEUES[queue]
    return Scenario(
        flows=(TRAFFIC[traffic],),
        path=NetworkPath(
            bottlenecks=(
                Bottleneck(
                    bandwidth_mbps=LINK_MBPS, queue_bdp=1, qdisc=qdisc, qdisc_options=options
                ),
            ),
            rtt_ms=RTT_MS,
        ),
        duration_s=duration_s,
        queue_log=False,
    )


def measure(one: Scenario) -> Cost:
    """Run a scenario, and return the cost of its guest."""
    before = getrusage(RUSAGE_CHILDREN)
    run = get_engine("kernel").run(one)
    after = getrusage(RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    carried = run.flows.groupby("flow")["throughput_bytes"].last().sum()
    return Cost(processor_s=spent_s, packets=round(carried / MTU_BYTES))


def best(costs: Iterable[Cost]) -> Cost:
    """Return the cheapest."""
    return min(costs, key=lambda cost: cost.ns_per_packet)


def main() -> int:
    """Measure everything and print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--duration",
        type=float,
        default=10.0,
        metavar="S",
        help="virtual seconds of each run (default: %(default)g)",
    )
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="runs of each (default: %(default)s)"
    )
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats is {options.repeats}; it must be at least 1: write --repeats 3")
    if not options.duration >= 1:  # otherwise hardly a packet leaves the bottleneck
        parser.error(f"--duration is {options.duration:g}; it must be at least 1: write more")
    cases = [(traffic, queue) for traffic in TRAFFIC for queue in QUEUES]
    costs: dict[tuple[str, str], list[Cost]] = {case: [] for case in cases}
    with Console(stderr=True).status("measuring"):
        try:
            for _ in range(options.repeats):
                for traffic, queue in cases:
                    costs[traffic, queue].append(
                        measure(scenario(queue, traffic, options.duration))
                    )
        except CcbenchError as error:
            print(f"qdisc.py: {error}", file=sys.stderr)
            return 1
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("traffic", "queue"):
        table.add_column(heading, no_wrap=True)
    for heading in ("packets", "ns per\npacket", f"more than\n{BASELINE}", f"by\n{BASELINE}'s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for traffic in TRAFFIC:
        base = best(costs[traffic, BASELINE])
        for queue in QUEUES:
            cost = best(costs[traffic, queue])
            table.add_row(
                traffic,
                queue,
                f"{cost.packets:,}",
                f"{cost.ns_per_packet:.0f}",
                f"{cost.ns_per_packet - base.ns_per_packet:+.0f}",
                f"{cost.ns_per_packet / base.ns_per_packet:.2f}",
            )
        table.add_section()
    out = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    out.print(table)
    spread = max(
        max(cost.ns_per_packet for cost in some) / best(some).ns_per_packet - 1
        for some in costs.values()
    )
    out.print(
        f"Best of {options.repeats} runs; the slowest took at most {spread:.0%} longer. The whole "
        "guest counts: sender, receiver, queue and link."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
