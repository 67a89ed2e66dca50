# SPDX-License-Identifier: Apache-2.0
"""Constant rates as traces: mm-link knows nothing else."""

from __future__ import annotations

from fractions import Fraction

from ccbench.trace import OPPORTUNITY_BYTES, Trace

__all__ = ["TUN_HEADER_BYTES", "constant_rate"]

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
