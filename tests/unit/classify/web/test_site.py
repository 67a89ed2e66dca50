# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import ServerError
from ccbench.classify.web import site
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.site import find_site
from ccbench.classify.web.target import Target
from tests.unit.classify.web.conftest import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def saying(talk: Callable[[socket.socket], object]) -> Iterator[str]:
    """Serve one connection after the other with `talk`; give the host and port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):  # the client has disconnected
                    talk(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def drip(start: bytes) -> Callable[[socket.socket], None]:
    """Return a talk that sends `start`, and then single bytes at intervals for ever."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    return talk


def redirecting_to(url: str) -> Callable[..., Any]:
    """Return a function that answers every request with a redirect to a URL."""
    return lambda *_, **__: site._Answer(
        status=302, reason="Found", location=url, body_bytes=0, rtt_ms=1.0
    )


def kind_of(name: str) -> str:
    """Return the reason why a site is refused."""
    with pytest.raises(ServerError) as caught:
        find_site(Target.named(name), Manners())
    assert "\n" not in str(caught.value)
    return caught.value.kind


class TestSite:
    def test_found(self) -> None:
        """One request determines the size of the page and the round-trip time."""
        with serving() as (url, seen):
            actual = find_site(Target.named(f"{url}/5000"), Manners(contact="me"))
        assert (actual.body_bytes, actual.address, len(seen)) == (5000, "127.0.0.1", 1)
        assert 0 < actual.rtt_ms < 100
        assert seen[0]["User-Agent"] == Manners(contact="me").user_agent
        assert seen[0]["Host"] == url.removeprefix("http://")

    def test_redirected(self) -> None:
        """Redirects are followed, and the site is their target."""
        with serving() as (url, seen):
            actual = find_site(Target.named(f"{url}/to/to/7000"), Manners())
        assert (actual.target.path, actual.body_bytes, len(seen)) == ("/7000", 7000, 3)

    @pytest.mark.parametrize("path", ["chunked", "until-the-end"])
    def test_size_unknown(self, path: str) -> None:
        """A page of unstated size is read."""
        with serving() as (url, _):
            actual = find_site(Target.named(f"{url}/{path}"), Manners())
        assert actual.body_bytes == 1000
        assert 0 < actual.rtt_ms < 100

    def test_inward(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A public server may not redirect to a private address."""
        with serving() as (url, seen):
            monkeypatch.setattr(site, "_ask", redirecting_to(url))
            monkeypatch.setattr(
                site, "_resolve", lambda target: {"far": "1.1.1.1"}.get(target.host, target.host)
            )
            assert kind_of("http://far/") == "redirects"
        assert not seen

    @pytest.mark.parametrize(
        "reply", [b"HTTP/1.1 404 \x1b[31mred\x9b2J\r\n\r\n", b"\x1b[2Jhello\r\n", b"\r\n"]
    )
    def test_escapes(self, reply: bytes) -> None:
        """Server text cannot send control characters to a terminal."""
        with (
            saying(lambda connection: connection.sendall(reply)) as where,
            pytest.raises(ServerError) as caught,
        ):
            find_site(Target.named(f"http://{where}"), Manners())
        assert str(caught.value).isprintable()

    def test_endless_page(self) -> None:
        """An endless page is read only until it is known to be large."""
        with serving() as (url, _):
            actual = find_site(Target.named(f"{url}/endless"), Manners())
        assert 1_000_000 <= actual.body_bytes < 2_000_000

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            *(("status/404", "status"), ("status/429", "status"), ("status/503", "status")),
            *(("round/", "redirects"), ("away", "redirects")),
        ],
    )
    def test_no_page(self, path: str, kind: str) -> None:
        """Answers without a page, and endless redirects, are classified."""
        with serving() as (url, seen):
            assert kind_of(f"{url}/{path}") == kind
        assert len(seen) <= 6

    def test_only_ipv6(self) -> None:
        """A name with IPv6 addresses only is no server for links that carry IPv4 only."""

        def resolve(_host: str, _port: int, family: int, *_: int) -> list[object]:
            if family == socket.AF_INET6:
                return []
            raise socket.gaierror(socket.EAI_NONAME, "no address")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", resolve)
            with pytest.raises(ServerError, match="only IPv6 addresses"):
                find_site(Target.named("example.com"), Manners())

    def test_nobody(self) -> None:
        """Unknown names and closed ports are classified."""
        assert kind_of("nobody.invalid") == "unresolved"
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        assert kind_of(f"127.0.0.1:{port}") == "refused"

    @pytest.mark.parametrize(
        "reply", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n"]
    )
    def test_no_http(self, reply: bytes) -> None:
        """A server without HTTP, or with a thousand headers, is no web server."""
        with saying(lambda connection: connection.sendall(reply)) as where:
            assert kind_of(f"http://{where}") == "http"

    def test_no_tls(self) -> None:
        """A server without TLS is reported as such for https."""
        with serving() as (url, _):
            assert kind_of(url.replace("http:", "https:")) == "tls"

    @pytest.mark.parametrize(
        "reply", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n"], ids=repr
    )
    def test_drip(self, reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that sends single bytes at intervals is abandoned after a bounded time."""
        monkeypatch.setattr(site, "_TIMEOUT_S", 0.5)
        begin_s = time.monotonic()
        with saying(drip(reply)) as where:
            try:
                actual = find_site(Target.named(f"http://{where}"), Manners())
            except ServerError as error:
                assert error.kind == "timeout"  # noqa: PT017 - a page that grows has been found
            else:
                assert reply.endswith(b"\r\n\r\n")
                assert actual.body_bytes < 100
        assert time.monotonic() - begin_s < 60

    def test_drip_in_tls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that stalls in the TLS handshake is abandoned too."""
        monkeypatch.setattr(site, "_TIMEOUT_S", 0.5)
        is_abandoned = threading.Event()
        with saying(lambda _: is_abandoned.wait()) as where:
            assert kind_of(f"https://{where}") == "timeout"
            is_abandoned.set()
