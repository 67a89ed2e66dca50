# SPDX-License-Identifier: Apache-2.0
"""The model of BBRv1 against loss-based flows: its algebra, its limits, the thesis's numbers."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ccbench.base.errors import InputError
from ccbench.cli.main import program
from ccbench.models.bbr import BbrModel, inflight_cap_packets
from ccbench.models.bbr_errors import measured_errors
from ccbench.studies.ware import ware_3_10

#: The thesis's network (section 3.2) with a queue in which BBR takes about half.
THESIS = BbrModel(bandwidth_mbps=10, rtt_ms=40, queue_bdp=32)

#: Networks in which all equations hold: rates, RTTs, queues in BDP, BBR flows, caps.
GRID = [
    BbrModel(bandwidth_mbps=mbps, rtt_ms=ms, queue_bdp=bdp, bbr_flows=n, cap_gain=k)
    for mbps, ms, bdp, n, k in itertools.product(
        (10, 50), (40, 100), (6, 16, 64), (1, 2, 5), (2, 2.5, 4)
    )
    if 4 * n * k + (k - 1) * mbps * ms / 12 < bdp * mbps * ms / 12  # the cap is below BDP + queue
]


def bisected(model: BbrModel) -> float:
    """Return the share at which BBR's inflight data, (1 - p)(q + cl), meet its cap (3.8)."""
    room = (model.queue_packets or 0) + model.bdp_packets
    low, high = 0.0, 1 - 1e-6  # at 1 there is no BBR, and the two are equal too
    for _ in range(60):
        middle = (low + high) / 2
        # Below the solution, BBR is above its cap and backs off.
        if model.inflight_cap_packets(middle) < (1 - middle) * room:
            low = middle
        else:
            high = middle
    return low


def model_bbr(*options: object) -> Result:
    """Run ``ccbench model bbr`` in this process."""
    return CliRunner().invoke(program, ["model", "bbr", *map(str, options)])


NETWORK = ("--bandwidth", 10, "--rtt", 40, "--queue", "32bdp")


class TestAlgebra:
    @pytest.mark.parametrize("model", GRID)
    def test_share_solves_the_inflight_equation(self, model: BbrModel) -> None:
        """At the closed-form share, BBR's inflight data equal its cap (3.9)."""
        assert bisected(model) == pytest.approx(model.loss_based_share, abs=1e-9)

    @pytest.mark.parametrize("model", GRID)
    def test_cap_is_twice_the_estimates(self, model: BbrModel) -> None:
        """The cap of (3.8) is that of (3.1), in the symbols of the thesis."""
        k, n, q = model.cap_gain, model.bbr_flows, model.queue_packets or 0
        c, l, p = model.bandwidth_mbps * 1e6 / 12_000, model.rtt_ms / 1e3, 0.3  # noqa: E741
        expected = k * (1 - p) * c * ((p * q + 4 * n) / c + l)
        assert expected == pytest.approx(model.inflight_cap_packets(p))

    @pytest.mark.parametrize("k", [1, 2, 4])
    def test_simple_share_solves_the_simple_equation(self, k: float) -> None:
        """At the simple model's share, BBR's part of the queue is its cap (3.4, 3.5)."""
        model = replace(THESIS, cap_gain=k)
        p = model.simple_loss_based_share
        in_queue = (1 - p) * (model.queue_packets or 0)
        assert in_queue == pytest.approx(model.simple_inflight_cap_packets(p))

    def test_terms(self) -> None:
        """For a cap of 2 the share is the thesis's sum of three terms (3.9)."""
        model = BbrModel(bandwidth_mbps=12, rtt_ms=50, queue_packets=400, bbr_flows=5)
        assert 8 == model.queue_in_bdp
        assert 1 / 2 - 1 / 16 - 20 / 400 == pytest.approx(model.loss_based_share)

    def test_units_do_not_matter(self) -> None:
        """Twice the rate at half the RTT is the same network in packets: the share is the same."""
        other = replace(THESIS, bandwidth_mbps=20, rtt_ms=20)
        assert THESIS.loss_based_share == pytest.approx(other.loss_based_share)
        assert THESIS.rtt_est_ms(0.4) == pytest.approx(2 * other.rtt_est_ms(0.4))
        assert THESIS.inflight_cap_packets(0.4) == pytest.approx(other.inflight_cap_packets(0.4))

    def test_aggregate_cap_is_the_sum_over_flows(self) -> None:
        """The caps of flows are proportional to their parts of the bandwidth."""
        one = inflight_cap_packets(btlbw_est_mbps=3, rtt_est_ms=70)
        assert inflight_cap_packets(btlbw_est_mbps=12, rtt_est_ms=70) == pytest.approx(4 * one)

    def test_fraction_does_not_depend_on_the_duration(self) -> None:
        """(3.10) in the thesis's form gives the same fraction for every duration."""
        for d in (10, 200, 400):
            expected = (1 - THESIS.loss_based_share) * (d - THESIS.probe_time_s(d)) / d
            assert expected == pytest.approx(THESIS.bbr_fraction)


class TestLimits:
    def test_endless_queue(self) -> None:
        """In ever larger queues the share grows to one half, that of the simple model."""
        shares = [replace(THESIS, queue_packets=10**n).loss_based_share for n in range(2, 7)]
        assert sorted(shares) == shares
        assert THESIS.simple_loss_based_share == pytest.approx(shares[-1], abs=1e-4)

    @pytest.mark.parametrize("queue_bdp", [0.5, 1, 4, 64])
    def test_more_flows_never_get_less(self, queue_bdp: float) -> None:
        """More BBR flows leave less to the others, down to nothing."""
        model = replace(THESIS, queue_packets=None, queue_bdp=queue_bdp)
        shares = [replace(model, bbr_flows=n).loss_based_share for n in range(1, 300)]
        assert sorted(shares, reverse=True) == shares
        assert 0 == shares[-1]

    @pytest.mark.parametrize(("queue_packets", "expected"), [(107, 0), (108, 0), (109, 0.005)])
    def test_cap_above_bdp_and_queue(self, queue_packets: int, expected: float) -> None:
        """Up to a queue of BDP + 8N packets BBR gets everything, above it less."""
        model = BbrModel(bandwidth_mbps=12, rtt_ms=100, queue_packets=queue_packets, bbr_flows=1)
        assert expected == pytest.approx(model.loss_based_share, abs=1e-3)
        exceeds = model.inflight_cap_packets(0) > model.bdp_packets + queue_packets
        assert (queue_packets < 108) == exceeds

    def test_never_more_than_the_rtt_of_a_full_queue(self) -> None:
        """An RTT sample never exceeds that of a full queue."""
        model = BbrModel(bandwidth_mbps=12, rtt_ms=50, queue_packets=100, bbr_flows=1000)
        assert 150 == model.rtt_est_alone_ms == model.rtt_est_ms(0.5)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"queue_packets": 30}, "below 1 BDP"),
            ({"queue_packets": 40}, "100 %"),
            ({"bbr_flows": 280}, "1120, more than BDP"),
            ({"queue_packets": 8200}, "10.1 s"),
        ],
    )
    def test_remark(self, change: dict[str, Any], words: str) -> None:
        """A network beyond a limit has a remark that names the invalid equation."""
        assert () == THESIS.remarks(400)
        assert words in "; ".join(replace(THESIS, **change).remarks(400))

    def test_short_duration(self) -> None:
        """A run within 10 s may have no ProbeRTT, which is a remark."""
        assert () == THESIS.remarks(10)
        assert "less than 10 s" in THESIS.remarks(9.9)[0]

    @pytest.mark.parametrize("change", [{"bbr_flows": 280}, {"queue_packets": 8200}])
    def test_meaningless_is_nan(self, change: dict[str, Any]) -> None:
        """If the probe time is meaningless it is NaN, and so is the fraction, but not p."""
        prediction = replace(THESIS, **change).predict(400)
        assert math.isnan(prediction.probe_time_s)
        assert math.isnan(prediction.bbr_fraction)
        assert 0 <= prediction.loss_based_share <= 0.5

    @pytest.mark.parametrize(
        "change",
        [
            {"bandwidth_mbps": 0},
            {"rtt_ms": math.nan},
            {"queue_packets": 0},
            {"queue_bdp": 2},  # besides queue_packets
            {"bbr_flows": 0},
            {"bbr_flows": 1.5},
            {"cap_gain": 0.5},
        ],
    )
    def test_bad_setting(self, change: dict[str, Any]) -> None:
        """A setting out of range is named."""
        with pytest.raises(InputError, match=next(iter(change))):
            replace(THESIS, **change)

    def test_bad_argument(self) -> None:
        """A share or a duration out of range is named."""
        with pytest.raises(InputError, match="loss_based_share"):
            THESIS.rtt_est_ms(1.5)
        with pytest.raises(InputError, match="duration_s"):
            THESIS.predict(0)


class TestThesis:
    def test_half_of_a_deep_queue(self) -> None:
        """One BBR flow gets 40 to 50 % in the network of Figure 3.5; while it sends, a bit more."""
        assert 0.4 < THESIS.bbr_fraction < 0.5
        assert 0.5 < 1 - THESIS.loss_based_share < 0.53

    def test_cap_of_four(self) -> None:
        """With a cap of 4 BDP it gets 75 % of the queue in the simple model (section 3.5.3)."""
        assert 0.75 == 1 - replace(THESIS, cap_gain=4).simple_loss_based_share

    def test_thirteen_flows_inflate_the_rtt(self) -> None:
        """At 15 Mbit/s the BDP is 75 KB: from 13 flows on the base RTT is overestimated."""
        model = BbrModel(bandwidth_mbps=15, rtt_ms=40, queue_bdp=64)
        assert 75_000 == pytest.approx(1500 * model.bdp_packets)
        inflated = [n for n in range(1, 20) if replace(model, bbr_flows=n).rtt_est_alone_ms > 40]
        assert list(range(13, 20)) == inflated
        # Figure 3.8a: beyond that, linearly: 4 packets of 0.8 ms for each flow.
        estimates = [replace(model, bbr_flows=n).rtt_est_alone_ms for n in (18, 19)]
        assert 3.2 == pytest.approx(estimates[1] - estimates[0])

    def test_probe_time_is_linear_in_the_queue(self) -> None:
        """Each packet of queue costs its transmission time every 10 s (3.11, Figure 3.9)."""
        model = BbrModel(bandwidth_mbps=12, rtt_ms=50, queue_packets=1)
        for queue_packets in (1, 100, 1000, 5000):
            expected = 400 / 10 * (queue_packets / 1000 + 0.2 + 0.05)
            actual = replace(model, queue_packets=queue_packets).probe_time_s(400)
            assert expected == pytest.approx(actual)


class TestCommand:
    def test_text(self) -> None:
        """Text output has the quantities in the order of their derivation, with the equations."""
        result = model_bbr(*NETWORK, "--bbr-flows", 1, "--duration", 400)
        assert 0 == result.exit_code
        numbers = [line.rpartition("(3.")[2] for line in result.stdout.splitlines()[3:-1]]
        assert ["5)", "6)", "7)", "8)", "9)", "11)", "10)"] == numbers
        assert "remark" not in result.stdout

    def test_remark(self) -> None:
        """A crossed limit is remarked at the end, and meaningless numbers are omitted."""
        result = model_bbr(*NETWORK[:-1], 9000)
        assert 0 == result.exit_code
        assert "remark: one ProbeRTT takes 11 s" in result.stdout.splitlines()[-1]
        assert "nan" not in result.stdout

    def test_json(self) -> None:
        """JSON output has settings and prediction in one document."""
        document = json.loads(model_bbr(*NETWORK, "--json").stdout)
        assert 1067 == document["settings"]["queue_packets"]
        assert THESIS.predict(400).to_dict() == document["prediction"]

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--bandwidth", -1),
            ("--bandwidth", 1e9),
            ("--rtt", "40ms"),
            ("--queue", "2pints"),
            ("--queue", "0bdp"),
            ("--bbr-flows", 0),
            ("--duration", "inf"),
        ],
    )
    def test_bad_input(self, option: str, value: object) -> None:
        """Invalid input is refused in one line, with status 2."""
        result = model_bbr(*NETWORK, option, value)
        assert 2 == result.exit_code
        assert "" == result.stdout
        assert 1 == len(result.stderr.splitlines())


class TestMeasuredErrors:
    def test_study(self) -> None:
        """The errors that the package contains are the results of the study."""
        results = Path(__file__).parents[3] / "docs" / "studies" / "results" / "ware-3.10.json"
        comparisons = json.loads(results.read_text(encoding="utf-8"))["comparisons"]
        measured = {row["quantity"]: (row["measured"], row["half_width"]) for row in comparisons}
        for error in measured_errors().errors:
            shipped = error.median_percent, error.half_width_percent
            assert shipped == measured[error.quantity]

    def test_region(self) -> None:
        """The region is that of the study's scenarios."""
        measured, study = measured_errors(), ware_3_10.STUDY
        models = [
            BbrModel(
                bandwidth_mbps=scenario.path.bottlenecks[0].mean_mbps,
                rtt_ms=scenario.path.rtt_ms,
                queue_packets=scenario.path.bottlenecks[0].queue_packets,
                bbr_flows=scenario.flows[0].count,
            )
            for (scenario,) in study.groups(quick=False)
        ]
        for model in models:
            assert measured.is_network_of(model)
            assert {error.other for error in measured.of(model)} == {"cubic", "reno"}
        queues_bdp = [model.queue_in_bdp for model in models]
        flows = [model.bbr_flows for model in models]
        assert measured.bbr_flows == (min(flows), max(flows))
        for outside in (
            replace(models[0], queue_packets=round(0.9 * min(queues_bdp) * models[0].bdp_packets)),
            replace(models[0], queue_packets=round(1.1 * max(queues_bdp) * models[0].bdp_packets)),
            replace(models[0], bbr_flows=max(flows) + 1),
            replace(models[0], cap_gain=4),
        ):
            assert measured.of(outside) == ()
            assert measured.describe(outside).startswith("unknown for this queue")

    def test_printed(self) -> None:
        """The prediction is printed with its error, and with a remark on another network."""
        here = model_bbr(*NETWORK).output
        assert "measured error" in here
        assert "against cubic" in here
        assert "remark" not in here
        assert "on this network it is unknown" in model_bbr(*NETWORK, "--rtt", 50).output
        document = json.loads(model_bbr(*NETWORK, "--json").output)
        errors = document["measured_error"]["errors"]
        assert [error["other"] for error in errors] == ["cubic", "reno"]
