# SPDX-License-Identifier: Apache-2.0
"""Conclusions of BFC's studies from tables, without simulations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench import studies
from ccbench.studies import SimulationStudy
from ccbench.studies.bfc.slowdown import EDGES, payload_load

if TYPE_CHECKING:
    from ccbench.studies.study import Comparison

_SIZES = (*EDGES, math.inf)


def comparisons(name: str, rows: list[dict[str, Any]]) -> dict[str, Comparison]:
    """Return a study's comparisons from rows, by their description."""
    study = studies.get(name)
    assert isinstance(study, SimulationStudy)
    concluded = study.conclude(pd.DataFrame(rows)).comparisons
    actual = {comparison.quantity: comparison for comparison in concluded}
    assert len(actual) == len(concluded)
    return actual


def verdicts(name: str, rows: list[dict[str, Any]]) -> set[str]:
    """Return the verdicts on statements that are compared."""
    actual = comparisons(name, rows).values()
    return {item.verdict for item in actual if item.published.kind != "unbounded"}


def by_size(
    traffic: str,
    scheme: str,
    short: float,
    *,
    long: float = 2.0,
    incast: float = 50.0,
    few_active: float = 99.0,
    collisions: float = 1.0,
    paused: float = 0.0,
) -> list[dict[str, Any]]:
    """Return the rows of two simulations: p99 of flows up to 3 KB, of others, of incast flows."""
    common = {
        "traffic": traffic,
        "scheme": scheme,
        "buffer_p99_mb": 1.0,
        "paused_percent": paused,
        "dropped_packets": 0,
        "few_active_percent": few_active,
        "collision_percent": collisions,
        "flows": 100,
        "unfinished": 0,
    }
    kinds = [("background", size, short if size == EDGES[0] else long) for size in _SIZES]
    kinds.append(("incast", math.inf, incast))
    return [
        {
            **common,
            "seed": seed,
            "kind": kind,
            "up_to_bytes": size,
            **dict.fromkeys(("mean", "p50", "p95", "p99"), p99),
        }
        for seed in (1, 2)
        for kind, size, p99 in kinds
    ]


def by_setting(scheme: str, slowdowns: dict[float, tuple[float, float]]) -> list[dict[str, Any]]:
    """Return the rows of a sweep: p99 of short flows and the mean of long ones, by setting."""
    return [
        {
            "scheme": scheme,
            "setting": setting,
            "seed": seed,
            "short_p99": short,
            "long_mean": long,
            "unfinished": 0,
            "dropped_percent": 0.0,
        }
        for seed in (1, 2)
        for setting, (short, long) in slowdowns.items()
    ]


class TestLoad:
    def test_core(self) -> None:
        """A load of 60 % is the authors' 0.65: 60 % of the core's links, including headers.

        Of 127 possible receivers, 112 are in other racks; a packet has 1000 bytes, 48 of headers.
        """
        assert payload_load(60) == pytest.approx(0.65)
        assert 100 * payload_load(60) * 112 / 127 * 1.048 == pytest.approx(60, abs=0.5)


class TestTable:
    @staticmethod
    def rows(of: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
        """Return two runs of each scheme with its throughput and delay."""
        return [
            {
                "scheme": scheme,
                "seed": seed,
                "throughput_percent": throughput,
                "p99_delay_us": delay,
                "offered_percent": 57.0,
            }
            for scheme, (throughput, delay) in of.items()
            for seed in (1, 2)
        ]

    def test_published(self) -> None:
        """The table's own numbers agree; with two schemes exchanged they differ."""
        published = {"bfc-ns3": (37.3, 1.2), "hpcc": (22.9, 23.9), "dcqcn": (10.0, 30.4)}
        assert {"agrees"} == verdicts("bfc-t3.1", self.rows(published))
        swapped = dict(zip(published, reversed(published.values()), strict=True))
        actual = comparisons("bfc-t3.1", self.rows(swapped))
        differing = {what for what, one in actual.items() if one.verdict == "differs"}
        assert 4 == len(differing)
        assert not any("HPCC" in what for what in differing)


class TestSlowdowns:
    @staticmethod
    def google(hpcc: float, *, text: float = 4.0, dctcp: float = 20.0) -> list[dict[str, Any]]:
        """Return the schemes' p99 with incast."""
        return [
            *by_size("100x20MB", "bfc-ns3", 1.0, incast=50.0),
            *by_size("100x20MB", "bfc", text),
            *by_size("100x20MB", "ideal-fq", 1.0),
            *by_size("100x20MB", "hpcc", hpcc, incast=100.0),
            *by_size("100x20MB", "dctcp", dctcp),
            *by_size("100x20MB", "dcqcn", 25.0),
        ]

    def test_incast(self) -> None:
        """Five to thirty times BFC's slowdown agrees, four times and forty times differ."""
        assert {"agrees"} == verdicts("bfc-3.9", self.google(10.0))
        what = "p99 slowdown of flows up to 3 KB, HPCC by BFC"
        for hpcc in (4.0, 40.0):
            actual = comparisons("bfc-3.9", self.google(hpcc))
            assert "differs" == actual[what].verdict
            assert 1 == sum(item.verdict == "differs" for item in actual.values())

    def test_one_claim_counts_once(self) -> None:
        """BFC as in the text is shown, but not compared."""
        for text in (0.1, 100.0):
            actual = comparisons("bfc-3.9", self.google(10.0, text=text))
            (variant,) = (one for what, one in actual.items() if "in the text" in what)
            assert "not compared" == variant.verdict
            assert 10 / text == pytest.approx(variant.value)

    @staticmethod
    def without(bfc: float, hpcc: float, dcqcn: float, paused: float) -> list[dict[str, Any]]:
        """Return the schemes' p99 without incast."""
        return [
            *by_size("none", "bfc-ns3", bfc),
            *by_size("none", "ideal-fq", 1.1),
            *by_size("none", "hpcc", hpcc),
            *by_size("none", "dctcp", 4.0),
            *by_size("none", "dcqcn", dcqcn, paused=paused),
        ]

    def test_without_incast(self) -> None:
        """The text's ratios agree; a worse BFC, too small a ratio and PFC pauses differ."""
        assert {"agrees"} == verdicts("bfc-3.10", self.without(1.1, 2.9, 10.0, 0.0))
        actual = comparisons("bfc-3.10", self.without(1.5, 2.9, 3.0, 0.1))
        assert 4 == sum(item.verdict == "differs" for item in actual.values())

    def test_interval(self) -> None:
        """Each seed gives one value, and the result is their mean with its interval."""
        table = pd.DataFrame(self.google(10.0))
        hpcc = table["scheme"].eq("hpcc") & table["seed"].eq(2)
        table.loc[hpcc, "p99"] *= 2
        rows = [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
        actual = comparisons("bfc-3.9", rows)["p99 slowdown of flows up to 3 KB, HPCC by BFC"]
        assert 15 == pytest.approx(actual.value)
        assert actual.half_width > 0

    def test_other_flows(self) -> None:
        """With Facebook's flows only the direction is compared, as no number is stated."""
        rows = [
            row
            for traffic in ("100x20MB", "none")
            for scheme, p99 in (
                ("bfc-ns3", 2.0),
                ("ideal-fq", 1.0),
                ("hpcc", 200.0),
                ("dctcp", 3.0),
                ("dcqcn", 400.0),
            )
            for row in by_size(traffic, scheme, p99)
        ]
        actual = comparisons("bfc-3.11", rows).values()
        assert {"direction", "unbounded"} == {item.published.kind for item in actual}
        assert {"agrees"} == verdicts("bfc-3.11", rows)
        best = [{**row, "p99": 1.0} if row["scheme"] == "dctcp" else row for row in rows]
        assert {"differs"} == verdicts("bfc-3.11", best)


class TestSweeps:
    @staticmethod
    def loads(bfc: float, crowded: float, more: float) -> list[dict[str, Any]]:
        """Return slowdowns up to loads of 80 %, and beyond with 32 and with 128 queues."""
        low = (50, 60, 70, 80)
        return [
            *by_setting("bfc-ns3", {**dict.fromkeys(low, (bfc, 2)), 90: (3, 3), 95: (crowded, 3)}),
            *by_setting(
                "bfc-ns3-128", {**dict.fromkeys(low, (bfc, 2)), 90: (more, 3), 95: (more, 3)}
            ),
            *by_setting("hpcc", dict.fromkeys(low[:3], (4, 4))),
        ]

    def test_load(self) -> None:
        """Low slowdowns that grow at 95 % agree; high and falling ones differ."""
        assert {"agrees"} == verdicts("bfc-3.12", self.loads(1.1, 20, 1.5))
        actual = comparisons("bfc-3.12", self.loads(5, 2, 4)).values()
        assert 4 == sum(item.verdict == "differs" for item in actual)

    @staticmethod
    def degrees(bfc: tuple[float, float], hpcc: tuple[float, float]) -> list[dict[str, Any]]:
        """Return slowdowns with little incast, then short and long ones with much."""
        moderate, high = (10, 100, 200, 500), (1000, 2000)
        return [
            *by_setting("bfc-ns3", {**dict.fromkeys(moderate, (2, 3)), **dict.fromkeys(high, bfc)}),
            *by_setting("bfc-ns3-128", {**dict.fromkeys((*moderate, 1000), (2, 3)), 2000: (9, 6)}),
            *by_setting("hpcc", {**dict.fromkeys(moderate, (9, 6)), **dict.fromkeys(high, hpcc)}),
        ]

    def test_incast_degree(self) -> None:
        """BFC that becomes worse for short flows and stays better for long ones agrees."""
        rows = self.degrees((300, 5), (200, 8))
        drops = [
            {**row, "dropped_percent": 0.007} if row["setting"] == 2000 else row for row in rows
        ]
        assert {"agrees"} == verdicts("bfc-3.13", drops)
        assert 1 == sum(
            comparison.verdict == "differs" for comparison in comparisons("bfc-3.13", rows).values()
        )
        reverse = comparisons("bfc-3.13", self.degrees((200, 2), (300, 1))).values()
        assert 4 == sum(item.verdict == "differs" for item in reverse)

    def test_flow_table(self) -> None:
        """Smaller tables with higher slowdowns agree; larger ones with higher slowdowns differ."""
        sizes = (1, 10, 100, 1000)
        for p99, verdict in (((9, 5, 3, 2), "agrees"), ((2, 3, 5, 9), "differs")):
            rows = by_setting(
                "bfc-ns3", {size: (of, 1) for size, of in zip(sizes, p99, strict=True)}
            )
            assert {verdict} == verdicts("bfc-3.22", rows)


class TestAssignment:
    def test_stochastic(self) -> None:
        """Stochastic queues that are worse, most for short flows, agree; the reverse differs."""
        dynamic = by_size("100x20MB", "bfc-ns3", 2.0, few_active=90.0)
        worse = by_size("100x20MB", "bfc-ns3-stochastic", 20.0, long=4.0, collisions=3.0)
        assert {"agrees"} == verdicts("bfc-3.21", [*dynamic, *worse])
        better = by_size("100x20MB", "bfc-ns3-stochastic", 1.0, collisions=0.5)
        crowded = by_size("100x20MB", "bfc-ns3", 2.0, few_active=10.0)
        assert {"differs"} == verdicts("bfc-3.21", [*crowded, *better])

    @staticmethod
    def times(fct_us: dict[str, list[float]]) -> list[dict[str, Any]]:
        """Return completion times of four runs with few flows and with many."""
        return [
            {"assignment": name, "flows": flows, "seed": seed, "fct_us": fct * growth**seed}
            for name, times in fct_us.items()
            for flows, growth in ((4, 1.0), (20, 1.2))
            for seed, fct in enumerate(times)
        ]

    def test_testbed(self) -> None:
        """Constant low times with dynamic queues and varying ones with stochastic queues agree."""
        steady = {
            "single": [900.0] * 4,
            "stochastic": [300.0, 600.0, 300.0, 300.0],
            "dynamic": [300.0] * 4,
        }
        assert {"agrees"} == verdicts("bfc-3.8", self.times(steady))
        swapped = {
            "single": steady["dynamic"],
            "stochastic": steady["single"],
            "dynamic": [1800.0, 900.0, 1800.0, 1800.0],
        }
        actual = comparisons("bfc-3.8", self.times(swapped)).values()
        assert 3 == sum(item.verdict == "differs" for item in actual)


class TestPauseThreshold:
    def test_published(self) -> None:
        """The text's queue and utilisation at 2 μs agree; a longer queue and idle time differ."""
        published = [
            {
                "threshold_us": threshold,
                "mean_queue_kb": queue,
                "p99_queue_kb": queue,
                "unused_percent": unused,
                "pauses_per_ms": pauses,
            }
            for threshold, queue, unused, pauses in (
                (0.25, 3, 20, 500),
                (2, 15, 1, 100),
                (4, 30, 0, 50),
            )
        ]
        assert {"agrees"} == verdicts("bfc-3.7", published)
        reverse = [
            {
                **row,
                "mean_queue_kb": 33 - row["mean_queue_kb"],
                "unused_percent": 20,
                "pauses_per_ms": i,
            }
            for i, row in enumerate(published, start=1)
        ]
        actual = comparisons("bfc-3.7", reverse).values()
        assert 3 == sum(item.verdict == "differs" for item in actual)


class TestActiveFlows:
    @staticmethod
    def rows(p99: dict[str, int], *, slow: float) -> list[dict[str, Any]]:
        """Return active flows at 100 Gbit/s by policy, and the mean at 10 Gbit/s relative to it."""
        return [
            {
                "policy": policy,
                "seed": 1,
                "gbps": gbps,
                "load": 0.85,
                "mean": mean,
                "p99": p99[policy],
            }
            for policy, gbps, mean in (
                ("fair", 100.0, 8.0),
                ("fair", 10.0, 8.0 * slow),
                ("srf", 100.0, 5.0),
                ("fifo", 100.0, 90.0),
            )
        ]

    def test_published(self) -> None:
        """Few active flows at all rates agree, fewest with SRF; a reverse order differs."""
        assert {"agrees"} == verdicts(
            "bfc-3.4", self.rows({"fair": 30, "srf": 9, "fifo": 200}, slow=1)
        )
        reverse = self.rows({"fair": 100, "srf": 200, "fifo": 30}, slow=1.2)
        assert {"differs"} == verdicts("bfc-3.4", reverse)


class TestMice:
    @staticmethod
    def rows(slowdowns: dict[str, dict[int, tuple[float, float]]]) -> list[dict[str, Any]]:
        """Return median slowdowns of direct and of indirect mice by scheme and long flows."""
        return [
            {"scheme": scheme, "long_flows": count, "direct_p50": direct, "indirect_p50": indirect}
            for scheme, of in slowdowns.items()
            for count, (direct, indirect) in of.items()
        ]

    def test_published(self) -> None:
        """Mice that slow down beyond the queues, unless flows are controlled, agree."""
        ideal = {8: (1.1, 1.0), 128: (1.3, 1.0), 1024: (2.0, 1.0)}
        bfc = {8: (1.1, 1.0), 128: (30.0, 1.02), 1024: (90.0, 40.0)}
        actual = {"bfc-ns3": bfc, "bfc-ns3-cc": ideal, "ideal-fq": ideal}
        assert {"agrees"} == verdicts("bfc-3.14", self.rows(actual))
        early = {8: (2.0, 3.0), 128: (1.0, 2.0), 1024: (1.0, 1.0)}
        reverse = {"bfc-ns3": early, "bfc-ns3-cc": bfc, "ideal-fq": ideal}
        assert {"differs"} == verdicts("bfc-3.14", self.rows(reverse))
