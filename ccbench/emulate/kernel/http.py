# SPDX-License-Identifier: Apache-2.0
"""The virtual kernel with a real web server in it, and a real client that asks it.

What fills the bottleneck is then not made by us: nginx answers h2load over HTTP/2, both of them
this machine's own programs, as processes of the guest.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench import _validate
from ccbench.emulate.engine import Check
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.plan import LEAD_NS, SENDER, Programs, guest_memory_mb
from ccbench.errors import InputError, MissingRequirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.scenario import Scenario

__all__ = ["HttpKernelEngine"]

#: Changes when the same programs would give another Run otherwise than by their settings below.
_VERSION = 1

#: The programs, and Debian's and Ubuntu's packages that bring them.
_SERVER, _CLIENT = "nginx", "h2load"
PACKAGES = {_SERVER: "nginx-light", _CLIENT: "nghttp2-client"}

#: Servers are where ordinary users do not look for programs.
FOLDERS = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])

#: Each flow has a port of its own: this plus its number. The twin of the number in
#: ``kernel_modules/flows/served.c``.
_FIRST_PORT = 8000
_LAST_PORT = 65_535

#: What works only if the receiver echoes marks as these do.
_NEED_A_RECEIVER = ("abc", "abc_ns", "dctcp")

#: Every flow is a process in the guest.
_MOST_FLOWS = 64
_CLIENT_MB = 16
_SERVER_MB = 64

#: What is served. Pages of several sizes do not end all at once, however evenly the server shares
#: its connection among the answers; so there is always something to send.
_PAGES_BYTES = tuple(range(100_000, 1_000_001, 100_000))

#: How many pages a client has asked for at any time, and how much that is at least. The most that
#: may be under way or wait is far less, so that the asking never limits the sending.
_ASKED_FOR = 100
_MOST_UNDER_WAY_BYTES = _ASKED_FOR * sum(_PAGES_BYTES) // len(_PAGES_BYTES) // 4

#: The pages' date is in the answers.
_PAGES_TIME_S = 1_577_836_800

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


class HttpKernelEngine(KernelEngine):
    """Runs scenarios in the virtual kernel, with a real web server as the sender.

    Every flow of kind ``"bulk"`` is one connection of HTTP/2 without TLS. nginx sends, with the
    flow's CCA, which its listening socket is given. h2load connects when the flow starts, asks for
    pages of 100 kB to 1 MB over and over, a hundred at any time, and is ended when the flow stops.
    All other flows are those of :class:`~ccbench.emulate.kernel.engine.KernelEngine`.

    As the client keeps asking, its ACKs are delayed whether or not `delayed_acks` says so.

    Samples are those of the sockets of nginx and h2load. Payload is what TCP calls so: it includes
    the headers of HTTP/2.

    Parameters
    ----------
    kernel : KernelBuild, optional
        The kernel to run. By default the one that ``ccbench kernel build`` has built last.

    Examples
    --------
    >>> HttpKernelEngine().name
    'kernel-http'
    """

    name = "kernel-http"

    @classmethod
    def of_version(cls, version: str) -> HttpKernelEngine:
        """Return the engine of that version, whatever kernel is in use.

        Raises
        ------
        MissingRequirement
            If this machine cannot have it: another kernel, or other programs.
        """
        kernel_version, _, digest = version.rpartition("-")
        engine = cls(KernelEngine.of_version(kernel_version).kernel)
        if engine.programs_digest != digest:
            raise MissingRequirement(
                f"{_SERVER} and {_CLIENT} here are {engine.programs_digest}, but {digest} is "
                "needed: install the same packages as on the machine that asks for it"
            )
        return engine

    @cached_property
    def programs_digest(self) -> str:
        """16 hexadecimal digits for the programs, their libraries and their settings.

        Raises
        ------
        MissingRequirement
            If a program is not installed.
        """
        parts = hashlib.sha256()
        settings = (_VERSION, SETTINGS, CLIENT_OPTIONS, _PAGES_BYTES, _PAGES_TIME_S, _START_UP_NS)
        parts.update(repr(settings).encode())
        for program in (_path(_SERVER), _path(_CLIENT)):
            for file in (program, *_libraries(program)):
                parts.update(hashlib.sha256(Path(file).read_bytes()).digest())
        return parts.hexdigest()[:16]

    def version(self) -> str:
        """Return what identifies everything that can change a result."""
        return f"{super().version()}-{self.programs_digest}"

    def provenance(self) -> dict[str, object]:
        """Return what this engine is; see :meth:`ccbench.emulate.engine.Engine.provenance`."""
        return {**super().provenance(), "programs": self.programs_digest}

    def check(self, scenario: Scenario) -> None:
        """Raise an InputError if the kernel or the web server cannot do what the scenario asks.

        Raises
        ------
        InputError
            Also for bulk flows whose round trip is longer than the scenario's, for dctcp and abc,
            and for more under way than the client asks for.
        MissingRequirement
            If a program is not installed.
        """
        for name in PACKAGES:
            _path(name)
        super().check(scenario)
        served = _served(scenario)
        if not 1 <= len(served) <= _MOST_FLOWS:
            allowed = f"1 to {_MOST_FLOWS} for the web server"
            step = "change their number, or use the engine kernel"
            raise _validate.bad("flows of kind bulk", len(served), allowed, step)
        last = int(served.index[-1])
        if last > _LAST_PORT - _FIRST_PORT:
            allowed = f"at most {_LAST_PORT - _FIRST_PORT}, as each has a port"
            raise _validate.bad("flows: the last of kind bulk", last, allowed, "put them first")
        for i, flow in enumerate(scenario.flows):
            if flow.kind != "bulk":
                continue
            if flow.extra_rtt_ms:
                raise _validate.bad(
                    f"flows[{i}].extra_rtt_ms",
                    flow.extra_rtt_ms,
                    "0 for a flow from the web server",
                    "change rtt_ms, or use the engine kernel",
                )
            if flow.cca in _NEED_A_RECEIVER:
                raise InputError(
                    f"cca = {flow.cca!r} (flows[{i}]): it needs a receiver that takes part, which "
                    "the web server's client is not: use the engine kernel"
                )
        _check_under_way(scenario)

    def doctor(self) -> list[Check]:
        """Return what engine and programs need of this machine, and whether it is there."""
        missing = {name: package for name, package in PACKAGES.items() if find(name) is None}
        return [*super().doctor(), Check.of_programs("web server and client", missing)]

    def _prepare(self, scenario: Scenario, directory: Path) -> Programs:
        served = _served(scenario)
        _write_pages(directory / "pages")
        listen = "\n".join(f"    listen {_FIRST_PORT + flow} http2;" for flow in served.index)
        (directory / "nginx.conf").write_text(SETTINGS.format(listen=listen), encoding="utf-8")
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
                _client(int(flow), start_s, stop_s if stop_s < scenario.duration_s else None)
                for flow, start_s, stop_s in zip(
                    served.index, served["start_s"], served["stop_s"], strict=True
                )
            ),
        )

    def _memory_mb(self, scenario: Scenario) -> int:
        return guest_memory_mb(scenario) + _SERVER_MB + _CLIENT_MB * len(_served(scenario))


def _served(scenario: Scenario) -> pd.DataFrame:
    """Return the rows of the scenario's flow table that the web server sends."""
    table = scenario.flow_table()
    return table[table["kind"] == "bulk"]


def _client(flow: int, start_s: float, stop_s: float | None) -> str:
    """Return the step that starts the client of a flow, and ends it where the flow stops."""
    start_ns = round(start_s * 1e9)
    length_ns = 0 if stop_s is None else round(stop_s * 1e9) - start_ns
    base = f"http://{SENDER}:{_FIRST_PORT + flow}"
    pages = " ".join(f"{base}/{size}" for size in _PAGES_BYTES)
    options = " ".join(CLIENT_OPTIONS)
    return f"spawn {LEAD_NS + start_ns} {length_ns} {_path(_CLIENT)} {options} {pages}"


def _write_pages(folder: Path) -> None:
    folder.mkdir()
    for size in _PAGES_BYTES:
        page = folder / str(size)
        page.write_bytes(bytes(size))
        os.utime(page, (_PAGES_TIME_S, _PAGES_TIME_S))


def _check_under_way(scenario: Scenario) -> None:
    """Make sure that a client asks for more than the path can hold."""
    rate = max(bottleneck.mean_mbps for bottleneck in scenario.bottlenecks) * 1e6 / 8
    queues = sum(bottleneck.queue_packets or 0 for bottleneck in scenario.bottlenecks)
    under_way = rate * (scenario.rtt_ms + scenario.jitter_ms) / 1e3 + queues * 1500
    if under_way > _MOST_UNDER_WAY_BYTES:
        allowed = f"at most {_MOST_UNDER_WAY_BYTES / 1e6:g} MB for the web server's client"
        step = "lower bandwidth_mbps, rtt_ms or queue_packets, or use the engine kernel"
        shown = f"{under_way / 1e6:.1f} MB"
        raise InputError(
            f"what the path and its queues hold is {shown}; it must be {allowed}: {step}"
        )


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
