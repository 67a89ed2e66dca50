# SPDX-License-Identifier: Apache-2.0
"""An HTTP/3 client that requests a page again and again, and prints statistics.

Usage: http3_program ADDRESS PORT URL SECONDS REQUESTS USER-AGENT
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamReset

from ccbench.classify.web.client import INACTIVITY_S, Responses

if TYPE_CHECKING:
    from aioquic.h3.events import H3Event
    from aioquic.quic.events import QuicEvent

#: Limits of flow control, which leave the limit to the server's congestion control.
_WINDOW_BYTES = 100_000_000

_OK, _REDIRECTS, _INFORMATION = 200, 300, 100


@dataclass
class Statistics:
    """Counts of responses.

    Attributes
    ----------
    pages, others, broken : int
        See :class:`~ccbench.classify.web.client.Responses`.
    open : set of int
        Streams whose response is incomplete.
    """

    pages: int = 0
    others: int = 0
    broken: int = 0
    open: set[int] = field(default_factory=set)

    def count(self, status: int) -> None:
        """Count a response by its status."""
        if _OK <= status < _REDIRECTS:
            self.pages += 1
        elif status >= _OK:
            self.others += 1


class Client(QuicConnectionProtocol):
    """A connection that always has a number of requests in progress."""

    headers: tuple[tuple[bytes, bytes], ...]
    statistics: Statistics
    http: H3Connection | None = None
    is_closing = False

    def begin(
        self, headers: tuple[tuple[bytes, bytes], ...], requests: int, statistics: Statistics
    ) -> None:
        """Send so many requests."""
        self.headers, self.statistics = headers, statistics
        self.http = H3Connection(self._quic)
        for _ in range(requests):
            self._ask(self.http)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Count responses, and replace those that are complete by new requests."""
        if self.http is None:
            return
        if isinstance(event, ConnectionTerminated) and not self.is_closing:
            self.statistics.broken += len(self.statistics.open)
            self.statistics.open.clear()
        elif isinstance(event, StreamReset) and event.stream_id in self.statistics.open:
            self.statistics.broken += 1
            self.statistics.open.remove(event.stream_id)
        for each in self.http.handle_event(event):
            self._take(each, self.http)

    def _take(self, event: H3Event, http: H3Connection) -> None:
        if not isinstance(event, HeadersReceived | DataReceived):
            return
        if isinstance(event, HeadersReceived) and (status := dict(event.headers).get(b":status")):
            self.statistics.count(int(status))
        if event.stream_ended and event.stream_id in self.statistics.open:
            self.statistics.open.remove(event.stream_id)
            if not self.is_closing:
                self._ask(http)

    def _ask(self, http: H3Connection) -> None:
        stream = self._quic.get_next_available_stream_id()
        http.send_headers(stream, [*self.headers], end_stream=True)
        self.statistics.open.add(stream)


async def download(  # noqa: PLR0913, PLR0917 - the words of a command line
    address: str, port: int, url: str, duration_s: float, requests: int, user_agent: str
) -> Responses:
    """Request a page over one connection for so many seconds."""
    parts = urlsplit(url)
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN,
        idle_timeout=INACTIVITY_S,
        is_client=True,
        max_data=_WINDOW_BYTES,
        max_stream_data=_WINDOW_BYTES,
        server_name=parts.hostname,
        verify_mode=ssl.CERT_NONE,
    )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = (
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":authority", parts.netloc.encode()),
        (b":path", path.encode()),
        (b"user-agent", user_agent.encode()),
    )
    statistics = Statistics()
    ends_s = asyncio.get_running_loop().time() + duration_s
    # No connection, and a time limit at the end.
    with suppress(ConnectionError, asyncio.TimeoutError):
        async with connect(
            address, port, configuration=configuration, create_protocol=Client
        ) as client:
            assert isinstance(client, Client)
            client.begin(headers, requests, statistics)
            left_s = ends_s - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(client.wait_closed(), left_s)
            finally:
                client.is_closing = True
    answered = statistics.pages + statistics.others
    return Responses(
        protocol="h3" if answered else "",
        connections=1,
        pages=statistics.pages,
        others=statistics.others,
        broken=statistics.broken,
    )


def main(words: list[str]) -> None:
    """Download, and print the statistics as JSON."""
    address, port, url, duration_s, requests, user_agent = words
    result = asyncio.run(
        download(address, int(port), url, float(duration_s), int(requests), user_agent)
    )
    sys.stdout.write(json.dumps(asdict(result)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
