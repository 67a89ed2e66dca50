# SPDX-License-Identifier: Apache-2.0
"""Web server (nginx) and HTTP/2 clients (h2load) as programs in the guest."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.errors import MissingRequirement
from ccbench.emulate.kernel.boot.hosts import SENDER
from ccbench.emulate.kernel.boot.plan import LEAD_NS, Programs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.experiment.flow import Flow
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "FIRST_PORT",
    "LAST_PORT",
    "MAX_PATH_BYTES",
    "PACKAGES",
    "check_installed",
    "find",
    "memory_mb",
    "missing",
    "programs_digest",
    "served",
    "web_programs",
]

#: The programs, and the packages of Debian and Ubuntu that contain them.
_SERVER, _CLIENT = "nginx", "h2load"
PACKAGES = {_SERVER: "nginx-light", _CLIENT: "nghttp2-client"}

#: Search path of programs; servers are in folders that are not on ordinary users' PATH.
FOLDERS = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

#: Port of flow 0; each flow's port is this plus its number, as in
#: ``kernel_modules/flows/served.c``.
FIRST_PORT = 8000
LAST_PORT = 65_535

_CLIENT_MB = 16
_SERVER_MB = 64

#: Sizes of the pages in bytes. Responses of different sizes do not end at the same time, so the
#: server always has data to send.
_PAGES_BYTES = tuple(range(100_000, 1_000_001, 100_000))

#: Number of a client's outstanding requests, and the maximum capacity of the path and its queues in
#: bytes: a quarter of the requested data, so that requests never limit the server.
_REQUESTS = 100
MAX_PATH_BYTES = _REQUESTS * sum(_PAGES_BYTES) // len(_PAGES_BYTES) // 4

#: Start-up time of the server in the guest's time, in nanoseconds.
_START_UP_NS = 100_000_000

#: Debian's default settings, except that connections are never closed. Paths are the guest's.
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
    listen = "\n".join(f"    listen {FIRST_PORT + number} http2;" for number in flows)
    server = f"spawn 0 0 {_path(_SERVER)} -e stderr -p /run -c /run/nginx.conf"
    return Programs(
        sender=(
            "hostfs /host /",
            "bind /host/run /run",
            # The server's own files belong to the guest's root, whatever the host's user.
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


def _client(number: int, start_s: float, stop_s: float, scenario: Scenario) -> str:
    """Return the step that runs the client of a flow from the flow's start to its stop."""
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
    """Return the digest of the programs and their linked libraries: 16 hexadecimal digits.

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
    """Return the path of a program, or None if it is not installed."""
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
    """Return the paths of the libraries that a program is linked with, sorted."""
    output = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    words = (word for line in output.splitlines() for word in line.split())
    return sorted({word for word in words if word.startswith("/")})
