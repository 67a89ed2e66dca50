# SPDX-License-Identifier: Apache-2.0
"""The sender of one flow, over TCP or UDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import selectors

__all__ = ["Application", "closed_sample"]


class Application(Protocol):
    """What sends the data of one flow."""

    start_s: float
    stop_s: float
    size_bytes: int | None
    sent_bytes: int
    retransmits: int

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """Begin, or offer what there is to send by now; return when there may be more."""

    def send(self, poll: selectors.BaseSelector) -> None:
        """Give the socket, which has room, what is on offer."""

    def sample(self) -> tuple[int, ...]:
        """Return the rest of a sample, from ``cwnd_packets`` on; of a closed one the totals."""

    def close(self, poll: selectors.BaseSelector) -> None:
        """End at once; once more does nothing."""


def closed_sample(retransmits: int) -> tuple[int, ...]:
    """Return the rest of a sample of a socket that is no more."""
    return (0, 0, 0, 0, 0, retransmits, 0, 0, 0)
