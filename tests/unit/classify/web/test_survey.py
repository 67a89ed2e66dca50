# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import EngineError, InputError
from ccbench.base.sealed import unsealed
from ccbench.classify.filters import Filters
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.web.folder import ServerFolder
from ccbench.classify.web.h2load import H2Load
from ccbench.classify.web.manners import Manners
from ccbench.classify.web.survey import FIGURE, Survey
from ccbench.classify.web.target import Target
from ccbench.emulate.engine import Check
from ccbench.emulate.registry import ENGINES
from tests.unit.classify.web.conftest import download, serving
from tests.unit.conftest import ArithmeticEngine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.emulate.recording import CommandRecording
    from ccbench.experiment.bottleneck import Bottleneck

pytestmark = pytest.mark.slow


class Links(ArithmeticEngine):
    """An engine whose links are functions of the tests."""

    name = "made up"
    user = "nobody"

    def __init__(self, record: Callable[..., CommandRecording]) -> None:
        super().__init__()
        self._record = record

    def provenance(self) -> dict[str, object]:
        """Return the name alone."""
        return {"engine": self.name}

    def link_checks(self) -> list[Check]:
        """Return no checks."""
        return []

    def nearest_link(self, bottleneck: Bottleneck) -> Bottleneck:
        """Support every link."""
        return bottleneck

    def record(self, *command: Any, direction: str = "down", **how: Any) -> CommandRecording:
        """Record with the function."""
        assert direction == "down"
        return self._record(*command, **how)


@pytest.fixture(autouse=True)
def _h2load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do without h2load; the tests make the downloads."""
    monkeypatch.setattr(H2Load, "check", lambda *_: Check.of_programs("h2load", {}))


class TestSurvey:
    """Results of servers; the downloads are made by the tests, the rest is real."""

    @staticmethod
    def run(
        folder: Path,
        urls: list[str],
        record: Callable[..., CommandRecording],
        *,
        retry: bool = False,
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Survey servers in two settings."""
        survey = Survey(
            targets=[Target.named(url) for url in urls],
            **{"settings": SETTINGS[:2], "manners": Manners(pause_s=0), **options},
        )
        return list(survey.run(folder, engine=Links(record), retry=retry))

    def test_resumes(self, tmp_path: Path) -> None:
        """Finished downloads are not repeated after an interruption at any time."""
        requested = []

        def record(_command: Any, link: Any, _rtt_ms: float, *, output: Any) -> CommandRecording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            requested.append(link.bandwidth_mbps)
            if len(requested) == 2:
                raise KeyboardInterrupt
            return download(SETTINGS[0])

        with serving() as (url, seen):
            with pytest.raises(KeyboardInterrupt):
                self.run(tmp_path, [url], record)
            rows = self.run(tmp_path, [url], record)
            requests = len(seen)
            again = self.run(tmp_path, [url], record)
            assert len(seen) == requests
        assert len(requested) == 3  # one of which was interrupted
        assert rows == again
        own = tmp_path / Target.named(url).folder_name
        assert unsealed((own / "result.json").read_bytes()) == rows[0]
        assert (own / FIGURE).exists()
        assert ServerFolder(own).load(SETTINGS[1]) is not None

    def test_other_options(self, tmp_path: Path) -> None:
        """With another setting or filter, downloads are reclassified, and missing ones added."""
        requested = []

        def record(_command: Any, link: Any, _rtt_ms: float, *, output: Any) -> CommandRecording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            requested.append(link.bandwidth_mbps)
            return download(SETTINGS[2] if link.bandwidth_mbps == 10 else SETTINGS[0])

        with serving() as (url, seen):
            self.run(tmp_path, [url], record)
            (smooth,) = self.run(tmp_path, [url], record, filters=Filters(smooth_s=0.5))
            assert (len(requested), len(seen)) == (2, 1)
            assert smooth["filters"]["smooth_s"] == 0.5
            (more,) = self.run(tmp_path, [url], record, settings=SETTINGS[:3])
            assert len(requested) == 3
            other = replace(TrainingSet.load(PACKAGED), provenance={})
            assert other.digest == more["training"]
            self.run(tmp_path, [url], record, settings=SETTINGS[:3])
        assert (len(requested), len(seen)) == (3, 2)
        assert [trace["setting"] for trace in more["traces"]] == [
            setting.name for setting in SETTINGS[:3]
        ]

    def test_gone(self, tmp_path: Path) -> None:
        """Earlier observations count if the server is not reachable any more."""

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> CommandRecording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            return download(SETTINGS[0])

        with serving() as (url, _):
            (before,) = self.run(tmp_path, [url], record, settings=SETTINGS[:1])
        (after,) = self.run(tmp_path, [url], record, settings=SETTINGS[:2])
        assert after["label"] == before["label"] is not None
        assert [trace["kind"] for trace in after["traces"]] == [None, "refused"]

    def test_row(self, tmp_path: Path) -> None:
        """A row has the label, the votes and the traffic."""

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> CommandRecording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            return download(SETTINGS[0])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
        assert row["label"] in {trace["label"] for trace in row["traces"]}
        votes = sum(trace["label"] == row["label"] for trace in row["traces"])
        assert row["votes"] == f"{votes} of 2"
        assert row["megabytes"] == pytest.approx(2 * 0.95 * 5 / 8 * 21, rel=0.01)
        assert [trace["setting"] for trace in row["traces"]] == [
            setting.name for setting in SETTINGS[:2]
        ]
        assert row["provenance"]["engine"] == "made up"
        assert "kernel" == row["provenance"]["training"]["engine"]
        assert row["engine"] == "made up"

    def test_gives_up(self, tmp_path: Path) -> None:
        """A server that does not answer through the link is not tried in other settings."""
        requested = []

        def record(_command: Any, _link: Any, _rtt_ms: float, **_: Any) -> CommandRecording:
            requested.append(1)
            return download(SETTINGS[0])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
            (same,) = self.run(tmp_path, [url], record)
            assert (row["label"], row["kind"], len(requested)) == (None, "refused", 1)
            self.run(tmp_path, [url], record, retry=True)
        assert same == row
        assert len(requested) == 2

    def test_link_fails(self, tmp_path: Path) -> None:
        """If the link fails in one setting, the other settings vote."""
        requested = []

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> CommandRecording:
            output.write(b"status codes: 50 2xx\nconnections opened: 1")
            requested.append(1)
            if len(requested) == 1:
                raise EngineError("too busy")
            return download(SETTINGS[1])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
        assert [trace["kind"] for trace in row["traces"]] == ["link", None]
        assert row["label"] is not None
        assert row["votes"].endswith("of 1")
        assert "too busy" in row["traces"][0]["error"]
        with serving() as (url, _):
            self.run(tmp_path / "again", [url], record)
            (row,) = self.run(tmp_path / "again", [url], record, retry=True)
        assert len(requested) == 4  # nothing has failed there

    def test_failures_are_tried_again(self, tmp_path: Path) -> None:
        """A failed setting is retried, and only that setting."""
        requested = []

        def record(_command: Any, _link: Any, _rtt_ms: float, *, output: Any) -> CommandRecording:
            requested.append(1)
            output.write(b"status codes: 50 2xx\nconnections opened: 1\n")
            made = download(SETTINGS[0])
            return replace(made, status=1) if len(requested) == 1 else made

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
            assert [trace["kind"] for trace in row["traces"]] == ["link", None]
            (row,) = self.run(tmp_path, [url], record, retry=True)
        assert [trace["kind"] for trace in row["traces"]] == [None, None]
        assert len(requested) == 3

    def test_nothing_passes(self, tmp_path: Path) -> None:
        """A machine that forwards no packets is reported as a failure of the link."""

        def record(_command: Any, _link: Any, _rtt_ms: float, **_: Any) -> CommandRecording:
            made = download(SETTINGS[0])
            return replace(made, queue=made.queue.iloc[:0])

        with serving() as (url, _):
            (row,) = self.run(tmp_path, [url], record)
        assert row["kind"] == "link"
        assert "iptables" in row["error"]

    def test_small_page(self, tmp_path: Path) -> None:
        """A page so small that requests limit the server is not downloaded."""
        with serving() as (url, seen):
            (row,) = self.run(tmp_path, [f"{url}/900"], lambda: None)  # type: ignore[arg-type,return-value] # nobody is asked
        # Twice the contents of path and queue, a hundred times, in the largest of the settings.
        assert row["kind"] == "small"
        largest = max(
            2 * (each.bandwidth_mbps * each.rtt_ms * 125 + 1500 * each.queue_packets) / 100
            for each in SETTINGS[:2]
        )
        assert f"{math.ceil(largest)} bytes or more" in row["error"]
        assert len(seen) == 1

    def test_errors_are_rows(self, tmp_path: Path) -> None:
        """An unreachable server is a row without a label, and the next server follows."""
        with serving() as (url, _):
            rows = self.run(tmp_path, ["nobody.invalid", f"{url}/status/403"], lambda: None)  # type: ignore[arg-type,return-value] # nobody is asked
        assert [(row["label"], row["kind"]) for row in rows] == [
            (None, "unresolved"),
            (None, "status"),
        ]

    def test_damaged(self, tmp_path: Path) -> None:
        """A damaged result is refused in one line."""
        folder = tmp_path / "nobody.invalid"
        folder.mkdir()
        (folder / "result.json").write_text("[]", encoding="utf-8")
        with pytest.raises(InputError, match="remove it"):
            self.run(tmp_path, ["nobody.invalid"], lambda: None)  # type: ignore[arg-type,return-value] # nobody is asked

    @pytest.mark.parametrize("filters", [{"duration_s": 21}, {"duration_s": 19, "skip_s": 2}])
    def test_length(self, filters: dict[str, float]) -> None:
        """Filters that need more than the 20 s of a download are refused before any request."""
        with pytest.raises(InputError, match=r"duration_s is .* must be at most 20"):
            Survey(targets=[Target.named("example.com")], filters=Filters(**filters))

    def test_no_links(self, tmp_path: Path) -> None:
        """An engine without links to servers is refused with the list of those with links."""
        survey = Survey(targets=[Target.named("example.com")])
        links = ", ".join(info.name for info in ENGINES.values() if info.has_links)
        with pytest.raises(InputError, match=rf"engine is 'kernel'; .*: {links}: choose"):
            next(survey.run(tmp_path, engine="kernel"))
        assert list(tmp_path.iterdir()) == []
