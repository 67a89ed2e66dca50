# SPDX-License-Identifier: Apache-2.0
"""The scenarios of C4's draft and of the TCP evaluation suite can be run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench import Scenario
from ccbench.evaluate import Case, load_pack
from ccbench.evaluate.pack import PACKS
from tests.kernel.conftest import check_estimate, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kernel

C4 = sorted(path for path in (PACKS / "c4").glob("*.toml") if path.name != "pack.toml")
SUITE = [
    Case(criterion, next(network for network in criterion.networks if network.quick))
    for criterion in load_pack("tcpeval").criteria
]

#: Sections 4.1 and 4.4 of draft-irtf-iccrg-tcpeval-01: rates in Mbit/s, one-way delay and buffers
#: in ms of the central link; shortest and longest sum of the delays of two edge links in ms.
LINKS = {
    "4.4.1-data-centre": ((1000, 1000), 0, (10, 10), (0.02, 0.2)),
    "4.4.2-access-link": ((100, 100), 2, (100, 100), (2, 100)),
    "4.4.3-trans-oceanic": ((1000, 1000), 65, (100, 100), (2, 100)),
    "4.4.4-geostationary": ((40, 4), 300, (100, 1000), (2, 100)),
    "4.4.5-wireless-lan": ((100, 100), 2, (100, 100), (2, 100)),
    "4.4.6-dial-up": ((0.064, 0.064), 5, (1250, 1250), (2, 100)),
}


def name(path: Path) -> str:
    """Return the name of a file as the name of a test."""
    return path.stem


def test_numbers() -> None:
    """All 31 scenarios of C4's draft are there, and all experiments of the suite."""
    assert len(C4) == 31
    basic = [f"4.4.{i}" for i in range(1, 7)]
    others = ["5.1", "5.2", "5.3", "5.3", "5.3", "6.1", "6.2", "6.2", "6.3"]
    assert [*basic, *others] == [case.criterion.section for case in SUITE]


@pytest.mark.parametrize("link", LINKS)
def test_links(link: str) -> None:
    """The central links of the suite have its rates, delays and buffers."""
    scenario = Scenario.load(PACKS / "tcpeval" / f"{link}.toml")
    rates_mbps, delay_ms, buffers_ms, (shortest_ms, longest_ms) = LINKS[link]
    central = scenario.path.bottlenecks[0], scenario.path.reverse_bottlenecks[-1]
    assert tuple(bottleneck.bandwidth_mbps for bottleneck in central) == rates_mbps
    for bottleneck, mbps, buffer_ms in zip(central, rates_mbps, buffers_ms, strict=True):
        packet_ms = 12 / mbps
        assert bottleneck.queue_packets == pytest.approx(buffer_ms / packet_ms, abs=0.51)
    extra_ms = [flow.extra_rtt_ms for flow in scenario.flows if not flow.is_reverse]
    assert len(extra_ms) == 9
    assert scenario.path.rtt_ms + min(extra_ms) == pytest.approx(2 * (delay_ms + shortest_ms))
    assert scenario.path.rtt_ms + max(extra_ms) == pytest.approx(2 * (delay_ms + longest_ms))


@pytest.mark.parametrize("path", C4, ids=name)
def test_c4(path: Path) -> None:
    """Each transfer of C4's scenarios completes, not faster than its link, as do all frames."""
    scenario = Scenario.load(path)
    result = run(scenario)
    check_estimate(result)
    times_s = result.completion_times()["fct_s"]
    assert times_s.notna().all()
    size_bytes = scenario.flows[0].size_bytes
    if size_bytes is not None:
        assert times_s[0] > size_bytes * 8e-6 / scenario.path.highest_mbps(0)


@pytest.mark.parametrize("case", SUITE, ids=lambda case: case.key)
def test_suite(case: Case) -> None:
    """Every flow of the suite's scenarios delivers data within the capacity of its links."""
    scenario = case.criterion.scenario_of(case.network, "cubic", 1)
    if max(link.mean_mbps for link in scenario.path.links) >= 1000:  # a million packets in 12 s
        until_s = max(flow.start_s for flow in scenario.flows) + 2
        scenario = replace(scenario, duration_s=until_s)
    result = run(scenario)
    assert (result.completions["delivered_bytes"] > 0).all()
    assert (result.bottleneck_summary()["utilisation"] <= 1.001).all()
    check_estimate(result)
