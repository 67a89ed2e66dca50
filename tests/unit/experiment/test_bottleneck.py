# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.impairments import BurstLoss, Jitter
from ccbench.experiment.loss_trace import LossTrace
from ccbench.experiment.scenario import Bottleneck, Trace

if TYPE_CHECKING:
    from pathlib import Path


class TestTrace:
    def test_mean(self) -> None:
        """The mean rate is that of the opportunities of 1500 bytes in a period."""
        assert Trace(name="", opportunities_ms=(1, 1, 2)).mean_mbps == 3 * 12_000 / 2e-3 / 1e6

    def test_file(self, tmp_path: Path) -> None:
        """A trace written to a file is read back equal."""
        trace = Trace(name="lte", opportunities_ms=(0, 2, 2, 10))
        trace.to_file(tmp_path / "lte")
        assert Trace.from_file(tmp_path / "lte") == trace
        assert Trace.from_file(tmp_path / "lte").name == "lte"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("1\n2.5\n", " line 2 is '2.5'; it must be a whole number of milliseconds"),
            ("3\n\n1\n", " line 3 is 1; it must be at least 3, the time in line 1: sort the lines"),
            ("-1\n1\n", " line 1 is '-1'; it must be a whole number of milliseconds from 0 to"),
            ("1\n2147483648\n", " line 2 is '2147483648'; it must be a whole number of"),
            ("0\n0\n", " has only times of 0; the last must be above 0, as it is the period: add"),
            ("", " has no times; the last must be above 0, as it is the period: add a line for"),
        ],
    )
    def test_bad_file(self, tmp_path: Path, content: str, message: str) -> None:
        """An error in a trace file has the file's name and the line."""
        path = tmp_path / "bad"
        path.write_text(content)
        with pytest.raises(InputError) as caught:
            Trace.from_file(path)
        assert str(caught.value).startswith(f"{path}{message}")


LINK = {"bandwidth_mbps": 1, "queue_packets": 9}
TRACE = Trace(name="t", opportunities_ms=(1, 3))


class TestBottleneck:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "bandwidth_mbps or trace or wifi is missing"),
            ({"bandwidth_mbps": 1}, "queue_packets or queue_bdp is missing"),
            (
                {"bandwidth_mbps": 1, "queue_bdp": 1, "queue_packets": 1},
                "queue_packets and queue_bdp exclude each other",
            ),
            ({"bandwidth_mbps": 0, "queue_bdp": 1}, "bandwidth_mbps is 0"),
            ({"bandwidth_mbps": 1, "queue_packets": 0}, "queue_packets is 0"),
            ({"bandwidth_mbps": 1, "queue_bdp": 0}, "queue_bdp is 0"),
            ({"bandwidth_mbps": 1, "queue_bdp": 1, "loss": 1}, "loss is 1; it must be a number"),
            (
                {"bandwidth_mbps": 1, "queue_bdp": 1, "loss_every_packets": 1},
                "loss_every_packets is 1; it must be a whole number at least 2",
            ),
            ({"bandwidth_mbps": 1, "queue_bdp": 1, "qdisc": "Fair Queue"}, "qdisc is 'Fair Queue'"),
            (
                {"bandwidth_mbps": 1, "queue_bdp": 1, "qdisc_options": (("limit", 1),)},
                "qdisc_options is {'limit': 1}; it must be left out for droptail",
            ),
            ({"trace": "file", "queue_bdp": 1}, "trace is 'file'; it must be a Trace"),
            (
                {"trace": TRACE, "queue_packets": 9, "cells": True},
                "cells is True; it must be left out without bandwidth_mbps",
            ),
            ({**LINK, "overhead_bytes": 1001}, "overhead_bytes is 1001; it must be a whole number"),
            ({**LINK, "duplicates": 1}, "duplicates is 1; it must be a number at least 0 and be"),
            ({**LINK, "loss_packets": (3, 3)}, "loss_packets is [3, 3]; it must be ascending"),
            ({**LINK, "loss_packets": (0,)}, "loss_packets[0] is 0; it must be a whole number"),
            ({**LINK, "loss_packets": 7}, "loss_packets is 7; it must be a list of numbers"),
            (
                {**LINK, "policer": 3},
                "policer is 3; it must be a Policer: create one with Policer(",
            ),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting out of range or excluded by another is named with its value."""
        with pytest.raises(InputError) as caught:
            Bottleneck(**settings)
        assert str(caught.value).startswith(message)

    def test_order_of_options(self) -> None:
        """The order of a bottleneck's options does not matter."""

        def codel(*options: tuple[str, int]) -> Bottleneck:
            return Bottleneck(
                bandwidth_mbps=1, queue_packets=1, qdisc="codel", qdisc_options=options
            )

        assert codel(("a", 1), ("b", 2)) == codel(("b", 2), ("a", 1))


class TestImpairments:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (
                {"policer": 3},
                "policer is 3; it must be a table: write for example policer = {rate_",
            ),
            ({"policer": {"rate_mbps": 3}}, "policer.burst_bytes is missing"),
            (
                {"policer": {"rate_mbps": 3, "burst_bytes": 100}},
                "policer.burst_bytes is 100; it must be a whole number at least 1500",
            ),
            (
                {"reordering": {"share": 0.1}},
                "reordering.delay_ms and packets are both missing: write for example delay_ms = 5",
            ),
            (
                {"reordering": {"share": 0.1, "delay_ms": 3, "packets": 3}},
                "reordering.delay_ms and packets exclude each other: keep one of them",
            ),
            (
                {"burst_loss": {"to_bad": 0.5, "to_good": 0}},
                "burst_loss.to_good is 0; it must be a number above 0",
            ),
            ({"burst_loss": {"loss": 0.5}}, "burst_loss.loss is not a setting; did you mean"),
            (
                {"burst_loss": {"to_bad": 0.1}},
                "burst_loss: needs to_bad and to_good, or good_ms and bad_ms, not to_bad: change",
            ),
            (
                {"burst_loss": {"to_bad": 0.1, "bad_ms": 3}},
                "burst_loss: needs to_bad and to_good, or good_ms and bad_ms, not to_bad, bad_ms:",
            ),
            (
                {"jitter": {}},
                "jitter.jitter_ms is missing: write for example jitter_ms = 3, or del",
            ),
            (
                {"jitter": {"jitter_ms": 3}},
                "jitter.delay_ms is missing: write for example delay_ms",
            ),
            (
                {"jitter": {"delays_ms": [1], "jitter_ms": 3}},
                "jitter.jitter_ms is 3.0; it must be left out with delays_ms: remove it",
            ),
            (
                {"jitter": {"delay_ms": 9, "jitter_ms": 3, "distribution": "gamma"}},
                "jitter.distribution is 'gamma'; it must be 'uniform' or 'normal' or 'pareto': ",
            ),
            (
                {"jitter": {"delays_ms": [1, -2]}},
                "jitter.delays_ms[1] is -2; it must be a number at least 0 and at most 10000",
            ),
            (
                {
                    "jitter": {"delay_ms": 9, "jitter_ms": 3},
                    "reordering": {"share": 0.1, "packets": 3},
                },
                "reordering is Reordering(share=0.1, packets=3); it must be left out with jitter",
            ),
            (
                {"loss_trace": [[0, 0], [1, 2]]},
                "loss_trace.points[1].loss is 2; it must be a number at least 0 and at most 1",
            ),
            ({"loss_trace": "none.csv"}, "loss trace none.csv cannot be read"),
            ({"loss_packets": "none.csv"}, "lost packets none.csv cannot be read"),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A wrong table is named with its field, value and the next step."""
        with pytest.raises(InputError) as caught:
            Bottleneck.from_dict({**LINK, **settings})
        assert str(caught.value).startswith(message)

    def test_files(self, tmp_path: Path) -> None:
        """Recorded losses and delays come from files beside the scenario, and equal lists."""
        (tmp_path / "lost.csv").write_text("packet\n3\n17\n")
        (tmp_path / "losses.csv").write_text("time_s,loss\n0,0\n2,0.5\n3,0\n")
        (tmp_path / "delays.csv").write_text("delay_ms\n5\n2.5\n")
        files = {
            "loss_packets": "lost.csv",
            "loss_trace": "losses.csv",
            "jitter": {"delays_ms": "delays.csv"},
        }
        read = Bottleneck.from_dict({**LINK, **files}, tmp_path)
        lists = {
            "loss_packets": [3, 17],
            "loss_trace": [[0, 0], [2, 0.5], [3, 0]],
            "jitter": {"delays_ms": [2.5, 5]},
        }
        assert read == Bottleneck.from_dict({**LINK, **lists})
        assert read == Bottleneck.from_dict(read.to_dict())

    def test_mean_of_losses(self) -> None:
        """The share of lost packets is that of the time in each state, or of the trace."""
        assert BurstLoss(good_ms=300, bad_ms=100).mean == pytest.approx(0.25)
        trace = LossTrace(points=((0, 0.1), (4, 1), (5, 0)))
        assert trace.mean == pytest.approx((4 * 0.1 + 1) / 5)

    def test_moments_of_jitter(self) -> None:
        """Delays of equal probability have the mean and the deviation of their distribution."""
        deviations = {"uniform": 4 / math.sqrt(3), "normal": 4, "pareto": 4}
        for distribution, deviation in deviations.items():
            jitter = Jitter(delay_ms=30, jitter_ms=4, distribution=distribution)
            delays = jitter.quantiles_ms
            assert statistics.fmean(delays) == pytest.approx(30, abs=0.01)
            # Of the Pareto distribution, the tail beyond 1 in 33,000 is missing.
            assert statistics.pstdev(delays) == pytest.approx(deviation, rel=0.05)
            assert delays[-1] == jitter.longest_ms == max(delays)

    @pytest.mark.parametrize(
        "settings",
        [
            {"reordering": {"share": 0, "delay_ms": 5}},
            {"burst_loss": {"to_bad": 0, "to_good": 0.5}},
            {"burst_loss": {"to_bad": 0.1, "to_good": 0.5, "loss_bad": 0}},
        ],
    )
    def test_off(self, settings: dict[str, Any]) -> None:
        """The value that turns an impairment off gives the bottleneck without it."""
        assert Bottleneck.from_dict({**LINK, **settings}) == Bottleneck.from_dict(LINK)

    def test_mean_of_bursts(self) -> None:
        """The share of lost packets is that of the stationary distribution."""
        loss = BurstLoss(to_bad=0.1, to_good=0.3, loss_bad=0.8, loss_good=0.2)
        assert loss.mean == pytest.approx(0.25 * 0.8 + 0.75 * 0.2)
        assert BurstLoss.of(0.03, 7).mean == pytest.approx(0.03)

    def test_longest_bursts(self) -> None:
        """Runs of losses are separated by at least one packet, which limits their share."""
        assert BurstLoss.of(0.75, 3).to_bad == pytest.approx(1)
        with pytest.raises(InputError, match=r"^loss is 0.9; it must be at most 0.667"):
            BurstLoss.of(0.9, 2)
