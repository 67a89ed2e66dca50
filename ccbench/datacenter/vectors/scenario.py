# SPDX-License-Identifier: Apache-2.0
"""Scenarios of test vectors: events at a switch, and the correct answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ccbench.datacenter.switch import Bitmap, Packet, Settings, Signal

__all__ = ["Answer", "Departure", "Refresh", "SwitchScenario", "VectorStep"]


@dataclass(frozen=True)
class Departure:
    """Departure of packet number `packet`, in order of arrival in the scenario."""

    packet: int


@dataclass(frozen=True)
class Refresh:
    """Time to send the bitmap of an ingress port."""

    port: int


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A switch's answer to an event; attributes that do not apply to the event keep their defaults.

    Attributes
    ----------
    queue : int, optional
        Queue that a packet joins.
    sampled : bool
        Whether the packet will be recirculated.
    signals : tuple of Signal
        Pauses and resumes sent.
    paused : frozenset of int, optional
        Paused queues of the port after a message.
    bitmap : frozenset of int, optional
        Queues named in a periodic bitmap.
    """

    queue: int | None = None
    sampled: bool = True
    signals: tuple[Signal, ...] = ()
    paused: frozenset[int] | None = None
    bitmap: frozenset[int] | None = None


@dataclass(frozen=True)
class VectorStep:
    """An event at `at_ns`, and the correct answer."""

    at_ns: int
    event: Packet | Departure | Signal | Bitmap | Refresh
    answer: Answer


@dataclass(frozen=True)
class SwitchScenario:
    """A switch's configuration and a sequence of events.

    Attributes
    ----------
    name : str
        Short identifier.
    why : str
        The rule that it tests, in one sentence.
    settings : Settings
        The switch's configuration.
    steps : tuple of VectorStep
        The events in order.
    """

    name: str
    why: str
    settings: Settings
    steps: tuple[VectorStep, ...]
