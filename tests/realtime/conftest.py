# SPDX-License-Identifier: Apache-2.0
"""Shared by tests in real time: a watch on the machine, leftovers, real web servers."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import EngineError
from ccbench.emulate.realtime.namespaces import inside_namespace_of
from ccbench.experiment import stacks
from tests.realtime.disturbance import WATCH, is_busy, stalled_phase

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager

_TIMEOUT_S = 120.0

_WATCHED = pytest.StashKey[Path]()
_PHASES = pytest.StashKey[list[tuple[float, float]]]()


@pytest.fixture(scope="module", autouse=True)
def _watch(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Record all stalls of this machine, for as long as the tests of a file take."""
    path = tmp_path_factory.mktemp("watch") / "stalls"
    request.config.stash[_WATCHED] = path
    request.config.stash[_PHASES] = []
    with path.open("w") as file:
        process = subprocess.Popen([sys.executable, "-c", WATCH], stdout=file)
    yield
    process.kill()
    process.wait()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool, bool]:
    """Give a test's programs priority over those of other workers, where that is allowed.

    pytest calls this hook for all tests, also those of other folders.
    """
    if not item.path.is_relative_to(Path(__file__).parent):
        return (yield)
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    try:
        return (yield)
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a failed test if the machine disturbed it, or an earlier one that shares its runs."""
    report = yield
    path = item.config.stash.get(_WATCHED, None)
    if path is None:
        return report
    phases = item.config.stash[_PHASES]
    phases.append((call.start, call.stop))
    if not report.failed or call.excinfo is None:
        return report
    reason = ""
    if isinstance(call.excinfo.value, EngineError) and is_busy(str(call.excinfo.value)):
        reason = "Skipped: this machine was too busy"
    elif stalled := stalled_phase(path.read_text(), phases):
        reason = "Skipped: this machine stood still for {:.2f} of {:.1f} s".format(*stalled)
    if reason:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"{reason}: {call.excinfo}")
    return report


@dataclass(frozen=True)
class Alone:
    """The test's own folder for temporary files, and its active runs."""

    folder: Path

    def namespaces(self) -> set[str]:
        """Return the process namespaces of the runs."""
        own = str(Path("/proc/self/ns/pid").readlink())
        return {
            namespace
            for words, namespace in _processes()
            if str(self.folder) in words and namespace != own
        }

    def wait_for(self, program: str) -> set[str]:
        """Wait until a program is part of a run; return the process namespaces of the runs."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not (own := self.namespaces()) or not any(
            namespace in own and program in words.split(" ")[0] for words, namespace in _processes()
        ):
            assert time.monotonic() < deadline, f"{program} did not start"
            time.sleep(0.05)
        return own

    @staticmethod
    def has_ended(own: set[str]) -> bool:
        """Wait until nothing runs in these process namespaces."""
        assert own, "it did not even start"
        deadline = time.monotonic() + _TIMEOUT_S
        while (left := own & {namespace for _, namespace in _processes()}) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.02)
        return not left

    def workspaces(self) -> list[Path]:
        """Return the folders in which runs work, including leftovers."""
        parent = self.folder / f"ccbench-{os.getuid()}"
        return list(parent.iterdir()) if parent.exists() else []


def _processes() -> list[tuple[str, str]]:
    """Return the command line and the process namespace of every process."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            processes.append((words.replace("\0", " "), str((process / "ns" / "pid").readlink())))
        except OSError:
            continue  # it has just ended
    return processes


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Alone]:
    """Give the test its own folder for temporary files, which other users can traverse."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    alone = Alone(folder)
    yield alone
    assert not alone.workspaces()


ADDRESS, _CLIENT = "198.18.0.2", "198.18.0.1"
_MAIN = "from ccbench.cli.main import main; main()"

_QUIC_SERVER = Path(stacks.__file__).parent / "aioquic" / "server.py"

_WEB_PROGRAMS = ("nginx", "apache2", "h2load", "openssl")

_CERTIFICATE = (
    *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
    *("-subj", f"/CN={ADDRESS}", "-addext", f"subjectAltName=IP:{ADDRESS}"),
    *("-keyout", "key.pem", "-out", "cert.pem"),
)

#: Port 443 has the pages, and 80 without TLS; 8001 limits the rate, 8002 closes connections early,
#: and so does 8005 without TLS; 8003 forbids everything.
_NGINX = """
daemon off; master_process off; error_log stderr; pid {folder}/nginx.pid;
events {{}}
http {{
  log_format asked '$server_port $server_protocol $connection $http_user_agent';
  access_log {folder}/asked asked;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
  root {folder}/pages;
  server {{ listen 443 ssl http2; listen 80; }}
  server {{ listen 8001 ssl http2; location / {{ limit_rate 1k; }} }}
  server {{ listen 8002 ssl http2; keepalive_requests 150; }}
  server {{ listen 8003 ssl http2; return 403; }}
  server {{ listen 8005; keepalive_requests 10; }}
}}
"""

_APACHE = """
ServerName {address}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
DefaultRuntimeDir {folder}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so
User nobody
Listen 443
SSLEngine on
SSLCertificateFile {folder}/cert.pem
SSLCertificateKeyFile {folder}/key.pem
Protocols h2 http/1.1
DocumentRoot {folder}/pages
"""


@dataclass(frozen=True)
class Web:
    """A client's machine with a path to a server, and a folder for results."""

    client: int
    folder: Path

    def ccbench(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ccbench on the client's machine."""
        command = [sys.executable, "-c", _MAIN, *words]
        return subprocess.run(
            ["nsenter", "-t", str(self.client), "-n", *command],
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
            cwd=self.folder,
            env={**os.environ, "CCBENCH_CACHE": str(self.folder / "cache")},
        )


@contextmanager
def serving(
    folder: Path, program: str, cca: str, page_bytes: int, *, quic_cca: str = ""
) -> Iterator[Web]:
    """Provide two machines with a wire between them, and a web server on the second.

    Parameters
    ----------
    folder : Path
        For the server's files.
    program : str
        ``"nginx"`` or ``"apache2"``, with HTTP/2 over TLS at the usual port.
    cca : str
        The server's CCA: one of the host's.
    page_bytes : int
        Size of its page.
    quic_cca : str
        The CCA of aioquic's HTTP/3 server with an endless page at the same port; by default there
        is none.
    """
    pages = folder / "pages"
    pages.mkdir(parents=True)
    (pages / "index.html").write_bytes(os.urandom(page_bytes))
    (pages / "small").write_bytes(os.urandom(500))
    subprocess.run(_CERTIFICATE, check=True, capture_output=True, cwd=folder)
    for path in (*folder.parents, folder, pages):  # the server does not always run as root
        if path.is_relative_to("/tmp") and path != Path("/tmp"):  # noqa: S108 - pytest's
            path.chmod(0o755)
    with ExitStack() as stack:
        client, server = (_machine(stack) for _ in range(2))
        _connect(client, server, cca)
        config = folder / "server.conf"
        text = _NGINX if program == "nginx" else _APACHE
        config.write_text(text.format(folder=folder, address=ADDRESS))
        words = ["-c"] if program == "nginx" else ["-DFOREGROUND", "-f"]
        output = stack.enter_context((folder / "said").open("wb"))

        def start(*command: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                ["nsenter", "-t", str(server), "-n", *command],
                stdout=output,
                stderr=output,
                cwd=folder,
            )
            stack.callback(process.wait, _TIMEOUT_S)
            stack.callback(process.terminate)
            return process

        if quic_cca:
            start(sys.executable, str(_QUIC_SERVER), ADDRESS, "443", quic_cca)
        _wait(client, start(program, *words, str(config)), folder / "said")
        yield Web(client, folder)


def _machine(stack: ExitStack) -> int:
    """Create a network namespace that forwards; return a process in it."""
    command = ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
    stack.callback(process.kill)
    assert process.stdout is not None
    assert process.stdout.readline()  # it is there
    for words in ("ip link set lo up", "sysctl -qw net.ipv4.ip_forward=1"):
        subprocess.run(["nsenter", "-t", str(process.pid), "-n", *words.split()], check=True)
    return process.pid


def _connect(client: int, server: int, cca: str) -> None:
    ends = ((client, "c0", _CLIENT), (server, "s0", ADDRESS))
    with inside_namespace_of(client):
        far = f"peer name s0 netns {server}"
        subprocess.run(f"ip link add c0 type veth {far}".split(), check=True)
    for pid, device, address in ends:
        for words in (
            f"ip address add {address}/24 dev {device}",
            f"ip link set {device} up",
            f"ethtool -K {device} tso off gso off gro off",  # as between real machines
        ):
            subprocess.run(["nsenter", "-t", str(pid), "-n", *words.split()], check=True)
    # A server takes the route's CCA; the namespace's would have to be one that users may take.
    route = f"ip route replace 198.18.0.0/24 dev s0 congctl {cca}"
    subprocess.run(["nsenter", "-t", str(server), "-n", *route.split()], check=True)


def _wait(client: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline_s = time.monotonic() + _TIMEOUT_S
    while True:
        with inside_namespace_of(client):
            asking = socket.socket()
        with asking:
            if not asking.connect_ex((ADDRESS, 443)):
                return
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline_s, "the server does not come"
        time.sleep(0.1)


@pytest.fixture(scope="session")
def web_server() -> Callable[..., AbstractContextManager[Web]]:
    """Give :func:`serving`, if its programs are installed."""
    missing = [name for name in _WEB_PROGRAMS if not shutil.which(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return serving
