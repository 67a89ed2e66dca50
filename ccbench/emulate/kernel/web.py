# SPDX-License-Identifier: Apache-2.0
"""A web server and its clients as programs of the guest: nginx, which h2load asks over HTTP/2."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.errors import MissingRequirement
from ccbench.emulate.kernel.boot.plan import LEAD_NS, SENDER, Programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.experiment.flow import Flow
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "FIRST_PORT",
    "LAST_PORT",
    "MOST_UNDER_WAY_BYTES",
    "PACKAGES",
    "check_installed",
    "find",
    "memory_mb",
    "missing",
    "programs_digest",
    "served",
    "web_programs",
]

#: The programs, and Debian's and Ubuntu's packages that bring them.
_SERVER, _CLIENT = "nginx", "h2load"
PACKAGES = {_SERVER: "nginx-light", _CLIENT: "nghttp2-client"}

#: Servers are where ordinary users do not look for programs.
FOLDERS = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

#: Each flow has a port of its own: this plus its number. The twin of the number in
#: ``kernel_modules/flows/served.c``.
FIRST_PORT = 8000
LAST_PORT = 65_535

_CLIENT_MB = 16
_SERVER_MB = 64

#: What is served. Pages of several sizes do not end all at once, however evenly the server shares
#: its connection among the answers; so there is always something to send.
_PAGES_BYTES = tuple(range(100_000, 1_000_001, 100_000))

#: How many pages a client has asked for at any time, and how much that is at least. The most that
#: may be under way or wait is far less, so that the asking never limits the sending.
_ASKED_FOR = 100
MOST_UNDER_WAY_BYTES = _ASKED_FOR * sum(_PAGES_BYTES) // len(_PAGES_BYTES) // 4

#: The server's start-up takes no time in the guest but what it sleeps.
_START_UP_NS = 100_000_000

#: As in Debian's own settings, but that a connection never ends by itself. Paths are the guest's.
SETTINGS = """\
daemon off;
master_process off;
user root;
pid /tmp/nginx.pid;
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
  client_body_temp_path /tmp/temporary;
  proxy_temp_path /tmp/temporary;
  fastcgi_temp_path /tmp/temporary;
  uwsgi_temp_path /tmp/temporary;
  scgi_temp_path /tmp/temporary;
  server {{
    root /run/pages;
{listen}
  }}
}}
"""

#: One connection, with windows of HTTP/2 that are never full, for longer than any scenario.
CLIENT_OPTIONS = (
    *("--duration=1000000", "--clients=1", "--threads=1", f"--max-concurrent-streams={_ASKED_FOR}"),
    *("--window-bits=30", "--connection-window-bits=30", "--no-tls-proto=h2c"),
)


def web_programs(scenario: Scenario) -> Programs:
    """Return the server and its clients for the bulk flows of a scenario.

    Raises
    ------
    MissingRequirement
        If a program is not installed.
    """
    flows, starts_s = served(scenario), scenario.starts_s()
    listen = "\n".join(f"    listen {FIRST_PORT + number} http2;" for number in flows)
    server = f"spawn 0 0 {_path(_SERVER)} -e stderr -p /run -c /run/nginx.conf"
    return Programs(
        sender=(
            "hostfs /host /",
            "bind /host/run /run",
            # Whoever runs this, here the server's own files are the guest's root's.
            "memory /host/tmp",
            server,
            f"sleep {_START_UP_NS}",
            "alive",
        ),
        receiver=tuple(
            _client(number, float(starts_s[number]), flow.stop_s or scenario.duration_s, scenario)
            for number, flow in flows.items()
        ),
        files={"nginx.conf": SETTINGS.format(listen=listen).encode(), **_pages()},
        memory_mb=memory_mb(scenario),
    )


def memory_mb(scenario: Scenario) -> int:
    """Return the memory of the server and its clients, in MB."""
    return _SERVER_MB + _CLIENT_MB * len(served(scenario))


def served(scenario: Scenario) -> dict[int, Flow]:
    """Return the single flows that the web server sends, by their numbers."""
    flows: dict[int, Flow] = {}
    number = 0
    for flow in scenario.flows:
        if flow.kind == "bulk":
            flows |= dict.fromkeys(range(number, number + flow.flow_count), flow)
        number += flow.flow_count
    return flows


def _client(number: int, start_s: float, stop_s: float, scenario: Scenario) -> str:
    """Return the step that starts the client of a flow, and ends it where the flow stops."""
    start_ns = round(start_s * 1e9)
    length_ns = round(stop_s * 1e9) - start_ns if stop_s < scenario.duration_s else 0
    base = f"http://{SENDER}:{FIRST_PORT + number}"
    pages = " ".join(f"{base}/{size}" for size in _PAGES_BYTES)
    options = " ".join(CLIENT_OPTIONS)
    return f"spawn {LEAD_NS + start_ns} {length_ns} {_path(_CLIENT)} {options} {pages}"


@cache
def _pages() -> dict[str, bytes]:
    return {f"pages/{size}": bytes(size) for size in _PAGES_BYTES}


def programs_digest() -> str:
    """Return 16 hexadecimal digits for the programs and the libraries that they are linked with.

    Raises
    ------
    MissingRequirement
        If a program is not installed.
    """
    digest = hashlib.sha256()
    for program in (_path(_SERVER), _path(_CLIENT)):
        for file in (program, *_libraries(program)):
            digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return digest.hexdigest()[:16]


def check_installed() -> None:
    """Raise a MissingRequirement if a program is not installed."""
    for name in PACKAGES:
        _path(name)


def missing() -> dict[str, str]:
    """Return the programs that are not installed, with their packages."""
    return {name: package for name, package in PACKAGES.items() if find(name) is None}


def find(name: str) -> str | None:
    """Return where a program is, or None if it is not installed."""
    return shutil.which(name, path=FOLDERS)


def _path(name: str) -> str:
    path = find(name)
    if path is None:
        packages = " ".join(PACKAGES.values())
        raise MissingRequirement(
            f"the engine kernel-http needs {name}, which is not installed: "
            f"sudo apt-get install -y {packages}"
        )
    return path


def _libraries(program: str) -> Sequence[str]:
    """Return the files of the libraries that a program is linked with, sorted."""
    answer = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    words = (word for line in answer.splitlines() for word in line.split())
    return sorted({word for word in words if word.startswith("/")})
