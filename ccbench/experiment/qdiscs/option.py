# SPDX-License-Identifier: Apache-2.0
"""One option of a qdisc, from what a user writes to what the kernel takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ccbench.base import validation
from ccbench.base.validation import Range
from ccbench.experiment.qdiscs.attributes import attribute, u32

__all__ = ["LARGEST_U32", "YES_NO", "Option", "Value"]

Value: TypeAlias = "int | float | str | bool"

YES_NO = Range(0, 1)
LARGEST_U32 = 2**32 - 1


@dataclass(frozen=True)
class Option:
    """One option of a qdisc: the attribute or field that it becomes, and the factor from its unit.

    Options that are fields of a structure have no attribute, but a default value. One with
    `choices` is one of these words, and becomes its place among them. `largest` is in the kernel's
    unit.
    """

    attribute: int = 0
    scale: float = 1
    default: float = 0
    allowed: Range | None = None
    choices: tuple[str, ...] = ()
    largest: int = LARGEST_U32

    def scaled(self, name: str, value: Value) -> int:
        """Return a value in the kernel's unit.

        Raises
        ------
        InputError
            If it is not one that the option takes.
        """
        field_name = f"qdisc_options.{name}"
        if self.choices:
            validation.one_of(field_name, value, self.choices)
            return self.choices.index(str(value))
        if self.allowed == YES_NO and isinstance(value, bool):
            return int(value)
        if self.allowed is not None and self.scale == 1:
            validation.whole(field_name, value, self.allowed, example=round(self.default))
        elif self.allowed is not None:
            validation.number(field_name, value, self.allowed, example=self.default)
        # Compared before it is multiplied: whole numbers in TOML may be longer than floats.
        most, must_be_whole = self.largest / self.scale, self.scale == 1
        if (
            isinstance(value, str)
            or not 0 <= value <= most
            or (must_be_whole and value != round(value))
        ):
            allowed = f"a {'whole ' if must_be_whole else ''}number from 0 to {most:.10g}"
            raise validation.bad(field_name, value, allowed, "write one of these")
        return min(round(value * self.scale), LARGEST_U32)

    def encode(self, name: str, value: Value) -> bytes:
        """Return the option with a value as an attribute; raises as `scaled` does."""
        return attribute(self.attribute, u32(self.scaled(name, value)))
