# SPDX-License-Identifier: Apache-2.0
"""Forms of the switch, and what is wrong with one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ccbench.datacenter.switch import Packet, Switch
from ccbench.datacenter.vectors.scenario import Answer, Departure, Refresh

if TYPE_CHECKING:
    from ccbench.datacenter.switch import Bitmap, Queued, Settings, Signal
    from ccbench.datacenter.vectors.scenario import Scenario

__all__ = ["Form", "Reference", "check"]


class Form(Protocol):
    """A form of the switch, made for one scenario's settings."""

    def answer(self, at_ns: int, happens: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Let it happen and say what the switch made of it."""


class Reference:
    """The reference as a :class:`Form`.

    Parameters
    ----------
    settings : Settings
        What the switch is configured with.
    """

    def __init__(self, settings: Settings) -> None:
        self.switch = Switch(settings)
        self._queued: list[Queued] = []

    def answer(self, at_ns: int, happens: Packet | Departure | Signal | Bitmap | Refresh) -> Answer:
        """Let it happen and say what the switch made of it."""
        if isinstance(happens, Packet):
            queued = self.switch.enqueue(happens, at_ns)
            self._queued.append(queued)
            return Answer(queue=queued.queue, sampled=queued.sampled, signals=queued.signals)
        if isinstance(happens, Departure):
            return Answer(signals=self.switch.dequeue(self._queued[happens.packet], at_ns))
        if isinstance(happens, Refresh):
            return Answer(bitmap=self.switch.refresh(happens.port).queues)
        self.switch.receive(happens)
        return Answer(paused=self.switch.paused(happens.port))


def check(scenario: Scenario, form: Form) -> str | None:
    """Run a scenario through a form, up to the first wrong answer.

    Returns
    -------
    str or None
        What is wrong, in a line; None if every answer is right.

    Examples
    --------
    >>> from ccbench.datacenter.vectors import rules
    >>> [scenario.name for scenario in rules() if check(scenario, Reference(scenario.settings))]
    []
    """
    for i, step in enumerate(scenario.steps):
        answer = form.answer(step.at_ns, step.happens)
        if answer != step.answer:
            return (
                f"{scenario.name}, step {i} at {step.at_ns} ns, {step.happens}: "
                f"{_difference(answer, step.answer)}. The rule: {scenario.why}"
            )
    return None


def _difference(answer: Answer, right: Answer) -> str:
    names = [
        name
        for name in ("queue", "sampled", "signals", "paused", "bitmap")
        if getattr(answer, name) != getattr(right, name)
    ]
    return "; ".join(
        f"{name} is {getattr(answer, name)}, not {getattr(right, name)}" for name in names
    )
