# SPDX-License-Identifier: Apache-2.0
"""The link of a bottleneck as a trace, the only input of mm-link."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from ccbench.experiment.trace import OPPORTUNITY_BYTES, Trace

if TYPE_CHECKING:
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["TUN_HEADER_BYTES", "constant_rate", "link_trace", "turned"]

#: mm-link reads packets from a TUN device, which prepends 4 bytes to each, and enlarges delivery
#: opportunities by as many. A full packet of 1500 IP bytes therefore takes exactly one opportunity,
#: and a scenario's rate, which counts IP bytes, is one opportunity per 1500. The header costs
#: smaller packets relatively more: those of 40 IP bytes pass at 91 % of the rate.
TUN_HEADER_BYTES = 4

#: Maximum period. Every rate in whole kbit/s has a period that divides 12 s: 12,000 bits, a full
#: packet, at 1 kbit/s.
_PERIOD_MS = 12_000


def constant_rate(bandwidth_mbps: float) -> Trace:
    """Return the trace of a link of constant rate.

    The number of opportunities up to each whole millisecond is that of the rate, rounded down. This
    is as regular as mm-link's clock permits, and deviates from the rate by less than one packet
    over any duration.

    Parameters
    ----------
    bandwidth_mbps : float
        Rate in Mbit/s of IP bytes of full packets. A rate that is not in whole kbit/s is rounded to
        the nearest one with a period of at most 12 s, which differs by at most 1 packet in 24 s.

    Examples
    --------
    >>> constant_rate(12).opportunities_ms
    (1,)
    >>> trace = constant_rate(5)
    >>> trace.duration_s, len(trace.opportunities_ms)
    (0.012, 5)
    """
    packet_bits = OPPORTUNITY_BYTES * 8
    # The exact decimal number instead of the nearest binary one.
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
        The rotated trace.
    int
        The lead of the link's clock in milliseconds, `at_least_ms` or more.
    """
    if bottleneck.trace is not None:
        return turned(bottleneck.trace, at_least_ms=at_least_ms)
    assert bottleneck.bandwidth_mbps is not None
    return turned(constant_rate(bottleneck.bandwidth_mbps), at_least_ms=at_least_ms)


def turned(trace: Trace, *, at_least_ms: int) -> tuple[Trace, int]:
    """Return a trace that equals the given one after a delay, and the delay in milliseconds.

    A trace ends with an opportunity, so the delay must move one of the given trace's to the end.

    Examples
    --------
    >>> turned(Trace(name="uneven", opportunities_ms=(10, 20, 100)), at_least_ms=50)
    (Trace(name='uneven', opportunities_ms=(80, 90, 100)), 80)
    """
    times = trace.opportunities_ms
    period_ms = times[-1]
    # Time t of the trace moves to t + wait, which is the end of a period for one opportunity.
    wait_ms = min(at_least_ms + (-time - at_least_ms) % period_ms for time in set(times))
    moved = sorted((time + wait_ms - 1) % period_ms + 1 for time in times)
    return Trace(name=trace.name, opportunities_ms=tuple(moved)), wait_ms
