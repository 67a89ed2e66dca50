# SPDX-License-Identifier: Apache-2.0
"""The state of a packet within the switch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["DROP_PORT", "STANDARD", "Leftovers", "PacketState"]

#: Metadata defined by v1model.
STANDARD = "standard_metadata"
#: Egress port of dropped packets.
DROP_PORT = 511


@dataclass(frozen=True)
class Leftovers:
    """Undefined values of fields, different for each packet.

    P4 leaves fields that were never set undefined. In BMv2 they hold values of an earlier packet in
    the same memory, so that a program that depends on them behaves randomly.

    Parameters
    ----------
    widths : mapping
        For each header, the widths of its fields in bits.
    number : int
        Number of the packet.
    """

    widths: Mapping[str, Mapping[str, int]]
    number: int

    def value(self, header: str, name: str) -> int:
        """Return the value of a field."""
        digest = hashlib.blake2b(f"{self.number} {header} {name}".encode()).digest()
        return int.from_bytes(digest, "big") & (1 << self.widths[header][name]) - 1


@dataclass
class PacketState:
    """A packet within a pipeline: headers, metadata, and requested operations."""

    fields: dict[tuple[str, str], int]
    valid: set[str]
    leftovers: Leftovers
    payload: bytes = b""
    clone: tuple[int, int] | None = None  # session, field list
    recirculate: int | None = None  # field list
    truncate: int | None = None

    def read(self, place: Sequence[str]) -> int:
        """Return a field, or the validity of a header, by the names of header and field."""
        header, name = place
        if name == "$valid$":
            return int(header in self.valid)
        if header not in self.valid:
            return self.leftovers.value(header, name)
        return self.fields[header, name]

    def add_header(self, header: str) -> None:
        """Make a header valid; its fields are undefined until they are written."""
        if header not in self.valid:
            self.valid.add(header)
            for name in self.leftovers.widths[header]:
                self.fields[header, name] = self.leftovers.value(header, name)
