# SPDX-License-Identifier: Apache-2.0
"""The studies of BBRv1 and BBRv3 against CUBIC on runs of known outcome, without a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench.studies import Study, get
from tests.unit.conftest import run_with_rates

if TYPE_CHECKING:
    from ccbench import Scenario
    from ccbench.studies import Findings

#: CUBIC's share of the link beside each version.
_SHARES = {"bbr": 0.2, "bbr3": 0.6}


def _rates(scenario: Scenario) -> list[float]:
    """Give CUBIC the link alone, and its share of it beside BBR."""
    (share,) = {_SHARES[flow.cca] for flow in scenario.flows if flow.cca in _SHARES} or {1.0}
    rates = []
    for flow in scenario.flows:
        of_group = 1 - share if flow.cca in _SHARES else share
        rates += [of_group * scenario.path.bottlenecks[0].mean_mbps / flow.count] * flow.count
    return rates


def _rows(study: Study) -> pd.DataFrame:
    groups = study.groups(quick=True)
    return pd.DataFrame(
        row
        for group in groups
        for row in study.measure(*(run_with_rates(s, _rates(s)) for s in group))
    )


def _findings(name: str) -> Findings:
    study = get(name)
    assert isinstance(study, Study)
    return study.conclude(_rows(study))


@pytest.mark.parametrize("name", ["bbr3-cubic", "bbr3-dualpi2"])
class TestHarm:
    def test_known_shares(self, name: str) -> None:
        """Harm is that of the shares, relative to equal shares of all flows."""
        study = get(name)
        assert isinstance(study, Study)
        pairs = _rows(study).dropna(subset="relative_harm")
        assert {*pairs["alpha"]} == {*_SHARES}
        for row in pairs.to_dict("records"):
            share = _SHARES[row["alpha"]]
            fair = row["beta_flows"] / (row["alpha_flows"] + row["beta_flows"])
            assert row["absolute_harm"] == pytest.approx(1 - share)
            assert row["relative_harm"] == pytest.approx(fair - share)
            assert row["beta_share_percent"] == pytest.approx(100 * share)

    def test_findings(self, name: str) -> None:
        """The comparisons have both versions, and the figures can be drawn."""
        findings = _findings(name)
        words = [comparison.quantity for comparison in findings.comparisons]
        assert any("BBRv1" in quantity for quantity in words)
        assert any("BBRv3" in quantity for quantity in words)
        assert len(findings.figure.axes) >= 1


class TestClaims:
    def test_repair(self) -> None:
        """With less harm by version 3 everywhere, what it repaired agrees, and the rest differs."""
        of = {item.quantity: item for item in _findings("bbr3-cubic").comparisons}
        rates = {
            beta: f"{beta}'s rate against 1 BBRv3, 50 Mbit/s, 30 ms, 1 BDP"
            for beta in ("Reno", "CUBIC")
        }
        assert [of[quantity].value for quantity in rates.values()] == pytest.approx([30, 30])
        assert {of[quantity].verdict for quantity in rates.values()} == {"agrees"}
        less = of["relative harm, BBRv3 minus BBRv1, 0.25 BDP, mean over RTTs"]
        assert less.value == pytest.approx(-0.4)
        assert less.verdict == "agrees"
        worse = of["largest difference in relative harm, BBRv3 minus BBRv1, of all networks"]
        assert worse.value == pytest.approx(-0.4)
        assert worse.verdict == "differs"


class TestProbes:
    def test_time_between_probes(self) -> None:
        """The time between probes of version 3 is compared with that of version 1, per path."""
        study = get("ware-2.19")
        assert isinstance(study, Study)
        apart_s = {("bandwidth", "bbr"): 1.0, ("bandwidth", "bbr3"): 4.0}
        apart_s |= {("RTT", "bbr"): 10.0, ("RTT", "bbr3"): 5.0}
        rows = [
            {"cca": cca, "rtt_ms": rtt_ms, "seed": seed, "probe": probe, "apart_s": value}
            for (probe, cca), value in apart_s.items()
            for rtt_ms in (130.0, 85.0)
            for seed in (1, 2)
        ]
        bandwidth, rtt = study.conclude(pd.DataFrame(rows)).comparisons
        assert (bandwidth.value, rtt.value) == (4.0, 0.5)
        assert [bandwidth.verdict, rtt.verdict] == ["agrees", "differs"]
