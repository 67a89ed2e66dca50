# SPDX-License-Identifier: Apache-2.0
"""Settings that the sockets of both hosts share."""

from __future__ import annotations

__all__ = ["FIRST_PORT", "SO_RCVBUFFORCE"]

#: Each single flow has a port of the receiver's to itself, by which everybody tells flows apart:
#: flow 0 this one, and so on.
FIRST_PORT = 20_000

#: Of Linux; Python's module has no name for it.
SO_RCVBUFFORCE = 33
