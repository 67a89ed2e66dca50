# SPDX-License-Identifier: Apache-2.0
"""What engines in real time support: a setting that is not listed here must have its default."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ccbench.experiment.bottleneck import Bottleneck
from ccbench.experiment.flow import Flow
from ccbench.experiment.kinds import KINDS
from ccbench.experiment.noise import Noise
from ccbench.experiment.scenario import NetworkPath, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _typeshed import DataclassInstance

__all__ = ["SUPPORTED", "unsupported"]

#: Supported settings by class. The kind of a flow decides about those of its kind.
SUPPORTED: Mapping[type, frozenset[str]] = {
    Scenario: frozenset(
        ("name", "path", "flows", "duration_s", "seed", "sample_interval_ms", "queue_log")
    ),
    NetworkPath: frozenset(
        ("bottlenecks", "reverse_bottlenecks", "rtt_ms", "noise", "ecn", "sysctls")
    ),
    Bottleneck: frozenset(
        ("bandwidth_mbps", "trace", "queue_packets", "queue_bdp", "qdisc", "qdisc_options", "loss")
    ),
    # All flows share one path.
    Flow: frozenset(
        (
            *("cca", "kind", "count", "start_s", "stop_s", "packet_bytes", "acks", "arrivals"),
            *("first_bottleneck", "last_bottleneck", "label"),
            *(name for kind in KINDS.values() if kind.in_real_time for name in kind.settings),
        )
    ),
    # Engines limit the jitter to their own (:func:`.host.check_noise`).
    Noise: frozenset(("forward_jitter_ms", "reverse_jitter_ms", "start_spread_ms")),
}

#: Shortest interval of samples that a process on a real host can keep.
_LEAST_SAMPLE_MS = 1.0


def unsupported(scenario: Scenario) -> Iterator[tuple[str, object, str]]:
    """Yield field, value and allowed values of settings that need the virtual kernel."""
    path = scenario.path
    yield from _beyond(scenario)
    yield from _beyond(path)
    for i, link in enumerate(path.links):
        yield from _beyond(link, f"{path.link_name(i)}.")
    yield from _beyond(path.noise, "noise.")
    if scenario.queue_log == "summary":
        yield "queue_log", scenario.queue_log, "true or false"
    if scenario.sample_interval_ms < _LEAST_SAMPLE_MS:
        yield "sample_interval_ms", scenario.sample_interval_ms, f"at least {_LEAST_SAMPLE_MS:g}"
    if path.ecn == "accecn":
        yield "ecn", path.ecn, "true or false"
    for i, flow in enumerate(scenario.flows):
        if not KINDS[flow.kind].in_real_time:
            yield f"flows[{i}].kind", flow.kind, "another kind"
        if flow.acks == "every":
            yield f"flows[{i}].acks", flow.acks, '"default" or "delayed"'
        yield from _beyond(flow, f"flows[{i}].")


def _beyond(part: DataclassInstance, where: str = "") -> Iterator[tuple[str, object, str]]:
    """Yield the same for settings of a part that are not supported at all."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if field.name in SUPPORTED[type(part)] or value == _default(field):
            continue
        shown = value
        if dataclasses.is_dataclass(value):
            shown = getattr(value, "name", "") or "set"
        yield f"{where}{field.name}", shown, "left out"


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
