# SPDX-License-Identifier: Apache-2.0
"""Harm on real Linux TCP says what is known about these algorithms."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from ccbench.emulate import run_many
from ccbench.harm import Experiment, converged_at, long_flows, measure

if TYPE_CHECKING:
    from ccbench import Run
    from ccbench.harm import HarmResult

pytestmark = pytest.mark.kernel

BANDWIDTH_MBPS = 50


@cache
def experiment(
    alpha: str, beta: str, *, queue_bdp: float = 1, beta_flows: int = 1, duration_s: float = 60
) -> tuple[Experiment, Run, Run, HarmResult]:
    """Make the two runs of an experiment once for all tests."""
    made = long_flows(
        alpha=alpha,
        beta=beta,
        bandwidth_mbps=BANDWIDTH_MBPS,
        rtt_ms=40,
        queue_bdp=queue_bdp,
        beta_flows=beta_flows,
        duration_s=duration_s,
    )
    runs = dict(run_many((made.solo, made.competing), store=None))
    return made, runs[0], runs[1], measure(runs[0], runs[1])


def harm(alpha: str, beta: str, *, queue_bdp: float = 1, beta_flows: int = 1) -> HarmResult:
    """Measure one pair."""
    return experiment(alpha, beta, queue_bdp=queue_bdp, beta_flows=beta_flows)[-1]


class TestPairs:
    def test_bbr_harms_cubic_in_a_short_queue(self) -> None:
        """With a queue of 1 BDP, BBR leaves CUBIC far below its share."""
        assert harm("bbr", "cubic").relative > 0.2

    def test_roles_swapped(self) -> None:
        """CUBIC leaves BBR what CUBIC does not get: the two relative harms nearly cancel."""
        assert harm("cubic", "bbr").relative < -0.2
        total = harm("cubic", "bbr").relative + harm("bbr", "cubic").relative
        assert total == pytest.approx(0, abs=0.05)

    def test_bbr_is_bounded_in_a_long_queue(self) -> None:
        """In 8 BDP, BBR's limit of 2 BDP in flight keeps it below CUBIC, which fills the queue."""
        assert harm("bbr", "cubic", queue_bdp=8).relative < 0

    def test_vegas_yields(self) -> None:
        """Vegas backs off when the queue grows, and CUBIC takes nearly all."""
        assert harm("vegas", "cubic").relative < -0.3
        assert harm("cubic", "vegas").relative > 0.3

    @pytest.mark.parametrize("cca", ["cubic", "reno", "bbr"])
    def test_same_cca(self, cca: str) -> None:
        """Flows of one CCA and one RTT share equally: no harm beyond what sharing costs."""
        result = harm(cca, cca)
        assert result.relative == pytest.approx(0, abs=0.06)
        assert result.jain > 0.98

    def test_one_bbr_flow_against_many(self) -> None:
        """One BBR flow's share does not fall with the number of flows that it competes with."""
        # "Modeling BBR's Interactions with Loss-Based Congestion Control", Ware et al., IMC 2019.
        one, many = harm("bbr", "cubic"), harm("bbr", "cubic", beta_flows=4)
        assert many.alpha_mbps > 0.75 * one.alpha_mbps
        assert many.relative > one.relative
        assert many.expected == pytest.approx(0.2)


class TestParts:
    @pytest.mark.parametrize(("cca", "least"), [("cubic", 0.99), ("reno", 0.99), ("bbr", 0.95)])
    def test_solo_fills_the_link(self, cca: str, least: float) -> None:
        """Alone, with 1 BDP of queue, a flow uses its link; BBR drains it for its min RTT."""
        _, solo, _, result = experiment("bbr", cca)
        assert least * BANDWIDTH_MBPS < result.solo_mbps <= BANDWIDTH_MBPS * 1.001
        assert least - 0.05 < solo.utilisation() <= 1

    def test_competition_fills_the_link(self) -> None:
        """Together the flows use it too: what one gains, the other loses."""
        result = harm("bbr", "cubic")
        total = result.competing_mbps + result.alpha_mbps
        assert 0.97 * BANDWIDTH_MBPS < total <= BANDWIDTH_MBPS * 1.001

    def test_formula(self) -> None:
        """Relative harm is the solo throughput's lost share less that of sharing equally."""
        result = harm("bbr", "cubic", beta_flows=4)
        lost = (result.solo_mbps - result.competing_mbps) / result.solo_mbps
        assert result.relative == pytest.approx(lost - 1 / 5)


class TestWindow:
    def test_short_run(self) -> None:
        """A run of a minute has no convergence to find: its second half counts, in both runs."""
        made, solo, _, result = experiment("bbr", "cubic")
        assert result.converged_at_s is None
        assert (result.from_s, result.to_s) == (made.duration_s / 2, made.duration_s)
        alone = solo.throughput()
        assert result.solo_mbps == pytest.approx(alone[alone.index > 30].sum(axis=1).mean())

    def test_long_run(self) -> None:
        """In 180 s the competition converges, and what follows counts: at least a minute."""
        _, solo, competing, result = experiment("bbr", "cubic", duration_s=180)
        assert result.converged_at_s == converged_at(competing.throughput())
        assert result.converged_at_s is not None
        assert result.from_s == result.converged_at_s <= 120
        assert result.to_s == 180
        for run, mbps in (
            (solo, result.solo_mbps),
            (competing, result.competing_mbps + result.alpha_mbps),
        ):
            throughput = run.throughput()
            counted = throughput[throughput.index > result.from_s]
            assert mbps == pytest.approx(counted.sum(axis=1).mean())

    def test_converged_or_not_agree(self) -> None:
        """The verdict does not hang on the window: a third of the time tells the same."""
        short = harm("bbr", "cubic").relative
        long = experiment("bbr", "cubic", duration_s=180)[-1].relative
        assert long == pytest.approx(short, abs=0.1)
