# SPDX-License-Identifier: Apache-2.0
"""Netlink encoding of integers and attributes."""

from __future__ import annotations

import struct

__all__ = ["attribute", "u32"]


def attribute(kind: int, payload: bytes) -> bytes:
    """Return an attribute, padded to a multiple of 4 bytes."""
    padding = -len(payload) % 4
    return struct.pack("=HH", 4 + len(payload), kind) + payload + bytes(padding)


def u32(value: int) -> bytes:
    """Return an unsigned 32-bit integer in the byte order of the guest.

    Examples
    --------
    >>> u32(1).hex()
    '01000000'
    """
    return struct.pack("=I", value)
