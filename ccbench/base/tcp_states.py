# SPDX-License-Identifier: Apache-2.0
"""Congestion states of a TCP sender."""

from __future__ import annotations

__all__ = ["STATES"]

#: The position is Linux's number.
STATES = ("open", "disorder", "cwr", "recovery", "loss")
