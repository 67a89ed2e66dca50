# SPDX-License-Identifier: Apache-2.0
"""Noise: random disturbance of the timing of packets and flows.

Virtual time is free of the noise of real machines. Deterministic flows (Reno, CUBIC) can then
synchronise at a drop-tail queue such that one flow takes all the losses (Floyd and Jacobson, "On
traffic phase effects in packet-switched gateways", 1992). Scenarios therefore specify their noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, document_form, number
from ccbench.base.dataclass_dicts import Document
from ccbench.base.validation import Range

__all__ = ["NO_NOISE", "WIFI_JITTER", "Noise", "typical"]

#: Targets of the model of Wi-Fi jitter in milliseconds; it does not change above the highest.
WIFI_JITTER = Range(0, 91)

_OMITTED = document_form(omits_default=True)
_TIME = number(Range(0, 1_000), example=0.1) | _OMITTED

#: Jitter of a testbed in each direction, and the shortest round-trip time of its calibration.
_TYPICAL_JITTER_MS = 0.7
_SHORTEST_CALIBRATED_MS = 20.0
#: Time within which programs that a testbed starts together open their connections.
_TYPICAL_START_SPREAD_MS = 20.0


@dataclass(frozen=True, kw_only=True)
class Noise(Document):
    """Kinds of random disturbance, each with one parameter; 0 disables it.

    Parameters
    ----------
    forward_jitter_ms : float
        Maximum of the uniform delay of each packet before its first bottleneck, in milliseconds.
        Packets are not reordered.
    reverse_jitter_ms : float
        Maximum of the uniform delay of each packet from the receiver, mostly ACKs.
    sender_jitter_ms : float
        Maximum of the uniform delay of each packet at its sender, in milliseconds. Packets of one
        flow are not reordered; those of different flows may be.
    wifi_jitter_ms : float
        Target of the jitter of a busy Wi-Fi channel, up to 91 ms, which delays each packet in each
        direction after its last bottleneck: by collision avoidance of N1 ms less a uniform part of
        1 ms, and in the share (target - 1) / 90 of the packets by retransmissions of N2 times 7.5
        ms, where N1 and N2 have Poisson distributions with means 1 and 12 (the model of
        draft-huitema-ccwg-c4-test). Packets are not reordered, so that those behind a delayed
        packet wait for it.
    start_spread_ms : float
        Maximum of the uniform delay of each flow's start, in milliseconds. It does not apply to
        lists of short flows (`arrivals`).
    background_share : float
        Poisson traffic of full packets at each bottleneck, as a share of its mean rate, 0 to 0.5.
        It keeps its rate when a change sets another one for the link.
        These packets leave the path after that bottleneck and belong to no flow.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> Noise(reverse_jitter_ms=0.12, background_share=0.005).describe()
    'reverse jitter 0.12 ms, background traffic 0.5 %'
    >>> Noise().describe()
    'none'
    """

    forward_jitter_ms: float = field(default=0.0, metadata=_TIME)
    reverse_jitter_ms: float = field(default=0.0, metadata=_TIME)
    sender_jitter_ms: float = field(default=0.0, metadata=_TIME)
    wifi_jitter_ms: float = field(default=0.0, metadata=number(WIFI_JITTER, example=7) | _OMITTED)
    start_spread_ms: float = field(default=0.0, metadata=_TIME)
    background_share: float = field(
        default=0.0, metadata=number(Range(0, 0.5), example=0.005) | _OMITTED
    )

    def __post_init__(self) -> None:
        check_fields(self)

    def __bool__(self) -> bool:
        """Return whether any kind is enabled."""
        return any(getattr(self, kind.name) for kind in fields(self))

    def scaled(self, factor: float) -> Noise:
        """Return this noise with each kind multiplied by `factor`, except the spread of starts.

        The spread decides which flow starts first, at any level of the other kinds: without it, a
        comparison of flows is one of their order.

        Raises
        ------
        InputError
            If a product is out of range.

        Examples
        --------
        >>> Noise(reverse_jitter_ms=0.1, start_spread_ms=20).scaled(10).describe()
        'reverse jitter 1 ms, start spread 20 ms'
        """
        with validation.within(f"noise times {factor:g}: "):
            levels = {kind.name: factor * getattr(self, kind.name) for kind in fields(self)}
            return Noise(**{**levels, "start_spread_ms": self.start_spread_ms})

    def describe(self) -> str:
        """Return a description of the noise."""
        parts = [
            f"{field.name.removesuffix('_ms').replace('_', ' ')} {getattr(self, field.name):.3g} ms"
            for field in fields(self)
            if field.name.endswith("_ms") and getattr(self, field.name)
        ]
        if self.background_share:
            parts.append(f"background traffic {100 * self.background_share:.3g} %")
        return ", ".join(parts) or "none"


#: All kinds disabled.
NO_NOISE = Noise()


def typical(*, rtt_ms: float) -> Noise:
    """Return the default noise of comparisons of competing flows.

    It is a jitter of 0.7 ms in each direction, with which CUBIC and Reno share a bottleneck as on
    Mahimahi and BESS (docs/studies/noise.md describes the calibration at 20 to 80 ms). Below 20 ms
    the jitter decreases in proportion to the round-trip time. Flows start in random order within
    20 ms, as programs do that a testbed starts together.

    Parameters
    ----------
    rtt_ms : float
        Base round-trip time of the path in milliseconds.

    Examples
    --------
    >>> typical(rtt_ms=40).describe()
    'forward jitter 0.7 ms, reverse jitter 0.7 ms, start spread 20 ms'
    >>> typical(rtt_ms=2).describe()
    'forward jitter 0.07 ms, reverse jitter 0.07 ms, start spread 20 ms'
    """
    jitter_ms = _TYPICAL_JITTER_MS * min(1.0, rtt_ms / _SHORTEST_CALIBRATED_MS)
    return Noise(
        forward_jitter_ms=jitter_ms,
        reverse_jitter_ms=jitter_ms,
        start_spread_ms=_TYPICAL_START_SPREAD_MS,
    )
