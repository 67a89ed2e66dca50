# SPDX-License-Identifier: Apache-2.0
"""Interface of programs that download from servers, and their statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ccbench.classify.occupancy import DURATION_S

if TYPE_CHECKING:
    from ccbench.base.errors import CcbenchError
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.site import Site
    from ccbench.emulate.engine import Check

__all__ = ["ASKED_S", "INACTIVITY_S", "MOST_REQUESTS", "Client", "Responses", "requests_at_once"]

#: Duration of a download in seconds: that of a trace, plus time for the handshakes before it.
ASKED_S = DURATION_S + 2.0
#: Time in seconds without data after which a client gives up.
INACTIVITY_S = 10
#: Maximum number of simultaneous requests.
MOST_REQUESTS = 100

#: Bytes requested at once, so that the server always has data to send, and the minimum number of
#: simultaneous requests.
_ASKED_BYTES, _LEAST_REQUESTS = 16_000_000, 2


@dataclass(frozen=True, kw_only=True)
class Responses:
    """Statistics of a server's responses.

    Parameters
    ----------
    protocol : str
        Application protocol: ``"h2"``, ``"h3"`` or ``"http/1.1"``; empty without a response.
    connections : int
        Number of opened connections.
    pages : int
        Responses with a page (status 200 to 299), complete or not.
    others : int
        Responses with another status.
    broken : int
        Requests without a complete response when the connection ended.
    """

    protocol: str
    connections: int
    pages: int
    others: int
    broken: int


class Client(Protocol):
    """A program that requests a page again and again for :data:`ASKED_S`."""

    @property
    def name(self) -> str:
        """The program's name in messages."""

    @property
    def suffix(self) -> str:
        """What follows a server's name in the name of its folder."""

    def check(self, user: str) -> Check:
        """Return the check of its installation, for the user that runs it."""

    def command(self, site: Site, manners: Manners) -> list[str]:
        """Return the command of a download, which ends by itself."""

    def responses(self, printed: str) -> Responses:
        """Return the statistics in the command's output."""

    def last_words(self, printed: str) -> str:
        """Return the last line of the command's output that may say why it failed, or nothing."""

    def silence(self) -> CcbenchError:
        """Return the error of a download of which no packet has passed the link."""


def requests_at_once(site: Site) -> int:
    """Return the number of simultaneous requests for a page.

    Examples
    --------
    >>> from ccbench.classify.web.site import Site
    >>> from ccbench.classify.web.target import Target
    >>> target = Target.named("example.com")
    >>> requests_at_once(Site(target=target, address="", rtt_ms=1, body_bytes=1_000_000))
    16
    """
    requests = math.ceil(_ASKED_BYTES / max(1, site.body_bytes))
    return min(max(requests, _LEAST_REQUESTS), MOST_REQUESTS)
