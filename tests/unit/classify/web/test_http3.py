# SPDX-License-Identifier: Apache-2.0
"""The client of HTTP/3 against a real server, over loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import ServerError
from ccbench.classify.web.client import Responses
from ccbench.classify.web.http3 import Http3
from ccbench.classify.web.http3_program import download
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.site import Site
from ccbench.classify.web.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from aioquic.quic.events import QuicEvent

aioquic = pytest.importorskip("aioquic", reason="aioquic is not installed")

from aioquic.asyncio.protocol import QuicConnectionProtocol  # noqa: E402 - after the skip
from aioquic.asyncio.server import serve  # noqa: E402
from aioquic.h3.connection import H3_ALPN, H3Connection  # noqa: E402
from aioquic.h3.events import HeadersReceived  # noqa: E402
from aioquic.quic.configuration import QuicConfiguration  # noqa: E402
from aioquic.quic.events import ProtocolNegotiated  # noqa: E402

_CERTIFICATE = (
    *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
    *("-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"),
)


@dataclass
class Served:
    """A server's port, and the paths and user agents of its requests."""

    port: int
    requests: list[tuple[bytes, bytes]] = field(default_factory=list)
    connections: int = 0

    def download(self, path: str, *, requests: int = 4, duration_s: float = 1.0) -> Responses:
        """Download a page from it."""
        url = f"https://localhost:{self.port}{path}"
        return asyncio.run(download("127.0.0.1", self.port, url, duration_s, requests, "me"))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a certificate of its own authority."""
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(_CERTIFICATE, check=True, capture_output=True, cwd=folder)
    return folder


@contextmanager
def serving(certificate: Path) -> Iterator[Served]:
    """Serve 5000 bytes at ``/page``, an early end at ``/close``, and 404 elsewhere."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        served = Served(free.getsockname()[1])

    class Server(QuicConnectionProtocol):
        http: H3Connection | None = None

        def quic_event_received(self, event: QuicEvent) -> None:
            if isinstance(event, ProtocolNegotiated):
                self.http = H3Connection(self._quic)
                served.connections += 1
            if self.http is None:
                return
            for each in self.http.handle_event(event):
                if isinstance(each, HeadersReceived):
                    self.answer(each, self.http)

        def answer(self, request: HeadersReceived, http: H3Connection) -> None:
            fields = dict(request.headers)
            served.requests.append((fields[b":path"], fields[b"user-agent"]))
            status = b"404" if fields[b":path"] == b"/none" else b"200"
            http.send_headers(request.stream_id, [(b":status", status)])
            if fields[b":path"] == b"/close":
                self.transmit()
                self.close()
                return
            http.send_data(request.stream_id, bytes(5000), end_stream=True)

    async def run() -> None:
        configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
        configuration.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        server = await serve(
            "127.0.0.1", served.port, configuration=configuration, create_protocol=Server
        )
        ready.set()
        await stop.wait()
        server.close()

    loop, ready = asyncio.new_event_loop(), threading.Event()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


class TestDownload:
    def test_pages(self, certificate: Path) -> None:
        """Requests follow each other on one connection until the end, with the user agent."""
        with serving(certificate) as served:
            result = served.download("/page?part=1")
        assert (result.protocol, result.connections, result.others) == ("h3", 1, 0)
        assert served.connections == 1
        assert {*served.requests} == {(b"/page?part=1", b"me")}
        assert 4 < result.pages <= len(served.requests)
        assert result.broken == 0

    def test_status(self, certificate: Path) -> None:
        """Other statuses are counted separately."""
        with serving(certificate) as served:
            result = served.download("/none")
        assert (result.pages, result.others > 0) == (0, True)

    def test_closed(self, certificate: Path) -> None:
        """Responses that the end of the connection cut off are broken, and it ends at once."""
        with serving(certificate) as served:
            result = served.download("/close", requests=1, duration_s=600)
        assert (result.pages, result.broken) == (1, 1)

    def test_nobody(self) -> None:
        """Without a server there is no response."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            url = f"https://localhost:{silent.getsockname()[1]}/"
            result = asyncio.run(download("127.0.0.1", silent.getsockname()[1], url, 1.0, 2, "me"))
        assert result == Responses(protocol="", connections=1, pages=0, others=0, broken=0)


class TestClient:
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can start programs as another user")
    def test_user(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A Python that the user of the downloads cannot start is reported before them."""
        tmp_path.chmod(0o700)
        private = tmp_path / "python"
        private.symlink_to(sys.executable)
        monkeypatch.setattr("sys.executable", str(private))
        check = Http3().check("nobody")
        assert not check.ok
        assert check.detail == f"the user nobody cannot start {private}"
        assert "CCBENCH_USER" in check.remedy

    def test_without_tls(self) -> None:
        """A page without TLS has no HTTP/3."""
        target = Target.named("http://example.com")
        site = Site(target=target, address="192.0.2.1", rtt_ms=1, body_bytes=10**6)
        with pytest.raises(ServerError, match="write https://") as caught:
            Http3().command(site, Manners())
        assert caught.value.kind == "tls"
