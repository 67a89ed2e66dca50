# SPDX-License-Identifier: Apache-2.0
"""The studies of classification on traces with known neighbours."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ccbench.classify.implementation import CCAS
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training import VARIATIONS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.vote import UNKNOWN
from ccbench.studies import Comparison, Findings, Study, get
from ccbench.studies.study import grouped
from ccbench.studies.ware.traces import CLEAN, CONDITIONS, KNOWN, training_set
from tests.unit.studies.conftest import scenarios_of

pytestmark = pytest.mark.slow

#: Points of 50 s and of 10 s, every 20 ms.
POINTS, SHORT = 2500, 500
NOISY = "loss 0.50%"


def row(condition: str, cca: str, trace: Any, setting: int = 0, *, seed: int = 1) -> dict[str, Any]:
    """Return the row of a run."""
    return {
        "condition": condition,
        "variation": "one",
        "seed": seed,
        "cca": cca,
        "setting": SETTINGS[setting].name,
        "trace": np.asarray(trace, dtype=np.float32),
        "measured": np.zeros(0, dtype=np.uint8),
    }


def flat(level: float) -> list[float]:
    """Return a constant trace."""
    return [level] * POINTS


def conclude(name: str, rows: list[dict[str, Any]]) -> Findings:
    """Return the conclusions of a study."""
    study = get(name)
    assert isinstance(study, Study)
    return study.conclude(pd.DataFrame(rows))


@pytest.fixture(scope="module")
def findings() -> Findings:
    """Give the findings of four servers.

    The training set has CUBIC at 40 packets and Reno at 10. One Reno is CUBIC's in one setting of
    four; one CUBIC is Reno's for the first 10 s; and one is far above all.
    """
    settings = range(len(SETTINGS))
    late = flat(10)[:SHORT] + flat(40)[SHORT:]
    return conclude(
        "ware-2.7",
        [
            *(
                row(KNOWN, cca, flat(n), i)
                for i in settings
                for cca, n in (("cubic", 40), ("reno", 10))
            ),
            *(row(CLEAN, "reno", flat(39.9 if i == 0 else 10.1), i) for i in settings),
            *(row(CLEAN, "cubic", flat(40), i) for i in settings),
            *(row(CLEAN, "cubic", late, i, seed=2) for i in settings),
            *(row(NOISY, "cubic", flat(300), i) for i in settings),
        ],
    )


def compared(findings: Findings, what: str) -> Comparison:
    """Return the comparison with this description."""
    (actual,) = (comparison for comparison in findings.comparisons if comparison.quantity == what)
    return actual


def share(findings: Findings, what: str) -> float:
    """Return the measured number of a comparison."""
    return compared(findings, what).value


class TestNearest:
    def test_accuracy(self, findings: Findings) -> None:
        """Each trace counts by itself, and the vote of four corrects a wrong one."""
        assert 100 * 11 / 12 == pytest.approx(share(findings, "clean, 20 s: nearest of all traces"))
        usual = findings.table.query("condition == @CLEAN and length_s == 20")
        is_right = (usual["nearest"] == usual["cca"]).groupby(usual["setting"]).mean()
        first, second = (is_right[setting.name] for setting in SETTINGS[:2])
        assert pytest.approx(2 / 3) == first
        assert 1 == second
        assert 1 == is_right["voted"]

    def test_length(self, findings: Findings) -> None:
        """Shorter traces are the beginnings of the others."""
        table = findings.table
        late = table[(table["seed"] == 2) & (table["setting"] == "voted")]
        nearest = dict(zip(late["length_s"], late["nearest"], strict=True))
        assert {10: "reno", 20: "cubic", 30: "cubic", 40: "cubic", 50: "cubic"} == nearest
        dip = compared(findings, "clean, nearest of all traces: 10 s minus 20 s")
        assert dip.value == pytest.approx(-100 / 3)
        assert dip.judgement == "agrees, direction only"
        longer = "clean, nearest of all traces, from 20 s on: largest difference between lengths"
        assert 0 == share(findings, longer)

    def test_limits(self, findings: Findings) -> None:
        """A trace far from all others has a nearest one, but is unknown."""
        noisy = findings.table.query("condition == @NOISY and length_s == 20")
        assert {"cubic"} == set(noisy["nearest"])
        vote = compared(findings, f"{NOISY}, 20 s: answers")
        assert (0, "not compared") == (vote.value, vote.verdict)

    def test_errors_are_named(self, findings: Findings) -> None:
        """The note of each accuracy lists the confusions."""
        (note,) = (
            comparison.note
            for comparison in findings.comparisons
            if comparison.quantity == "clean, 20 s: nearest of all traces"
        )
        assert "1 of 12 are wrong: reno as cubic 1." == note


@pytest.mark.parametrize("name", ["ware-2.7", "ware-2.11", "ware-2.13", "ware-2.15"])
def test_ccas(name: str) -> None:
    """The thesis's CCAs do not include BBRv3."""
    study = get(name)
    assert isinstance(study, Study)
    assert {*CCAS} == {scenario.flows[0].cca for scenario in scenarios_of(study, quick=False)}


def test_training_set() -> None:
    """The documented results were made with the training set, without its parts of connections."""
    assert CCAS == training_set().ccas
    assert "9950e4851a47f04c" == replace(training_set(), windows=()).digest


class TestLeftOut:
    def test_own_traces(self) -> None:
        """With its CCA left out, no trace of the training set gets its own label."""
        samples = [
            sample
            for sample in TrainingSet.load(PACKAGED).samples
            if sample.variation.name == VARIATIONS[0].name
            and not sample.variant.startswith("older")
            and sample.setting in SETTINGS
            and sample.cca in CCAS
        ]
        rows = [row(CLEAN, item.cca, item.points, SETTINGS.index(item.setting)) for item in samples]
        table = conclude("ware-2.11", rows).table
        assert (table["label"] != table["cca"]).all()
        traces = table[table["setting"] != "voted"]
        assert (traces["distance_packets"] > 0).all()
        assert len(traces) == len(samples) == 4 * (len(table) - len(traces))

    def test_far(self) -> None:
        """A trace unlike all others is unknown in every setting, and so is the vote."""
        rows = [row(CLEAN, "bbr", flat(500), i) for i in range(len(SETTINGS))]
        actual = conclude("ware-2.11", rows)
        assert [UNKNOWN] * 5 == actual.table["label"].tolist()

    @pytest.mark.parametrize(
        ("recognised", "judged"),
        [((), ("agrees", "differs")), (("bic", "cdg", "scalable"), ("agrees", "agrees"))],
    )
    def test_expected_labels(self, recognised: tuple[str, ...], judged: tuple[str, str]) -> None:
        """Twelve CCAs should be unknown, and BIC, CDG and Scalable should have a label."""
        samples = {
            (sample.cca, sample.setting): sample.points
            for sample in TrainingSet.load(PACKAGED).samples
            if (sample.variation.name, sample.seed) == (VARIATIONS[0].name, 1)
        }
        rows = [
            row(CLEAN, cca, samples["reno", setting] if cca in recognised else flat(500), i)
            for cca in CCAS
            for i, setting in enumerate(SETTINGS)
        ]
        twelve, three = conclude("ware-2.11", rows).comparisons[4:6]
        assert (12, len(recognised)) == (twelve.value, three.value)
        assert judged == (twelve.verdict, three.verdict)


class TestVotes:
    def test_outcomes(self) -> None:
        """A trace is right, unknown or wrong, and three right ones outvote one that is not."""
        samples = {
            (sample.cca, sample.setting): sample.points
            for sample in TrainingSet.load(PACKAGED).samples
            if (sample.variation.name, sample.seed) == (VARIATIONS[0].name, 1)
        }
        first, *others = SETTINGS
        rows = [row(CLEAN, "reno", samples["reno", one], i) for i, one in enumerate(others, 1)]
        rows += [row(CLEAN, "reno", samples["bbr", first])]
        rows += [row(CLEAN, "vegas", samples["vegas", one], i) for i, one in enumerate(others, 1)]
        rows += [row(CLEAN, "vegas", flat(500))]
        actual = conclude("ware-2.13", rows)
        traces = actual.table.query("setting != 'voted'")
        outcomes = traces.groupby("cca")["outcome"].value_counts().to_dict()
        assert outcomes == {
            ("reno", "right"): 3,
            ("reno", "wrong"): 1,
            ("vegas", "right"): 3,
            ("vegas", "unknown"): 1,
        }
        assert share(actual, "votes that are right") == 100
        wrong = compared(actual, "traces with a wrong label, except Illinois as YeAH")
        assert (1, "differs") == (wrong.value, wrong.verdict)

    @pytest.mark.parametrize(("label", "verdict"), [("yeah", "agrees"), ("bbr", "differs")])
    def test_illinois(self, label: str, verdict: str) -> None:
        """Illinois as YeAH is the only wrong label in the thesis."""
        samples = {
            (sample.cca, sample.setting): sample.points
            for sample in TrainingSet.load(PACKAGED).samples
            if (sample.variation.name, sample.seed) == (VARIATIONS[0].name, 1)
        }
        actual = conclude("ware-2.13", [row(CLEAN, "illinois", samples[label, SETTINGS[0]])])
        assert verdict == actual.comparisons[0].verdict


class TestVersionsOfBbr:
    @pytest.mark.parametrize("swapped", [False, True])
    def test_own_traces(self, *, swapped: bool) -> None:
        """Traces of each version are its own; with the names swapped, all count as confused."""
        names = {"bbr": "bbr3", "bbr3": "bbr"} if swapped else {"bbr": "bbr", "bbr3": "bbr3"}
        rows = [
            row(CLEAN, names[item.cca], item.points, SETTINGS.index(item.setting))
            for item in TrainingSet.load(PACKAGED).samples
            if item.cca in names
            and item.setting in SETTINGS
            and item.variation.name == VARIATIONS[0].name
            and not item.variant.startswith("older")
        ]
        actual = conclude("bbr3-classify", rows)
        for version, other in (("BBRv1", "BBRv3"), ("BBRv3", "BBRv1")):
            own = compared(actual, f"servers with {version} that are classified as such")
            confused = compared(actual, f"servers with {version} that are classified as {other}")
            assert (own.value, confused.value) == ((0, 100) if swapped else (100, 0))
            assert confused.verdict == ("differs" if swapped else "agrees")


class TestEffort:
    def test_sums(self) -> None:
        """A server's traffic is that of its four traces; CDG, which Gordon lacks, is excluded."""
        used = {"reno": (95.0, 20.0, (1, 2)), "bbr": (95.0, 18.0, (1, 2)), "cdg": (60.0, 9.0, (1,))}
        rows = [
            {
                "cca": cca,
                "setting": setting.name,
                "seed": seed,
                "megabytes": megabytes,
                "utilisation_percent": percent,
            }
            for cca, (percent, megabytes, seeds) in used.items()
            for seed in seeds
            for setting in SETTINGS
        ]
        actual = conclude("ware-2.15", rows)
        assert share(actual, "data of four traces, mean over CCAs") == pytest.approx(76)
        apart = compared(actual, "largest distance of a CCA from the mean, without CDG")
        assert apart.value == pytest.approx(100 * 4 / 76)
        assert apart.verdict == "differs"
        assert share(actual, "lowest utilisation of a trace") == pytest.approx((60 + 95) / 2)
        assert share(actual, "traces that use 80% of the link") == pytest.approx(100 * 5 / 6)


class TestConditions:
    def test_apart_from_training(self) -> None:
        """Test traces differ from training traces: their round trips differ."""
        study = get("ware-2.7")
        assert isinstance(study, Study)
        assert study.references is not None
        training = [*chain(*grouped(study.references(quick=False)))]
        tested = scenarios_of(study, quick=False)
        assert not {sample.seed for sample in training} & {item.seed for item in tested}
        settings, variations = len(SETTINGS), sum(map(len, CONDITIONS.values()))
        assert len(training) == 2 * 15 * settings * len(VARIATIONS)
        assert len(tested) == 4 * 15 * settings * variations
        clean = {variation.extra_rtt_ms for variation in CONDITIONS[CLEAN]}
        assert not clean & {one.extra_rtt_ms for one in VARIATIONS}
