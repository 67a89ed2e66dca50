# SPDX-License-Identifier: Apache-2.0
"""Web server (nginx) and HTTP/2 clients (h2load) as programs in the guest."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ccbench.base.errors import MissingRequirement
from ccbench.emulate.kernel.boot import program_digests
from ccbench.emulate.kernel.boot.hosts import SENDER
from ccbench.emulate.kernel.boot.programs import Program, Programs, find, group_of, port_of

if TYPE_CHECKING:
    from ccbench.experiment.flow import Flow
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "MAX_PATH_BYTES",
    "PACKAGES",
    "check_installed",
    "memory_mb",
    "missing",
    "programs_digest",
    "served",
    "web_programs",
]

#: The programs, and the packages of Debian and Ubuntu that contain them.
_SERVER, _CLIENT = "nginx", "h2load"
PACKAGES = {_SERVER: "nginx-light", _CLIENT: "nghttp2-client"}

_CLIENT_MB = 16
_SERVER_MB = 64

#: Sizes of the pages in bytes. Responses of different sizes do not end at the same time, so the
#: server always has data to send.
_PAGES_BYTES = tuple(range(100_000, 1_000_001, 100_000))

#: Number of a client's outstanding requests, and the maximum capacity of the path and its queues in
#: bytes: a quarter of the requested data, so that requests never limit the server.
_REQUESTS = 100
MAX_PATH_BYTES = _REQUESTS * sum(_PAGES_BYTES) // len(_PAGES_BYTES) // 4

#: Debian's default settings, except that connections are never closed. Paths are the guest's.
SETTINGS = """\
daemon off;
master_process off;
user root;
pid /tmp/server/nginx.pid;
error_log stderr;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  keepalive_time 10000d;
  keepalive_timeout 10000d;
  send_timeout 10000d;
  client_body_temp_path /tmp/server/temporary;
  proxy_temp_path /tmp/server/temporary;
  fastcgi_temp_path /tmp/server/temporary;
  uwsgi_temp_path /tmp/server/temporary;
  scgi_temp_path /tmp/server/temporary;
  server {{
    root /tmp/server/pages;
{listen}
  }}
}}
"""

#: One connection with unlimited HTTP/2 windows, for longer than any scenario.
CLIENT_OPTIONS = (
    *("--duration=1000000", "--clients=1", "--threads=1", f"--max-concurrent-streams={_REQUESTS}"),
    *("--window-bits=30", "--connection-window-bits=30", "--no-tls-proto=h2c"),
)


def web_programs(scenario: Scenario) -> Programs:
    """Return the web server and its clients for the bulk flows of a scenario.

    Raises
    ------
    MissingRequirement
        If a program is not installed.
    """
    flows, starts_s = served(scenario), scenario.starts_s()
    listen = "\n".join(f"    listen {port_of(number)} http2;" for number in flows)
    server = Program(
        name="server",
        words=(_path(_SERVER), "-e", "stderr", "-p", ".", "-c", "nginx.conf"),
        files={"nginx.conf": SETTINGS.format(listen=listen).encode(), **_pages()},
    )
    clients = (
        _client(number, float(starts_s[number]), flow.stop_s or scenario.duration_s, scenario)
        for number, flow in flows.items()
    )
    return Programs(
        sender=(server,),
        receiver=tuple(clients),
        memory_mb=memory_mb(scenario),
        serve_bulk=True,
    )


def memory_mb(scenario: Scenario) -> int:
    """Return the memory of the server and its clients in MB."""
    return _SERVER_MB + _CLIENT_MB * len(served(scenario))


def served(scenario: Scenario) -> dict[int, Flow]:
    """Return the flows that the web server sends, by their numbers."""
    flows: dict[int, Flow] = {}
    number = 0
    for flow in scenario.flows:
        if flow.kind == "bulk":
            flows |= dict.fromkeys(range(number, number + flow.flow_count), flow)
        number += flow.flow_count
    return flows


def _client(number: int, start_s: float, stop_s: float, scenario: Scenario) -> Program:
    """Return the client of a flow, from the flow's start to its stop."""
    base = f"http://{SENDER}:{port_of(number)}"
    return Program(
        name=f"client-{number}",
        words=(_path(_CLIENT), *CLIENT_OPTIONS, *(f"{base}/{size}" for size in _PAGES_BYTES)),
        group=group_of(number),
        from_ns=round(start_s * 1e9),
        to_ns=round(stop_s * 1e9) if stop_s < scenario.duration_s else None,
    )


@cache
def _pages() -> dict[str, bytes]:
    return {f"pages/{size}": bytes(size) for size in _PAGES_BYTES}


def programs_digest() -> str:
    """Return the digest of the programs and their linked libraries: 16 hexadecimal digits.

    Raises
    ------
    MissingRequirement
        If a program is not installed.
    """
    return program_digests.digest(Program(name=name, words=(_path(name),)) for name in PACKAGES)


def check_installed() -> None:
    """Raise a MissingRequirement if a program is not installed."""
    for name in PACKAGES:
        _path(name)


def missing() -> dict[str, str]:
    """Return the programs that are not installed, with their packages."""
    return {name: package for name, package in PACKAGES.items() if find(name) is None}


def _path(name: str) -> str:
    path = find(name)
    if path is None:
        packages = " ".join(PACKAGES.values())
        raise MissingRequirement(
            f"the engine kernel-http needs {name}, which is not installed: "
            f"sudo apt-get install -y {packages}"
        )
    return path
