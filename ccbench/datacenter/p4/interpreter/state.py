# SPDX-License-Identifier: Apache-2.0
"""A packet within the switch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DROP_PORT", "STANDARD", "Leftovers", "PacketState"]

#: The metadata that v1model defines.
STANDARD = "standard_metadata"
#: The egress port that drops.
DROP_PORT = 511


@dataclass(frozen=True)
class Leftovers:
    """Values of fields that the packet has not set: others in each packet.

    P4 leaves them undefined. BMv2 has the values of whichever packet had the same memory before, so
    a program that depends on them decides at random.

    Parameters
    ----------
    widths : mapping
        Of each header the widths of its fields in bits.
    number : int
        The number of the packet.
    """

    widths: Mapping[str, Mapping[str, int]]
    number: int

    def value(self, header: str, name: str) -> int:
        """Return the value of a field."""
        digest = hashlib.blake2b(f"{self.number} {header} {name}".encode()).digest()
        return int.from_bytes(digest, "big") & (1 << self.widths[header][name]) - 1


@dataclass
class PacketState:
    """A packet within a pipeline: its headers, its metadata, and what has been asked for."""

    fields: dict[tuple[str, str], int]
    valid: set[str]
    leftovers: Leftovers
    payload: bytes = b""
    clone: tuple[int, int] | None = None  # session, field list
    recirculate: int | None = None  # field list
    truncate: int | None = None

    def read(self, place: Sequence[str]) -> int:
        """Return a field, or whether a header is valid, by the names of header and field."""
        header, name = place
        if name == "$valid$":
            return int(header in self.valid)
        if header not in self.valid:
            return self.leftovers.value(header, name)
        return self.fields[header, name]

    def add_header(self, header: str) -> None:
        """Make a header valid; until they are written its fields are undefined."""
        if header not in self.valid:
            self.valid.add(header)
            for name in self.leftovers.widths[header]:
                self.fields[header, name] = self.leftovers.value(header, name)
