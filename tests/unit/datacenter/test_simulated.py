# SPDX-License-Identifier: Apache-2.0
"""The simulator's switch, tested with the vectors of the reference."""

from __future__ import annotations

import dataclasses
import random
from collections import deque
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.datacenter.simulated import Simulated, unsupported
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings
from ccbench.datacenter.vectors import (
    Departure,
    Reference,
    Refresh,
    SwitchScenario,
    VectorStep,
    check,
    random_scenarios,
    rules,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

WITHIN = tuple(scenario for scenario in rules() if unsupported(scenario) is None)


@pytest.mark.parametrize("scenario", WITHIN, ids=lambda scenario: scenario.name)
def test_rules(scenario: SwitchScenario) -> None:
    """The simulator's own code follows the rules of the thesis."""
    assert check(scenario, Simulated(scenario.settings)) is None


def test_random_scenarios() -> None:
    """Over hundreds of packets the simulator decides as the reference does, at any settings."""
    for scenario in random_scenarios(12, packets=200, seed=5):
        bare = _supported_part(scenario)
        assert unsupported(bare) is None
        assert check(bare, Simulated(bare.settings)) is None


def test_unsupported_rules() -> None:
    """Six rules concern features that the simulator lacks; each is named."""
    assert {
        scenario.name: unsupported(scenario) for scenario in rules() if unsupported(scenario)
    } == {
        "bitmap": "bitmaps",
        "refresh": "bitmaps",
        "garbled": "pauses of a queue that cannot exist",
        "no-backpressure": "pairs of ports without backpressure",
        "unnamed": "packets that name no queue",
        "incast": "incast labels",
    }


def test_unsupported_settings() -> None:
    """Features that the simulator lacks are errors, not wrong answers."""
    settings = Settings(speeds_mbps=(1000, 1000))
    with pytest.raises(InputError, match="no pairs of ports"):
        Simulated(dataclasses.replace(settings, no_backpressure=frozenset({(0, 1)})))
    simulated = Simulated(settings)
    for event in (
        Refresh(0),
        Bitmap(0, frozenset()),
        Packet(flow=Flow(1, 2, 3, 4), ingress=0, egress=1, upstream_queue=1, incast=True),
    ):
        with pytest.raises(InputError, match="the simulator has no"):
            simulated.answer(0, event)


def _supported_part(scenario: SwitchScenario) -> SwitchScenario:
    settings = dataclasses.replace(scenario.settings, no_backpressure=frozenset())
    return dataclasses.replace(
        scenario, settings=settings, steps=tuple(_steps(scenario.steps, settings))
    )


def _steps(steps: tuple[VectorStep, ...], settings: Settings) -> Iterator[VectorStep]:
    """Recompute the answers for the supported features, with queues of the simulator."""
    chance = random.Random(1)
    reference = Reference(settings)
    waiting: dict[tuple[int, int | None], deque[int]] = {}
    arrived = 0
    for step in steps:
        event = step.event
        if isinstance(event, Packet):
            named = (event.upstream_queue or 0) % settings.upstream_queues
            event = dataclasses.replace(event, incast=False, upstream_queue=named)
        elif isinstance(event, Departure):
            place = chance.choice(sorted(waiting))
            event = Departure(waiting[place].popleft())
            if not waiting[place]:
                del waiting[place]
        elif isinstance(event, Bitmap | Refresh) or event.queue >= settings.data_queues:
            continue
        answer = reference.answer(step.at_ns, event)
        if isinstance(event, Packet):
            waiting.setdefault((event.egress, answer.queue), deque()).append(arrived)
            arrived += 1
        yield VectorStep(step.at_ns, event, answer)
