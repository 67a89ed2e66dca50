# SPDX-License-Identifier: Apache-2.0
"""The studies of harm and convergence on runs of known outcome, without a kernel."""

from __future__ import annotations

import math
from itertools import chain, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.experiment.noise import typical
from ccbench.harm import beta_groups
from ccbench.studies import Findings, Study, get
from tests.unit.conftest import run_with_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy.typing as npt

    from ccbench import Run, Scenario


def _study(name: str) -> Study:
    study = get(name)
    assert isinstance(study, Study)
    return study


def _conclude(study: Study, groups: Iterable[tuple[Run, ...]]) -> Findings:
    rows = [row for runs in groups for row in study.measure(*runs)]
    return study.conclude(pd.DataFrame(rows))


def _run_with(
    study: Study, rates: Callable[[Scenario], npt.ArrayLike]
) -> Iterator[tuple[Run, ...]]:
    """Yield the groups of runs of the quick version, in which flows have some rates."""
    for group in study.groups(quick=True):
        yield tuple(run_with_rates(scenario, rates(scenario)) for scenario in group)


def _ours(findings: Findings) -> list[float]:
    return [comparison.value for comparison in findings.comparisons]


def _verdicts(findings: Findings) -> list[str]:
    return [comparison.verdict for comparison in findings.comparisons]


def _in_order(scenario: Scenario, beta: list[Any], alpha: list[Any]) -> list[Any]:
    """Return what belongs to the flows of both sides in the order of the flows."""
    return beta + alpha if beta_groups(scenario).start == 0 else alpha + beta


class TestNoise:
    @pytest.mark.parametrize(
        "name",
        [
            *("ware-3.2", "ware-3.4", "ware-3.5", "ware-3.8", "ware-3.9", "ware-3.10", "ware-5.2"),
            *("ware-2.19", "ware-5.3", "ware-5.5", "ware-5.8", "ware-5.9", "ware-5.10"),
            *("ware-5.10-bbr3", "bbr3-cubic", "bbr3-dualpi2"),
        ],
    )
    def test_competition(self, name: str) -> None:
        """Competing flows have the typical noise of their path, and several seeds."""
        scenarios = [*chain(*_study(name).groups(quick=False))]
        assert all(
            scenario.path.noise == typical(rtt_ms=scenario.path.rtt_ms) for scenario in scenarios
        )
        assert len({item.seed for item in scenarios}) >= 4


class TestChapter3:
    """Tables of the thesis's numbers agree in every row, and others in none."""

    @pytest.mark.parametrize(
        ("reno", "cubic", "verdict"),
        [(40, (60, 50, 40, 20), "agrees"), (55, (40, 55, 60, 70), "differs")],
    )
    def test_share(self, reno: float, cubic: tuple[float, ...], verdict: str) -> None:
        """BBR's share: around 40 % against Reno, and falling with the queue against CUBIC."""
        table = pd.DataFrame(
            {
                "other": other,
                "queue_packets": packets,
                "seed": seed,
                "bbr_mbps": share / 10,
                "other_mbps": 10 - share / 10,
                "bbr_percent": share,
            }
            for other, shares in (("reno", [reno] * 4), ("cubic", cubic))
            for packets, share in zip((32, 256, 1024, 2048), shares, strict=True)
            for seed in (1, 2)
        )
        findings = _study("ware-3.2").conclude(table)
        assert {verdict} == set(_verdicts(findings))

    @pytest.mark.parametrize(
        ("bbr", "apart_s", "floor", "verdict"),
        [(5.0, 10, 0.0, "agrees"), (3.5, 20, 1.0, "differs")],
    )
    def test_dips(self, bbr: float, apart_s: float, floor: float, verdict: str) -> None:
        """Dips of BBR are detected at any depth, so that their depth is a result."""
        time_s = np.arange(1, 1201) / 2
        mbps = np.where(time_s % apart_s < 1, floor, bbr)
        table = pd.DataFrame(
            {"seed": 1, "time_s": time_s, "bbr_mbps": mbps, "cubic_mbps": 10 - mbps}
        )
        findings = _study("ware-3.5").conclude(table)
        assert _ours(findings)[1] == apart_s
        assert {verdict} == set(_verdicts(findings))

    @pytest.mark.parametrize(
        ("first", "growth_ms", "verdict"), [(13, 3.2, "agrees"), (16, 2.3, "differs")]
    )
    def test_estimate(self, first: int, growth_ms: float, verdict: str) -> None:
        """The RTT estimate grows from 13 flows on by four packets for each flow."""
        flows = np.arange(1, 21)
        table = pd.DataFrame(
            {
                "bbr_flows": flows,
                "seed": 1,
                "rtt_est_ms": 40 + growth_ms * np.maximum(flows - first + 1, 0),
                "model_rtt_est_ms": 40.0,
                "cwnd_packets": 80.0,
                "inflight_packets": 80.0,
                "cap_of_rtt_est_packets": 80.0,
                "model_cap_packets": 80.0,
            }
        )
        alone, fewest, line, growth, cap = _verdicts(_study("ware-3.8").conclude(table))
        assert (alone, line, cap) == ("agrees", "agrees", "not compared")
        assert (fewest, growth) == (verdict, verdict)

    @pytest.mark.parametrize(
        ("excess_s", "verdict"), [((1, 2, 8), "agrees"), ((4, 5, 12), "differs")]
    )
    def test_probe_time(self, excess_s: tuple[float, ...], verdict: str) -> None:
        """The model of the probe time is mostly 1 to 3 s too long, and at most about 8."""
        table = pd.DataFrame(
            {
                "queue_packets": (32, 64, 128),
                "bbr_flows": 1,
                "seed": 1,
                "measured_s": 400.0,
                "probe_s": 20.0 - np.array(excess_s),
                "model_probe_s": 20.0,
            }
        )
        findings = _study("ware-3.9").conclude(table)
        assert {verdict} == set(_verdicts(findings))

    @pytest.mark.parametrize("verdict", ["agrees", "differs"])
    def test_error(self, verdict: str) -> None:
        """The model's error falls with queue and flows against CUBIC, and grows against Reno."""
        percent = {"cubic": (8, 6, 4, 3), "reno": (5, 7, 9, 11)}
        if verdict == "differs":
            percent = {"cubic": (7, 9, 11, 12), "reno": (20, 15, 13, 12)}
        table = pd.DataFrame(
            {
                "other": other,
                "queue_packets": packets,
                "bbr_flows": flows,
                "seed": 1,
                "bbr_fraction": 0.4,
                "model_fraction": 0.4 * (1 + error / 100),
                "error_percent": error,
            }
            for other, errors in percent.items()
            for (packets, flows), error in zip(
                ((32, 1), (64, 2), (128, 5), (256, 10)), errors, strict=True
            )
        )
        findings = _study("ware-3.10").conclude(table)
        assert {verdict} == set(_verdicts(findings))


class TestWare55:
    def test_swings_of_known_size(self) -> None:
        """Flows that swing by 40 and 60 % of their means have these distances, and converge."""
        study = _study("ware-5.5")
        swing = (-1) ** np.arange(90)
        runs = [
            (run_with_rates(scenario, rates),)
            for (scenario,), rates in zip(
                study.groups(quick=True),
                (
                    np.column_stack([40 * (1 + 0.6 * swing), 60 * (1 - 0.4 * swing)]),
                    np.full(8, 6.0),
                ),
                strict=True,
            )
        ]
        findings = _conclude(study, runs)
        bbr, cubic, fixed, fair, converged, unsettled = _ours(findings)
        assert [bbr, cubic] == pytest.approx([40, 60], abs=2)
        assert (fixed, fair, converged, unsettled) == (0, 0, 2, 0)
        assert _verdicts(findings) == ["agrees"] * 5 + ["differs"]


class TestWare52:
    @pytest.mark.parametrize(
        ("short_mbps", "long_mbps", "verdicts"),
        [(0.335, 4.665, ["agrees"] * 4), (0.335, 0.335, ["differs", *["agrees"] * 3])],
    )
    def test_same_index(self, short_mbps: float, long_mbps: float, verdicts: list[str]) -> None:
        """An index of 0.8 beside three BBR flows comes with harm of both signs, or it differs."""
        study = _study("ware-5.2")

        def rates(scenario: Scenario) -> list[float]:
            if scenario.flow_count <= 2:
                return [10 / scenario.flow_count] * scenario.flow_count
            is_long = (scenario.path.bottlenecks[0].queue_packets or 0) > 100
            cubic = long_mbps if is_long else short_mbps
            return _in_order(scenario, [cubic], [(10 - cubic) / 3] * 3)

        findings = _conclude(study, _run_with(study, rates))
        assert _verdicts(findings) == [*verdicts, "not compared"]


class TestWare53:
    def test_whole_runs(self) -> None:
        """Index and harm are of whole runs, including the time before convergence."""
        study = _study("ware-5.3")

        def rates(scenario: Scenario) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            if scenario.flow_count == 1:
                return np.full((40, 1), 100.0)
            ccas = {flow.cca for flow in scenario.flows}
            cubic = np.where(np.arange(40) < 20, 62.0 if "bbr" in ccas else 88.8, 50.0)
            return np.column_stack(_in_order(scenario, [cubic], [100 - cubic]))

        findings = _conclude(study, _run_with(study, rates))
        first, third = _ours(findings)[:3], _ours(findings)[3:6]
        assert first == pytest.approx([1 / (1 + 0.12**2), -0.06, 0], abs=1e-3)
        assert third == pytest.approx([1 / (1 + 0.388**2), -0.194, 0], abs=1e-3)
        of = {comparison.quantity: comparison for comparison in findings.comparisons}
        assert of["relative harm, BBRv3 minus BBRv1, 4096 packets"].value == pytest.approx(-0.134)
        assert of["relative harm, BBRv3 minus BBRv1, 256 packets"].verdict == "not compared"
        early = of["CUBIC's share against BBRv3, first 150 s, 4096 packets"]
        assert early.value == pytest.approx(69.4)
        fair = of["time of equal shares of CUBIC and BBRv3, 4096 packets"]
        assert fair.value == pytest.approx(20, abs=1)
        assert [c.verdict for c in findings.comparisons if c is not fair].count("differs") == 0
        assert fair.verdict == "differs"


class TestWare510:
    @staticmethod
    def _run(scenario: Scenario) -> Run:
        """Give CUBIC everything alone, a fifth of it for 200 s against BBR, and then a half."""
        rng = np.random.default_rng(scenario.flow_count)
        seconds = np.arange(300)
        if scenario.flow_count == 1:
            return run_with_rates(scenario, np.full(1, 100.0))
        cubic = np.where(seconds < 200, 20 + 15 * (-1) ** seconds, 50 + rng.normal(0, 0.1, 300))
        rates = np.column_stack(_in_order(scenario, [cubic], [100 - cubic]))
        return run_with_rates(scenario, rates)

    def test_late_convergence(self) -> None:
        """The time before convergence counts for the harm of the whole run only."""
        study = _study("ware-5.10")
        findings = _conclude(study, [tuple(map(self._run, self._pair(study)))])
        (row,) = findings.table.to_dict("records")
        assert 200 <= row["converged_s"] <= 240
        expected = 1 - (2 / 3 * 20 + 1 / 3 * 50) / 100 - 0.5
        assert row["harm_whole"] == pytest.approx(expected, abs=0.001)
        assert row["harm_converged"] == pytest.approx(0, abs=0.01)
        assert row["difference_percent"] == pytest.approx(20, abs=1)

    @pytest.mark.parametrize(("later", "verdict"), [(6.0, "agrees"), (0.5, "differs")])
    def test_spread(self, later: float, verdict: str) -> None:
        """The standard deviation of the difference grows with the convergence time."""
        study = _study("ware-5.10")
        rows = []
        for seed, pair in product((1, 2), range(1, 9)):
            # CUBIC has more in the first 100 s: the amount determines the difference's spread.
            is_late, sign = pair % 4 < 2, (-1) ** pair
            step_mbps = sign * (later if is_late else 2.0)
            rows.append(
                {
                    "queue_packets": 1024,
                    "seed": seed,
                    "beta_flows": pair,
                    "alpha_flows": 1,
                    "converged_s": 200.0 if is_late else 120.0,
                    "harm_whole": -step_mbps / 50 / 3,
                    "harm_converged": 0.0,
                }
            )
        _, spread, _ = study.conclude(pd.DataFrame(rows)).comparisons
        assert spread.verdict == verdict

    def test_solo_runs_are_shared(self) -> None:
        """Experiments that differ only in BBR's flows share one solo run for each seed."""
        groups = _study("ware-5.10").groups(quick=False)
        solos = {solo for solo, _ in groups}
        assert (len(solos), len(groups)) == (2 * 5 * 5, 2 * 5 * 5 * 5)

    @staticmethod
    def _pair(study: Study) -> tuple[Scenario, ...]:
        """Return one CUBIC flow alone and beside one BBR flow."""
        return study.groups(quick=False)[0]

    def test_nothing_converges(self) -> None:
        """If no experiment converges there are no differences, and no statement agrees."""
        study = _study("ware-5.10")
        pair = self._pair(study)
        growing = 90 * np.exp((np.arange(300) - 299) / 25)
        runs = (
            run_with_rates(pair[0], np.full(1, 100.0)),
            run_with_rates(pair[1], np.column_stack([growing, 100 - growing])),
        )
        findings = _conclude(study, [runs])
        assert findings.table.empty
        largest, spread, converged = _ours(findings)
        assert math.isnan(largest)
        assert math.isnan(spread)
        assert converged == 0


class TestWare58And59:
    @pytest.mark.parametrize("name", ["ware-5.8", "ware-5.9"])
    def test_steady_flows(self, name: str) -> None:
        """With constant rates, all methods agree on the throughput within two percent."""
        study = _study(name)
        rng = np.random.default_rng(4)
        findings = _conclude(
            study, _run_with(study, lambda s: rng.normal(10, 0.3, size=(600, s.flow_count)))
        )
        assert findings.table["label_difference_percent"].max() < 2
        assert len(findings.figure.axes) >= 1
