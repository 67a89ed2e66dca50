# SPDX-License-Identifier: Apache-2.0
"""Triggers of changes: events of a flow at which the path changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ccbench.base import validation
from ccbench.base.checked_fields import check_exactly_one, check_fields, checked, number, whole
from ccbench.base.dataclass_dicts import Document
from ccbench.base.errors import InputError
from ccbench.base.validation import Range

__all__ = ["TCP_STATE", "When"]

#: `info` for the congestion state of Linux's TCP, which every congestion control has.
TCP_STATE = "state"

_COUNT = Range(1, 2**53)
_VALUE = Range(-(2**53), 2**53)
_COMPARISONS = ("equals", "above", "below")


def _equals(name: str, value: object) -> float | str:
    if isinstance(value, str):
        return validation.text(name, value, r"\w{1,31}", "a number or a name", example="recovery")
    if isinstance(value, bool):
        allowed = "a number or the name of a state"
        raise validation.bad(name, value, allowed, f'write for example {name} = 1 or "recovery"')
    return validation.number(name, value, _VALUE, example=1)


@dataclass(frozen=True, kw_only=True)
class When(Document):
    """An event of a flow: a packet is sent, or a value of its congestion control meets a condition.

    Parameters
    ----------
    flow : int
        Number of the flow.
    packet : int, optional
        The packet with this number leaves the sending host. The first, of TCP the SYN, is 1;
        retransmissions count. With the engine `kernel-http`, whose clients open the connections,
        the first is the SYN-ACK.
    info : str, optional
        A value that the flow's congestion control reports (:meth:`ccbench.Run.cca_info`), such as
        ``"pacing_gain"``, or ``"state"``, the congestion state of TCP: ``"open"``, ``"disorder"``,
        ``"cwr"``, ``"recovery"`` or ``"loss"``. It is compared when a packet of the flow leaves the
        sending host, and when one has arrived there.
    equals : float or str, optional
        The event is that `info` becomes this value, a number or the name of a state.
    above, below : float, optional
        The event is that `info` becomes larger, or smaller. Exactly one comparison is required.
    occurrence : int
        The event that counts, from 1: with 3, the third time that `info` becomes such a value.

    Raises
    ------
    InputError
        If a setting is out of range, missing, or not allowed with the others.

    Examples
    --------
    BBR starts to drain the queue, as its pacing gain falls below 1, in units of 1/256:

    >>> When(flow=0, info="pacing_gain", below=200).packet is None
    True
    """

    flow: int = field(metadata=whole(Range(0, 999_999), example=0))
    packet: int | None = field(default=None, metadata=whole(_COUNT, example=100, optional=True))
    info: str | None = field(default=None, metadata=checked(validation.one_line, optional=True))
    equals: float | str | None = field(default=None, metadata=checked(_equals, optional=True))
    above: float | None = field(default=None, metadata=number(_VALUE, example=1, optional=True))
    below: float | None = field(default=None, metadata=number(_VALUE, example=1, optional=True))
    occurrence: int | None = field(default=None, metadata=whole(_COUNT, example=2, optional=True))

    def __post_init__(self) -> None:
        check_fields(self)
        check_exactly_one(self, "packet", "info", example="packet = 100")
        given = [name for name in _COMPARISONS if getattr(self, name) is not None]
        if self.info is not None and len(given) != 1:
            names = " and ".join(given) or "no comparison"
            raise InputError(f"info has {names}: write one of {', '.join(_COMPARISONS)}")
        if self.packet is not None:
            for name in (*given, *(["occurrence"] if self.occurrence else [])):
                allowed = "left out with packet"
                raise validation.bad(name, getattr(self, name), allowed, f"remove {name}")
