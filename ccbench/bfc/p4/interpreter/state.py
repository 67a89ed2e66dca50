# SPDX-License-Identifier: Apache-2.0
"""A packet within the switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DROP_PORT", "STANDARD", "PacketState"]

#: The metadata that v1model defines.
STANDARD = "standard_metadata"
#: The egress port that drops.
DROP_PORT = 511


@dataclass
class PacketState:
    """A packet within a pipeline: its headers, its metadata, and what has been asked for."""

    fields: dict[tuple[str, str], int]
    valid: set[str]
    payload: bytes = b""
    clone: tuple[int, int] | None = None  # session, field list
    recirculate: int | None = None  # field list
    truncate: int | None = None

    def read(self, place: Sequence[str]) -> int:
        """Return a field, or whether a header is valid, by the names of header and field."""
        header, name = place
        if name == "$valid$":
            return int(header in self.valid)
        return self.fields[header, name]
