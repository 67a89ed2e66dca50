# SPDX-License-Identifier: Apache-2.0
"""A network of BMv2 switches in real time: the program started by ``bmv2``."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.datacenter.p4.implementation import DRIVER_PORT, HOLDING_PORT
from ccbench.datacenter.p4.live import Live, cable, listen, live
from ccbench.datacenter.p4.loop.run import run
from ccbench.datacenter.p4.loop.topology import LoopTopology, Place, load_topology
from ccbench.datacenter.p4.program import Program
from ccbench.emulate.realtime.namespaces import call, set_sysctls

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.datacenter.p4.interpreter import Sent

_QUEUE_DEPTH = 1000  # of egress ports; the driver releases packets one by one


class LiveNetwork:
    """Running switches."""

    def __init__(self, switches: dict[str, Live]) -> None:
        self._switches = switches
        self._start_s = time.monotonic()

    def now(self) -> float:
        """Return the time in seconds."""
        return time.monotonic() - self._start_s

    def send(self, switch: str, port: int, data: bytes) -> None:
        """Inject a packet at a port of a switch."""
        self._switches[switch].send(port, data)

    def listen(self, until_s: float) -> Sequence[tuple[str, Sent]]:
        """Return packets to hosts and drivers, waiting until `until_s` at most for the first."""
        return listen(self._switches, until_s - self.now())


def main() -> None:
    """Run a topology and print the result as JSON."""
    compiled, folder, scratch = (Path(word) for word in sys.argv[1:4])
    seconds, stops = float(sys.argv[4]), sys.argv[5] == "stops"
    call("ip", "link", "set", "lo", "up")
    set_sysctls({"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"})
    topology = load_topology(folder)
    program = Program.load(compiled)
    with _switches(topology, compiled, program, scratch) as switches:
        result = run(LiveNetwork(switches), topology, seconds, stops=stops)
    sys.stdout.write(json.dumps(asdict(result)))


@contextlib.contextmanager
def _switches(
    topology: LoopTopology, compiled: Path, program: Program, scratch: Path
) -> Iterator[dict[str, Live]]:
    cables: dict[Place, str] = {}
    for number, (end_a, end_b) in enumerate(topology.links.items()):
        if end_a < end_b:  # each link is listed in both directions
            cables |= {end_a: f"c{number}a", end_b: f"c{number}b"}
            cable(cables[end_a], cables[end_b])
    with contextlib.ExitStack() as stack:
        switches: dict[str, Live] = {}
        for number, (name, setup) in enumerate(topology.switches.items()):
            ports = range(len(setup.settings.speeds_mbps))
            interfaces = {port: cables.get((name, port)) for port in ports}
            interfaces |= {DRIVER_PORT: None, HOLDING_PORT: None}
            log = scratch / f"{name}.log"
            switch = stack.enter_context(live(compiled, program, interfaces, log, number))
            setup.configure(switch)
            for port in ports:
                switch.command(f"set_queue_depth {_QUEUE_DEPTH} {port}")
            switches[name] = switch
        yield switches


if __name__ == "__main__":
    main()
