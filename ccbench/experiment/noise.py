# SPDX-License-Identifier: Apache-2.0
"""Noise: random disturbance of packets' and flows' times.

Virtual time has none of a machine's own. Flows without randomness of their own (Reno, CUBIC) can
then lock in step at a drop-tail queue, one of them meeting all the losses (Floyd and Jacobson, "On
traffic phase effects in packet-switched gateways", 1992). A scenario says how much noise there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ccbench.base import dataclass_dicts, validation
from ccbench.base.checked_fields import check_fields, number
from ccbench.base.validation import Range

__all__ = ["NO_NOISE", "Noise", "read_noise", "typical"]

_TIME = number(Range(0, 1_000), example=0.1)

#: Jitter of a testbed in either direction, and the shortest round trip that it was measured at.
_TYPICAL_JITTER_MS = 0.7
_SHORTEST_CALIBRATED_MS = 20.0


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Random disturbance, each kind with one parameter; 0 switches it off.

    Parameters
    ----------
    forward_jitter_ms : float
        Delay of each packet before its first bottleneck, uniform from 0 to this, in milliseconds.
        Packets do not overtake each other.
    reverse_jitter_ms : float
        The same for packets from the receiver to the sender, which are mostly ACKs.
    sender_jitter_ms : float
        Delay of each packet as it leaves its sender, uniform from 0 to this, in milliseconds.
        Packets of a flow do not overtake each other, those of different flows may.
    start_spread_ms : float
        Delay of each flow's start, uniform from 0 to this, in milliseconds. Lists of short flows
        (`arrivals`) are left as they are.
    background_share : float
        Poisson traffic of full packets at each bottleneck, as a share of its mean rate, 0 to 0.5.
        Its packets leave the path behind that bottleneck and belong to no flow.

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
    start_spread_ms: float = field(default=0.0, metadata=_TIME)
    background_share: float = field(default=0.0, metadata=number(Range(0, 0.5), example=0.005))

    def __post_init__(self) -> None:
        check_fields(self)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return any(getattr(self, kind.name) for kind in fields(self))

    def scaled(self, factor: float) -> Noise:
        """Return this noise with each kind multiplied by `factor`.

        Raises
        ------
        InputError
            If a product is out of range.

        Examples
        --------
        >>> Noise(reverse_jitter_ms=0.1, background_share=0.005).scaled(10).describe()
        'reverse jitter 1 ms, background traffic 5 %'
        """
        with validation.within(f"noise times {factor:g}: "):
            return Noise(**{kind.name: factor * getattr(self, kind.name) for kind in fields(self)})

    def describe(self) -> str:
        """Return the noise in words, for people."""
        parts = [
            f"{field.name.removesuffix('_ms').replace('_', ' ')} {getattr(self, field.name):.3g} ms"
            for field in fields(self)
            if field.name.endswith("_ms") and getattr(self, field.name)
        ]
        if self.background_share:
            parts.append(f"background traffic {100 * self.background_share:.3g} %")
        return ", ".join(parts) or "none"

    def to_dict(self) -> dict[str, Any]:
        """Return the kinds that there are as a dictionary of plain values."""
        return dataclass_dicts.without_defaults(Noise, dataclass_dicts.present(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Noise:
        """Make noise from a dictionary such as :meth:`to_dict` returns."""
        return dataclass_dicts.build(cls, data, {})


#: None of any kind.
NO_NOISE = Noise()


def read_noise(value: object) -> Noise:
    """Read the noise that stands in a document: a table.

    Raises
    ------
    InputError
        If it is none; the message starts with ``noise``.

    Examples
    --------
    >>> read_noise({"start_spread_ms": 40}).describe()
    'start spread 40 ms'
    """
    if not isinstance(value, Mapping):
        step = "write for example noise = {reverse_jitter_ms = 0.1}"
        raise validation.bad("noise", value, "a table", step)
    with validation.within("noise."):
        return Noise.from_dict(value)


def typical(*, rtt_ms: float) -> Noise:
    """Return the noise by which comparisons of competing flows are made unless told otherwise.

    Jitter of 0.7 ms in either direction: with it, shares of CUBIC beside Reno are those that
    Mahimahi and BESS give (docs/studies/noise.md has the calibration, at 20 to 80 ms). Paths below
    20 ms have proportionally less, so that jitter stays a small part of their round trip.

    Parameters
    ----------
    rtt_ms : float
        Round-trip time of the path without queues, in milliseconds.

    Examples
    --------
    >>> typical(rtt_ms=40).describe()
    'forward jitter 0.7 ms, reverse jitter 0.7 ms'
    >>> typical(rtt_ms=2).describe()
    'forward jitter 0.07 ms, reverse jitter 0.07 ms'
    """
    jitter_ms = _TYPICAL_JITTER_MS * min(1.0, rtt_ms / _SHORTEST_CALIBRATED_MS)
    return Noise(forward_jitter_ms=jitter_ms, reverse_jitter_ms=jitter_ms)
