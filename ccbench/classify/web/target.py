# SPDX-License-Identifier: Apache-2.0
"""Servers to measure: host names and URLs from the user."""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from ccbench.base import validation
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["INSTEAD_OF_LOOPBACK", "Target", "is_loopback", "read_list", "read_targets"]

_PORTS = {"http": 80, "https": 443}
#: Host names (labels of letters, digits and hyphens separated by dots) and IPv4 addresses.
_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?", re.ASCII)
_LONGEST_HOST, _LONGEST_NAME = 253, 80
#: Next step for a server on this machine.
INSTEAD_OF_LOOPBACK = (
    "let the server listen on this machine's address in its network (`hostname -I`), and name that"
)
#: Suffixes of files with recorded queues.
_SUFFIXES = (*(".csv", ".json", ".log", ".parquet", ".pcap", ".pcapng", ".qlog", ".sqlog", ".txt"),)
_ALLOWED = "a host such as example.com, or a URL such as https://example.com/large-file"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A server to measure.

    Parameters
    ----------
    name : str
        The name given by the user.
    scheme : str
        ``"https"`` or ``"http"``.
    host : str
        Host name in ASCII, or IPv4 address.
    port : int
        TCP port.
    path : str
        Path of the page, including the query.
    group : str, optional
        Group of the server, such as a content delivery network; see
        :mod:`ccbench.classify.relabel`.
    """

    name: str
    scheme: str
    host: str
    port: int
    path: str
    group: str | None = None

    @classmethod
    def named(cls, name: str, group: str | None = None) -> Target:
        """Return the target of a host name or URL.

        Raises
        ------
        InputError
            If the name is neither.

        Examples
        --------
        >>> Target.named("example.com").url
        'https://example.com/'
        >>> Target.named("http://example.com:8080/large?part=1").path
        '/large?part=1'
        """
        if not name.isprintable():
            raise _bad(name, "remove unprintable characters")
        _check_not_ipv6(name)
        try:
            parts = urlsplit(name if "://" in name else f"https://{name}")
            port = parts.port
        except ValueError as error:
            raise _bad(name, f"correct it ({error})") from error
        if parts.scheme not in _PORTS:
            raise _bad(name, "use http or https")
        if parts.username is not None or parts.password is not None:
            raise _bad(name, "remove the user and the password")
        if port == 0:
            raise _bad(name, "name a port from 1 to 65535")
        return cls(
            name=name,
            scheme=parts.scheme,
            host=_ascii_host(name, parts),
            port=_PORTS[parts.scheme] if port is None else port,
            path=_path(name, parts),
            group=group,
        )

    @property
    def url(self) -> str:
        """URL of the page."""
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}{self.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether the host is the loopback interface of this machine, which no link reaches.

        Examples
        --------
        >>> Target.named("http://localhost:8088/large").is_loopback
        True
        """
        return (
            self.host.endswith(".localhost") or self.host == "localhost" or is_loopback(self.host)
        )

    @property
    def folder_name(self) -> str:
        """Unique folder name of the target.

        Examples
        --------
        >>> Target.named("example.com").folder_name
        'example.com'
        """
        plain = self.url.removeprefix("https://").removesuffix("/")
        name = re.sub(r"[^a-z0-9._-]", "_", plain, flags=re.IGNORECASE | re.ASCII)
        if name == plain and len(name) <= _LONGEST_NAME and not name.startswith("."):
            return name
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:8]
        return f"{name[:_LONGEST_NAME].lstrip('.')}-{digest}"


def is_loopback(address: str) -> bool:
    """Return whether an IPv4 address in any notation is a loopback address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.1.1", "127.1", "0.0.0.0", "192.0.2.1", "a.com")]
    [True, True, True, False, False]
    """
    try:
        parsed = ipaddress.IPv4Address(socket.inet_aton(address))
    except OSError:  # a host name
        return False
    return parsed.is_loopback or parsed.is_unspecified


def read_list(path: Path) -> list[Target]:
    """Read a list of servers.

    Parameters
    ----------
    path : Path
        A text file with a host or URL on each line, optionally followed by a comma and a group.
        Empty lines are ignored, and comments from a ``#`` at the start of a line or after a space.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is not a target.
    """
    targets = []
    lines = validation.text_file(path, "list of servers").splitlines()
    for number, line in enumerate(lines, start=1):
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        if text:
            name, _, group = (part.strip() for part in text.partition(","))
            with validation.within(f"{path}, line {number}: "):
                targets.append(Target.named(name, group or None))
    if not targets:
        raise validation.bad("hosts", str(path), "a file with a host on each line", "add a host")
    return targets


def read_targets(names: Sequence[str], hosts: Path | None = None) -> list[Target]:
    """Return the distinct servers of names and a list.

    Parameters
    ----------
    names : sequence of str
        Hosts or URLs.
    hosts : Path, optional
        A list of further servers, see :func:`read_list`.

    Raises
    ------
    InputError
        If there is no server, a name is invalid, or an emulated link cannot reach a server.

    Examples
    --------
    >>> [target.url for target in read_targets(["example.com", "https://example.com/"])]
    ['https://example.com/']
    """
    for name in names:
        _check_not_file(name)
    targets = [Target.named(name) for name in names]
    if hosts is not None:
        targets += read_list(hosts)
    if not targets:
        message = "no server or file is given: name one, such as example.com or download.pcap"
        raise InputError(message)
    for target in targets:
        if target.is_loopback:
            raise _loopback(target.name)
    return list({target.url: target for target in reversed(targets)}.values())[::-1]


def _check_not_file(name: str) -> None:
    """Reject a name that is more likely a missing file than a server."""
    if _ipv6(name) is not None:
        return
    host = re.split(r"[/:]", name, maxsplit=1)[0]
    has_dot = "." in host.strip(".") or host == "localhost"
    if "://" not in name and name and (not has_dot or name.endswith(_SUFFIXES)):
        is_path = name.startswith(("/", "."))
        step = "correct the path" if is_path else f"for a server of that name, write https://{name}"
        raise validation.bad("file", name, "an existing file", step)


def _ipv6(name: str) -> ipaddress.IPv6Address | None:
    """Return the IPv6 address in a name, with or without brackets, port and path.

    Examples
    --------
    >>> [_ipv6(name) is not None for name in ("::1", "http://[::1]:80/a", "a.com:80", "192.0.2.1")]
    [True, True, False, False]
    """
    host = re.split(r"[/?#]", name.rpartition("://")[2], maxsplit=1)[0]
    if bracketed := re.match(r"\[([^]]*)\]", host):
        host = bracketed[1]
    try:
        return ipaddress.IPv6Address(host)
    except ValueError:
        return None


def _check_not_ipv6(name: str) -> None:
    address = _ipv6(name)
    if address is None:
        return
    ipv4 = address.ipv4_mapped
    if address.is_loopback or address.is_unspecified or (ipv4 and is_loopback(str(ipv4))):
        raise _loopback(name)
    step = f"write {ipv4}" if ipv4 else "name the server's IPv4 address, or its host"
    raise validation.bad("server", name, "reachable by IPv4, as emulated links are", step)


def _loopback(name: str) -> InputError:
    allowed = "a server reachable over a link, not this machine's loopback"
    return validation.bad("server", name, allowed, INSTEAD_OF_LOOPBACK)


def _ascii_host(name: str, parts: SplitResult) -> str:
    try:
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except UnicodeError as error:
        raise _bad(name, f"correct the host ({error})") from error
    if not _HOST.fullmatch(host) or len(host) > _LONGEST_HOST:
        raise _bad(name, "correct the host")
    return host.removesuffix(".")


def _path(name: str, parts: SplitResult) -> str:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or not path.isprintable() or " " in path:
        raise _bad(name, "write non-ASCII characters in the path as %XX")
    return path


def _bad(name: str, step: str) -> InputError:
    return validation.bad("server", name, _ALLOWED, step)
