# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.run.outcomes import OUTCOMES
from ccbench.run.outcomes.videos import stalls_s
from ccbench.run.tables import FLOW_COLUMNS, MESSAGE_COLUMNS, QUEUE_COLUMNS, dtypes, empty

LINK = Bottleneck(bandwidth_mbps=10, queue_bdp=1)


def transfers_of(*ends_s: float, delivered_bytes: int = 20_000_000) -> Run:
    """Return a run of transfers of 20 MB that end at these times, or never (-1)."""
    flow = Flow(kind="bytes", size_bytes=20_000_000, count=len(ends_s))
    completions = pd.DataFrame(
        {
            "start_ns": 0,
            "end_ns": [round(end_s * 1e9) if end_s >= 0 else -1 for end_s in ends_s],
            "delivered_bytes": delivered_bytes,
            "sent_bytes": 20_000_000,
            "retransmits": 0,
        }
    ).astype({"delivered_bytes": "uint64", "sent_bytes": "uint64"})
    return Run(
        scenario=Scenario(
            flows=(flow,), path=NetworkPath(bottlenecks=(LINK,), rtt_ms=40), duration_s=600
        ),
        queue=empty(QUEUE_COLUMNS),
        flows=empty(FLOW_COLUMNS),
        completions=completions,
        provenance={"engine": "test"},
    )


class TestTransfers:
    def test_single(self) -> None:
        """A transfer that did not finish is said plainly, with the part that arrived."""
        run = transfers_of(-1, delivered_bytes=11_218_000)
        table = run.outcomes()["transfers"]
        assert table.loc["0", "finished"] == 0
        assert table["mean_fct_s"].isna().all()
        assert remarks(run) == ["flow 0: 11.2 of 20 MB; did not finish"]

    def test_several(self) -> None:
        """Completion times of a group are those of its finished transfers."""
        run = transfers_of(1, 2, 6, -1)
        row = run.outcomes()["transfers"].loc["0 to 3"]
        assert (row["transfers"], row["finished"]) == (4, 3)
        assert (row["mean_fct_s"], row["median_fct_s"]) == (3, 2)
        assert remarks(run) == ["flows 0 to 3: 80 of 80 MB; 1 of 4 did not finish"]

    def test_finished(self) -> None:
        """Nothing is said about transfers that finished."""
        assert remarks(transfers_of(1, 2)) == []

    def test_repetitions(self) -> None:
        """Of several runs, those are counted in which a transfer did not finish."""
        runs = (transfers_of(-1, delivered_bytes=10_000_000), transfers_of(3), transfers_of(4))
        expected = ["flow 0: 16.7 of 20 MB on average; did not finish in 1 of 3 runs"]
        assert remarks(*runs) == expected


class TestStalls:
    def test_in_time(self) -> None:
        """Segments that arrive while others are played cause no stall."""
        assert stalls_s([1, 2, 3, 5], segment_s=2, stop_s=9) == []

    def test_late(self) -> None:
        """A late segment stalls the playback until it arrives, or until the end."""
        assert stalls_s([1, 2, 5.5], segment_s=2, stop_s=9) == [0.5, 1.5]

    def test_conservation(self) -> None:
        """Start-up, playback and stalls fill the time until a player without data stops."""
        arrivals_s = [1.0, 4.5, 5.0, 12.25]
        stalls = stalls_s(arrivals_s, segment_s=2, stop_s=20)
        assert arrivals_s[0] + sum(stalls) + 2 * len(arrivals_s) == 20

    @pytest.mark.parametrize("stop_s", [0.0, 10.0])
    def test_never(self, stop_s: float) -> None:
        """A player that never started does not stall."""
        assert stalls_s([], segment_s=2, stop_s=stop_s) == []


class TestVideos:
    @staticmethod
    def run(*started: int, count: int = 3) -> Run:
        """Return a run of videos, of which some have received a segment."""
        base = transfers_of(*[-1.0] * count)
        video = Flow(kind="video", bitrates_mbps=(1,), segment_s=2, buffer_s=10, count=count)
        segments = {"start_ns": 0, "end_ns": 1_000_000_000, "size_bytes": 250_000}
        messages = pd.DataFrame(
            [{"flow": flow, **segments} for flow in started], columns=[*MESSAGE_COLUMNS]
        ).astype(dtypes(MESSAGE_COLUMNS))
        return replace(base, scenario=replace(base.scenario, flows=(video,)), messages=messages)

    def test_started(self) -> None:
        """Videos without a segment have not started, and that is said."""
        run = self.run(1)
        row = run.outcomes()["videos"].loc["0 to 2"]
        assert (row["videos"], row["started"]) == (3, 1)
        assert remarks(run) == ["flows 0 to 2: playback of 2 of 3 did not start"]
        assert remarks(self.run(0, 1, 2)) == []

    def test_single(self) -> None:
        """The remark on a single video, and on several runs, counts no others."""
        assert remarks(self.run(count=1)) == ["flow 0: playback did not start"]
        expected = ["flow 0: playback did not start in 1 of 2 runs"]
        assert remarks(self.run(count=1), self.run(0, count=1)) == expected


def remarks(*runs: Run) -> list[str]:
    """Return what is said about some repetitions."""
    return [
        remark
        for outcome in OUTCOMES
        for remark in outcome.remarks([run.outcomes()[outcome.name] for run in runs])
    ]
