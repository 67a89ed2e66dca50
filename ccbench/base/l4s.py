# SPDX-License-Identifier: Apache-2.0
"""Queues of a qdisc for L4S (RFC 9332), named alike in descriptors of qdiscs and in records."""

from __future__ import annotations

__all__ = ["QUEUES"]

#: The queue of classic congestion controls and the one of low latency; the position is the number
#: of the queue in records.
QUEUES = ("classic", "l4s")
