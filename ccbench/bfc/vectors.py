# SPDX-License-Identifier: Apache-2.0
r"""Test vectors: packets in, decisions out, which every form of the switch must give.

:func:`rules` are short scenarios written by hand from the thesis's rules, one sentence each;
:func:`random_scenarios` are long ones made by chance, with the answers of the reference,
:class:`~ccbench.bfc.switch.Switch`. :func:`check` runs a scenario through a form.

The format, version 1, is JSON lines. The first line is ``{"format": "bfc-vectors", "version": 1}``.
A line with "scenario" begins one: its name, "why" it is there, and the "settings" of the switch, by
the names of :class:`~ccbench.bfc.switch.Settings`. Each line after it is one step: "at_ns", a
multiple of 1000 ns that never goes back, one thing that happens, and the answer:

=========== ======================================== =============================================
happens     what it carries                          answer
=========== ======================================== =============================================
"enqueue"   a packet: "flow" as [source,             "queue" that it joins; "signals" sent, each
            destination, source port, destination    ["pause" or "resume", port, queue], default
            port], "ingress", "egress",              []; "sampled", default true
            "length_bytes", "upstream_queue" (or
            null), and if labelled "incast": true
"dequeue"   which packet leaves: 0 is the first of   "signals", default []
            the scenario
"receive"   ["pause" or "resume", port, queue], or   "paused": the queues of the port that are
            ["bitmap", port, [queues]]               paused afterwards
"refresh"   a port                                   "bitmap": the queues named in the packet
=========== ======================================== =============================================

Flows are UDP. Packets of one queue leave in the order in which they came.
"""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ccbench import _json
from ccbench.bfc.switch import Bitmap, Flow, Packet, Queued, Settings, Signal, Switch
from ccbench.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "VERSION",
    "Answer",
    "Departure",
    "Form",
    "Reference",
    "Refresh",
    "Scenario",
    "Step",
    "check",
    "dumps",
    "loads",
    "random_scenarios",
    "rules",
]

#: The version of the format that is written, and the only one that is read.
VERSION = 1

_FORMAT = "bfc-vectors"


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


def rules() -> tuple[Scenario, ...]:
    """Return the scenarios written by hand from the thesis's rules."""
    return loads(Path(__file__).with_name("data").joinpath("rules.jsonl").read_text("utf-8"))


def random_scenarios(count: int = 8, *, packets: int = 300, seed: int = 1) -> Iterator[Scenario]:
    """Make scenarios by chance, with the answers of the reference.

    Flows come and go, packets of all lengths arrive faster than they leave and then slower, the
    neighbours pause and resume; the settings differ, within what a P4 switch of 8 queues can be set
    to. Every scenario ends with an empty switch.

    Parameters
    ----------
    count : int
        How many.
    packets : int
        Packets of each.
    seed : int
        The same seed makes the same scenarios.

    Examples
    --------
    >>> scenario = next(random_scenarios(1, packets=50))
    >>> sum(isinstance(step.happens, Departure) for step in scenario.steps)
    50
    """
    for i in range(count):
        chance = random.Random(f"{seed}/{i}")
        settings = _random_settings(chance)
        steps = tuple(_random_steps(chance, settings, packets))
        yield Scenario(
            f"random-{seed}-{i}", "Any form decides as the reference does.", settings, steps
        )


def dumps(scenarios: Iterable[Scenario]) -> str:
    """Write scenarios in the format at the top of this module."""
    lines: list[dict[str, Any]] = [{"format": _FORMAT, "version": VERSION}]
    for scenario in scenarios:
        lines.append(
            {
                "scenario": scenario.name,
                "why": scenario.why,
                "settings": _settings_to_dict(scenario.settings),
            }
        )
        lines.extend(_step_to_dict(step) for step in scenario.steps)
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def loads(text: str) -> tuple[Scenario, ...]:
    r"""Read scenarios from the format at the top of this module.

    Raises
    ------
    InputError
        If it is not that format, naming the line.

    Examples
    --------
    >>> loads('{"format": "bfc-vectors", "version": 7}\n')
    Traceback (most recent call last):
    ...
    ccbench.errors.InputError: line 1: not test vectors of version 1: write them with dumps()
    """
    scenarios: list[Scenario] = []
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            read = _json.loads(line)
            if number == 1:
                if read != {"format": _FORMAT, "version": VERSION}:
                    raise InputError(
                        f"not test vectors of version {VERSION}: write them with dumps()"
                    )
            elif "scenario" in read:
                steps = []
                settings = _settings_from_dict(read["settings"])
                scenarios.append(Scenario(read["scenario"], read["why"], settings, ()))
            else:
                steps.append(_step_from_dict(read))
                last = scenarios[-1]
                scenarios[-1] = Scenario(last.name, last.why, last.settings, tuple(steps))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, InputError) else f"no test vector ({error!r})"
            raise InputError(f"line {number}: {reason}") from error
    return tuple(scenarios)


def _difference(answer: Answer, right: Answer) -> str:
    names = [
        name
        for name in ("queue", "sampled", "signals", "paused", "bitmap")
        if getattr(answer, name) != getattr(right, name)
    ]
    return "; ".join(
        f"{name} is {getattr(answer, name)}, not {getattr(right, name)}" for name in names
    )


def _settings_to_dict(settings: Settings) -> dict[str, Any]:
    return {
        "speeds_mbps": list(settings.speeds_mbps),
        "queues": settings.queues,
        "upstream_queues": settings.upstream_queues,
        "flow_entries": settings.flow_entries,
        "hrtt_ns": settings.hrtt_ns,
        "sticky_ns": settings.sticky_ns,
        "sampled": settings.sampled,
        "skip_paused": settings.skip_paused,
        "no_backpressure": sorted(map(list, settings.no_backpressure)),
        "seed": settings.seed,
    }


def _settings_from_dict(read: dict[str, Any]) -> Settings:
    pairs = frozenset((ingress, egress) for ingress, egress in read.get("no_backpressure", ()))
    return Settings(**{**read, "speeds_mbps": tuple(read["speeds_mbps"]), "no_backpressure": pairs})


def _step_to_dict(step: Step) -> dict[str, Any]:
    happens, answer = step.happens, step.answer
    written: dict[str, Any] = {"at_ns": step.at_ns}
    if isinstance(happens, Packet):
        flow = happens.flow
        written["enqueue"] = {
            "flow": [flow.source, flow.destination, flow.source_port, flow.destination_port],
            "ingress": happens.ingress,
            "egress": happens.egress,
            "length_bytes": happens.length_bytes,
            "upstream_queue": happens.upstream_queue,
        }
        if happens.incast:
            written["enqueue"]["incast"] = True
        written["queue"] = answer.queue
        if not answer.sampled:
            written["sampled"] = False
    elif isinstance(happens, Departure):
        written["dequeue"] = happens.packet
    elif isinstance(happens, Signal):
        written["receive"] = [happens.kind, happens.port, happens.queue]
    elif isinstance(happens, Bitmap):
        written["receive"] = ["bitmap", happens.port, sorted(happens.queues)]
    else:
        written["refresh"] = happens.port
    if answer.signals:
        written["signals"] = [[sent.kind, sent.port, sent.queue] for sent in answer.signals]
    for name, queues in (("paused", answer.paused), ("bitmap", answer.bitmap)):
        if queues is not None:
            written[name] = sorted(queues)
    return written


def _step_from_dict(read: dict[str, Any]) -> Step:
    return Step(
        read["at_ns"],
        _happens_from_dict(read),
        Answer(
            queue=read.get("queue"),
            sampled=read.get("sampled", True),
            signals=tuple(Signal(*sent) for sent in read.get("signals", ())),
            paused=_queues(read.get("paused")),
            bitmap=_queues(read.get("bitmap")),
        ),
    )


def _happens_from_dict(
    read: dict[str, Any],
) -> Packet | Departure | Signal | Bitmap | Refresh:
    if "enqueue" in read:
        packet = read["enqueue"]
        return Packet(**{**packet, "flow": Flow(*packet["flow"])})
    if "dequeue" in read:
        return Departure(read["dequeue"])
    if "refresh" in read:
        return Refresh(read["refresh"])
    kind, port, named = read["receive"]
    return Bitmap(port, frozenset(named)) if kind == "bitmap" else Signal(kind, port, named)


def _queues(read: list[int] | None) -> frozenset[int] | None:
    return None if read is None else frozenset(read)


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


def _random_steps(chance: random.Random, settings: Settings, packets: int) -> Iterator[Step]:
    reference = Reference(settings)
    ports = range(len(settings.speeds_mbps))
    flows = [Flow(chance.getrandbits(32), chance.getrandbits(32), 1, i) for i in range(40)]
    waiting: dict[tuple[int, int], deque[int]] = {}
    at_ns = arrived = 0
    arriving = 0.7  # the part of the steps that are arrivals: a load, then a pause for breath
    while arrived < packets or waiting:
        at_ns += chance.choice((0, 0, 0, 1000, 1000, 3000, 20_000))
        if chance.randrange(50) == 0:
            arriving = chance.choice((0.3, 0.5, 0.7, 0.9))
        happens: Packet | Departure | Signal | Bitmap | Refresh
        if chance.randrange(10) == 0:
            happens = _random_message(chance, settings)
        elif arrived < packets and (not waiting or chance.random() < arriving):
            flow = flows[int(40 * chance.random() ** 2)]  # some have more packets than others
            happens = Packet(
                flow=flow,
                ingress=chance.choice(ports),
                egress=flow.destination_port % len(ports),
                length_bytes=chance.choice((64, 1000, 1000, 1500)),
                upstream_queue=chance.choice((None, *range(settings.upstream_queues + 1))),
                incast=chance.randrange(10) == 0,
            )
        else:
            place = chance.choice(sorted(waiting))
            happens = Departure(waiting[place].popleft())
            if not waiting[place]:
                del waiting[place]
        answer = reference.answer(at_ns, happens)
        if isinstance(happens, Packet):
            assert answer.queue is not None  # every packet gets one
            waiting.setdefault((happens.egress, answer.queue), deque()).append(arrived)
            arrived += 1
        yield Step(at_ns, happens, answer)


def _random_message(chance: random.Random, settings: Settings) -> Signal | Bitmap | Refresh:
    port = chance.randrange(len(settings.speeds_mbps))
    queue = chance.randrange(settings.queues + 1)
    kind = chance.choice(("pause", "resume", "resume", "bitmap", "refresh"))
    if kind == "bitmap":
        return Bitmap(port, frozenset(chance.sample(range(settings.queues), 2)))
    if kind == "refresh":
        return Refresh(port)
    return Signal("pause" if kind == "pause" else "resume", port, queue)
