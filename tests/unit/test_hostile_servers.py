# SPDX-License-Identifier: Apache-2.0
"""Hostile or broken servers: `ccbench classify` leaves them soon, and reports the reason."""

from __future__ import annotations

import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import ServerError
from ccbench.classify.web import site
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.site import find_site
from ccbench.classify.web.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Talk = Callable[[socket.socket], None]

#: Time-out of one answer, instead of 20 s: enough for a busy machine.
_TIMEOUT_S = 3.0
#: Time-out for servers that never end.
_LITTLE_PATIENCE_S = 0.5
#: Limit of one request, with all its redirects, including time of a busy machine.
_MOST_S = 40.0
#: A server gives up after this time if nobody reads.
_SERVER_S = 5.0

_OK = b"HTTP/1.1 200 OK\r\n"


class Server:
    """Serves one connection after the other, and counts connections and bytes sent."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.requests = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.where = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.requests += 1
            with connection, suppress(OSError):  # the client has disconnected
                connection.settimeout(_SERVER_S)
                self._talk(connection)

    def close(self) -> None:
        """Stop serving."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(_MOST_S)
        assert not self._thread.is_alive()


@contextmanager
def serving(talk: Talk) -> Iterator[Server]:
    """Serve."""
    server = Server(talk)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time-out of answers."""
    monkeypatch.setattr(site, "_TIMEOUT_S", _TIMEOUT_S)


@pytest.fixture
def more_impatient(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - after it
    """Shorten it further, for tests that only a time-out ends."""
    monkeypatch.setattr(site, "_TIMEOUT_S", _LITTLE_PATIENCE_S)


def kind_of(url: str) -> str:
    """Return why a server cannot be observed, or an empty string, within the time limit."""
    begin_s = time.monotonic()
    failure: ServerError | None = None
    try:
        find_site(Target.named(url), Manners(pause_s=0))
    except ServerError as error:
        failure = error
    assert time.monotonic() - begin_s < _MOST_S
    if failure is None:
        return ""
    assert str(failure).isprintable()
    assert len(str(failure)) < 500
    return failure.kind


def says(*parts: bytes) -> Talk:
    """Return a talk that reads the request and sends these parts."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        for part in parts:
            connection.sendall(part)

    return talk


def forever(start: bytes, piece: bytes, pause_s: float = 0.0, server_s: float = _SERVER_S) -> Talk:
    """Return a talk that sends data and then never ends, whatever the client does."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(start)
        connection.settimeout(server_s)
        while True:
            connection.sendall(piece)
            time.sleep(pause_s)

    return talk


def reset(connection: socket.socket) -> None:
    """Reset the connection after the request."""
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class TestAnswers:
    """Malicious or invalid answers."""

    @pytest.mark.parametrize(
        ("status", "name"),
        [(403, "Forbidden"), (429, "Too Many Requests"), (451, "No"), (500, ""), (999, "Denied")],
    )
    def test_banned(self, status: int, name: str) -> None:
        """A banning server is reported with its status, and is asked only once."""
        answer = f"HTTP/1.1 {status} {name}\r\nRetry-After: 9999\r\nContent-Length: 0\r\n\r\n"
        with serving(says(answer.encode())) as server:
            assert kind_of(f"http://{server.where}") == "status"
        assert server.requests == 1

    @pytest.mark.parametrize("talk", [reset, lambda _: None], ids=["reset", "closes"])
    def test_gone(self, talk: Talk) -> None:
        """A server that resets or closes the connection is asked only once."""
        with serving(talk) as server:
            assert kind_of(f"http://{server.where}") in {"http", "timeout"}
        assert server.requests == 1

    @pytest.mark.parametrize(
        "garbage",
        [
            *(
                b"\x00" * 1000,
                b"\xff\xfe" * 40_000,
                b"HTTP/9.9 200 OK\r\n\r\n",
                b"HTTP/1.1\r\n\r\n",
            ),
            *(b"HTTP/1.1 -5 OK\r\n\r\n", b"HTTP/1.1 99999 OK\r\n\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n"),
            b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
            _OK + b"x" * 100_000 + b": y\r\n\r\n",
            _OK + b"a: b\r\n" * 100_000 + b"\r\n",
            _OK + b"Content-Length: " + b"9" * 60_000 + b"\r\n\r\n",
            _OK + b"Content-Length: -1\r\n\r\n",
            _OK + b"Transfer-Encoding: chunked\r\n\r\nzzz\r\n",
            _OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n",
            _OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 5000 + b"\r\n",
            b"HTTP/1.1 302 Found\r\nLocation: " + b"/x" * 40_000 + b"\r\n\r\n",
            b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
            b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
            b"HTTP/1.1 302 Found\r\nLocation: \xff\x00\x1b[2J\r\n\r\n",
            b"HTTP/1.1 302 Found\r\n\r\n",
        ],
        ids=lambda garbage: repr(garbage[:44]),
    )
    def test_garbage(self, garbage: bytes) -> None:
        """Garbage of any length is not an answer."""
        with serving(says(garbage)) as server:
            kind = kind_of(f"http://{server.where}")
        # A length that is not a number is ignored: the page is its contents, here nothing.
        assert kind in {"http", "timeout", "redirects", "status"} or b"-Length" in garbage

    def test_length_too_large(self) -> None:
        """A page shorter than stated is accepted at first: the download reveals it."""
        with serving(says(_OK + b"Content-Length: 1000000\r\n\r\nshort")) as server:
            assert kind_of(f"http://{server.where}") == ""

    def test_redirects(self) -> None:
        """An endless redirect is followed at most six times."""
        answer = b"HTTP/1.1 301 On\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"
        with serving(says(answer)) as server:
            assert kind_of(f"http://{server.where}") == "redirects"
        assert server.requests <= 6

    @pytest.mark.parametrize(
        "start",
        [b"", b"HTTP/1.1 200", _OK, _OK + b"a: ", b"HTTP/1.1 301 On\r\nLocation: /"],
        ids=repr,
    )
    def test_endless(self, start: bytes) -> None:
        """An endless status, header or location is abandoned after a bounded number of bytes."""
        with serving(forever(start, b"x" * 65536)) as server:
            assert kind_of(f"http://{server.where}") in {"http", "timeout"}

    @pytest.mark.usefixtures("more_impatient")
    def test_endless_interim(self) -> None:
        """Endless interim answers are abandoned after a bounded time."""
        with serving(forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, server_s=1)) as server:
            assert kind_of(f"http://{server.where}") in {"http", "timeout"}

    def test_endless_chunks(self) -> None:
        """Endless or slow chunks are read only until the page is known to be large."""
        start = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
        with serving(forever(start, b"1000\r\n" + bytes(4096) + b"\r\n")) as server:
            assert kind_of(f"http://{server.where}") == ""
        with serving(forever(start, b"1\r\nx\r\n", pause_s=0.02)) as server:
            assert kind_of(f"http://{server.where}") in {"", "timeout"}

    @pytest.mark.usefixtures("more_impatient")
    def test_endless_trailers(self) -> None:
        """Endless trailers are abandoned after a bounded time."""
        start = _OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
        with serving(forever(start, b"a: b\r\n" * 100)) as server:
            assert kind_of(f"http://{server.where}") in {"http", "timeout"}

    @pytest.mark.usefixtures("more_impatient")
    def test_drip(self) -> None:
        """A slow status line is abandoned in time, even after redirects."""
        with serving(forever(b"HTTP/1.1 30", b"1", pause_s=0.05)) as server:
            assert kind_of(f"http://{server.where}") == "timeout"

    def test_silent_redirects(self) -> None:
        """Redirects have a time limit each and in total."""

        def talk(connection: socket.socket) -> None:
            connection.recv(65536)
            time.sleep(0.2)
            connection.sendall(b"HTTP/1.1 302 On\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n")

        with serving(talk) as server:
            assert kind_of(f"http://{server.where}") == "redirects"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a self-signed certificate of another name, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=elsewhere.invalid", "-keyout", path, "-out", f"{path}.crt"),
        ],
        check=True,
        capture_output=True,
    )
    with path.open("a", encoding="ascii") as both:
        both.write(path.with_name(f"{path.name}.crt").read_text(encoding="ascii"))
    return path


class TestTls:
    """Errors before the server's answer."""

    def test_certificate(self, certificate: Path) -> None:
        """An invalid certificate is reported with the option that ignores it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

        def talk(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as safe:
                says(_OK + b"Content-Length: 5\r\n\r\nhello")(safe)

        with serving(talk) as server:
            with pytest.raises(ServerError, match=r"certificate.*--insecure") as caught:
                find_site(Target.named(f"https://{server.where}"), Manners(pause_s=0))
            assert caught.value.kind == "tls"
            target = Target.named(f"https://{server.where}")
            actual = find_site(target, Manners(pause_s=0), verify=False)
        assert actual.body_bytes == 5

    @pytest.mark.parametrize(
        "reply",
        [
            *(
                b"",
                b"HTTP/1.1 400 Bad Request\r\n\r\n",
                b"\x15\x03\x03\x00\x02\x02\x28",
                bytes(9000),
            ),
            *(b"\x16\x03\x03\xff\xff" + bytes(70_000), b"\x16\x03\x01\x00\x05hello"),
        ],
        ids=lambda reply: repr(reply[:12]),
    )
    def test_handshake(self, reply: bytes) -> None:
        """A TLS handshake that fails, is refused or is garbage is reported."""
        with serving(says(reply)) as server:
            assert kind_of(f"https://{server.where}") in {"tls", "timeout"}

    @pytest.mark.usefixtures("more_impatient")
    def test_endless_handshake(self) -> None:
        """An endless handshake is abandoned in time."""
        alert = b"\x15\x03\x03\x00\x02\x01\x00"  # a warning, to be ignored
        with serving(forever(b"", alert, pause_s=0.001)) as server:
            assert kind_of(f"https://{server.where}") in {"tls", "timeout"}
