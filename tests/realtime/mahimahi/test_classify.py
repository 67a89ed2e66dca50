# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify SERVER`` on real web servers, through real Mahimahi."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.classify.setting import SETTINGS
from ccbench.emulate.mahimahi.engine import MahimahiEngine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.classify.setting import Setting

_MISSING = [check.name for check in MahimahiEngine().doctor() if not check.ok]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"`ccbench doctor --engine mahimahi` misses {', '.join(_MISSING)}"
)

_SERVER = "198.18.0.2"


#: How often a server is asked: BBR's probing is by chance, a limit at its edge makes unknowns, and
#: a busy machine's links fail.
_ATTEMPTS = 3


def classified(web: Any, *words: str) -> tuple[Any, list[dict[str, Any]]]:
    """Classify servers, with `--retry` while a link of this machine fails; return all rows."""
    retry: tuple[str, ...] = ()
    failures: list[str] = []
    for _ in range(_ATTEMPTS):
        done = web.ccbench("classify", *words, "--json", *retry)
        assert done.stdout, done.stderr
        rows = json.loads(done.stdout)["servers"]
        failed = [row["error"] for row in rows if row["kind"] == "link"]
        if not failed:
            return done, rows
        failures += failed
        retry = ("--retry",)
    pytest.fail(f"a link of this machine failed in {_ATTEMPTS} attempts: {failures}")


def ask(web: Any, folder: Path, *words: str) -> tuple[dict[str, Any], Path]:
    """Classify the server until its label is not unknown; return its row and folder."""
    row: dict[str, Any] = {}
    for attempt in range(_ATTEMPTS):
        kept = folder / f"servers-{attempt}"
        done, (row,) = classified(web, *words, "-o", str(kept))
        assert not done.returncode, json.dumps(row, indent=1)
        if row["label"] != "unknown":
            return row, kept
    pytest.fail(f"unknown in {_ATTEMPTS} attempts: {json.dumps(row, indent=1)}")


@pytest.mark.alone
@pytest.mark.parametrize(
    ("server", "settings"),
    [
        (("nginx", "cubic", 200_000), SETTINGS[::3]),
        (("apache2", "reno", 50_000), SETTINGS[:1]),
        (("nginx", "bbr", 30_000_000), SETTINGS[:1]),
    ],
    ids=["nginx-cubic", "apache2-reno", "nginx-bbr"],
)
def test_label(
    tmp_path: Path,
    web_server: Callable[..., Any],
    server: tuple[str, str, int],
    settings: tuple[Setting, ...],
) -> None:
    """A server is classified by its traffic over HTTP/2, whatever the server and its page size."""
    chosen = [word for one in settings for word in ("--setting", one.name)]
    with web_server(tmp_path, *server) as web:
        row, folder = ask(web, tmp_path, _SERVER, "--insecure", "--pause", "0", *chosen)
    assert row["label"] == server[1], json.dumps(row, indent=1)
    assert [trace["setting"] for trace in row["traces"]] == [one.name for one in settings]
    assert all(trace["utilisation"] > 0.8 for trace in row["traces"])
    megabits = sum(one.bandwidth_mbps for one in settings)
    assert 0.8 * megabits / 8 * 20 < row["megabytes"] < megabits / 8 * 22.5  # 22 s of each link
    own = folder / _SERVER
    about = json.loads((own / SETTINGS[0].name / "shell.json").read_text())
    assert about["provenance"]["answers"]["protocol"] == "h2"
    assert (own / "traces.png").exists()


@pytest.mark.alone
def test_http_1(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """Without TLS it is HTTP/1.1 over one connection; requests identify their sender."""
    options = ("--setting", SETTINGS[0].name, "--contact", "me@example.com")
    with web_server(tmp_path, "nginx", "cubic", 200_000) as web:
        row, _ = ask(web, tmp_path, f"http://{_SERVER}", *options)
    assert row["label"] == "cubic", json.dumps(row, indent=1)
    asked = [line.split(" ", 3) for line in (tmp_path / "asked").read_text().splitlines()]
    assert {(port, protocol) for port, protocol, _, _ in asked} == {("80", "HTTP/1.1")}
    # Each attempt has two: the page, and the download.
    assert len({connection for _, _, connection, _ in asked}) in range(2, 2 * _ATTEMPTS + 1, 2)
    assert all("ccbench/" in agent and "me@example.com" in agent for *_, agent in asked)


def test_too_many_connections(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """A server that keeps closing connections is left after a few."""
    options = ("--setting", SETTINGS[0].name, "--max-connections", "3")
    with web_server(tmp_path, "nginx", "cubic", 10_000) as web:
        _, (row,) = classified(web, f"http://{_SERVER}:8005", *options)
    assert (row["label"], row["kind"]) == (None, "connections"), row
    assert row["seconds"] < 15
    asked = [line.split(" ", 3) for line in (tmp_path / "asked").read_text().splitlines()]
    # The number of connections is checked five times a second.
    assert len({connection for _, _, connection, _ in asked}) < 12


def test_no_label(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """A server that cannot be classified has a row with the reason, and no label."""
    urls = {
        f"https://{_SERVER}:8001/": "slow",
        f"https://{_SERVER}:8002/": "closed",
        f"https://{_SERVER}:8003/": "status",
        f"https://{_SERVER}:8004/": "refused",
        f"https://{_SERVER}/nothing": "status",
        f"https://{_SERVER}/small": "small",
        "nobody.invalid": "unresolved",
    }
    (tmp_path / "hosts").write_text("\n".join(urls))
    options = ("--setting", SETTINGS[0].name, "--insecure", "--pause", "0")
    with web_server(tmp_path / "web", "nginx", "cubic", 10_000) as web:
        done, rows = classified(web, "--hosts", str(tmp_path / "hosts"), *options)
        again = web.ccbench("classify", "--hosts", str(tmp_path / "hosts"), *options, "--json")
    assert done.returncode == 1, done.stderr
    assert {row["target"]: row["kind"] for row in rows} == urls
    assert all(row["label"] is None and row["error"] for row in rows)
    assert again.stdout == done.stdout  # and nobody was asked again


def test_certificate(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """A self-signed certificate is an error with its remedy."""
    with web_server(tmp_path, "nginx", "cubic", 1000) as web:
        done = web.ccbench("classify", _SERVER)
    assert done.returncode == 1
    assert "--insecure" in done.stdout
