# SPDX-License-Identifier: Apache-2.0
"""Implementations of the switch, and their check against test vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ccbench.datacenter.switch import Packet, Switch
from ccbench.datacenter.vectors.scenario import Answer, Departure, Refresh

if TYPE_CHECKING:
    from ccbench.datacenter.switch import Bitmap, Queued, Settings, Signal
    from ccbench.datacenter.vectors.scenario import SwitchScenario

__all__ = ["Reference", "SwitchImplementation", "check"]


class SwitchImplementation(Protocol):
    """An implementation of the switch, created for the settings of one scenario."""

    def answer(self, at_ns: int, event: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Process an event and return the switch's answer."""


class Reference:
    """The reference model as a :class:`SwitchImplementation`.

    Parameters
    ----------
    settings : Settings
        The switch's configuration.
    """

    def __init__(self, settings: Settings) -> None:
        self.switch = Switch(settings)
        self._queued: list[Queued] = []

    def answer(self, at_ns: int, event: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Process an event and return the switch's answer."""
        if isinstance(event, Packet):
            queued = self.switch.enqueue(event, at_ns)
            self._queued.append(queued)
            return Answer(queue=queued.queue, sampled=queued.sampled, signals=queued.signals)
        if isinstance(event, Departure):
            return Answer(signals=self.switch.dequeue(self._queued[event.packet], at_ns))
        if isinstance(event, Refresh):
            return Answer(bitmap=self.switch.refresh(event.port).queues)
        self.switch.receive(event)
        return Answer(paused=self.switch.paused(event.port))


def check(scenario: SwitchScenario, implementation: SwitchImplementation) -> str | None:
    """Run a scenario through an implementation up to the first wrong answer.

    Returns
    -------
    str or None
        The difference in one line, or None if every answer is correct.

    Examples
    --------
    >>> from ccbench.datacenter.vectors import rules
    >>> [scenario.name for scenario in rules() if check(scenario, Reference(scenario.settings))]
    []
    """
    for i, step in enumerate(scenario.steps):
        answer = implementation.answer(step.at_ns, step.event)
        if answer != step.answer:
            return (
                f"{scenario.name}, step {i} at {step.at_ns} ns, {step.event}: "
                f"{_difference(answer, step.answer)}. The rule: {scenario.why}"
            )
    return None


def _difference(answer: Answer, expected: Answer) -> str:
    names = [
        name
        for name in ("queue", "sampled", "signals", "paused", "bitmap")
        if getattr(answer, name) != getattr(expected, name)
    ]
    return "; ".join(
        f"{name} is {getattr(answer, name)}, not {getattr(expected, name)}" for name in names
    )
