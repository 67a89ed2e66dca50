# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import TrainingSet
from ccbench.classify.web.h2load import H2Load
from ccbench.cli.main import program
from ccbench.emulate.bess.engine import BessEngine
from ccbench.emulate.engine import Check
from ccbench.emulate.mahimahi.engine import MahimahiEngine
from tests.unit.classify.web.conftest import download, serving

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.recording import CommandRecording


class TestCommand:
    @staticmethod
    def classify(*words: str) -> Any:
        """Run the command."""
        return CliRunner().invoke(program, ["classify", *words])

    def test_dry_run(self) -> None:
        """A dry run states the largest possible traffic, and sends no request."""
        with serving() as (url, seen):
            result = self.classify(url, "example.com", "--dry-run", "--json")
        document = json.loads(result.stdout)
        assert (result.exit_code, seen) == (0, [])
        assert [server["url"] for server in document["servers"]] == [
            f"{url}/",
            "https://example.com/",
        ]
        assert not any(item["has_result"] for item in document["servers"])
        assert document["each"]["megabytes_at_most"] == pytest.approx(30 / 8 * 22)

    @pytest.mark.parametrize(("engine", "packets"), [("mahimahi", [64, 128]), ("bess", [63, 127])])
    def test_engine(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, packets: list[int]
    ) -> None:
        """The named engine emulates the link, with the queues that it supports."""
        requested = []

        def record(
            engine: Any, _command: Any, link: Any, _rtt_ms: float, *, output: Any
        ) -> CommandRecording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            requested.append((link.queue_packets, getattr(engine, "directory", None)))
            return download(SETTINGS[0])

        for one in (MahimahiEngine, BessEngine):
            is_chosen = one.name == engine
            monkeypatch.setattr(one, "record", record if is_chosen else pytest.fail)
            monkeypatch.setattr(one, "link_checks", lambda _: [])
        monkeypatch.setattr(H2Load, "check", lambda *_: Check.of_programs("h2load", {}))
        names = [f"--setting={setting.name}" for setting in (SETTINGS[0], SETTINGS[2])]
        where = ["--bess-dir", str(tmp_path)] if engine == "bess" else []
        with serving() as (url, _):
            result = self.classify(
                *(
                    url,
                    "--engine",
                    engine,
                    *where,
                    "-o",
                    str(tmp_path / "kept"),
                    "--pause=0",
                    *names,
                )
            )
        assert result.exit_code in {0, 1}, result.stderr
        assert [count for count, _ in requested] == packets
        assert {directory for _, directory in requested} == {tmp_path if where else None}
        (row,) = (tmp_path / "kept").glob("*/result.json")
        assert json.loads(row.read_text(encoding="utf-8"))["provenance"]["engine"] == engine

    def test_no_such_queue(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A setting with an unsupported queue is refused before any request."""
        monkeypatch.setattr(TrainingSet, "samples_of", lambda *_: None)
        with serving() as (url, seen):
            result = self.classify(
                *(url, "--engine", "bess", "--bess-dir", str(tmp_path)),
                *("--setting", "5bw-85rtt-64q", "--setting", "5bw-85rtt-100q"),
            )
        assert (result.exit_code, seen) == (2, [])
        (line,) = result.stderr.splitlines()
        assert "setting 5bw-85rtt-100q: bottlenecks[0].queue_packets is 100" in line

    @pytest.mark.parametrize("engine", ["mahimahi", "bess"])
    def test_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
        """Missing requirements of the engine are reported before any request."""
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CCBENCH_BESS_DIR", raising=False)
        with serving() as (url, seen):
            result = self.classify(url, "--engine", engine, "-o", str(tmp_path / "kept"))
        assert (result.exit_code, seen) == (1, [])
        assert {"mahimahi": "mahimahi: not", "bess": "BESS: not"}[engine] in str(result.stderr)
        assert "h2load" in result.stderr  # all missing requirements are reported together
        assert 1 == len(result.stderr.splitlines())

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((), "no server or file is given"),
            (("a b.com",), "server is 'a b.com'"),
            (("http://localhost:8088/x",), "not this machine's loopback: let the server listen on"),
            (("example.com", "https://127.0.1.1"), "server is 'https://127.0.1.1'; it must be a"),
            (("::1",), "server is '::1'; it must be a server reachable over a link"),
            (("[2001:db8::1]:8080",), "reachable by IPv4, as emulated links are: name the server'"),
            (("fe80::1%eth0",), "server is 'fe80::1%eth0'; it must be reachable by IPv4"),
            (("::ffff:192.0.2.1",), "write 192.0.2.1"),
            (("example.com", "--pause", "5s"), "write the number of s without the unit"),
            (("run-1",), "file is 'run-1'; it must be an existing file"),
            (("queue.csv",), "file is 'queue.csv'; it must be an existing file"),
            (("results/run.d",), "file is 'results/run.d'; it must be an existing file"),
            (
                ("/nowhere/run-1",),
                "file is '/nowhere/run-1'; it must be an existing file: correct the path",
            ),
            (("example.com", "--setting", "7bw-85rtt-64q", "--dry-run"), "setting is"),
            (
                ("example.com", "--max-megabytes", "82", "--dry-run"),
                "write 83 (--max-megabytes 83)",
            ),
            (("example.com", "--min-utilisation", "80"), "min_utilisation is 80"),
            (("example.com", "--plot", "a.png", "--dry-run"), "--plot is"),
            (("example.com", "--kernel", "7.3"), "--kernel is '7.3'; it must be left out for se"),
            (("example.com", "--bess-dir", "x"), "--bess-dir is"),
            (("example.com", "."), "files only"),
            ((".", "--dry-run"), "--dry-run is True; it must be left out for files"),
            ((".", "--kernel", "7.3", "--training", "x"), "left out with --kernel"),
            ((".", "--pause", "3"), "--pause is 3.0; it must be left out for files"),
        ],
    )
    def test_refused(self, words: tuple[str, ...], message: str) -> None:
        """Invalid arguments are refused in one line before any request."""
        result = self.classify(*words)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1
