# SPDX-License-Identifier: Apache-2.0
"""Switch between the hosts: a bessd with the path at its verified rate."""

from __future__ import annotations

import pwd
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from ccbench.emulate.bess import doctor, pipeline, wires
from ccbench.emulate.bess.client import Bess
from ccbench.emulate.bess.probe import probe
from ccbench.emulate.bess.records import LARGEST_RATE_ERROR
from ccbench.emulate.mahimahi.delay import behind_delay
from ccbench.emulate.realtime.files import ARRIVALS, DEPARTURES, SENT
from ccbench.emulate.realtime.namespaces import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["record", "running_receiver", "running_switch"]

#: Maximum number of starts. bessd calibrates its clock only at its start, and an error there makes
#: all its rates wrong.
_ATTEMPTS = 3


@contextmanager
def running_switch(  # noqa: PLR0913 - independent facts about the switch
    directory: Path,
    hosts: Mapping[str, int],
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    core: int,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[Bess]:
    """Run a bessd with a path whose rate was measured.

    This must be called in the network namespace of the wires' ends, with a mount namespace prepared
    by :func:`~ccbench.emulate.realtime.namespaces.settle`.

    Parameters
    ----------
    directory : Path
        BESS's folder.
    hosts : mapping
        A process in the network namespace of each host.
    bottleneck : Bottleneck
        The bottleneck, accepted by :func:`~ccbench.emulate.bess.pipeline.check_bottleneck`.
    rtt_ms : float
        Delay of packets from the receiver in milliseconds, if this build of BESS supports it.
    core : int
        The core of bessd's worker.
    waiting : callable, optional
        Called often during the start.

    Raises
    ------
    RuntimeError
        If the rate is wrong.
    """
    delay_ms = round(rtt_ms) if doctor.delays(directory) else None
    path = pipeline.path(bottleneck, core=core, ports=wires.ports(), delay_ms=delay_ms)
    error = 0.0
    for _ in range(_ATTEMPTS):
        with closing(Bess(directory, HERE)) as bess:
            for call in path:
                bess.call(call)
            error = probe(bess, hosts, bottleneck, HERE, waiting)
            if abs(error) <= LARGEST_RATE_ERROR:
                yield bess
                return
    assert bottleneck.bandwidth_mbps is not None
    raise RuntimeError(
        f"the switch's link has {bottleneck.bandwidth_mbps * (1 + error):.4g} Mbit/s instead of "
        f"{bottleneck.bandwidth_mbps:g}: leave core {core} of this machine to it, or lower the rate"
    )


@contextmanager
def running_receiver(
    wire_end: int, directory: Path, user: str, rtt_ms: float, sysctls: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Yield a process of the receiver and its address, behind mm-delay if BESS cannot delay.

    Parameters
    ----------
    wire_end : int
        A process at the receiver's end of the wire.
    directory : Path
        BESS's folder.
    user : str
        The user of mm-delay.
    rtt_ms : float
        The delay of both directions together in milliseconds.
    sysctls : mapping
        Sysctls of the receiver.
    """
    if doctor.delays(directory):
        yield wire_end, wires.HOSTS["receiver"]
        return
    with behind_delay(wire_end, rtt_ms, pwd.getpwnam(user), sysctls) as host:
        yield host


def record(bess: Bess, bottleneck: Bottleneck) -> None:
    """Start BESS's captures."""
    taps = [(pipeline.QUEUE, "igate", ARRIVALS), (pipeline.QUEUE, "ogate", DEPARTURES)]
    if bottleneck.loss:
        taps.append((pipeline.LOSS, "igate", SENT))
    for module, gate, name in taps:
        (HERE / name).touch()
        bess.call(pipeline.tap(module, gate, HERE / name))
