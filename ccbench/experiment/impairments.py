# SPDX-License-Identifier: Apache-2.0
"""Impairments of a bottleneck: losses in bursts, reordering, jitter, policing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, number, whole
from ccbench.base.errors import InputError
from ccbench.base.validation import RATE_MBPS, Range
from ccbench.experiment.jitter import Jitter

__all__ = ["BurstLoss", "Jitter", "Policer", "Reordering"]

_PROBABILITY = Range(0, 1)
_ABOVE_0 = Range(0, 1, low_open=True)
_DURATION_MS = Range(0.1, 1e9)

#: Settings that describe how the state of losses in bursts changes.
_STATES = ("to_bad", "to_good"), ("good_ms", "bad_ms")


@dataclass(frozen=True, kw_only=True)
class BurstLoss:
    """Random losses in bursts: the model of Gilbert (1960) and Elliott (1963).

    The bottleneck is in a good or a bad state, at the start in the good one, and loses each packet
    with the probability of the state. Its state changes either at packets of any flow (`to_bad`,
    `to_good`) or over time, whether there are packets or not (`good_ms`, `bad_ms`).

    Parameters
    ----------
    to_bad, to_good : float, optional
        Probability per packet of the change from the good to the bad state, from 0 (there are no
        bursts), and back, above 0.
    good_ms, bad_ms : float, optional
        Mean time in each state in milliseconds, from 0.1; the times have exponential distributions.
    loss_bad, loss_good : float
        Probability of a loss in each state; there are no losses if both are 0.

    Raises
    ------
    InputError
        If a setting is out of range, or one of a pair is missing.

    Examples
    --------
    1 % of the packets are lost, in runs of 5 on average:

    >>> loss = BurstLoss.of(0.01, 5)
    >>> round(loss.mean, 6), loss.to_good
    (0.01, 0.2)

    Each fade takes 50 ms on average, one of 2 s begins after each:

    >>> round(BurstLoss(good_ms=2000, bad_ms=50).mean, 4)
    0.0244
    """

    example: ClassVar[str] = "{to_bad = 0.002, to_good = 0.2}"

    to_bad: float | None = field(
        default=None, metadata=number(_PROBABILITY, example=0.002, optional=True)
    )
    to_good: float | None = field(
        default=None, metadata=number(_ABOVE_0, example=0.2, optional=True)
    )
    good_ms: float | None = field(
        default=None, metadata=number(_DURATION_MS, example=2000, optional=True)
    )
    bad_ms: float | None = field(
        default=None, metadata=number(_DURATION_MS, example=50, optional=True)
    )
    loss_bad: float = field(default=1.0, metadata=number(_PROBABILITY, example=1))
    loss_good: float = field(default=0.0, metadata=number(_PROBABILITY, example=0))

    def __post_init__(self) -> None:
        check_fields(self)
        given = tuple(name for name in sum(_STATES, ()) if getattr(self, name) is not None)
        if given not in _STATES:
            either = ", or ".join(" and ".join(pair) for pair in _STATES)
            shown = ", ".join(given) or "none of them"
            raise validation.of_part(f"needs {either}, not {shown}: change the settings")

    @classmethod
    def of(cls, loss: float, run_packets: float) -> BurstLoss:
        """Return the losses of a share of packets in runs of a mean length.

        Parameters
        ----------
        loss : float
            Share of the lost packets, above 0 and below 1.
        run_packets : float
            Mean length of a run, at least 1.
        """
        between = Range(0, 1, low_open=True, high_open=True)
        validation.number("loss", loss, between, example=0.01)
        validation.number("run_packets", run_packets, Range(1, 1e9), example=5)
        to_good = 1 / run_packets
        if (most := run_packets / (run_packets + 1)) < loss:
            allowed = f"at most {most:.3g} in runs of {run_packets:g}, which a packet separates"
            raise validation.bad("loss", loss, allowed, "lower it, or lengthen the runs")
        return cls(to_bad=to_good * loss / (1 - loss), to_good=to_good)

    @property
    def mean(self) -> float:
        """Share of the packets that are lost in the long run; over time, at an even rate."""
        bad = (self.to_bad or 0.0) + (self.bad_ms or 0.0)
        good = (self.to_good or 0.0) + (self.good_ms or 0.0)
        return (bad * self.loss_bad + good * self.loss_good) / (bad + good)


@dataclass(frozen=True, kw_only=True)
class Reordering:
    """Packets that arrive late after the bottleneck, so that later ones overtake them.

    Parameters
    ----------
    share : float
        Share of the packets of each flow that arrive late, from 0 (there is no reordering) and
        below 1.
    delay_ms : float, optional
        Their additional delay in milliseconds. Exactly one of `delay_ms` and `packets` is required.
    packets : int, optional
        The number of later packets of the flow that overtake them. A packet without as many
        successors arrives after a second.

    Raises
    ------
    InputError
        If a setting is out of range, or both or none of the two are given.

    Examples
    --------
    >>> Reordering(share=0.01, packets=3).delay_ms is None
    True
    """

    example: ClassVar[str] = "{share = 0.01, delay_ms = 5}"

    share: float = field(metadata=number(Range(0, 1, high_open=True), example=0.01))
    delay_ms: float | None = field(
        default=None, metadata=number(Range(1e-6, 10_000), example=5, optional=True)
    )
    packets: int | None = field(
        default=None, metadata=whole(Range(1, 1_000_000), example=3, optional=True)
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if (self.delay_ms is None) == (self.packets is None):
            given = "exclude each other" if self.packets else "are both missing"
            step = "keep one of them" if self.packets else "write for example delay_ms = 5"
            raise InputError(f"delay_ms and packets {given}: {step}")


@dataclass(frozen=True, kw_only=True)
class Policer:
    """A token bucket that drops packets instead of queueing them.

    Parameters
    ----------
    rate_mbps : float
        Rate of the tokens in Mbit/s of IP bytes, 0.001 to 100,000.
    burst_bytes : int
        Size of the bucket in bytes, at least 1500 and a full packet; it is full at the start.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> Policer(rate_mbps=10, burst_bytes=50_000).rate_mbps
    10.0
    """

    example: ClassVar[str] = "{rate_mbps = 10, burst_bytes = 50_000}"

    rate_mbps: float = field(metadata=number(RATE_MBPS, example=10))
    burst_bytes: int = field(metadata=whole(Range(1500, 1_000_000_000), example=50_000))

    def __post_init__(self) -> None:
        check_fields(self)
