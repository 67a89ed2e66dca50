# SPDX-License-Identifier: Apache-2.0
"""A web server on this machine, and synthetic records of downloads."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.classify.web import target
from ccbench.emulate.recording import CommandRecording
from ccbench.run import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.classify.setting import Setting


MTU_BYTES = 1500
FINE = {"protocol": "h2", "connections": 1, "pages": 50, "others": 0, "broken": 0}


class Handler(BaseHTTPRequestHandler):
    """A web server whose behaviour depends on the path."""

    protocol_version = "HTTP/1.1"
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        """Answer."""
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined] # see `serving`
        kind, _, rest = self.path.strip("/").partition("/")
        if kind == "status":
            self._answer(int(rest), b"no")
        elif kind == "to":
            self._answer(302, b"", Location=f"/{rest}")
        elif kind == "round":
            self._answer(301, b"", Location=f"/round/{rest}x")
        elif kind == "away":
            self._answer(301, b"", Location="ftp://elsewhere/")
        elif kind == "chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"3e8\r\n" + bytes(1000) + b"\r\n0\r\n\r\n")
        elif kind == "until-the-end":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(bytes(1000))
            self.close_connection = True
        elif kind == "endless":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(bytes(1 << 16))
        else:
            self._answer(200, bytes(int(kind or 10_000)))

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def handle_one_request(self) -> None:
        """Answer, and ignore clients that have disconnected."""
        self.close_connection = True
        with suppress(OSError):
            super().handle_one_request()


@pytest.fixture(autouse=True)
def local_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat 127.0.0.1, where :func:`serving` listens, as another machine's address."""
    real = target.is_loopback
    for module in ("download", "target"):
        monkeypatch.setattr(
            f"ccbench.classify.web.{module}.is_loopback",
            lambda address: address != "127.0.0.1" and real(address),
        )


@contextmanager
def serving() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve; give the URL and the headers of every request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []  # type: ignore[attr-defined] # filled by the handler
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.seen  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


def download(
    setting: Setting, *, share: float = 0.95, seconds: float = 21.0, **answers: Any
) -> CommandRecording:
    """Return a download that uses a share of the link, with one packet in the queue."""
    packet_s = MTU_BYTES * 8 / (setting.bandwidth_mbps * 1e6 * share)
    times_ns = (np.arange(0, seconds, packet_s) * 1e9).astype("int64")
    count = len(times_ns)
    queue = pd.DataFrame(
        {
            "time_ns": np.repeat(times_ns, 2),
            "event": ["enqueue", "dequeue"] * count,
            "bytes": MTU_BYTES,
            "backlog_packets": [1, 0] * count,
        }
    )
    normal = tables.normalised(
        "queue",
        queue.reindex(columns=list(tables.QUEUE_COLUMNS), fill_value=0),
        tables.QUEUE_COLUMNS,
    )
    return CommandRecording(
        status=0,
        duration_s=seconds,
        queue=normal,
        provenance={
            "engine": "made up",
            "bottleneck": {
                "bandwidth_mbps": setting.bandwidth_mbps,
                "queue_packets": setting.queue_packets,
            },
            "setting": setting.name,
            "seconds": seconds,
            "answers": {**FINE, **answers},
        },
    )
