# SPDX-License-Identifier: Apache-2.0
"""An HTTP/3 server with aioquic, which answers each request without end.

Usage: server.py ADDRESS PORT CCA
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

CHUNK = bytes(65536)


class Trace(QuicLoggerTrace):
    """A trace that is written event by event."""

    def __init__(self, *, is_client: bool, odcid: bytes) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self.file = Path(f"{odcid.hex()}.sqlog").open("w", encoding="utf-8")  # noqa: SIM115 - stays
        trace = {"vantage_point": self._vantage_point, "common_fields": {"reference_time": 0}}
        self.write({"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": trace})

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """Write an event of those that samples come from."""
        if event == "metrics_updated":
            data = {"congestion_window" if key == "cwnd" else key: data[key] for key in data}
        elif event == "packet_sent":
            data = {"raw": data["raw"]}
        else:
            return
        self.write({"time": time.time() * 1e3, "name": f"{category}:{event}", "data": data})

    def write(self, record: dict[str, Any]) -> None:
        """Write a record, which is one line."""
        self.file.write(json.dumps(record, separators=(",", ":")) + "\n")


class Logger(QuicLogger):
    """A logger whose traces are files."""

    def __init__(self) -> None:
        super().__init__()
        self.traces: list[Trace] = []

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:  # noqa: FBT001
        """Return the trace of a new connection."""
        self.traces.append(trace := Trace(is_client=is_client, odcid=odcid))
        return trace

    def end_trace(self, _: QuicLoggerTrace) -> None:
        """Leave the trace of a connection open until the end of the program."""

    def close(self) -> None:
        """Write out all traces."""
        for trace in self.traces:
            trace.file.close()


class Server(QuicConnectionProtocol):
    """A connection whose streams always have data to send."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.http: H3Connection | None = None
        self.streams: list[int] = []

    def quic_event_received(self, event: QuicEvent) -> None:
        """Answer requests."""
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for each in self.http.handle_event(event):
            if isinstance(each, HeadersReceived):
                self.http.send_headers(each.stream_id, [(b":status", b"200")])
                self.streams.append(each.stream_id)

    def transmit(self) -> None:
        """Send as much as the congestion window allows."""
        super().transmit()
        while self.http and (idle := [s for s in self.streams if self.is_sent(s)]):
            for stream in idle:
                self.http.send_data(stream, CHUNK, end_stream=False)
            super().transmit()

    def is_sent(self, stream: int) -> bool:
        """Return whether all data of a stream have been sent."""
        return self._quic._streams[stream].sender.buffer_is_empty


async def main(address: str, port: int, cca: str) -> None:
    """Serve until SIGTERM."""
    logger = Logger()
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=cca,
        idle_timeout=1000,
        is_client=False,
        max_datagram_size=1452,
        quic_logger=logger,
    )
    configuration.load_cert_chain("cert.pem", "key.pem")
    await serve(address, port, configuration=configuration, create_protocol=Server)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()
    logger.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
