# SPDX-License-Identifier: Apache-2.0
"""Address, round-trip time and page size of a server, from one request with a time limit."""

from __future__ import annotations

import http.client
import ipaddress
import os
import socket
import ssl
import struct
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from ccbench.base.errors import InputError, ServerError
from ccbench.classify.web.manners import visit
from ccbench.classify.web.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ccbench.classify.web.manners import Manners

__all__ = ["Site", "find_site"]

#: Time limit of one response in seconds.
_TIMEOUT_S = 20.0
#: Maximum number of bytes read to determine the size of a page.
_MAX_READ_BYTES = 1_000_000
_MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_OK = 200

#: Position of the minimum round-trip time in Linux's ``struct tcp_info``, in microseconds.
_MIN_RTT = struct.Struct("=148xI")
_NO_RTT = 2**32 - 1


@dataclass(frozen=True, kw_only=True)
class Site:
    """A reachable server.

    Parameters
    ----------
    target : Target
        Host and page after redirections.
    address : str
        IPv4 address.
    rtt_ms : float
        Minimum round-trip time in milliseconds.
    body_bytes : int
        Size of the page, or of the part that was read.
    """

    target: Target
    address: str
    rtt_ms: float
    body_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Answer:
    status: int
    reason: str
    location: str | None
    body_bytes: int
    rtt_ms: float


def find_site(target: Target, manners: Manners, *, verify: bool = True) -> Site:
    """Request a page once, and follow redirections.

    Parameters
    ----------
    target : Target
    manners : Manners
    verify : bool
        Whether to require a valid certificate.

    Raises
    ------
    ServerError
        If the server or its page is not available: the kind is ``"unresolved"``,
        ``"unreachable"``, ``"refused"``, ``"timeout"``, ``"tls"``, ``"http"``, ``"redirects"`` or
        ``"status"``.

    Examples
    --------
    .. code-block:: python

        find_site(Target.named("example.com"), Manners()).rtt_ms
    """
    pause_s, is_public = manners.pause_s, False
    for _ in range(_MAX_REDIRECTS + 1):
        address = _resolve(target)
        if is_public and not ipaddress.ip_address(address).is_global:
            message = f"it redirects to {target.host}, which is not on the Internet ({address})"
            raise ServerError(message, "redirects")
        is_public = ipaddress.ip_address(address).is_global
        with visit(address, pause_s):
            answer = _ask(target, address, manners.user_agent, verify=verify)
        if answer.location is None:
            if answer.status != _OK:
                status = f"{answer.status} {answer.reason}".strip()
                raise ServerError(f"it answers {status} to {target.url}", "status")
            return Site(
                target=target,
                address=address,
                rtt_ms=answer.rtt_ms,
                body_bytes=answer.body_bytes,
            )
        target = _redirected(target, answer.location)
        pause_s = 0.0  # a redirection belongs to the same request
    raise ServerError(f"it redirects more than {_MAX_REDIRECTS} times", "redirects")


def _resolve(target: Target) -> str:
    try:
        addresses = socket.getaddrinfo(
            target.host, target.port, socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )
    except OSError as error:
        reason = error.strerror or str(error)
        with suppress(OSError):
            socket.getaddrinfo(target.host, target.port, socket.AF_INET6)
            reason = "only IPv6 addresses, which emulated links do not carry"
        raise ServerError(f"{target.host} has no IPv4 address ({reason})", "unresolved") from error
    return str(addresses[0][4][0])


def _redirected(target: Target, location: str) -> Target:
    try:
        return Target.named(urljoin(target.url, location), target.group)
    except (InputError, ValueError) as error:
        raise ServerError(f"its redirection is invalid: {error}", "redirects") from error


def _ask(target: Target, address: str, user_agent: str, *, verify: bool) -> _Answer:
    where = f"{address}, port {target.port}"
    try:
        plain = socket.create_connection((address, target.port), _TIMEOUT_S)
    except TimeoutError as error:
        raise ServerError(f"{where} does not answer", "timeout") from error
    except ConnectionRefusedError as error:
        raise ServerError(f"{where} refuses connections", "refused") from error
    except OSError as error:
        raise ServerError(f"{where} cannot be reached ({error.strerror})", "unreachable") from error
    # The TLS handshake follows under the time limit.
    with plain:
        connection = _wrap(plain, target, verify=verify) if target.scheme == "https" else plain
        with connection, _limit(connection):
            try:
                if isinstance(connection, ssl.SSLSocket):
                    _shake_hands(connection, where)
                return _get(connection, target, user_agent)
            except TimeoutError as error:
                raise ServerError(f"{where} does not answer", "timeout") from error
            except (http.client.HTTPException, OSError, ValueError) as error:
                message = f"{where} gives no answer over HTTP/1.1 ({_reason(error)})"
                raise ServerError(message, "http") from error


def _shake_hands(connection: ssl.SSLSocket, where: str) -> None:
    try:
        connection.do_handshake()
    except ssl.SSLCertVerificationError as error:
        step = "use --insecure to accept it"
        message = f"its certificate is not valid ({error.verify_message}): {step}"
        raise ServerError(message, "tls") from error
    except TimeoutError:
        raise
    except (ssl.SSLError, OSError) as error:
        raise ServerError(f"{where} has no TLS ({_reason(error)})", "tls") from error


def _wrap(plain: socket.socket, target: Target, *, verify: bool) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=target.host, do_handshake_on_connect=False)


@contextmanager
def _limit(connection: socket.socket) -> Iterator[None]:
    """Close a connection after the time limit, even if data keeps arriving slowly."""

    def shut() -> None:
        is_late.set()
        # Not SSLSocket.shutdown, after which the other thread would continue without encryption.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)

    is_late = threading.Event()
    timer = threading.Timer(_TIMEOUT_S, shut)
    timer.daemon = True
    timer.start()
    failure = None
    try:
        yield
    except ServerError as error:
        failure = error
    finally:
        timer.cancel()
    if is_late.is_set():
        message = f"it does not send its page within {_TIMEOUT_S:g} s"
        raise ServerError(message, "timeout") from failure
    if failure is not None:
        raise failure


def _get(connection: socket.socket, target: Target, user_agent: str) -> _Answer:
    client = http.client.HTTPConnection(target.host, target.port)
    client.sock = connection
    host = target.url.split("/")[2]
    headers = {
        "Host": host,
        "User-Agent": user_agent,
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    # The duplicate stays open when http.client closes the connection at the end of the page.
    with closing(client), socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
        client.request("GET", target.path, headers=headers)
        with client.getresponse() as response:
            location = response.getheader("Location") if response.status in _REDIRECTS else None
            size = response.length
            if size is None and location is None:
                size = _read_size(response)
            return _Answer(
                status=response.status,
                reason=response.reason.strip()[:60],
                location=location,
                body_bytes=size or 0,
                rtt_ms=_rtt_ms(duplicate),
            )


def _read_size(response: http.client.HTTPResponse) -> int:
    size, deadline_s = 0, time.monotonic() + _TIMEOUT_S / 2
    while size < _MAX_READ_BYTES and time.monotonic() < deadline_s:
        piece = response.read1(1 << 16)
        if not piece:
            break
        size += len(piece)
    return size


def _rtt_ms(connection: socket.socket) -> float:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT.size)
    (rtt_us,) = _MIN_RTT.unpack(info)
    if rtt_us == _NO_RTT:
        raise ValueError("there is no round-trip time")
    return float(rtt_us) / 1e3


def _reason(error: BaseException) -> str:
    words = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return str(words).strip()[:80] or type(error).__name__
