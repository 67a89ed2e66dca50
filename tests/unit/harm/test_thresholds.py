# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from ccbench.base.errors import EngineError, InputError
from ccbench.experiment.flow import Flow
from ccbench.experiment.noise import NO_NOISE, typical
from ccbench.harm import (
    NETWORKS,
    THRESHOLDS,
    WORKLOADS,
    Assessment,
    Workload,
    assess,
    bounds,
    judge,
    load_networks,
    load_workloads,
)
from ccbench.harm.thresholds import overall, undecided
from ccbench.metrics import Metric

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.conftest import ArithmeticEngine, NoisyEngine

LONG = Workload(name="long", flow=Flow(), metrics=("throughput",))
SHORT = Workload(name="short", flow=Flow(count=3), metrics=("throughput",))


def table(alpha: dict[str, Any], beta: dict[str, Any]) -> pd.DataFrame:
    """Return harms from `{"victim attacker": harm, or harms of the repetitions}`."""
    rows = [
        {
            "network": "n",
            "victim": pair.split()[0],
            "attacker": pair.split()[1],
            "side": side,
            "metric": "throughput",
            "repetition": repetition,
            "harm": harm,
        }
        for side, harms in (("alpha", alpha), ("beta", beta))
        for pair, values in harms.items()
        for repetition, harm in enumerate(np.atleast_1d(values))
    ]
    return pd.DataFrame(rows)


class TestBounds:
    def test_bigflow(self) -> None:
        """The thesis's BIGFLOW: a small flow of alpha may harm a large flow as much as vice versa.

        Large flows get 75 % beside small ones (sections 4.4.2 and 4.4.3).
        """
        beta = {"large small": 0.25, "small large": 0.75, "large large": 0.5, "small small": 0.5}
        (row,) = bounds(table({"large small": 0.6}, beta)).to_dict("records")
        assert 0.25 == row["equivalent"]
        assert 0.75 == row["symmetric"]
        assert 0.5 == row["worst-case"]

    def test_pessimal_workload(self) -> None:
        """A workload that starves others permits every workload of alpha to starve them (4.4.1)."""
        beta = {"w w": 0.5, "w odd": 1.0, "odd w": 0.0, "odd odd": 0.5}
        (row,) = bounds(table({"w w": 0.9}, beta)).to_dict("records")
        assert (0.5, 0.5, 1.0) == tuple(row[name] for name in THRESHOLDS)

    def test_symmetric_is_never_below_equivalent(self) -> None:
        """Symmetric bounded harm permits all that equivalent bounded harm permits."""
        rng = np.random.default_rng(5)
        names = ("a", "b", "c")
        beta = {f"{v} {w}": rng.uniform(-0.2, 1, 4) for v in names for w in names}
        result = bounds(table({pair: rng.uniform(0, 1, 4) for pair in beta}, beta))
        assert (result["symmetric"] >= result["equivalent"]).all()
        assert (result["worst-case"] >= result["equivalent"]).all()

    def test_not_measured_the_other_way(self) -> None:
        """If the attacker's workload lacks the metric, beta's harm to the victim is the bound."""
        (row,) = bounds(table({"w v": 0.4}, {"w v": 0.3})).to_dict("records")
        assert 0.3 == row["symmetric"]

    def test_failed_the_other_way(self) -> None:
        """If it has the metric but no value, the bound is unknown."""
        (row,) = bounds(table({"w v": 0.4}, {"w v": 0.3, "v w": math.nan})).to_dict("records")
        assert math.isnan(row["symmetric"])


class TestJudge:
    @pytest.mark.parametrize(
        ("alpha", "verdict"),
        [
            ((0.70, 0.71, 0.69), "broken"),
            ((0.50, 0.52, 0.51), "respected"),
            ((0.10, 0.90, 0.60), "undecided"),
            ((0.53, 0.53, 0.53), "respected"),  # within the leeway
            (0.7, "broken"),
            (0.5, "respected"),
            (math.nan, "undecided"),
        ],
    )
    def test_verdict(self, alpha: Any, verdict: str) -> None:
        """The verdict compares the confidence interval of harm minus bound with the leeway."""
        beta = np.full(np.size(alpha), 0.5)
        cases = judge(bounds(table({"w w": alpha}, {"w w": beta})), leeway=0.05)
        assert {verdict} == set(cases["verdict"])

    def test_interval(self) -> None:
        """The interval is Student's: for two values 12.7 standard errors on each side."""
        cases = judge(bounds(table({"w w": (0.2, 0.4)}, {"w w": (0.0, 0.0)})))
        assert 0.3 == pytest.approx(cases["excess"][0])
        assert cases["excess_ci"][0] == pytest.approx(12.706 * 0.1, rel=1e-4)

    def test_repetitions_are_paired(self) -> None:
        """Harm is compared with the bound of its own repetition, so common variation cancels."""
        noise = np.array([0.0, 0.2, 0.4])
        cases = judge(bounds(table({"w w": 0.3 + noise}, {"w w": 0.2 + noise})), leeway=0.05)
        assert {"broken"} == set(cases["verdict"])

    def test_strictest_implies_the_others(self) -> None:
        """Equivalent bounded harm implies the other two thresholds."""
        rng = np.random.default_rng(6)
        names = ("a", "b", "c")
        beta = {f"{v} {w}": rng.uniform(0, 1, 3) for v in names for w in names}
        alpha = {pair: harms + rng.normal(0, 0.03, 3) for pair, harms in beta.items()}
        cases = judge(bounds(table(alpha, beta)), leeway=0.1)
        strict = cases[(cases["threshold"] == "equivalent") & (cases["verdict"] == "respected")]
        assert len(strict)
        others = cases.merge(strict[["victim", "attacker"]])
        assert {"respected"} == set(others["verdict"])

    @pytest.mark.parametrize(("harm", "verdict"), [(0.9, "broken"), (0.2, "undecided")])
    def test_at_least(self, harm: float, verdict: str) -> None:
        """A lower limit of harm can break a bound, but cannot respect one."""
        harms = table({"w w": harm}, {"w w": 0.5})
        cases = judge(bounds(harms.assign(censored=harms["side"] == "alpha")))
        assert {verdict} == set(cases["verdict"])

    def test_overall(self) -> None:
        """One broken case breaks a threshold; an undecided case leaves it undecided."""
        assert "broken" == overall(["respected", "broken", "undecided"])
        assert "undecided" == overall(["respected", "undecided"])
        assert "respected" == overall(["respected", "respected"])


class TestAssess:
    SETTINGS: ClassVar[dict[str, Any]] = {
        "networks": NETWORKS[:2],
        "workloads": (LONG, SHORT),
        "duration_s": 10,
        "repetitions": 2,
    }

    def test_same_cca(self, engine: ArithmeticEngine) -> None:
        """Every threshold permits a CCA beside itself."""
        assessment = Assessment(alpha="even", beta="even", **self.SETTINGS)
        result = assess(assessment, engine=engine, store=None)
        assert dict.fromkeys(THRESHOLDS, "respected") == result.verdicts

    def test_greedy(self, engine: ArithmeticEngine) -> None:
        """A CCA that takes more than its share is refused, with the cases and their excess."""
        assessment = Assessment(alpha="greedy", beta="even", **self.SETTINGS)
        result = assess(assessment, engine=engine, store=None)
        assert "broken" == result.verdicts["equivalent"]
        worst = result.counterexamples("equivalent").iloc[0]
        assert worst["excess"] > 0.05
        assert worst["harm"] == pytest.approx(worst["bound"] + worst["excess"])

    def test_modest(self, engine: ArithmeticEngine) -> None:
        """A CCA that takes less than its share is permitted: status-quo bias (Table 4.1)."""
        assessment = Assessment(alpha="even", beta="greedy", **self.SETTINGS)
        result = assess(assessment, engine=engine, store=None)
        assert dict.fromkeys(THRESHOLDS, "respected") == result.verdicts

    def test_all_harms(self, engine: ArithmeticEngine) -> None:
        """Harm of every workload by every other is present, in each network and repetition."""
        assessment = Assessment(alpha="greedy", beta="even", **self.SETTINGS)
        harms = assess(assessment, engine=engine, store=None).harms
        assert 2 * 2 * 2 * 2 * 2 == len(harms)
        assert not harms.duplicated(
            ["network", "victim", "attacker", "side", "metric", "repetition"]
        ).any()
        assert harms["harm"].between(0, 1).all()

    def test_repeated_until_decided(self, noisy_engine: NoisyEngine) -> None:
        """Only cases that decide about a threshold are repeated, with all runs of their bounds."""
        noisy_engine.deviation = 0.5
        assessment = Assessment(
            alpha="greedy",
            beta="even",
            networks=NETWORKS[:1],
            workloads=(LONG, SHORT),
            duration_s=10,
            repetitions=3,
            max_repetitions=10,
            leeway=0.2,
        )
        result = assess(assessment, engine=noisy_engine, store=None)
        counts = result.cases["repetitions"]
        assert {3, 5, 7, 10} == {look.repetitions for look in assessment.looks}
        assert {3, 5, 10} == set(counts)
        assert result.cases[["excess", "bound"]].notna().all(axis=None)
        still = undecided(result.cases, assessment.leeway)
        assert {10} == set(still["repetitions"])
        assert set(still["threshold"]) == {
            name for name, verdict in result.verdicts.items() if "undecided" == verdict
        }

    def test_one_run_for_both_directions(self) -> None:
        """Two workloads of beta compete in one run for both directions."""
        names = [
            scenario.name
            for (key, i), scenario in Assessment(alpha="bbr", beta="cubic").scenarios().items()
            if key.side == "beta" and i == 0 and key.network is NETWORKS[0]
        ]
        assert 3 * 4 / 2 + 3 == len(names)  # three of TCP, and the call that each disturbs

    def test_udp_only_suffers(self) -> None:
        """A workload without congestion control is a victim, but not an attacker of alpha."""
        keys = Assessment(alpha="bbr", beta="cubic").cases()
        attackers = {key.attacker.name for key in keys if key.attacker and key.side}
        assert "call" not in attackers
        assert {w.name for w in WORKLOADS} == {key.victim.name for key in keys}

    def test_nothing_alone(self, engine: ArithmeticEngine, monkeypatch: Any) -> None:
        """Flows that achieve nothing alone are a failed measurement."""
        monkeypatch.setattr(Metric, "over", lambda *_: 0.0)
        assessment = Assessment(alpha="greedy", beta="even", **self.SETTINGS)
        with pytest.raises(EngineError, match="long, throughput: solo is 0"):
            assess(assessment, engine=engine, store=None)

    @pytest.mark.parametrize(
        ("setting", "value", "words"),
        [
            ("repetitions", 0, "repetitions is 0"),
            ("max_repetitions", 4, "max_repetitions is 4; it must be a whole number at least 5"),
            ("leeway", 2, "leeway is 2"),
            ("leeway", math.nan, "leeway is nan"),
            ("alpha", "", "alpha is ''"),
            ("duration_s", -1, "duration is -1"),
            ("workloads", WORKLOADS, "duration is 10; it must be above 24"),
            ("workloads", (WORKLOADS[-1],), "at least one of TCP flows that both CCAs can have"),
            ("metrics", ("fct",), "no workload has fct"),
            ("metrics", ("speed",), "metric is 'speed'"),
        ],
    )
    def test_bad_setting(self, setting: str, value: Any, words: str) -> None:
        """An invalid setting is refused before anything runs."""
        settings: dict[str, Any] = {"alpha": "bbr", "beta": "cubic", "duration_s": 10}
        settings["workloads"] = (LONG,)
        settings[setting] = value
        with pytest.raises(InputError) as error:
            Assessment(**settings)
        assert words in str(error.value)


class TestFiles:
    def test_networks_with_all_settings(self, tmp_path: Path) -> None:
        """A network has the settings of a path, such as ECN, module parameters and changes."""
        path = tmp_path / "networks.toml"
        path.write_text("""
        [[networks]]
        rtt_ms = 30
        bandwidth_mbps = 12
        queue_bdp = 1
        ecn = true
        module_parameters = {"tcp_rapid.tolerance" = 0}
        [[networks]]
        name = "two"
        rtt_ms = 40
        noise = {}
        bottlenecks = [{bandwidth_mbps = 9, queue_bdp = 1}, {bandwidth_mbps = 8, queue_bdp = 2}]
        changes = [{at_s = 3, rtt_ms = 60}]
        """)
        one, two = load_networks(path)
        assert ("12 Mbit/s, 30 ms, 1 BDP", True) == (one.name, one.path.ecn)
        assert (("tcp_rapid.tolerance", "0"),) == one.path.module_parameters
        assert typical(rtt_ms=30) == one.path.noise
        assert ("two", 2, 1, NO_NOISE) == (
            two.name,
            len(two.path.bottlenecks),
            len(two.path.changes),
            two.path.noise,
        )

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "networks is missing"),
            ("networks = []", "networks is missing"),
            ("[[network]]\nrtt_ms = 1", "did you mean networks?"),
            ("[[networks]]\nrtt_ms = 10", "networks[0].bandwidth_mbps or trace or wifi is missing"),
            ("[[networks]]\nbandwidth_mbps = 10\nqueue_bdp = 1", "networks[0].rtt_ms is missing"),
            (2 * "[[networks]]\nname='a'\nrtt_ms=10\nbandwidth_mbps=10\nqueue_bdp=1\n", "unlike"),
            ("[[networks]]\nrtt = 10", "networks[0].rtt is not a setting; did you mean rtt_ms"),
            ("[[networks]]\nname=3\nrtt_ms=1\nbandwidth_mbps=1\nqueue_bdp=1", "name is 3"),
            (
                "[[networks]]\nrtt_ms=1\nnoise=1\nbandwidth_mbps=1\nqueue_bdp=1",
                "networks[0].noise is 1; it must be a table",
            ),
            ("networks", "TOML"),
            ("networks = [1]", "networks[0] is 1; it must be a table"),
        ],
    )
    def test_bad_networks(self, tmp_path: Path, text: str, words: str) -> None:
        """An error in a file of networks is one line with the file and the position."""
        path = tmp_path / "networks.toml"
        path.write_text(text)
        with pytest.raises(InputError) as error:
            load_networks(path)
        assert str(error.value).startswith(f"{path}: ")
        assert words.lower() in str(error.value).lower()

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[[workloads]]\nname = 'a'", "workloads[0].metrics is missing"),
            ("[[workloads]]\nname='a'\nmetrics=[]", "workloads[0].metrics is []"),
            ("[[workloads]]\nname='a'\nmetrics=['x']", "'x'; it must be"),
            ("[[workloads]]\nname='a'\nmetrics='fct'", "workloads[0].metrics is 'fct'"),
            ("[[workloads]]\nname='a'\nmetrics=['fct']", "kind 'bulk' have"),
            ("[[workloads]]\nname='a'\nmetrics=[['fct']]", "['fct']; it must be"),
            ("workloads = ['a']", "workloads[0] is 'a'; it must be a table"),
            ("[[workloads]]\nname=3\nmetrics=['goodput']", "workloads[0].name is 3"),
            (
                "[[workloads]]\nname='a'\nmetrics=['goodput']\ncca='bbr'",
                "workloads[0].cca is 'bbr'",
            ),
            ("[[workloads]]\nname='a'\nmetrics=['fct']\nkind='bytes'", "size_bytes is missing"),
        ],
    )
    def test_bad_workloads(self, tmp_path: Path, text: str, words: str) -> None:
        """An error in a file of workloads is one line with the file and the position."""
        path = tmp_path / "workloads.toml"
        path.write_text(text)
        with pytest.raises(InputError) as error:
            load_workloads(path)
        assert str(error.value).startswith(f"{path}: ")
        assert words in str(error.value)
