# SPDX-License-Identifier: Apache-2.0
"""Random test vectors."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ccbench.base.random_streams import standard_stream
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal
from ccbench.datacenter.vectors.implementation import Reference
from ccbench.datacenter.vectors.scenario import Departure, Refresh, SwitchScenario, VectorStep

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

__all__ = ["random_scenarios"]


def random_scenarios(
    count: int = 8, *, packets: int = 300, seed: int = 1, waits_ns: int = 0
) -> Iterator[SwitchScenario]:
    """Generate random scenarios with the answers of the reference.

    Flows come and go, a fifth of them without ports. Packets of all lengths arrive faster than they
    leave and then slower, and the neighbours pause and resume. The settings vary within the limits
    of a P4 switch with 8 queues. Every scenario ends with an empty switch.

    Parameters
    ----------
    count : int
        Number of scenarios.
    packets : int
        Packets per scenario.
    seed : int
        Seed of all randomness.
    waits_ns : int
        Maximum wait of packets between their timestamp on arrival and their processing, by which
        timestamps may decrease.

    Examples
    --------
    >>> scenario = next(random_scenarios(1, packets=50))
    >>> sum(isinstance(step.event, Departure) for step in scenario.steps)
    50
    """
    for i in range(count):
        rng = standard_stream(seed, "random scenario", i)
        settings = _random_settings(rng)
        steps = tuple(_random_steps(rng, settings, packets, waits_ns))
        yield SwitchScenario(
            f"random-{seed}-{i}", "Any form decides as the reference does.", settings, steps
        )


def _random_settings(rng: random.Random) -> Settings:
    ports = rng.randint(2, 6)
    pairs = [(i, j) for i in range(ports) for j in range(ports) if i != j]
    return Settings(
        speeds_mbps=tuple(rng.choice((8_000, 40_000, 100_000)) for _ in range(ports)),
        queues=rng.randint(3, 8),
        upstream_queues=rng.randint(4, 32),
        flow_entries=rng.choice((5, 100, 800)),
        hrtt_ns=rng.choice((1000, 2000, 5000)),
        sticky_ns=rng.choice((0, 4000, 10_000)),
        sampled=rng.choice((1 << 16, 1 << 16, 1 << 15)),
        no_backpressure=frozenset(rng.sample(pairs, rng.randint(0, 2))),
        seed=rng.randint(1, 2**32 - 1),
        skip_paused=rng.random() < 0.5,  # noqa: PLR2004 - evenly
    )


def _random_steps(
    rng: random.Random, settings: Settings, packets: int, waits_ns: int
) -> Iterator[VectorStep]:
    reference = Reference(settings)
    ports = range(len(settings.speeds_mbps))
    hosts = [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(40)]
    flows = [Flow(*pair, 1, i) if i % 5 else Flow(*pair, 0, 0, 1) for i, pair in enumerate(hosts)]
    waiting: dict[tuple[int, int], deque[int]] = {}
    at_ns = arrived = 0
    arriving = 0.7  # the share of arrivals among the steps: periods of high and low load
    while arrived < packets or waiting:
        at_ns += rng.choice((0, 0, 0, 1000, 1000, 3000, 20_000))
        stamp_ns = at_ns
        if rng.randrange(50) == 0:
            arriving = rng.choice((0.3, 0.5, 0.7, 0.9))
        event: Packet | Departure | Signal | Bitmap | Refresh
        if rng.randrange(10) == 0:
            event = _random_message(rng, settings)
        elif arrived < packets and (not waiting or rng.random() < arriving):
            number = int(40 * rng.random() ** 2)  # some flows have more packets than others
            event = Packet(
                flow=flows[number],
                ingress=rng.choice(ports),
                egress=number % len(ports),
                length_bytes=rng.choice((64, 1000, 1000, 1500)),
                upstream_queue=rng.choice((None, *range(settings.upstream_queues + 1))),
                incast=rng.randrange(10) == 0,
            )
            if waits_ns:
                stamp_ns = max(0, at_ns - 1000 * rng.randint(0, waits_ns // 1000))
        else:
            place = rng.choice(sorted(waiting))
            event = Departure(waiting[place].popleft())
            if not waiting[place]:
                del waiting[place]
        answer = reference.answer(stamp_ns, event)
        if isinstance(event, Packet):
            assert answer.queue is not None  # every packet is assigned a queue
            waiting.setdefault((event.egress, answer.queue), deque()).append(arrived)
            arrived += 1
        yield VectorStep(stamp_ns, event, answer)


def _random_message(rng: random.Random, settings: Settings) -> Signal | Bitmap | Refresh:
    port = rng.randrange(len(settings.speeds_mbps))
    queue = rng.randrange(settings.queues + 1)
    kind = rng.choice(("pause", "resume", "resume", "bitmap", "refresh"))
    if kind == "bitmap":
        return Bitmap(port, frozenset(rng.sample(range(settings.queues), 2)))
    if kind == "refresh":
        return Refresh(port)
    return Signal("pause" if kind == "pause" else "resume", port, queue)
