# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify SERVER`` on real web servers, through real Mahimahi."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.classify.setting import SETTINGS
from ccbench.classify.web.http3 import Http3
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from tests.realtime.disturbance import skip_if_busy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from pathlib import Path

    from ccbench.classify.setting import Setting

_MISSING = [check.name for check in MahimahiEngine().doctor() if not check.ok]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"`ccbench doctor --engine mahimahi` misses {', '.join(_MISSING)}"
)

_SERVER = "198.18.0.2"

_HTTP_3_CHECK = Http3().check(MahimahiEngine().user)
needs_http_3 = pytest.mark.skipif(not _HTTP_3_CHECK.ok, reason=_HTTP_3_CHECK.detail)


@dataclass(frozen=True)
class Server:
    """A web server, and the options of its classification.

    Parameters
    ----------
    program, cca : str
        The web server, and its CCA.
    page_bytes : int
        Size of its page.
    target : str
        The URL, or the name of a file with one URL per line.
    settings : tuple of Setting
        The settings of the links.
    options : tuple of str
        Further options.
    quic_cca : str
        CCA of its HTTP/3, of which it has none by default.
    """

    program: str
    cca: str
    page_bytes: int
    target: str = _SERVER
    settings: tuple[Setting, ...] = SETTINGS[:1]
    options: tuple[str, ...] = ("--insecure", "--pause", "0")
    quic_cca: str = ""

    @property
    def words(self) -> list[str]:
        """The arguments of ``ccbench classify``."""
        target = ["--hosts", self.target] if self.target == "hosts" else [self.target]
        chosen = [word for setting in self.settings for word in ("--setting", setting.name)]
        return [*target, *chosen, *self.options]


_LABELLED = {
    "nginx-cubic": Server("nginx", "cubic", 200_000, settings=SETTINGS[::3]),
    "apache2-reno": Server("apache2", "reno", 50_000),
    "nginx-bbr": Server("nginx", "bbr", 30_000_000),
}
_HTTP_1 = Server(
    "nginx", "cubic", 200_000, f"http://{_SERVER}", options=("--contact", "me@example.com")
)
_CLOSING = Server(
    "nginx", "cubic", 10_000, f"http://{_SERVER}:8005", options=("--max-connections", "3")
)
_FAILING = Server("nginx", "cubic", 10_000, "hosts")
_HTTP_3 = Server(
    *("nginx", "bbr", 200_000), options=("--insecure", "--pause", "0", "--http3"), quic_cca="reno"
)
_NO_HTTP_3 = replace(_HTTP_3, quic_cca="")

#: Targets without a label, and the kind of failure of each.
_FAILURES = {
    f"https://{_SERVER}:8001/": "slow",
    f"https://{_SERVER}:8002/": "closed",
    f"https://{_SERVER}:8003/": "status",
    f"https://{_SERVER}:8004/": "refused",
    f"https://{_SERVER}/nothing": "status",
    f"https://{_SERVER}/small": "small",
    "nobody.invalid": "unresolved",
}


@dataclass(frozen=True)
class Classified:
    """Output of ``ccbench classify`` for a server.

    Parameters
    ----------
    rows : list of dict
        A row of each target.
    done, again : CompletedProcess
        The command, and its immediate repetition with the same output folder.
    folder : Path
        The folder of the server.
    output : Path
        The output folder.
    """

    rows: list[dict[str, Any]]
    done: Any
    again: Any
    folder: Path
    output: Path

    @property
    def row(self) -> dict[str, Any]:
        """The row of the only target; skips the test if this machine was too busy for the link."""
        (row,) = self.rows
        for failed in (row, *row["traces"]):
            skip_if_busy(failed["error"] or "")
        return row

    def requests(self) -> list[list[str]]:
        """Return port, protocol, connection and user agent of each request."""
        return [line.split(" ", 3) for line in (self.folder / "asked").read_text().splitlines()]


def classify(server: Server, folder: Path, serving: Callable[..., Any]) -> Classified:
    """Classify a server, and repeat the command."""
    (folder / "web").mkdir(parents=True)
    (folder / "web" / "hosts").write_text("\n".join(_FAILURES))
    settings = (server.program, server.cca, server.page_bytes)
    with serving(folder / "web", *settings, quic_cca=server.quic_cca) as web:
        output = folder / "servers"
        command = ("classify", *server.words, "--json", "-o", str(output))
        done = web.ccbench(*command)
        assert done.stdout, done.stderr
        again = web.ccbench(*command)
    return Classified(json.loads(done.stdout)["servers"], done, again, folder / "web", output)


@pytest.fixture(scope="module")
def classified(
    tmp_path_factory: pytest.TempPathFactory, web_server: Callable[..., Any]
) -> Mapping[Server, Future[Classified]]:
    """Give the results of all servers; they are classified simultaneously, mostly waiting."""
    servers = [*_LABELLED.values(), _HTTP_1, _CLOSING, _FAILING]
    if _HTTP_3_CHECK.ok:
        servers += [_HTTP_3, _NO_HTTP_3]
    with ThreadPoolExecutor(len(servers)) as pool:
        results = {
            server: pool.submit(classify, server, tmp_path_factory.mktemp("server"), web_server)
            for server in servers
        }
        wait(results.values())
    return results


@pytest.mark.parametrize("server", _LABELLED.values(), ids=[*_LABELLED])
def test_label(classified: Mapping[Server, Future[Classified]], server: Server) -> None:
    """The CCA is nearest over HTTP/2, for several web servers and sizes of the page.

    Probing is random, so that a trace at the edge of its limit may be unknown.
    """
    result = classified[server].result()
    row = result.row
    assert not result.done.returncode
    assert row["label"] in {server.cca, "unknown"}, json.dumps(row, indent=1)
    assert {server.cca} == {trace["nearest"] for trace in row["traces"]}, json.dumps(row, indent=1)
    assert [trace["setting"] for trace in row["traces"]] == [item.name for item in server.settings]
    assert all(trace["utilisation"] > 0.8 for trace in row["traces"])
    megabits = sum(setting.bandwidth_mbps for setting in server.settings)
    assert 0.8 * megabits / 8 * 20 < row["megabytes"] < megabits / 8 * 22.5  # 22 s of each link
    own = result.output / _SERVER
    metadata = json.loads((own / SETTINGS[0].name / "shell.json").read_text())
    assert metadata["provenance"]["answers"]["protocol"] == "h2"
    assert (own / "traces.png").exists()


def test_http_1(classified: Mapping[Server, Future[Classified]]) -> None:
    """Without TLS it is HTTP/1.1 over one connection; requests identify their sender."""
    result = classified[_HTTP_1].result()
    (trace,) = result.row["traces"]
    assert trace["nearest"] == "cubic", json.dumps(trace, indent=1)
    requests = result.requests()
    assert {(port, protocol) for port, protocol, _, _ in requests} == {("80", "HTTP/1.1")}
    # One for the page, and one for the download.
    connections = {connection for _, _, connection, _ in requests}
    assert len(connections) == 2
    assert all("ccbench/" in agent and "me@example.com" in agent for *_, agent in requests)


@needs_http_3
def test_http_3(classified: Mapping[Server, Future[Classified]]) -> None:
    """HTTP/3 shows the congestion control of the QUIC server, not that of its TCP.

    A stack's Reno may differ from Linux's, which is in the training set.
    """
    result = classified[_HTTP_3].result()
    (trace,) = result.row["traces"]
    assert trace["protocol"] == "h3", json.dumps(trace, indent=1)
    assert trace["utilisation"] > 0.8
    assert trace["nearest"] not in {"bbr", "bbr3"}
    assert (result.output / f"{_SERVER}+http3" / "traces.png").exists()


@needs_http_3
def test_no_http_3(classified: Mapping[Server, Future[Classified]]) -> None:
    """A server without HTTP/3 is an error that says so, not a label of its TCP."""
    row = classified[_NO_HTTP_3].result().row
    assert (row["label"], row["kind"]) == (None, "refused")
    assert "may not speak HTTP/3" in row["error"] or "does not answer" in row["error"]


def test_too_many_connections(classified: Mapping[Server, Future[Classified]]) -> None:
    """A server that keeps closing connections is given up after a few."""
    result = classified[_CLOSING].result()
    row = result.row
    assert (row["label"], row["kind"]) == (None, "connections"), row
    assert row["seconds"] < 15
    # The number of connections is checked five times a second.
    assert len({connection for _, _, connection, _ in result.requests()}) < 12


def test_no_label(classified: Mapping[Server, Future[Classified]]) -> None:
    """A server that cannot be classified has a row with the reason, and never a label."""
    result = classified[_FAILING].result()
    assert result.done.returncode == 1, result.done.stderr
    assert {row["target"]: row["kind"] for row in result.rows} == _FAILURES
    assert all(row["label"] is None and row["error"] for row in result.rows)


def test_not_asked_again(classified: Mapping[Server, Future[Classified]]) -> None:
    """A repeated command prints the stored results and sends no request."""
    for server in (*_LABELLED.values(), _FAILING):
        result = classified[server].result()
        for row in result.rows:
            skip_if_busy(row["error"] or "")
        assert result.again.stdout == result.done.stdout


def test_certificate(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """A self-signed certificate is an error with its remedy."""
    with web_server(tmp_path, "nginx", "cubic", 1000) as web:
        done = web.ccbench("classify", _SERVER)
    assert done.returncode == 1
    assert "--insecure" in done.stdout
