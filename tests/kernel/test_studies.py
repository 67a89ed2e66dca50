# SPDX-License-Identifier: Apache-2.0
"""The quick version of every study on the virtual kernel, and theoretical properties of some."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import pytest

from ccbench import studies
from ccbench.base.errors import MissingRequirement
from ccbench.emulate import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from ccbench.studies import Findings

Conclude: TypeAlias = "Callable[[str], Findings]"
Table: TypeAlias = "Callable[[str], pd.DataFrame]"

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def findings(session_cache: Path) -> Conclude:
    """Give a function that runs a study's quick version, once for all tests."""
    store = Store(session_cache / "runs")

    @cache
    def conclude(name: str) -> Findings:
        return studies.run_study(name, quick=True, store=store).findings

    return conclude


@pytest.fixture(scope="module")
def table(findings: Conclude) -> Table:
    """Give a function that returns the table of a study's quick version."""
    return lambda name: findings(name).table


@pytest.mark.parametrize("name", studies.names())
def test_runs(name: str, findings: Conclude) -> None:
    """Every study has comparisons, rows and a figure; a short run may lack a number."""
    try:
        actual = findings(name)
    except MissingRequirement as error:
        pytest.skip(str(error))
    assert any(math.isfinite(comparison.value) for comparison in actual.comparisons)
    for comparison in actual.comparisons:
        published = comparison.published
        assert published.low <= published.high, comparison.quantity
        assert published.text, comparison.quantity
        assert published.where, comparison.quantity
    assert len(actual.table)
    assert actual.figure.axes
    assert all(axes.has_data() for axes in actual.figure.axes)


class TestBbrAgainstOne:
    @pytest.mark.parametrize("other", ["cubic", "reno"])
    def test_share_falls_with_the_queue(self, other: str, table: Table) -> None:
        """The longer the queue, the less BBR gets: its in-flight cap binds, and ProbeRTT lasts."""
        rows = table("ware-3.2")
        shares = rows[rows["other"] == other].sort_values("queue_packets")["bbr_percent"]
        assert shares.is_monotonic_decreasing
        assert shares.iloc[0] > 50 > shares.iloc[-1]

    def test_link_is_full(self, table: Table) -> None:
        """Together the two use the link, except for headers and retransmissions."""
        rows = table("ware-3.2")
        assert (rows["bbr_mbps"] + rows["other_mbps"]).between(9.2, 10).all()

    def test_a_mean_depends_on_its_interval(self, table: Table) -> None:
        """In a queue of 16 BDP BBR grows for minutes, so that longer means are larger."""
        rows = table("ware-3.4")
        means = rows[rows["queue_packets"] == 512].sort_values("interval_s")["bbr_mbps"]
        assert means.is_monotonic_increasing
        assert means.iloc[-1] > 1.5 * means.iloc[0]


class TestProbeRtt:
    def test_silence(self, table: Table) -> None:
        """In a ProbeRTT behind sixteen CUBIC flows BBR is silent, and they have the link."""
        rows = table("ware-3.5")
        silent = rows[(rows["time_s"] > 60) & (rows["bbr_mbps"] < 0.1)]
        assert 0 < len(silent) < 0.5 * (rows["time_s"] > 60).sum()
        assert (silent["cubic_mbps"] > 9.8).all()

    def test_base_rtt_of_few_flows(self, table: Table) -> None:
        """Alone, one BBR flow measures the base RTT; twenty have more than the pipe in flight."""
        estimates = table("ware-3.8").set_index("bbr_flows")["rtt_est_ms"]
        assert estimates[1] == pytest.approx(40, abs=2)
        assert estimates[20] > 45

    def test_longer_queue_longer_probe(self, table: Table) -> None:
        """A longer queue takes longer to drain: nearly as long as in the model."""
        rows = table("ware-3.9")
        one = rows[rows["bbr_flows"] == 1].sort_values("queue_packets")
        grown = one[["probe_s", "model_probe_s"]].diff().iloc[-1]
        assert grown["probe_s"] == pytest.approx(grown["model_probe_s"], rel=0.5)

    def test_more_flows_get_more(self, table: Table) -> None:
        """Ten BBR flows together get more than one, as each has four packets in ProbeRTT."""
        rows = table("ware-3.10").pivot_table(
            "bbr_fraction", index=["other", "queue_packets"], columns="bbr_flows"
        )
        assert (rows[10] > rows[1]).all()


class TestClassification:
    def test_clean(self, table: Table) -> None:
        """On clean paths of other round trips and seeds, every vote is the sender's CCA."""
        rows = table("ware-2.7")
        votes = rows[(rows["condition"] == "clean") & (rows["setting"] == "voted")]
        assert 4 == votes["cca"].nunique()
        assert (votes["nearest"] == votes["cca"]).all()

    def test_left_out(self, table: Table) -> None:
        """A CCA that is left out of the training set is never its own label."""
        rows = table("ware-2.11")
        assert (rows["label"] != rows["cca"]).all()
        assert (rows["label"] == "unknown").mean() > 0.5

    def test_effort(self, table: Table) -> None:
        """Each download takes at most its link's capacity, and not much less."""
        rows = table("ware-2.15")
        for setting, own in rows.groupby("setting"):
            most = float(str(setting).partition("bw")[0]) / 8 * 22
            assert (own["megabytes"] <= most).all()
            # CDG backs off by chance, however little the delay grows.
            assert (own.loc[own["cca"] != "cdg", "megabytes"] > 0.5 * most).all()


class TestAbc:
    def test_follows_the_slower_link(self, table: Table) -> None:
        """A lone ABC flow has the rate of the slower of two links."""
        assert table("abc-4")["percent_of_ideal"].between(90, 102).all()

    def test_equal_rtts(self, table: Table) -> None:
        """Two ABC flows of equal RTTs share equally; a flow of 120 ms gets less beside 20 ms."""
        pairs = table("abc-12").query("flows == 2").pivot_table("mbps", "case_ms", "flow")
        ratio = pairs[1] / pairs[0]
        assert ratio[20] == pytest.approx(1, abs=0.1)
        assert ratio[120] > 2
        assert pairs.sum(axis=1).between(22, 24).all()

    def test_departures_or_arrivals(self, table: Table) -> None:
        """Feedback by arrivals increases waits: it reacts too late."""
        p95_ms = table("abc-2").set_index("feedback")["p95_ms"]
        assert p95_ms["enqueue"] > 1.2 * p95_ms["dequeue"]

    def test_future(self, table: Table) -> None:
        """A router that knows the link's future has shorter waits."""
        p95_ms = table("abc-pk").pivot_table("p95_ms", "d_t_ms", "scheme")
        assert (p95_ms["PK-ABC"] < p95_ms["ABC"]).all()


class TestSearches:
    def test_vegas_yields(self, table: Table) -> None:
        """Vegas, which avoids queues, never takes more than its share from CUBIC, which fills them.

        The quick runs last 2 s, so this holds where they have 20 round trips; on longer paths the
        flow that starts first has more. All pairs are run in the same networks.
        """
        rows = table("ware-5.12")
        settled = rows["rtt_ms"] < 100
        assert settled.sum() >= 4
        assert (rows.loc[settled & (rows["alpha"] == "vegas"), "relative_harm"] < 0).all()
        networks = rows.groupby(["alpha", "beta"])[["bandwidth_mbps", "rtt_ms"]].agg(tuple)
        assert networks.duplicated(keep=False).all()

    def test_same_beginning(self, table: Table) -> None:
        """Searches with the same seed begin with the same 4 networks, so with the same harm.

        Networks that a search measures again have other means, within the noise of single runs.
        """
        rows = table("ware-5.15")
        first = rows[(rows["generation"] == 1) & (rows["strategy"] != "sweep")]
        assert len(first) == 3
        assert first["best"].max() - first["best"].min() < 0.02


class TestNimbusMix:
    def test_two_truths(self, table: Table) -> None:
        """Lasting flows are a part of those above the initial window, in every window."""
        rows = table("nimbus-8")
        elastic, lasting = (
            rows[rows["what"] == f"{what}_share"].set_index("at")["value"]
            for what in ("elastic", "lasting")
        )
        assert len(elastic)
        assert (lasting <= elastic + 1e-9).all()
        assert elastic.between(0, 1).all()
