# SPDX-License-Identifier: Apache-2.0
"""Numbers and attributes as Linux's requests (netlink) have them."""

from __future__ import annotations

import struct

__all__ = ["attribute", "u32"]


def attribute(kind: int, payload: bytes) -> bytes:
    """Return an attribute of a request, padded to whole words."""
    padding = -len(payload) % 4
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(padding)


def u32(value: int) -> bytes:
    """Return a whole number of 32 bits, as the guest has them.

    Examples
    --------
    >>> u32(1).hex()
    '01000000'
    """
    return struct.pack("=I", value)
