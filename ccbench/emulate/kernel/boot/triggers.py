# SPDX-License-Identifier: Apache-2.0
"""Triggers of changes, validated against the state that congestion controls report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ccbench.base import structures, validation
from ccbench.base.structures import Field
from ccbench.base.tcp_states import STATES
from ccbench.experiment.when import TCP_STATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.experiment.scenario import Scenario
    from ccbench.experiment.when import When

__all__ = ["Trigger", "check", "of_changes"]

_PACKET, _CCA_INFO, _TCP_STATE = 1, 2, 3

_STATE_FIELD = Field("state", names=STATES)


class Trigger(NamedTuple):
    """The trigger of a change for the guest; kind 0 is none."""

    low: int = 0
    high: int = 0
    occurrence: int = 0
    flow: int = 0
    kind: int = 0
    offset: int = 0
    bytes: int = 0
    is_signed: bool = False


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Raise an InputError if a change waits for a state that its flow never reports."""
    of_changes(scenario, kernel)


def of_changes(scenario: Scenario, kernel: KernelBuild) -> list[Trigger]:
    """Return the trigger of each change."""
    triggers = []
    paths = scenario.split_flows
    ccas = [paths[number].cca for number in scenario.split_numbers()]
    for i, change in enumerate(scenario.path.changes):
        with validation.within(f"changes[{i}].when."):
            triggers.append(_trigger(change.when, ccas, kernel) if change.when else Trigger())
    return triggers


def _trigger(when: When, ccas: Sequence[str], kernel: KernelBuild) -> Trigger:
    """Return a trigger, given the congestion control of each flow, empty for UDP."""
    if when.packet is not None:
        return Trigger(kind=_PACKET, flow=when.flow, occurrence=when.packet)
    cca = ccas[when.flow]
    if not cca:
        allowed, step = "that of a TCP flow, as UDP has no state", "use packet"
        raise validation.bad("flow", when.flow, allowed, step)
    count = when.occurrence or 1
    if when.info == TCP_STATE:
        low, high = _range(when, _STATE_FIELD)
        return Trigger(low, high, count, when.flow, _TCP_STATE)
    fields = kernel.cca(cca).info
    names = [field.name for field in fields]
    if when.info not in names:
        allowed = f"one of {', '.join([TCP_STATE, *names])} for {cca}"
        raise validation.bad("info", when.info, allowed, "choose one, or another flow")
    position = names.index(str(when.info))
    layout = structures.structure(fields[:position])
    dtype = np.dtype(fields[position].dtype)
    low, high = _range(when, fields[position])
    is_signed = dtype.kind == "i"
    return Trigger(
        *(low, high, count, when.flow, _CCA_INFO),
        offset=layout.itemsize,
        bytes=dtype.itemsize,
        is_signed=is_signed,
    )


def _range(when: When, field: Field) -> tuple[int, int]:
    """Return the lowest and the highest value, in units of the kernel, that meet the condition."""
    limits = np.iinfo(np.int64)
    name = "below" if when.above is None else "above"
    if field.names and when.equals is None:
        step = f"write for example equals = {field.names[-1]!r}"
        raise validation.bad(name, getattr(when, name), "left out for named states", step)
    if when.above is not None:
        return math.floor(_in_units(when.above, field.scale)) + 1, int(limits.max)
    if when.below is not None:
        return int(limits.min), math.ceil(_in_units(when.below, field.scale)) - 1
    assert when.equals is not None
    exact = _number_of_state(when.equals, field) if field.names else _exact(when.equals, field)
    return exact, exact


def _number_of_state(value: float | str, field: Field) -> int:
    """Return the number of a named state, given by its name or number."""
    if value not in field.names and value not in range(len(field.names)):
        allowed = f"one of {', '.join(field.names)}, or a number from 0 to {len(field.names) - 1}"
        raise validation.bad("equals", value, allowed, "choose one")
    return field.names.index(value) if isinstance(value, str) else int(value)


def _exact(value: float | str, field: Field) -> int:
    """Return a value in units of the kernel, the nearest one if they are not the user's."""
    limits = np.iinfo(field.dtype)
    low, high = limits.min * field.scale, limits.max * field.scale
    is_whole = field.scale == 1
    allowed = f"a {'whole number' if is_whole else 'number'} from {low:.12g} to {high:.12g}"
    if isinstance(value, str) or not low <= value <= high or (is_whole and value % 1):
        step = "write another one, or use above or below"
        raise validation.bad("equals", value, allowed, step)
    return round(value / field.scale)


def _in_units(value: float, scale: float) -> float:
    """Return a value in units of the kernel: 0.29 is exactly 29 hundredths."""
    units = value / scale
    return round(units) if math.isclose(units, round(units), rel_tol=1e-9) else units
