# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the studies of ABC's evaluation. No virtual kernel takes part."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench import studies, trace_library
from ccbench.cli.main import program
from ccbench.errors import MissingRequirement
from ccbench.scenario import Bottleneck, Flow, Scenario
from ccbench.studies import abc_1, abc_3, abc_4, abc_12, abc_13
from ccbench.studies.abc_links import (
    ABC,
    ABC_20,
    SCHEMES,
    cellular,
    recorded,
    router,
    scheme_of,
    stepped,
)
from ccbench.studies.abc_tradeoff import above_frontier, frontier, unbeaten
from ccbench.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def own_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one recorded link, of 200 s and 12 Mbit/s."""
    Trace(name="long.down", opportunities_ms=tuple(range(1, 200_001))).to_file(
        tmp_path / "long.down"
    )
    monkeypatch.setenv("CCBENCH_TRACES", str(tmp_path))
    monkeypatch.setattr(trace_library, "PACKAGE_FOLDER", tmp_path / "package")
    recorded.cache_clear()


class TestLinks:
    @pytest.mark.parametrize("rates", [[12, 24], [9, 4.5, 10], [3]])
    def test_stepped(self, rates: Sequence[float]) -> None:
        """Each step carries its rate for its time, to a packet; the period is that of all steps."""
        trace = stepped(rates, 5)
        assert len(rates) * 5 == trace.duration_s
        ends = [trace.capacity_bytes(5 * i) for i in range(len(rates) + 1)]
        for rate, (before, after) in zip(rates, pairwise(ends), strict=True):
            assert after - before == pytest.approx(rate * 1e6 / 8 * 5, abs=1500)

    @pytest.mark.usefixtures("own_traces")
    def test_recorded(self) -> None:
        """The beginning of a long link carries what the link does in that time, then repeats."""
        whole, part = trace_library.find("long.down"), recorded("long.down", 50)
        assert 50 == part.duration_s
        for duration_s in (0.5, 20, 50):
            assert whole.capacity_bytes(duration_s) == part.capacity_bytes(duration_s)
        assert whole == recorded("long.down", 300)

    @pytest.mark.usefixtures("own_traces")
    def test_not_there(self) -> None:
        """Where recorded links are not installed, a study of them says how to do that."""
        with pytest.raises(MissingRequirement, match="apt-get install mahimahi-traces"):
            abc_1.STUDY.scenarios(quick=False)
        assert 2 == len(abc_3.STUDY.scenarios(quick=False))

    @pytest.mark.usefixtures("own_traces")
    def test_listed(self) -> None:
        """There, the list has every study, and names those that cannot run."""
        listed = CliRunner().invoke(program, ["study", "list", "--json"])
        lacking = {one["name"] for one in json.loads(listed.stdout)["studies"] if one["missing"]}
        assert {"abc-1", "abc-2", "abc-7", "abc-pk"} <= lacking
        assert lacking < {name for name in studies.names() if name.startswith("abc-")}
        last = CliRunner().invoke(program, ["study", "list"]).stdout.splitlines()[-1]
        assert last.startswith("cannot run here: abc-1, abc-2, ")

    @pytest.mark.usefixtures("own_traces")
    def test_schemes(self) -> None:
        """A scenario tells of which scheme it is; all have the same link and as much room."""
        for scheme in (*SCHEMES, ABC_20):
            scenario = cellular(scheme, "long.down")
            assert scheme.name == scheme_of(scenario)
            assert 250 == scenario.bottlenecks[0].queue_packets
        link = Bottleneck(
            bandwidth_mbps=9, queue_packets=9, qdisc="abc", qdisc_options=router(eta=0.9)
        )
        changed = Scenario(flows=(Flow(cca="abc"),), bottlenecks=(link,), rtt_ms=9, duration_s=9)
        assert ABC.name == scheme_of(changed)


class TestTradeoff:
    def test_frontier(self) -> None:
        """What is on the frontier nobody beats; what is not, somebody on it does."""
        random = np.random.default_rng(1)
        delays, used = random.uniform(1, 9, 50), random.uniform(1, 9, 50)
        kept = frontier(delays.tolist(), used.tolist())
        for i in range(50):
            beaten = any(delays[k] <= delays[i] and used[k] >= used[i] for k in kept if k != i)
            assert beaten == (i not in kept)

    def test_variants_do_not_count(self) -> None:
        """ABC with another setting is no other scheme; a better other one counts."""
        points = pd.DataFrame(
            {"utilisation_percent": [80.0, 90.0, 70.0], "p95_ms": [100.0, 90.0, 99.0]},
            index=["ABC", "ABC, d_t 20 ms", "BBR"],
        )
        assert 0 == unbeaten(points).ours
        assert 10 == pytest.approx(above_frontier(points).ours)
        better = points.rename(index={"ABC, d_t 20 ms": "Copa"})
        assert 1 == unbeaten(better).ours
        assert above_frontier(better).ours < 0


class TestFairness:
    def test_stages(self) -> None:
        """Flows that share what there is in every stage are fair; one that has all is not."""
        time_s = np.arange(1.0, 91.0)
        there = {i: (time_s > 10 * i) & (time_s <= 10 * (i + 5)) for i in range(5)}
        count = sum(there.values())
        fair = pd.DataFrame({i: 24 * there[i] / count for i in there}, index=time_s)
        assert [1.0] * 7 == pytest.approx(list(abc_3.stage_indices(fair, 10)))
        first = pd.DataFrame({i: 24.0 * there[i] for i in there}, index=time_s)
        first[[1, 2, 3, 4]] *= 1e-9
        # The first flow is there in stages 0 to 4; stage k has k + 1 flows.
        assert abc_3.stage_indices(first, 10)[4] == pytest.approx(1 / 5, abs=1e-6)

    def test_arrivals(self) -> None:
        """Short flows come at the offered rate, spread as a Poisson process; seeds differ."""
        arrivals = abc_13.poisson_arrivals(25, 1, 40.0)
        starts = np.array([start_s for start_s, _ in arrivals])
        gaps = np.diff(starts)
        assert len(arrivals) == pytest.approx(0.25 * 96e6 / 80e3 * 40, rel=0.05)
        assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
        assert arrivals != abc_13.poisson_arrivals(25, 2, 40.0)


class TestConclusions:
    """The paper's own numbers agree with the paper."""

    def test_table_of_schemes(self) -> None:
        """A table of the published averages agrees in each of its rows."""
        rows = [{"scheme": "ABC", "utilisation_percent": 78.0, "p95_ms": 242.0, "mean_ms": 1.0}]
        rows += [
            {
                "scheme": name,
                "utilisation_percent": 78 * used,
                "p95_ms": 242 * delay,
                "mean_ms": 1.0,
            }
            for name, (used, delay) in abc_1._PUBLISHED.items()
        ]
        found = abc_1._conclude(pd.DataFrame(rows).assign(course=None))
        judged = [one for one in found.comparisons if "Figure 1" not in one.what]
        assert len(judged) == 12
        for one in judged:
            assert one.agrees, one.what

    def test_unlike_rtts(self) -> None:
        """So do throughputs as in Table 1, and ones that are inversely proportional to RTTs."""
        six = [
            {"flows": 6, "case_ms": 20.0, "seed": 1, "flow": i, "rtt_ms": rtt_ms, "mbps": mbps}
            for i, (rtt_ms, mbps) in enumerate(abc_12._TABLE.items())
        ]
        pairs = [
            {
                "flows": 2,
                "case_ms": rtt_ms,
                "seed": 1,
                "flow": flow,
                "rtt_ms": own,
                "mbps": 99 / own,
            }
            for rtt_ms in abc_12._TABLE
            for flow, own in ((0, rtt_ms), (1, 20))
        ]
        found = abc_12._conclude(pd.DataFrame(six + pairs))
        assert all(one.agrees for one in found.comparisons)
        assert found.comparisons[0].ours == pytest.approx(1)

    def test_unfair_queues(self) -> None:
        """CUBIC flows that get a tenth more than ABC's do not agree; equal ones do."""
        for factor, agrees in ((1.0, True), (1.1, False)):
            rows = [
                {
                    "rtt_ms": 50.0,
                    "load_percent": load,
                    "seed": seed,
                    "scheme": scheme,
                    "flow": flow,
                    "mbps": 15 * (1 + spread * (flow % 3 - 1)) * (factor if flow > 2 else 1),
                }
                for load in (6.25, 50.0)
                for seed in (1, 2)
                for scheme, spread, flows in (("ABC", 0.01, (0, 1, 2)), ("Cubic", 0.1, (3, 4, 5)))
                for flow in flows
            ]
            comparisons = abc_13._conclude(pd.DataFrame(rows)).comparisons
            assert [agrees, True, True] == [one.agrees for one in comparisons]


def test_cross_traffic_joins_later() -> None:
    """Cross traffic passes the wired link alone."""
    scenario = abc_4.path((16, 4), 5, Flow(first_bottleneck=1))
    assert [0, 1] == scenario.flow_table()["first_bottleneck"].tolist()
