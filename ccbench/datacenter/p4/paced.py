# SPDX-License-Identifier: Apache-2.0
"""Scenarios for a switch that decides itself when packets leave, in real time.

BMv2 cannot be told when to let a packet go, but its queues can be given a rate: the first packet of
a queue leaves at once, the next one :data:`INTERVAL_NS` later, and so on. In these scenarios all
packets leave just so, and everything else happens far from there, so that they are ordinary test
vectors and can be replayed in real time as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.random_streams import standard_stream
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal
from ccbench.datacenter.vectors import Departure, Reference, Refresh, Scenario, Step

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

__all__ = ["INTERVAL_NS", "PACKETS_PER_S", "SPACING_NS", "paced_scenarios"]

#: At which rate a queue lets packets go.
PACKETS_PER_S = 2
#: How long after the one before a packet leaves its queue.
INTERVAL_NS = 10**9 // PACKETS_PER_S
#: The time between two things that happen to the switch.
SPACING_NS = 15_000_000
#: As many fit between the first packet of a burst and its first departure that is not at once.
_BURST = 24


def paced_scenarios(count: int, *, seed: int = 1, bursts: int = 2) -> Iterator[Scenario]:
    """Make scenarios by chance in which every queue drains at :data:`PACKETS_PER_S`.

    Parameters
    ----------
    count : int
        How many.
    seed : int
        The same seed makes the same scenarios.
    bursts : int
        How many times packets come, each time to an empty switch.

    Examples
    --------
    >>> from ccbench.datacenter.vectors import check
    >>> for scenario in paced_scenarios(2):
    ...     assert check(scenario, Reference(scenario.settings)) is None
    """
    for i in range(count):
        chance = standard_stream(seed, "paced scenario", i)
        settings = Settings(
            speeds_mbps=(chance.choice((0.1, 0.2)),) * 3,
            queues=chance.choice((4, 8)),
            upstream_queues=8,
            flow_entries=100,
            hrtt_ns=300_000_000,
            sticky_ns=chance.choice((200_000_000, 5_000_000_000)),
            no_backpressure=frozenset({(0, 2)}),
            seed=chance.randint(1, 2**32 - 1),
        )
        steps = tuple(_steps(chance, settings, bursts))
        yield Scenario(f"paced-{seed}-{i}", "BMv2 decides as the reference does.", settings, steps)


def _steps(chance: random.Random, settings: Settings, bursts: int) -> Iterator[Step]:
    reference = Reference(settings)
    hosts = [(chance.getrandbits(32), chance.getrandbits(32)) for _ in range(10)]
    flows = [Flow(*pair, 1, i) if i % 5 else Flow(*pair, 0, 0, 1) for i, pair in enumerate(hosts)]
    at_ns = arrived = 0
    for _ in range(bursts):
        leaving: list[tuple[int, int]] = []  # when, which packet
        last_ns: dict[tuple[int, int], int] = {}  # when the last packet of a queue leaves
        for _ in range(_BURST):
            at_ns += SPACING_NS
            happens = _happens(chance, flows)
            answer = reference.answer(at_ns, happens)
            yield Step(at_ns, happens, answer)
            if isinstance(happens, Packet):
                assert answer.queue is not None  # every packet gets one
                place = (happens.egress, answer.queue)
                if place not in last_ns:
                    last_ns[place] = at_ns
                    gone = Departure(arrived)
                    yield Step(at_ns, gone, reference.answer(at_ns, gone))
                else:
                    last_ns[place] += INTERVAL_NS
                    leaving.append((last_ns[place], arrived))
                arrived += 1
        for at_ns, number in sorted(leaving):
            gone = Departure(number)
            yield Step(at_ns, gone, reference.answer(at_ns, gone))
        # Until every queue may send at once again.
        at_ns = max(at_ns, *last_ns.values()) + INTERVAL_NS


def _happens(chance: random.Random, flows: list[Flow]) -> Packet | Signal | Bitmap | Refresh:
    kind = chance.randrange(12)
    if kind == 0:
        return Signal(chance.choice(("pause", "resume")), chance.randrange(3), chance.randrange(4))
    if kind == 1:
        return Bitmap(chance.randrange(3), frozenset({chance.randrange(3)}))
    if kind == 2:  # noqa: PLR2004 - one of twelve
        return Refresh(chance.randrange(3))
    flow = flows[int(len(flows) * chance.random() ** 2)]
    return Packet(
        flow=flow,
        ingress=chance.randrange(2),
        egress=1 + flow.destination_port % 2,
        length_bytes=chance.choice((64, 1000, 1500)),
        upstream_queue=chance.choice((None, *range(8))),
        incast=chance.randrange(10) == 0,
    )
