# SPDX-License-Identifier: Apache-2.0
"""Constants of the sockets of both hosts."""

from __future__ import annotations

__all__ = ["FIRST_PORT", "SO_RCVBUFFORCE"]

#: The receiver's port of flow 0; the port of flow i, which identifies its packets, is this plus i.
FIRST_PORT = 20_000

#: Linux's socket option, which Python's module does not define.
SO_RCVBUFFORCE = 33
