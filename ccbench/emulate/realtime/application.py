# SPDX-License-Identifier: Apache-2.0
"""Interface of the applications that send flows over TCP or UDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import selectors

__all__ = ["Application", "closed_sample"]


class Application(Protocol):
    """Sends the data of one flow."""

    start_s: float
    stop_s: float
    size_bytes: int | None
    sent_bytes: int
    retransmits: int

    def attend(self, now_s: float, poll: selectors.BaseSelector) -> float:
        """Start, or offer the data that is due; return the time of the next call in seconds."""

    def send(self, poll: selectors.BaseSelector) -> None:
        """Pass offered data to the socket, which has space."""

    def sample(self) -> tuple[int, ...]:
        """Return a sample from ``cwnd_packets`` on; that of a closed socket has only totals."""

    def close(self, poll: selectors.BaseSelector) -> None:
        """End the flow immediately; further calls have no effect."""


def closed_sample(retransmits: int) -> tuple[int, ...]:
    """Return the sample of a closed socket from ``cwnd_packets`` on."""
    return (0, 0, 0, 0, 0, retransmits, 0, 0, 0)
