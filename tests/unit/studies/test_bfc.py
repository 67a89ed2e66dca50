# SPDX-License-Identifier: Apache-2.0
"""Conclusions of BFC's studies from tables, without simulations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench import studies
from ccbench.base.errors import InputError
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
    buffer_mb: float = 1.0,
    dropped: int = 0,
) -> list[dict[str, Any]]:
    """Return the rows of two simulations: p99 of flows up to 3 KB, of others, of incast flows."""
    common = {
        "traffic": traffic,
        "scheme": scheme,
        "buffer_p99_mb": buffer_mb,
        "paused_percent": paused,
        "dropped_packets": dropped,
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
        what = "p99 slowdown of flows up to 3 KB, HPCC ÷ BFC"
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
        actual = comparisons("bfc-3.9", rows)["p99 slowdown of flows up to 3 KB, HPCC ÷ BFC"]
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


class TestVariants:
    """Variants that keep what the text says of them agree; those that do the reverse differ."""

    @staticmethod
    def with_control(short: float, long: float, buffer_mb: float) -> list[dict[str, Any]]:
        """Return BFC with slowdowns of 2, and BFC with congestion control with these."""
        rows = []
        for traffic, of_short in (("100x20MB", short), ("none", 2.0 * long)):
            rows += by_size(traffic, "bfc-ns3", 2.0)
            rows += by_size(traffic, "ideal-fq", 1.5)
            rows += by_size(traffic, "bfc-ns3-cc", of_short, long=2 * long, buffer_mb=buffer_mb)
        return rows

    def test_congestion_control(self) -> None:
        """30 % less for short flows and buffers, long flows as before; and the reverse."""
        assert {"agrees"} == verdicts("bfc-3.15", self.with_control(1.4, 1.0, 0.7))
        assert {"differs"} == verdicts("bfc-3.15", self.with_control(4.0, 3.0, 2.0))

    @staticmethod
    def slow_start(p99: float, without: float, buffer_mb: float) -> list[dict[str, Any]]:
        """Return DCTCP with slowdowns of 3, slow start with others."""
        rows = []
        for traffic, of_slow in (("100x20MB", p99), ("none", without)):
            rows += by_size(traffic, "bfc-ns3", 1.2)
            rows += by_size(traffic, "dctcp", 3.0, long=3.0)
            slow = by_size(traffic, "dctcp-slow-start", of_slow, long=without, buffer_mb=buffer_mb)
            rows += [{**row, "p50": without} for row in slow]
        return rows

    def test_slow_start(self) -> None:
        """Shorter tails with incast, slower flows otherwise; and the reverse."""
        assert {"agrees"} == verdicts("bfc-3.19", self.slow_start(2.0, 5.0, 0.5))
        assert {"differs"} == verdicts("bfc-3.19", self.slow_start(4.0, 1.0, 2.0))

    @staticmethod
    def incremental(factor: float, nic_mb: float, dropped: int) -> list[dict[str, Any]]:
        """Return BFC with a slowdown of 2, and its incremental variants."""
        return [
            *by_size("100x20MB", "bfc-ns3", 2.0),
            *by_size("100x20MB", "bfc-ns3-nic", 2 * factor, buffer_mb=nic_mb, dropped=dropped),
            *by_size("100x20MB", "bfc-ns3-sampling", 2 * factor, buffer_mb=factor),
        ]

    def test_incremental_deployment(self) -> None:
        """Slowdowns as before, and more in buffers only without network cards; the reverse."""
        assert {"agrees"} == verdicts("bfc-e.1", self.incremental(1.0, 1.5, 0))
        assert {"differs"} == verdicts("bfc-e.1", self.incremental(3.0, 0.5, 4))

    def test_labels(self) -> None:
        """Labels that improve every degree of incast agree; those that do not differ."""
        degrees = (10.0, 100.0, 2000.0)
        for slowdown, verdict in ((1.0, "agrees"), (4.0, "differs")):
            rows = by_setting("bfc-ns3", dict.fromkeys(degrees, (2, 2)))
            label = dict.fromkeys(degrees, (slowdown, slowdown))
            rows += by_setting("bfc-ns3-incast-label", label)
            assert {verdict} == verdicts("bfc-f.5", rows)


def extended(rows: list[dict[str, Any]], **columns: float) -> list[dict[str, Any]]:
    """Return rows with further columns."""
    return [{**row, **columns} for row in rows]


class TestOtherSchemes:
    """Numbers of the text agree, and the reverse of what it says differs."""

    @pytest.mark.parametrize(
        ("sfq", "dqa", "drops", "verdict"),
        [(6.0, 1.1, 100, "agrees"), (30.0, 40.0, 300, "differs")],
    )
    def test_queue_assignment(self, sfq: float, dqa: float, drops: int, verdict: str) -> None:
        """Queues improve HPCC's short flows, and neither its long flows nor its drops."""
        long = 5.0 if verdict == "agrees" else 2.0
        rows = [
            *by_size("100x20MB", "bfc-ns3", 1.2),
            *by_size("100x20MB", "ideal-fq", 1.3),
            *by_size("100x20MB", "hpcc", 12.0 if verdict == "agrees" else 8.0, buffer_mb=5),
            *by_size(
                "100x20MB",
                "hpcc-pfc",
                10.0 if verdict == "agrees" else 1.0,
                long=5.0,
                buffer_mb=9.0 if verdict == "agrees" else 4.0,
                dropped=100,
            ),
            *by_size("100x20MB", "hpcc-pfc-sfq", sfq, long=long, dropped=drops),
            *by_size("100x20MB", "hpcc-pfc-dqa", dqa, long=long, dropped=drops),
        ]
        assert verdict in verdicts("bfc-3.16", rows)
        assert {verdict} == verdicts("bfc-3.16", rows) or verdict == "differs"

    def test_credits(self) -> None:
        """ExpressPass has 65 % of BFC's tail and 17 times its mean of long flows."""
        for short, long, verdict in ((0.65, 34.0, "agrees"), (3.0, 1.0, "differs")):
            rows = []
            for sizes, factor in (("google", 1.0), ("facebook", 0.5 if long > 2 else 2.0)):
                for incast in ("100x20MB", "none") if sizes == "google" else ("none",):
                    traffic = f"{sizes}, {incast}"
                    rows += by_size(traffic, "bfc-ns3", 1.0, long=2.0)
                    rows += by_size(traffic, "hpcc", 4.0, long=6.0)
                    rows += by_size(traffic, "expresspass", short, long=long * factor)
            assert {verdict} == verdicts("bfc-expresspass", rows)

    @staticmethod
    def classes(dctcp: float, last: float, more: float, long: float) -> list[dict[str, Any]]:
        """Return BFC with short slowdowns of 1, and those of other schemes by class."""
        short = {
            "bfc-ns3": (1.0, 1.0, 1.0, 1.0),
            "bfc-ns3-128": (more,) * 4,
            "dctcp": (dctcp, 2.0, 2.0, last),
            "hpcc": (1.0, 1.0, 1.0, 2.0),
        }
        return [
            {
                "scheme": scheme,
                "seed": seed,
                "class": one,
                "up_to_bytes": size,
                "p99": long if size == EDGES[-1] else p99,
            }
            for scheme, by_class in short.items()
            for one, p99 in enumerate(by_class)
            for seed in (1, 2)
            for size in _SIZES
        ]

    def test_classes(self) -> None:
        """DCTCP is up to five times worse, equal in the last class; HPCC inverts priorities."""
        assert {"agrees"} == verdicts("bfc-3.17", self.classes(5.0, 1.0, 0.9, 4.0))
        assert {"differs"} == verdicts("bfc-3.17", self.classes(9.0, 2.0, 1.5, 1.0))

    def test_locality(self) -> None:
        """BFC is best with local traffic, too."""
        for others, verdict in ((3.0, "agrees"), (1.0, "differs")):
            rows = []
            for traffic in ("100x20MB", "none"):
                rows += by_size(traffic, "bfc-ns3", 1.5)
                for name in ("hpcc", "dctcp", "dcqcn"):
                    rows += by_size(traffic, name, others)
            assert {verdict} == verdicts("bfc-3.18", rows)

    @staticmethod
    def centres(
        used: tuple[float, ...], alone: tuple[float, ...], joined: tuple[float, ...]
    ) -> list[dict[str, Any]]:
        """Return utilisation and short slowdowns of BFC, HPCC and DCQCN."""
        return [
            {
                "traffic": traffic,
                "scheme": scheme,
                "seed": seed,
                "up_to_bytes": size,
                "utilisation_percent": used[i],
                "p99": p99[i],
            }
            for traffic, p99 in (("without long flows", alone), ("with long flows", joined))
            for i, scheme in enumerate(("bfc-ns3", "hpcc", "dcqcn"))
            for seed in (1, 2)
            for size in _SIZES
        ]

    def test_two_data_centres(self) -> None:
        """BFC fills the link between data centres, and HPCC becomes worse than DCQCN."""
        good = self.centres((99, 80, 60), (1.2, 3.0, 9.0), (1.3, 30.0, 20.0))
        assert {"agrees"} == verdicts("bfc-3.20", good)
        bad = self.centres((60, 80, 99), (1.3, 30.0, 20.0), (1.2, 0.3, 0.9))
        assert {"differs"} == verdicts("bfc-3.20", bad)

    @staticmethod
    def homa(bfc: float, ecmp: float, ideal: float, factor: float) -> list[dict[str, Any]]:
        """Return Homa with slowdowns of 1, others, and multiples of the published delays."""
        delays = {
            "homa": (2.4, 6.7, 2.1, 6.0),
            "homa-ecmp": (40.8, 87.2, 43.7, 93.3),
        }
        columns = ("spines_p95", "spines_p99", "racks_p95", "racks_p99")
        rows = []
        for sizes in ("google", "facebook"):
            for name, mean in (
                ("bfc-ns3-srf", bfc),
                ("homa", 1.0),
                ("homa-ecmp", ecmp),
                ("ideal-srf", ideal),
            ):
                of_scheme = delays.get(name, (math.nan,) * 4)
                scaled = dict(zip(columns, (factor * one for one in of_scheme), strict=True))
                rows += extended(by_size(sizes, name, mean, long=mean), **scaled)
        return rows

    def test_homa(self) -> None:
        """Spraying is best, BFC-SRF close to the ideal, and Table F.1 agrees with itself."""
        assert {"agrees"} == verdicts("bfc-f.1", self.homa(1.5, 1.8, 1.48, 1.0))
        assert {"differs"} == verdicts("bfc-f.1", self.homa(0.4, 0.3, 0.9, 2.0))

    def test_single_receiver(self) -> None:
        """BFC-SRF is close to the ideal, and Homa is not better."""
        for bfc, verdict in ((1.02, "agrees"), (1.5, "differs")):
            rows = []
            for sizes in ("google", "facebook"):
                rows += by_size(sizes, "bfc-ns3-srf", bfc, long=bfc)
                rows += by_size(sizes, "ideal-srf", 1.0, long=1.0)
                rows += by_size(sizes, "homa", 1.3, long=1.3)
            assert {verdict} == verdicts("bfc-f.2", rows)

    def test_incast_with_shortest_first(self) -> None:
        """BFC-SRF delays short flows, Homa those of 1 to 2 BDPs."""
        for bfc, hump, verdict in ((2.0, 9.0, "agrees"), (0.9, 2.0, "differs")):
            rows = []
            for sizes in ("google", "facebook"):
                for name, mean in (("bfc-ns3-srf", bfc), ("homa", 1.0)):
                    by_bdp = {"one_bdp_p99": 1.5, "two_bdp_p99": hump, "four_bdp_p99": 4.0}
                    rows += extended(by_size(sizes, name, mean), **by_bdp)
            assert {verdict} == verdicts("bfc-f.3", rows)

    def test_parameters(self) -> None:
        """Short flows pay for long ones; credits that wait change little."""
        for swing, few, verdict in ((1.5, 1.0, "agrees"), (0.7, 2.0, "differs")):
            rows = []
            for traffic, names in {
                "target": ("hpcc, 0.9", "hpcc, 0.98"),
                "marking": ("dctcp, 50-200 KB", "dctcp, 200-800 KB"),
                "alpha": ("expresspass, α = 0.5", "expresspass, α = 0.0625"),
            }.items():
                rows += by_size(traffic, names[0], 2.0, long=2.0)
                rows += by_size(traffic, names[1], 2.0 * swing, long=2.0 / swing)
            for name, p99 in (("8 credits", 2.0), ("32 credits", 2.0 * few)):
                rows += by_size("credits", f"expresspass, {name}", p99, long=p99)
            assert {verdict} == verdicts("bfc-f.4", rows)


class TestModels:
    def test_quick(self) -> None:
        """Studies of models need neither runs nor simulations."""
        for name in ("bfc-1.2", "bfc-3.2", "bfc-3.3", "bfc-c.1"):
            result = studies.run_study(name, quick=True, store=None)
            assert "model" == result.provenance["engine"]
            assert result.findings.comparisons

    def test_no_other_version(self) -> None:
        """They have no full version, and no estimate of runs."""
        with pytest.raises(InputError, match=r"^full is True; it must be left out for bfc-c.1"):
            studies.run_study("bfc-c.1", full=True)
        with pytest.raises(InputError, match=r"^dry run is 'bfc-c.1'; it must be left out"):
            studies.plan_study("bfc-c.1")

    def test_threshold(self) -> None:
        """The largest value of equation C.4 is that of equation C.5."""
        table = studies.run_study("bfc-c.1", quick=True).findings.table
        assert table["largest_percent"].to_numpy() == pytest.approx(
            table["worst_percent"].to_numpy(), rel=0.01
        )


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
