# SPDX-License-Identifier: Apache-2.0
"""Options of qdiscs: units, ranges, defaults, and values in the kernel's units."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TypeAlias

from ccbench.base import validation
from ccbench.base.validation import Range
from ccbench.experiment.qdiscs._attributes import attribute

__all__ = [
    "LARGEST_U32",
    "Option",
    "Value",
    "flag",
    "mark_threshold",
    "milliseconds",
    "number_of_queues",
    "quantum",
]

Value: TypeAlias = "int | float | str | bool"

LARGEST_U32 = 2**32 - 1

#: Bounds of Linux for the number of queues, and for the bytes of a flow in each turn. Some
#: releases refuse values beyond them, others replace these silently.
_MOST_QUEUES = 2**16
_QUANTUM_BYTES = (256, 2**20)


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a qdisc.

    Parameters
    ----------
    summary : str
        Description in one line.
    attribute : int
        Netlink attribute; 0 if the option is a field of a structure.
    unit : str
        Unit in scenarios; empty for a plain number.
    scale : float
        Factor from this unit to the kernel's. With a factor of 1, values are whole numbers.
    low, high : float
        Smallest and largest value in `unit`. Default of `high`: the largest that the kernel can
        store.
    default : float or str, optional
        Default value; None if the kernel chooses it.
    choices : tuple of str
        Allowed words, which the kernel numbers from `low`; empty for a number.
    is_flag : bool
        Whether the value is a boolean (1 or 0).
    is_required : bool
        Whether a scenario must set the option.
    excludes : str
        Another option that must not be set together with this one.
    size : int
        Bytes of the netlink attribute.
    is_fixed : bool
        Whether the value cannot change during a run.
    marks_above : bool
        Whether every packet is marked that waits for longer, or behind more packets.
    exempted_by : str
        For such an option: another one, the number of packets below which none is marked.
    drops_acks : bool
        Whether any value above 0 drops acknowledgements from the middle of the queue.
    """

    summary: str
    attribute: int = 0
    unit: str = ""
    scale: float = 1
    low: float = 0
    high: float | None = None
    default: float | str | None = None
    choices: tuple[str, ...] = ()
    is_flag: bool = False
    is_required: bool = False
    excludes: str = ""
    size: int = 4
    is_fixed: bool = False
    marks_above: bool = False
    exempted_by: str = ""
    drops_acks: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers."""
        return not self.choices and self.scale == 1

    @property
    def range(self) -> Range:
        """Allowed numbers."""
        largest = self._largest if self.is_whole else self._largest / self.scale
        return Range(self.low, largest if self.high is None else self.high)

    @property
    def _largest(self) -> int:
        """The largest value in the kernel's unit that the kernel can store."""
        return int(256**self.size - 1)

    @property
    def allowed(self) -> str:
        """Description of the allowed values.

        Examples
        --------
        >>> milliseconds(1, "target delay").allowed, flag(4, "mark").allowed
        ('0 to 4294967.295', '0 or 1')
        >>> Option(summary="rate", choices=("known", "estimated")).allowed
        'known, estimated'
        """
        if self.choices:
            return ", ".join(self.choices)
        return "0 or 1" if self.is_flag else f"{self.range.low:.10g} to {self.range.high:.10g}"

    def scaled(self, name: str, value: Value | None) -> int:
        """Return a value in the kernel's unit.

        Raises
        ------
        InputError
            If the value is not allowed.
        """
        field = f"qdisc_options.{name}"
        if self.choices:
            validation.one_of(field, value, self.choices)
            return int(self.low) + self.choices.index(str(value))
        if self.is_flag and isinstance(value, bool):
            return int(value)
        example = max(self.low, 1 if self.default is None else float(self.default))
        if self.is_whole:
            number = int(value) if isinstance(value, float) and value.is_integer() else value
            return validation.whole(field, number, self.range, example=round(example))
        number = validation.number(field, value, self.range, example=example)
        return min(round(number * self.scale), self._largest)

    def encoded(self, name: str, value: Value) -> bytes:
        """Return the netlink attribute of a value.

        Raises
        ------
        InputError
            If the value is not allowed.

        Examples
        --------
        >>> Option(summary="coupling", attribute=10, size=1).encoded("coupling", 2).hex()
        '05000a0002000000'
        """
        payload = self.scaled(name, value).to_bytes(self.size, sys.byteorder)
        return attribute(self.attribute, payload)


def milliseconds(
    attribute: int,
    summary: str,
    *,
    default: float | None = None,
    low: float = 0,
    high: float | None = None,
) -> Option:
    """Return a time option in milliseconds, which the kernel receives in microseconds."""
    return Option(
        summary=summary,
        attribute=attribute,
        unit="ms",
        scale=1000,
        low=low,
        high=high,
        default=default,
    )


def mark_threshold(attribute: int) -> Option:
    """Return the delay above which a qdisc marks all packets, in milliseconds."""
    option = milliseconds(attribute, "delay above which all packets are marked")
    return replace(option, marks_above=True)


def flag(attribute: int, summary: str, *, default: float | None = 0, size: int = 4) -> Option:
    """Return a boolean option."""
    return Option(
        summary=summary, attribute=attribute, high=1, is_flag=True, default=default, size=size
    )


def number_of_queues(attribute: int, *, default: int) -> Option:
    """Return the number of queues into which flows are hashed."""
    return Option(
        summary="number of queues",
        attribute=attribute,
        low=1,
        high=_MOST_QUEUES,
        default=default,
        is_fixed=True,
    )


def quantum(attribute: int, summary: str = "bytes of a flow in each turn") -> Option:
    """Return the bytes that a queue may send in each turn; the kernel chooses the default."""
    low, high = _QUANTUM_BYTES
    return Option(summary=summary, attribute=attribute, unit="bytes", low=low, high=high)
