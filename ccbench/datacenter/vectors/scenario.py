# SPDX-License-Identifier: Apache-2.0
"""What happens to a switch, step by step, and the answers that are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccbench.datacenter.switch import Bitmap, Packet, Settings, Signal

__all__ = ["Answer", "Departure", "Refresh", "Scenario", "Step"]


@dataclass(frozen=True)
class Departure:
    """The packet that arrived as number `packet` of the scenario leaves."""

    packet: int


@dataclass(frozen=True)
class Refresh:
    """It is time for the bitmap of an ingress port."""

    port: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a switch makes of a step; what does not belong to that kind of step is left as it is.

    Attributes
    ----------
    queue : int, optional
        The queue that a packet joins.
    sampled : bool
        Whether it will be recirculated.
    signals : tuple of Signal
        Pauses and resumes sent.
    paused : frozenset of int, optional
        Queues of the port that are paused after a message.
    bitmap : frozenset of int, optional
        Queues named in a periodic bitmap.
    """

    queue: int | None = None
    sampled: bool = True
    signals: tuple[Signal, ...] = ()
    paused: frozenset[int] | None = None
    bitmap: frozenset[int] | None = None


@dataclass(frozen=True)
class Step:
    """Something that happens at `at_ns`, and the answer to it."""

    at_ns: int
    happens: Packet | Departure | Signal | Bitmap | Refresh
    answer: Answer


@dataclass(frozen=True)
class Scenario:
    """A switch and what happens to it.

    Attributes
    ----------
    name : str
        A word for it.
    why : str
        The rule that it tests, in a sentence.
    settings : Settings
        What the switch is configured with.
    steps : tuple of Step
        What happens, in order.
    """

    name: str
    why: str
    settings: Settings
    steps: tuple[Step, ...]
