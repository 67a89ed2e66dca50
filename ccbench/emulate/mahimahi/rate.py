# SPDX-License-Identifier: Apache-2.0
"""The link of a bottleneck as a trace: mm-link knows nothing else."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ccbench.experiment.trace import OPPORTUNITY_BYTES, Trace

if TYPE_CHECKING:
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["TUN_HEADER_BYTES", "constant_rate", "link_trace", "turned"]

#: mm-link reads packets from a TUN device, which puts 4 bytes before each, and gives a delivery
#: opportunity as many bytes more. A full packet of 1500 IP bytes so takes exactly one opportunity,
#: and a scenario's rate, which counts IP bytes, is one opportunity for every 1500. Smaller packets
#: pay relatively more for the header: 40 bytes of IP pass at 91 % of the rate.
TUN_HEADER_BYTES = 4

#: Longest period. Every rate of whole kbit/s has one that divides 12 s: 12,000 bits, a full packet,
#: at 1 kbit/s.
_PERIOD_MS = 12_000


def constant_rate(bandwidth_mbps: float) -> Trace:
    """Return the trace of a link of constant rate.

    By every whole millisecond t it has had the opportunities of t milliseconds at that rate,
    rounded down: as regular as mm-link's clock allows, and never more than one packet from what the
    rate allows, over a second or over an hour.

    Parameters
    ----------
    bandwidth_mbps : float
        Rate in Mbit/s of IP bytes of full packets. One that is no whole number of kbit/s becomes
        the nearest rate with a period of at most 12 s, at most 1 packet in 24 s away.

    Examples
    --------
    >>> constant_rate(12).opportunities_ms
    (1,)
    >>> trace = constant_rate(5)
    >>> trace.duration_s, len(trace.opportunities_ms)
    (0.012, 5)
    """
    packet_bits = OPPORTUNITY_BYTES * 8
    # What the decimal number says, not the nearest binary one.
    per_ms = Fraction(str(bandwidth_mbps)) * 1000 / packet_bits
    per_ms = per_ms.limit_denominator(_PERIOD_MS)
    # The k-th packet is due at k / per_ms; the next whole millisecond is its opportunity.
    times = tuple(
        -(-k * per_ms.denominator // per_ms.numerator) for k in range(1, per_ms.numerator + 1)
    )
    return Trace(name=f"{bandwidth_mbps:g} Mbit/s", opportunities_ms=times)


def link_trace(bottleneck: Bottleneck, *, at_least_ms: int) -> tuple[Trace, int]:
    """Return the trace of a bottleneck for a link whose clock starts before the scenario's.

    Returns
    -------
    Trace
    int
        By how much the link's clock has to be ahead, in milliseconds: `at_least_ms` or more.
    """
    if bottleneck.trace is not None:
        return turned(bottleneck.trace, at_least_ms=at_least_ms)
    assert bottleneck.bandwidth_mbps is not None
    return turned(constant_rate(bottleneck.bandwidth_mbps), at_least_ms=at_least_ms)


def turned(trace: Trace, *, at_least_ms: int) -> tuple[Trace, int]:
    """Return a trace that is the given one after some time, and that time in milliseconds.

    A trace ends with an opportunity, so only those times will do at which its last is one of the
    given one's.

    Examples
    --------
    >>> turned(Trace(name="uneven", opportunities_ms=(10, 20, 100)), at_least_ms=50)
    (Trace(name='uneven', opportunities_ms=(80, 90, 100)), 80)
    """
    times = trace.opportunities_ms
    period_ms = times[-1]
    # The time t of the trace is at t + wait: at the end of a period for one of the opportunities.
    wait_ms = min(at_least_ms + (-time - at_least_ms) % period_ms for time in set(times))
    moved = sorted((time + wait_ms - 1) % period_ms + 1 for time in times)
    return Trace(name=trace.name, opportunities_ms=tuple(moved)), wait_ms
