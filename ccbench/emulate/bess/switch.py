# SPDX-License-Identifier: Apache-2.0
"""A switch on the wires between the hosts: a bessd that has the path, at its rate, and records."""

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

__all__ = ["record", "running_switch", "the_receiver"]

#: bessd measures its clock once, when it starts, and is off for good if that fails.
_ATTEMPTS = 3


@contextmanager
def running_switch(  # noqa: PLR0913 - what, where and for whom
    directory: Path,
    hosts: Mapping[str, int],
    bottleneck: Bottleneck,
    rtt_ms: float,
    *,
    core: int,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[Bess]:
    """Have a bessd with a path, at its rate.

    To be called in the network namespace that has the wires' ends, and where
    :func:`~ccbench.emulate.realtime.namespaces.settle` was.

    Parameters
    ----------
    directory : Path
        BESS's.
    hosts : mapping
        A process in the network namespace of each host.
    bottleneck : Bottleneck
        What :func:`~ccbench.emulate.bess.pipeline.check_bottleneck` has passed.
    rtt_ms : float
        For how long it holds back answers, if this BESS can.
    core : int
        For its worker alone.
    waiting : callable, optional
        Is called often while this takes time.

    Raises
    ------
    RuntimeError
        If it has another rate.
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
def the_receiver(
    beyond: int, directory: Path, user: str, rtt_ms: float, sysctls: Mapping[str, str]
) -> Iterator[tuple[int, str]]:
    """Have the receiver behind mm-delay, if BESS cannot delay; tell a process there, its address.

    Parameters
    ----------
    beyond : int
        A process at the end of the wire.
    directory : Path
        BESS's.
    user : str
        Who runs mm-delay.
    rtt_ms : float
        The delay of both ways together.
    sysctls : mapping
        Settings of the receiver.
    """
    if doctor.delays(directory):
        yield beyond, wires.HOSTS["receiver"]
        return
    with behind_delay(beyond, rtt_ms, pwd.getpwnam(user), sysctls) as host:
        yield host


def record(bess: Bess, bottleneck: Bottleneck) -> None:
    """Let BESS write the packets from now on."""
    taps = [(pipeline.QUEUE, "igate", ARRIVALS), (pipeline.QUEUE, "ogate", DEPARTURES)]
    if bottleneck.loss:
        taps.append((pipeline.LOSS, "igate", SENT))
    for module, gate, name in taps:
        (HERE / name).touch()
        bess.call(pipeline.tap(module, gate, HERE / name))
