# SPDX-License-Identifier: Apache-2.0
"""Test vectors made by chance."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ccbench.base.random_streams import standard_stream
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal
from ccbench.datacenter.vectors.form import Reference
from ccbench.datacenter.vectors.scenario import Departure, Refresh, Scenario, Step

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

__all__ = ["random_scenarios"]


def random_scenarios(
    count: int = 8, *, packets: int = 300, seed: int = 1, waits_ns: int = 0
) -> Iterator[Scenario]:
    """Make scenarios by chance, with the answers of the reference.

    Flows come and go, a fifth of them without ports, packets of all lengths arrive faster than they
    leave and then slower, the neighbours pause and resume; the settings differ, within what a P4
    switch of 8 queues can be set to. Every scenario ends with an empty switch.

    Parameters
    ----------
    count : int
        How many.
    packets : int
        Packets of each.
    seed : int
        The same seed makes the same scenarios.
    waits_ns : int
        How long packets wait, at most, between their stamp on arrival and being processed: so much
        time goes back.

    Examples
    --------
    >>> scenario = next(random_scenarios(1, packets=50))
    >>> sum(isinstance(step.happens, Departure) for step in scenario.steps)
    50
    """
    for i in range(count):
        chance = standard_stream(seed, "random scenario", i)
        settings = _random_settings(chance)
        steps = tuple(_random_steps(chance, settings, packets, waits_ns))
        yield Scenario(
            f"random-{seed}-{i}", "Any form decides as the reference does.", settings, steps
        )


def _random_settings(chance: random.Random) -> Settings:
    ports = chance.randint(2, 6)
    pairs = [(i, j) for i in range(ports) for j in range(ports) if i != j]
    return Settings(
        speeds_mbps=tuple(chance.choice((8_000, 40_000, 100_000)) for _ in range(ports)),
        queues=chance.randint(3, 8),
        upstream_queues=chance.randint(4, 32),
        flow_entries=chance.choice((5, 100, 800)),
        hrtt_ns=chance.choice((1000, 2000, 5000)),
        sticky_ns=chance.choice((0, 4000, 10_000)),
        sampled=chance.choice((1 << 16, 1 << 16, 1 << 15)),
        no_backpressure=frozenset(chance.sample(pairs, chance.randint(0, 2))),
        seed=chance.randint(1, 2**32 - 1),
        skip_paused=chance.random() < 0.5,  # noqa: PLR2004 - as often as not
    )


def _random_steps(
    chance: random.Random, settings: Settings, packets: int, waits_ns: int
) -> Iterator[Step]:
    reference = Reference(settings)
    ports = range(len(settings.speeds_mbps))
    hosts = [(chance.getrandbits(32), chance.getrandbits(32)) for _ in range(40)]
    flows = [Flow(*pair, 1, i) if i % 5 else Flow(*pair, 0, 0, 1) for i, pair in enumerate(hosts)]
    waiting: dict[tuple[int, int], deque[int]] = {}
    at_ns = arrived = 0
    arriving = 0.7  # the part of the steps that are arrivals: a load, then a pause for breath
    while arrived < packets or waiting:
        at_ns += chance.choice((0, 0, 0, 1000, 1000, 3000, 20_000))
        stamp_ns = at_ns
        if chance.randrange(50) == 0:
            arriving = chance.choice((0.3, 0.5, 0.7, 0.9))
        happens: Packet | Departure | Signal | Bitmap | Refresh
        if chance.randrange(10) == 0:
            happens = _random_message(chance, settings)
        elif arrived < packets and (not waiting or chance.random() < arriving):
            number = int(40 * chance.random() ** 2)  # some have more packets than others
            happens = Packet(
                flow=flows[number],
                ingress=chance.choice(ports),
                egress=number % len(ports),
                length_bytes=chance.choice((64, 1000, 1000, 1500)),
                upstream_queue=chance.choice((None, *range(settings.upstream_queues + 1))),
                incast=chance.randrange(10) == 0,
            )
            if waits_ns:
                stamp_ns = max(0, at_ns - 1000 * chance.randint(0, waits_ns // 1000))
        else:
            place = chance.choice(sorted(waiting))
            happens = Departure(waiting[place].popleft())
            if not waiting[place]:
                del waiting[place]
        answer = reference.answer(stamp_ns, happens)
        if isinstance(happens, Packet):
            assert answer.queue is not None  # every packet gets one
            waiting.setdefault((happens.egress, answer.queue), deque()).append(arrived)
            arrived += 1
        yield Step(stamp_ns, happens, answer)


def _random_message(chance: random.Random, settings: Settings) -> Signal | Bitmap | Refresh:
    port = chance.randrange(len(settings.speeds_mbps))
    queue = chance.randrange(settings.queues + 1)
    kind = chance.choice(("pause", "resume", "resume", "bitmap", "refresh"))
    if kind == "bitmap":
        return Bitmap(port, frozenset(chance.sample(range(settings.queues), 2)))
    if kind == "refresh":
        return Refresh(port)
    return Signal("pause" if kind == "pause" else "resume", port, queue)
