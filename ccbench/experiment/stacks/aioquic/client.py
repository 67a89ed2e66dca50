# SPDX-License-Identifier: Apache-2.0
"""An HTTP/3 client with aioquic, which discards what it receives.

Usage: client.py ADDRESS PORT
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.quic.configuration import QuicConfiguration

if TYPE_CHECKING:
    from aioquic.quic.events import QuicEvent

WINDOW_BYTES = 100_000_000


class Client(QuicConnectionProtocol):
    """A connection that receives."""

    http: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        """Parse and discard."""
        if self.http is not None:
            self.http.handle_event(event)


async def main(address: str, port: int) -> None:
    """Request a page, and receive until the end."""
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN,
        idle_timeout=1000,
        is_client=True,
        max_data=WINDOW_BYTES,
        max_stream_data=WINDOW_BYTES,
        server_name="sender",
    )
    configuration.load_verify_locations("ca.pem")
    async with connect(
        address, port, configuration=configuration, create_protocol=Client
    ) as client:
        assert isinstance(client, Client)
        client.http = http = H3Connection(client._quic)
        names = (b":method", b":scheme", b":authority", b":path")
        values = (b"GET", b"https", b"sender", b"/")
        stream = client._quic.get_next_available_stream_id()
        http.send_headers(stream, [*zip(names, values, strict=True)], end_stream=True)
        client.transmit()
        await client.wait_closed()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
