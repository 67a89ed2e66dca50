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

_MISSING = [check.name for check in MahimahiEngine().doctor() if not check.ok]
pytestmark = pytest.mark.skipif(
    bool(_MISSING), reason=f"`ccbench doctor --engine mahimahi` misses {', '.join(_MISSING)}"
)

_SERVER = "198.18.0.2"


@pytest.mark.parametrize(
    ("program", "cca", "page_bytes"),
    [("nginx", "cubic", 200_000), ("apache2", "reno", 50_000), ("nginx", "bbr", 30_000_000)],
)
def test_label(
    tmp_path: Path, web_server: Callable[..., Any], program: str, cca: str, page_bytes: int
) -> None:
    """A server is told by what it sends over HTTP/2, whatever server it is and large its page."""
    options = ("--insecure", "--pause", "0", "--json")
    folder, row = "", {}
    with web_server(tmp_path, program, cca, page_bytes) as web:
        for folder in ("servers", "again"):  # in real time, others may have kept this machine busy
            done = web.ccbench("classify", _SERVER, *options, "-o", folder)
            assert not done.returncode, done.stderr
            (row,) = json.loads(done.stdout)["servers"]
            if row["label"] != "unknown":
                break
    assert row["label"] == cca, row
    assert [trace["setting"] for trace in row["traces"]] == [one.name for one in SETTINGS]
    assert all(trace["utilisation"] > 0.8 for trace in row["traces"])
    # The links carry 30 Mbit/s together, for 22 s each.
    assert 0.8 * 30 / 8 * 20 < row["megabytes"] < 30 / 8 * 22.5
    own = tmp_path / folder / _SERVER
    about = json.loads((own / SETTINGS[0].name / "shell.json").read_text())
    assert about["provenance"]["answers"]["protocol"] == "h2"
    assert (own / "traces.png").exists()


def test_http_1(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """Without TLS it is HTTP/1.1 over one connection; whoever is asked is told what asks."""
    options = ("--setting", SETTINGS[0].name, "--contact", "me@example.com", "--json")
    with web_server(tmp_path, "nginx", "cubic", 200_000) as web:
        done = web.ccbench("classify", f"http://{_SERVER}", *options)
    assert not done.returncode, done.stderr
    (row,) = json.loads(done.stdout)["servers"]
    assert row["label"] == "cubic", row
    asked = [line.split(" ", 3) for line in (tmp_path / "asked").read_text().splitlines()]
    assert {(port, protocol) for port, protocol, _, _ in asked} == {("80", "HTTP/1.1")}
    assert len({connection for _, _, connection, _ in asked}) == 2  # the page, and the download
    assert all("ccbench/" in agent and "me@example.com" in agent for *_, agent in asked)


def test_too_many_connections(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """A server that closes connections all the time is left after a few."""
    options = ("--setting", SETTINGS[0].name, "--max-connections", "3", "--json")
    with web_server(tmp_path, "nginx", "cubic", 10_000) as web:
        done = web.ccbench("classify", f"http://{_SERVER}:8005", *options)
    (row,) = json.loads(done.stdout)["servers"]
    assert (row["label"], row["kind"]) == (None, "connections"), row
    assert row["seconds"] < 15
    asked = [line.split(" ", 3) for line in (tmp_path / "asked").read_text().splitlines()]
    # How many there are is looked at five times a second.
    assert len({connection for _, _, connection, _ in asked}) < 12


def test_no_label(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """What cannot be classified has a row that says why, and never a label."""
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
    options = ("--setting", SETTINGS[0].name, "--insecure", "--pause", "0", "--json")
    with web_server(tmp_path / "web", "nginx", "cubic", 10_000) as web:
        done = web.ccbench("classify", "--hosts", str(tmp_path / "hosts"), *options)
        again = web.ccbench("classify", "--hosts", str(tmp_path / "hosts"), *options)
    assert done.returncode == 1, done.stderr
    rows = json.loads(done.stdout)["servers"]
    assert {row["target"]: row["kind"] for row in rows} == urls
    assert all(row["label"] is None and row["error"] for row in rows)
    assert again.stdout == done.stdout  # and nobody was asked again


def test_certificate(tmp_path: Path, web_server: Callable[..., Any]) -> None:
    """A certificate that nobody has signed is an error, with what to do about it."""
    with web_server(tmp_path, "nginx", "cubic", 1000) as web:
        done = web.ccbench("classify", _SERVER)
    assert done.returncode == 1
    assert "--insecure" in done.stdout
