# SPDX-License-Identifier: Apache-2.0
"""Columns of tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Column"]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Key of its values in a row.
    title, unit : str
    form : str
        Format of numbers; empty for texts.

    Examples
    --------
    >>> Column(name="rtt_ms", title="RTT", unit="ms", form="g").shown({"rtt_ms": 40.0})
    '40'
    """

    name: str
    title: str
    unit: str = ""
    form: str = ""

    @property
    def is_number(self) -> bool:
        """Whether values are aligned and sorted as numbers."""
        return bool(self.form)

    def shown(self, row: Mapping[str, Any]) -> str:
        """Return the formatted value of a row; empty for NaN."""
        value = row[self.name]
        if not self.is_number:
            return str(value)
        return "" if math.isnan(value) else format(value, self.form)
