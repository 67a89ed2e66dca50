# SPDX-License-Identifier: Apache-2.0
"""Subflows: the paths of a connection of Multipath TCP (RFC 8684)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ccbench.base import validation
from ccbench.base.checked_fields import check_fields, checked, document_form, number, whole
from ccbench.base.dataclass_dicts import Document
from ccbench.base.validation import Range

__all__ = ["MAX_SUBFLOWS", "Subflow", "subflows"]

#: Maximum number of subflows of a connection, as with Linux's own path manager.
MAX_SUBFLOWS = 8

_LAST_POSITION = 7
_OMITTED = document_form(omits_default=True)


def _cca(name: str, value: object) -> str:
    form = "a Linux name: 1 to 15 lower-case letters, digits, - and _"
    return validation.text(name, value, "[a-z0-9_-]{1,15}", form, example="cubic")


@dataclass(frozen=True, kw_only=True)
class Subflow(Document):
    """One path of a connection of Multipath TCP, with a congestion control of its own.

    Parameters
    ----------
    cca : str, optional
        Linux name of the congestion control algorithm. Default: the `cca` of the flow.
    first_bottleneck : int
        Position of the first bottleneck on the path, 0 to 7.
    last_bottleneck : int, optional
        Position of the last one, at least `first_bottleneck`. Default: the last of the scenario.
    extra_rtt_ms : float
        Addition to the scenario's base round-trip time on this path, in milliseconds.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> Subflow(first_bottleneck=1, extra_rtt_ms=20).cca is None
    True
    """

    cca: str | None = field(default=None, metadata=checked(_cca, optional=True))
    first_bottleneck: int = field(
        default=0, metadata=whole(Range(0, _LAST_POSITION), example=1) | _OMITTED
    )
    last_bottleneck: int | None = field(
        default=None, metadata=whole(Range(0, _LAST_POSITION), example=1, optional=True)
    )
    extra_rtt_ms: float = field(
        default=0.0, metadata=number(Range(0, 10_000), example=20) | _OMITTED
    )

    def __post_init__(self) -> None:
        check_fields(self)
        first, last = self.first_bottleneck, self.last_bottleneck
        if last is not None and last < first:
            allowed = f"at least first_bottleneck = {first}"
            raise validation.bad("last_bottleneck", last, allowed, "raise it, or leave it out")


def subflows(name: str, value: object) -> tuple[Subflow, ...]:
    """Check the subflows of a flow, objects or tables; the empty tuple is a flow without any."""
    step = "write for example [{last_bottleneck = 0}, {first_bottleneck = 1}]"
    if not isinstance(value, tuple | list) or len(value) > MAX_SUBFLOWS or value == []:
        raise validation.bad(name, value, f"a list of 1 to {MAX_SUBFLOWS} subflows", step)
    checked_subflows = []
    for i, item in enumerate(value):
        if not isinstance(item, Subflow | Mapping):
            raise validation.bad(f"{name}[{i}]", item, "a Subflow, or a table", step)
        with validation.within(f"{name}[{i}]."):
            checked_subflows.append(item if isinstance(item, Subflow) else Subflow.from_dict(item))
    return tuple(checked_subflows)
