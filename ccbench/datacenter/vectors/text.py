# SPDX-License-Identifier: Apache-2.0
"""Test vectors in the text format described in :mod:`ccbench.datacenter.vectors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import safe_json
from ccbench.base.errors import InputError
from ccbench.datacenter.switch import Bitmap, Flow, Packet, Settings, Signal
from ccbench.datacenter.vectors.scenario import (
    Answer,
    Departure,
    Refresh,
    SwitchScenario,
    VectorStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["VERSION", "dumps", "loads", "rules"]

#: The version of the format; no other version can be read.
VERSION = 1

_FORMAT = "bfc-vectors"
_UDP = 17  # default protocol of a flow
_RULES = Path(__file__).parents[1] / "data" / "rules.jsonl"


def rules() -> tuple[SwitchScenario, ...]:
    """Return the hand-written scenarios, one per rule of the thesis."""
    return loads(_RULES.read_text("utf-8"))


def dumps(scenarios: Iterable[SwitchScenario]) -> str:
    """Return scenarios in the format of :mod:`ccbench.datacenter.vectors`."""
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


def loads(text: str) -> tuple[SwitchScenario, ...]:
    r"""Parse the format of :mod:`ccbench.datacenter.vectors`.

    Raises
    ------
    InputError
        If the text is not in this format; the message names the line.

    Examples
    --------
    >>> loads('{"format": "bfc-vectors", "version": 7}\n')
    Traceback (most recent call last):
    ...
    ccbench.base.errors.InputError: line 1: not test vectors of version 1: write them with dumps()
    """
    scenarios: list[SwitchScenario] = []
    steps: list[VectorStep] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            read = safe_json.loads(line)
            if number == 1:
                if read != {"format": _FORMAT, "version": VERSION}:
                    raise InputError(
                        f"not test vectors of version {VERSION}: write them with dumps()"
                    )
            elif "scenario" in read:
                steps = []
                settings = _settings_from_dict(read["settings"])
                scenarios.append(SwitchScenario(read["scenario"], read["why"], settings, ()))
            else:
                steps.append(_step_from_dict(read))
                last = scenarios[-1]
                scenarios[-1] = SwitchScenario(last.name, last.why, last.settings, tuple(steps))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            reason = (
                str(error) if isinstance(error, InputError) else f"not a test vector ({error!r})"
            )
            raise InputError(f"line {number}: {reason}") from error
    return tuple(scenarios)


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


def _step_to_dict(step: VectorStep) -> dict[str, Any]:
    event, answer = step.event, step.answer
    record: dict[str, Any] = {"at_ns": step.at_ns}
    if isinstance(event, Packet):
        record["enqueue"] = _packet_to_dict(event)
        record["queue"] = answer.queue
        if not answer.sampled:
            record["sampled"] = False
    elif isinstance(event, Departure):
        record["dequeue"] = event.packet
    elif isinstance(event, Signal):
        record["receive"] = [event.kind, event.port, event.queue]
    elif isinstance(event, Bitmap):
        record["receive"] = ["bitmap", event.port, sorted(event.queues)]
    else:
        record["refresh"] = event.port
    if answer.signals:
        record["signals"] = [[sent.kind, sent.port, sent.queue] for sent in answer.signals]
    for name, queues in (("paused", answer.paused), ("bitmap", answer.bitmap)):
        if queues is not None:
            record[name] = sorted(queues)
    return record


def _packet_to_dict(packet: Packet) -> dict[str, Any]:
    flow = packet.flow
    numbers = [flow.source, flow.destination, flow.source_port, flow.destination_port]
    record: dict[str, Any] = {
        "flow": numbers if flow.protocol == _UDP else [*numbers, flow.protocol],
        "ingress": packet.ingress,
        "egress": packet.egress,
        "length_bytes": packet.length_bytes,
        "upstream_queue": packet.upstream_queue,
    }
    if packet.incast:
        record["incast"] = True
    if packet.shape != "whole":
        record["shape"] = packet.shape
    return record


def _step_from_dict(read: dict[str, Any]) -> VectorStep:
    return VectorStep(
        read["at_ns"],
        _event_from_dict(read),
        Answer(
            queue=read.get("queue"),
            sampled=read.get("sampled", True),
            signals=tuple(Signal(*sent) for sent in read.get("signals", ())),
            paused=_queues(read.get("paused")),
            bitmap=_queues(read.get("bitmap")),
        ),
    )


def _event_from_dict(
    read: dict[str, Any],
) -> Packet | Departure | Signal | Bitmap | Refresh:
    if "enqueue" in read:
        packet = read["enqueue"]
        return Packet(**{**packet, "flow": Flow(*packet["flow"])})
    if "dequeue" in read:
        return Departure(read["dequeue"])
    if "refresh" in read:
        return Refresh(read["refresh"])
    kind, port, queue = read["receive"]
    return Bitmap(port, frozenset(queue)) if kind == "bitmap" else Signal(kind, port, queue)


def _queues(read: list[int] | None) -> frozenset[int] | None:
    return None if read is None else frozenset(read)
