# SPDX-License-Identifier: Apache-2.0
"""Count how many runs of QUIC stacks against CUBIC have the same bytes.

    .venv/bin/python benchmarks/same_bytes.py --kernel 6.12 --kernel 7.3 quic:ngtcp2/bbr

Every second run has busy loops beside it, one per processor. The speed is that of the runs without
load, in virtual seconds per second of processor time of the guest, which other load hardly changes.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.emulate.kernel.boot import stacks
from ccbench.emulate.kernel.engine import KernelEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY = "while True: pass"


def scenario(cca: str, duration_s: float) -> Scenario:
    """Return the scenario of a congestion control."""
    path = NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_bdp=1),), rtt_ms=40)
    return Scenario(flows=(Flow(cca=cca), Flow(cca="cubic")), path=path, duration_s=duration_s)


@contextmanager
def load() -> Iterator[None]:
    """Keep all processors busy."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def processor_s() -> float:
    """Return the processor time of all guests that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print a row per congestion control and kernel; return 1 if runs differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cca", nargs="*", help="by default one of each installed stack")
    parser.add_argument("--kernel", action="append", help="by default the default kernel")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--duration", type=float, default=5.0, help="in seconds")
    arguments = parser.parse_args()
    ccas = arguments.cca or [stack.names[0] for stack in stacks.installed()]
    all_equal = True
    for name in arguments.kernel or [None]:
        engine = KernelEngine(name)
        for cca in ccas:
            given, digests, took_s = scenario(cca, arguments.duration), Counter[str](), []
            for i in range(arguments.repeat):
                if i % 2:
                    with load():
                        digests[engine.run(given).digest()] += 1
                else:
                    before_s = processor_s()
                    digests[engine.run(given).digest()] += 1
                    took_s.append(processor_s() - before_s)
            (_, equal), *others = digests.most_common()
            speed = arguments.duration / min(took_s)
            print(
                f"{cca:24} Linux {engine.kernel.release:10} {equal} of {arguments.repeat} equal, "
                f"{speed:.3g} virtual s per s",
                flush=True,
            )
            all_equal &= not others
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
