# SPDX-License-Identifier: Apache-2.0
"""Scenarios for a switch that itself decides when packets leave, in real time.

BMv2 offers no control over individual departures, but its queues have a configurable rate: the
first packet of a queue leaves immediately, the next one :data:`INTERVAL_NS` later, and so on. In
these scenarios all packets leave at these times, and all other events are well separated from them.
They are therefore ordinary test vectors that can also be replayed in real time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.random_streams import standard_stream
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal
from ccbench.datacenter.vectors import Departure, Reference, Refresh, SwitchScenario, VectorStep

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

__all__ = ["INTERVAL_NS", "PACKETS_PER_S", "SPACING_NS", "paced_scenarios"]

#: Departure rate of a queue in packets/s.
PACKETS_PER_S = 2
#: Time between departures from a queue in ns.
INTERVAL_NS = 10**9 // PACKETS_PER_S
#: Time between events in ns.
SPACING_NS = 15_000_000
#: Number of events that fit between a burst's first packet and its first delayed departure.
_BURST = 24


def paced_scenarios(count: int, *, seed: int = 1, bursts: int = 2) -> Iterator[SwitchScenario]:
    """Generate random scenarios in which every queue drains at :data:`PACKETS_PER_S`.

    Parameters
    ----------
    count : int
        Number of scenarios.
    seed : int
        Seed of all randomness.
    bursts : int
        Number of bursts, each arriving at an empty switch.

    Examples
    --------
    >>> from ccbench.datacenter.vectors import check
    >>> for scenario in paced_scenarios(2):
    ...     assert check(scenario, Reference(scenario.settings)) is None
    """
    for i in range(count):
        rng = standard_stream(seed, "paced scenario", i)
        settings = Settings(
            speeds_mbps=(rng.choice((0.1, 0.2)),) * 3,
            queues=rng.choice((4, 8)),
            upstream_queues=8,
            flow_entries=100,
            hrtt_ns=300_000_000,
            sticky_ns=rng.choice((200_000_000, 5_000_000_000)),
            no_backpressure=frozenset({(0, 2)}),
            seed=rng.randint(1, 2**32 - 1),
        )
        steps = tuple(_steps(rng, settings, bursts))
        yield SwitchScenario(
            f"paced-{seed}-{i}", "BMv2 decides as the reference does.", settings, steps
        )


def _steps(rng: random.Random, settings: Settings, bursts: int) -> Iterator[VectorStep]:
    reference = Reference(settings)
    hosts = [(rng.getrandbits(32), rng.getrandbits(32)) for _ in range(10)]
    flows = [Flow(*pair, 1, i) if i % 5 else Flow(*pair, 0, 0, 1) for i, pair in enumerate(hosts)]
    at_ns = arrived = 0
    for _ in range(bursts):
        leaving: list[tuple[int, int]] = []  # time, packet number
        last_ns: dict[tuple[int, int], int] = {}  # last departure time of each queue
        for _ in range(_BURST):
            at_ns += SPACING_NS
            event = _random_event(rng, flows)
            answer = reference.answer(at_ns, event)
            yield VectorStep(at_ns, event, answer)
            if isinstance(event, Packet):
                assert answer.queue is not None  # every packet is assigned a queue
                place = (event.egress, answer.queue)
                if place not in last_ns:
                    last_ns[place] = at_ns
                    departure = Departure(arrived)
                    yield VectorStep(at_ns, departure, reference.answer(at_ns, departure))
                else:
                    last_ns[place] += INTERVAL_NS
                    leaving.append((last_ns[place], arrived))
                arrived += 1
        for at_ns, number in sorted(leaving):
            departure = Departure(number)
            yield VectorStep(at_ns, departure, reference.answer(at_ns, departure))
        # Wait until every queue may send immediately again.
        at_ns = max(at_ns, *last_ns.values()) + INTERVAL_NS


def _random_event(rng: random.Random, flows: list[Flow]) -> Packet | Signal | Bitmap | Refresh:
    kind = rng.randrange(12)
    if kind == 0:
        return Signal(rng.choice(("pause", "resume")), rng.randrange(3), rng.randrange(4))
    if kind == 1:
        return Bitmap(rng.randrange(3), frozenset({rng.randrange(3)}))
    if kind == 2:  # noqa: PLR2004 - one of twelve
        return Refresh(rng.randrange(3))
    flow = flows[int(len(flows) * rng.random() ** 2)]
    return Packet(
        flow=flow,
        ingress=rng.randrange(2),
        egress=1 + flow.destination_port % 2,
        length_bytes=rng.choice((64, 1000, 1500)),
        upstream_queue=rng.choice((None, *range(8))),
        incast=rng.randrange(10) == 0,
    )
