# SPDX-License-Identifier: Apache-2.0
"""The parts of the studies of ABC's evaluation that need no virtual kernel."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench import studies
from ccbench.base.errors import MissingRequirement
from ccbench.cli.main import program
from ccbench.experiment import trace_library
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.experiment.trace import Trace
from ccbench.studies.abc import (
    abc_1,
    abc_3,
    abc_9,
    abc_10,
    abc_11,
    abc_12,
    abc_13,
    abc_pk,
    two_links,
    wifi,
)
from ccbench.studies.abc.links import (
    ABC,
    ABC_20,
    FOR_CELLULAR,
    SCHEMES,
    cellular,
    recorded,
    router,
    scheme_of,
    stepped,
)
from ccbench.studies.abc.tradeoff import above_frontier, frontier, unbeaten
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly
from tests.unit.studies.conftest import scenarios_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ccbench.studies import Comparison


@pytest.fixture
def own_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provide a single recorded link, of 200 s and 12 Mbit/s."""
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
        """The beginning of a long link carries the link's opportunities, then repeats."""
        whole, part = trace_library.find("long.down"), recorded("long.down", 50)
        assert 50 == part.duration_s
        for duration_s in (0.5, 20, 50):
            assert whole.capacity_bytes(duration_s) == part.capacity_bytes(duration_s)
        assert whole == recorded("long.down", 300)

    @pytest.mark.usefixtures("own_traces")
    def test_missing_traces(self) -> None:
        """Without recorded links, a study that needs them says how to install them."""
        with pytest.raises(MissingRequirement, match=r"scripts/mahimahi\.sh"):
            scenarios_of(abc_1.STUDY, quick=False)
        assert 6 == len(scenarios_of(abc_3.STUDY, quick=False))

    @pytest.mark.usefixtures("own_traces")
    def test_listed(self) -> None:
        """The list then has every study, and names those that cannot run."""
        listed = CliRunner().invoke(program, ["study", "list", "--json"])
        lacking = {
            study["name"] for study in json.loads(listed.stdout)["studies"] if study["missing"]
        }
        assert {"abc-1", "abc-2", "abc-7", "abc-pk"} <= lacking
        with_links = {name for name in studies.names() if info(name).needs_cellular_links}
        assert lacking <= with_links < {*studies.names()}
        last = CliRunner().invoke(program, ["study", "list"]).stdout.splitlines()[-1]
        assert last.startswith("cannot run here: abc-1, abc-2, ")

    @pytest.mark.usefixtures("own_traces")
    def test_schemes(self) -> None:
        """A scenario names its scheme; all have the same link and the same buffer."""
        for scheme in (*SCHEMES, *FOR_CELLULAR, ABC_20):
            scenario = cellular(scheme, "long.down")
            assert scheme.name == scheme_of(scenario)
            assert 250 == scenario.path.bottlenecks[0].queue_packets
        link = Bottleneck(
            bandwidth_mbps=9, queue_packets=9, qdisc="abc", qdisc_options=router(eta=0.9)
        )
        changed = Scenario(
            flows=(Flow(cca="abc"),), path=NetworkPath(bottlenecks=(link,), rtt_ms=9), duration_s=9
        )
        assert ABC.name == scheme_of(changed)


class TestTradeoff:
    def test_frontier(self) -> None:
        """A point is on the frontier if and only if no other point beats it."""
        random = np.random.default_rng(1)
        delays, used = random.uniform(1, 9, 50), random.uniform(1, 9, 50)
        on_frontier = frontier(delays.tolist(), used.tolist())
        for i in range(50):
            beaten = any(
                delays[k] <= delays[i] and used[k] >= used[i] for k in on_frontier if k != i
            )
            assert beaten == (i not in on_frontier)

    def test_variants_do_not_count(self) -> None:
        """ABC with another setting is no rival scheme; a better rival counts."""
        points = pd.DataFrame(
            {"utilisation_percent": [80.0, 90.0, 70.0], "p95_ms": [100.0, 90.0, 99.0]},
            index=["ABC", "ABC, d_t 20 ms", "BBR"],
        )
        none = exactly(0, "Figure 7")
        assert "agrees" == unbeaten(points, none).verdict
        assert 10 == pytest.approx(above_frontier(points).value)
        better = points.rename(index={"ABC, d_t 20 ms": "Copa"})
        assert "differs" == unbeaten(better, none).verdict
        assert above_frontier(better).value < 0


class TestFairness:
    def test_stages(self) -> None:
        """Equal shares in every stage are fair; a single flow with everything is not."""
        time_s = np.arange(1.0, 91.0)
        there = {i: (time_s > 10 * i) & (time_s <= 10 * (i + 5)) for i in range(5)}
        count = sum(there.values())
        fair = pd.DataFrame({i: 24 * there[i] / count for i in there}, index=time_s)
        assert [1.0] * 7 == pytest.approx(list(abc_3.stage_indices(fair, 10)))
        first = pd.DataFrame({i: 24.0 * there[i] for i in there}, index=time_s)
        first[[1, 2, 3, 4]] *= 1e-9
        # The first flow is active in stages 0 to 4; stage k has k + 1 flows.
        assert abc_3.stage_indices(first, 10)[4] == pytest.approx(1 / 5, abs=1e-6)

    def test_arrivals(self) -> None:
        """Short flows arrive at the offered rate as a Poisson process, different for each seed."""
        arrivals = abc_13.poisson_arrivals(25, 1, 40.0)
        starts = np.array([start_s for start_s, _ in arrivals])
        gaps = np.diff(starts)
        assert len(arrivals) == pytest.approx(0.25 * 96e6 / 80e3 * 40, rel=0.05)
        assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)
        assert arrivals != abc_13.poisson_arrivals(25, 2, 40.0)


def verdicts(comparisons: Iterable[Comparison]) -> set[str]:
    """Return the verdicts on statements that are compared."""
    return {str(comparison.verdict) for comparison in comparisons} - {"not compared"}


def schemes(used_by_abc: dict[str, float], delay_by_abc: dict[str, float]) -> pd.DataFrame:
    """Return a table of ``abc-1`` on one link with the paper's ABC and others relative to it."""
    rows = [
        ("ABC", 1.0, 1.0),
        *((item, used_by_abc[item], delay_by_abc[item]) for item in used_by_abc),
    ]
    course = pd.DataFrame(
        {"mbps": [5.0], "capacity_mbps": [5.0], "delay_ms": [1400.0]}, index=[0.5]
    )
    return pd.DataFrame(
        {
            "scheme": name,
            "utilisation_percent": 78 * used,
            "p95_ms": 242 * delay,
            "mean_ms": 1.0,
            "course": course if name in abc_1._SHOWN else None,
        }
        for name, used, delay in rows
    )


class TestConclusions:
    """The paper's own numbers agree with the paper."""

    def test_table_of_schemes(self) -> None:
        """A table of the published averages agrees in each row; with ABC last it differs."""
        used = {name: ratio for name, (ratio, _) in abc_1._PUBLISHED.items()}
        delay = {name: ratio for name, (_, ratio) in abc_1._PUBLISHED.items()}
        of_table = [
            comparison
            for comparison in abc_1._conclude(schemes(used, delay)).comparisons
            if "Figure 1" not in comparison.quantity
        ]
        assert 3 + 2 * len(used) == len(of_table)
        assert {"agrees"} == verdicts(of_table)
        better = dict.fromkeys(used, 1.5), dict.fromkeys(used, 0.5)
        reverse = abc_1._conclude(schemes(*better)).comparisons
        by_scheme = [
            item for item in reverse if item.quantity.partition(":")[0] in {*used, "schemes"}
        ]
        assert {"differs"} == verdicts(by_scheme)

    def test_one_link(self) -> None:
        """A link that ABC fills, with CoDel's delays, agrees with Figure 1."""
        table = schemes({"Cubic+Codel": 0.6, "Cubic": 1.0}, {"Cubic+Codel": 1.0, "Cubic": 6.0})
        table["utilisation_percent"] *= 97 / 78
        shown = table.dropna(subset="course")
        assert {"agrees"} == verdicts(abc_1._of_figure_1(shown.set_index("scheme")))

    def test_unlike_rtts(self) -> None:
        """Throughputs as in Table 1, or inversely proportional to RTTs, agree."""
        six = [
            {"flows": 6, "case_ms": 20.0, "seed": seed, "flow": i, "rtt_ms": rtt_ms, "mbps": mbps}
            for i, (rtt_ms, mbps) in enumerate(abc_12._TABLE.items())
            for seed in (1, 2)
        ]
        pairs = [
            {
                "flows": 2,
                "case_ms": rtt_ms,
                "seed": seed,
                "flow": flow,
                "rtt_ms": own,
                "mbps": 99 / own,
            }
            for rtt_ms in abc_12._TABLE
            for flow, own in ((0, rtt_ms), (1, 20))
            for seed in (1, 2)
        ]
        comparisons = abc_12._conclude(pd.DataFrame(six + pairs)).comparisons
        assert {"agrees"} == verdicts(comparisons)
        assert comparisons[0].value == pytest.approx(1)
        assert comparisons[0].half_width == pytest.approx(0, abs=1e-9)
        equal = pd.DataFrame(six + pairs).assign(mbps=4.0)
        assert "differs" == abc_12._conclude(equal).comparisons[0].verdict

    def test_unfair_queues(self) -> None:
        """CUBIC flows that get a tenth more than ABC's do not agree; equal ones do.

        With RCP's weights, they are to get more.
        """
        for factor, verdict in ((1.0, "agrees"), (1.1, "differs"), (0.9, "differs")):
            rows = [
                {
                    "weights": weights,
                    "rtt_ms": rtt_ms,
                    "window_ms": window_ms,
                    "load_percent": load,
                    "seed": seed,
                    "scheme": scheme,
                    "flow": flow,
                    "mbps": 15 * (1 + spread * (flow % 3 - 1)) * (more if flow > 2 else 1),
                }
                for weights, more in (("max_min", factor), ("flow_counts", 2 * factor))
                for rtt_ms, window_ms in ((20.0, 20.0), (100.0, 20.0), (100.0, 100.0))
                for load in (6.25, 50.0)
                for seed in (1, 2)
                for scheme, spread, flows in (("ABC", 0.01, (0, 1, 2)), ("Cubic", 0.1, (3, 4, 5)))
                for flow in flows
            ]
            comparisons = abc_13._conclude(pd.DataFrame(rows)).comparisons
            variants = ["not compared"] * 4
            assert [verdict, "agrees", "agrees", *variants, "agrees"] == [
                comparison.verdict for comparison in comparisons
            ]

    def test_wifi(self) -> None:
        """Throughputs and delays over Wi-Fi as in the text agree; equal ones differ."""
        other = {"Cubic+Codel, 5 ms": (1 / 1.38, 0.9), "Copa": (1 / 1.41, 0.9)}
        other |= {"Vegas": (1 / 1.31, 0.9), "Cubic": (1.04, 6.0), "BBR": (1.02, 1.67)}
        one = {**other, **dict.fromkeys(abc_9._MORE, (1 / 1.28, 0.9))}
        own = {wifi.named(d_t_ms): (1.0, 1.0) for d_t_ms in wifi.D_T_MS}
        own["ABC, d_t 20 ms"] = (0.8, 0.5)
        rows = [
            {
                "users": users,
                "scheme": name,
                "seed": seed,
                "throughput_mbps": 30 * mbps,
                "p95_ms": 50 * delay,
            }
            for users, schemes in ((1, {**own, **one}), (2, {**own, **other}))
            for name, (mbps, delay) in schemes.items()
            for seed in (1, 2, 3)
        ]
        comparisons = abc_9._conclude(pd.DataFrame(rows)).comparisons
        assert 9 == len(comparisons)
        assert {"agrees"} == verdicts(comparisons)
        alike = pd.DataFrame(rows).assign(throughput_mbps=30.0, p95_ms=50.0)
        differing = [
            comparison
            for comparison in abc_9._conclude(alike).comparisons
            if comparison.verdict == "differs"
        ]
        assert 8 == len(differing)  # all but "up to 29 %"

    def test_future(self) -> None:
        """The published delays agree only at the scripts' threshold: the other is a variant."""
        course = pd.DataFrame({"delay_ms": [1.0]}, index=[0.5])
        rows = [
            {
                "d_t_ms": d_t_ms,
                "scheme": scheme,
                "p95_ms": p95_ms,
                "utilisation_percent": 90.0,
                "course": course,
            }
            for d_t_ms in (50.0, 20.0)
            for scheme, p95_ms in abc_pk._PUBLISHED_MS.items()
        ]
        table = pd.DataFrame(rows)
        actual = [comparison.verdict for comparison in abc_pk._conclude(table).comparisons]
        assert ["agrees"] * 4 + ["not compared"] * 2 == actual
        equal = abc_pk._conclude(table.assign(p95_ms=60.0)).comparisons
        assert ["differs"] * 2 == [item.verdict for item in equal[:2]]

    @pytest.mark.parametrize(("share", "verdict"), [(1.0, "agrees"), (0.7, "differs")])
    def test_ideal(self, share: float, verdict: str) -> None:
        """A flow at the ideal rate agrees in each region, one far below it in none."""
        course = pd.DataFrame({0: [5.0], 1: [1.0], "delay_ms": [1.0]}, index=[0.5])
        rows = [
            {
                "seed": seed,
                "begin_s": 10.0 * step,
                "wireless_mbps": wireless,
                "share_mbps": fair,
                "wireless_is_bottleneck": wireless <= fair,
                "percent_of_ideal": 100 * share,
                "mean_ms": 60.0 if fair == two_links.WIRED_MBPS / 2 else 20.0,
                "p95_ms": 70.0,
                "course": course,
            }
            for seed in (1, 2)
            for step, (wireless, fair) in enumerate([(9.0, 12.0), (4.0, 6.0), (9.0, 6.0)])
        ]
        comparisons = abc_10._conclude(pd.DataFrame(rows)).comparisons
        assert [verdict] * 3 == [comparison.verdict for comparison in comparisons[:3]]
        assert ["not compared", "agrees"] == [item.verdict for item in comparisons[3:]]

    def test_additive_increase(self) -> None:
        """Flows that are fair only with additive increase agree."""
        time_s = np.arange(1.0, 91.0)
        rows = [
            {
                "additive_increase": increase,
                "seed": seed,
                "stage_s": 10.0,
                "time_s": now_s,
                "flow": flow,
                "mbps": 1.0 if increase or flow == 0 else 0.01,
            }
            for increase in (True, False)
            for seed in (1, 2)
            for flow in range(5)
            for now_s in time_s
        ]
        table = pd.DataFrame(rows)
        first, *indices = abc_3._conclude(table).comparisons
        assert "agrees" == first.verdict
        assert ["not compared"] * 2 == [comparison.verdict for comparison in indices]
        reverse = table.assign(additive_increase=~table["additive_increase"])
        assert "differs" == abc_3._conclude(reverse).comparisons[0].verdict

    def test_many_flows(self) -> None:
        """Equally fast flows, and equal results of one and many, agree."""
        rows = [
            {
                "link": link,
                "scheme": scheme,
                "flows": flows,
                "seed": seed,
                "utilisation_percent": used + 0.01 * flows,
                "p95_ms": delay + 0.01 * flows,
                "jain": 0.97,
            }
            for link, counts in (("24 Mbit/s", (2, 8)), ("cellular", (1, 16)))
            for scheme, used, delay in (("ABC", 90.0, 100.0), ("Copa", 70.0, 90.0))
            for flows in counts
            for seed in ((1, 2) if flows > 1 else (1,))
        ]
        table = pd.DataFrame(rows)
        assert {"agrees"} == verdicts(abc_11._conclude(table).comparisons)
        twice = table.assign(
            utilisation_percent=table["utilisation_percent"].where(table["flows"] == 1, 45.0),
            p95_ms=table["p95_ms"].where(table["flows"] == 1, 220.0),
            jain=0.9,
        )
        assert {"differs"} == verdicts(abc_11._conclude(twice).comparisons)


def test_cross_traffic_joins_later() -> None:
    """Cross traffic passes the wired link only."""
    scenario = two_links.path((16, 4), 5, Flow(first_bottleneck=1))
    assert [0, 1] == scenario.flow_table()["first_bottleneck"].tolist()
