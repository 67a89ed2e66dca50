# SPDX-License-Identifier: Apache-2.0
"""Evaluations with engines whose outcome is known, and their reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from ccbench.base.errors import EngineError, InputError
from ccbench.evaluate import Design, evaluate, load_pack, save
from ccbench.evaluate.answers import Answers
from ccbench.evaluate.earlier import load_earlier
from tests.unit.conftest import NoisyEngine

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.evaluate import Evaluation
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run


class CrashingEngine(NoisyEngine):
    """An engine in which greedy flows crash."""

    def run(self, scenario: Scenario, **options: Any) -> Run:
        """Crash, or divide the link."""
        if any(flow.cca == "greedy" for flow in scenario.flows):
            raise EngineError("greedy crashed in its hook")
        return super().run(scenario, **options)


class RefusingEngine(NoisyEngine):
    """An engine without short queues."""

    def check(self, scenario: Scenario) -> None:
        """Refuse short queues."""
        super().check(scenario)
        if (scenario.path.bottlenecks[0].queue_packets or 0) < 20:
            raise InputError("bottlenecks[0].queue_packets is too short")


def evaluated(folder: Path, candidate: str, engine: Any = None, **changes: Any) -> Evaluation:
    """Return the evaluation of a CCA of arithmetic beside the other one."""
    other = "even" if candidate == "greedy" else "greedy"
    settings = {"baselines": (other,), **changes}
    earlier = settings.pop("earlier", None)
    design = Design(candidate=candidate, pack=load_pack(folder), **settings)
    return evaluate(design, engine=engine or NoisyEngine(), store=None, jobs=1, earlier=earlier)


def judgements(evaluation: Evaluation) -> list[str]:
    """Return all judgements."""
    return [one.judgement for cell in evaluation.cells for one in cell.comparisons]


class TestEvaluate:
    def test_symmetry(self, folder: Path) -> None:
        """The greedy one is worse for the other; exchanged, that one is better, and has less."""
        assert ["worse", "other", "worse", "other"] == judgements(evaluated(folder, "greedy"))
        assert ["better", "worse", "better", "worse"] == judgements(evaluated(folder, "even"))

    def test_same_seeds(self, folder: Path) -> None:
        """The same seed gives the same evaluation; another seed gives other values."""
        one, again, other = (evaluated(folder, "greedy", seed=seed) for seed in (1, 1, 2))
        assert one.to_dict() == again.to_dict()
        assert one.cells[0].values != other.cells[0].values

    def test_failure(self, folder: Path) -> None:
        """A value beyond the limit is a definite failure, unless a baseline's is, too."""
        found = evaluated(folder, "greedy").failures
        assert {"starvation"} == {cell.failed.words for cell in found if cell.failed}
        assert not evaluated(folder, "even").failures

    def test_crash(self, folder: Path) -> None:
        """A crash is a finding of each network, and the evaluation goes on."""
        result = evaluated(folder, "greedy", CrashingEngine())
        assert 2 == len(result.failures)
        assert all(cell.failed and "crashed" in cell.failed.words for cell in result.failures)
        assert len(result.cells[0].values["even"]) == len(result.design.seeds)

    def test_refusal(self, folder: Path) -> None:
        """A network that the engine refuses is not measured, with the reason."""
        result = evaluated(folder, "greedy", RefusingEngine())
        assert ["share--1-2-BDP"] == list(result.unmeasured)
        assert 2 == len(result.cells)

    def test_nothing_runs(self, folder: Path) -> None:
        """A candidate that the engine has not at all is an error."""
        with pytest.raises(InputError, match="even or greedy"):
            evaluated(folder, "unknown")

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"only": ("1.3",)}, "only is '1.3'"),
            ({"baselines": ("greedy",)}, "baselines"),
            ({"against": "greedy"}, "against is 'greedy'"),
        ],
    )
    def test_mistakes(self, folder: Path, changes: dict[str, Any], words: str) -> None:
        """Unknown criteria, and comparisons of the candidate with itself, are errors."""
        with pytest.raises(InputError, match=words):
            Design(candidate="greedy", pack=load_pack(folder), **changes)


class TestAgainst:
    def test_cca(self, folder: Path) -> None:
        """A version that harms more is a regression, and the reverse an improvement."""
        worse = evaluated(folder, "greedy", baselines=("even",), against="even")
        assert 2 == len(worse.regressions)
        better = evaluated(folder, "even", baselines=("greedy",), against="greedy")
        assert {"candidate"} == {cell.measure.of for cell in better.regressions}
        assert {"better", "worse"} == {
            cell.change.judgement for cell in better.cells if cell.change
        }

    def test_earlier(self, folder: Path, tmp_path: Path) -> None:
        """An earlier evaluation in a folder gives the changes that its runs gave."""
        save(evaluated(folder, "even"), tmp_path / "report")
        earlier = load_earlier(tmp_path / "report")
        stored = evaluated(folder, "greedy", earlier=earlier)
        runs = evaluated(folder, "greedy", against="even")
        assert [cell.change for cell in runs.cells] == [cell.change for cell in stored.cells]
        assert [cell.before for cell in runs.cells] == [cell.before for cell in stored.cells]
        save(stored, tmp_path / "later")
        median = f"{runs.cells[0].median('even'):.2f} Mbit/s"
        assert f"; before {median}" in (tmp_path / "later" / "junit.xml").read_text()
        assert f" | {median} |" in (tmp_path / "later" / "report.md").read_text()

    def test_itself(self, folder: Path, tmp_path: Path) -> None:
        """Against itself, nothing has changed."""
        first = evaluated(folder, "greedy")
        save(first, tmp_path / "report")
        again = evaluated(folder, "greedy", earlier=load_earlier(tmp_path / "report"))
        assert not again.regressions
        assert {"like"} == {cell.change.judgement for cell in again.cells if cell.change}

    @pytest.mark.parametrize("text", ["", "[]", '{"candidate": "even"}'])
    def test_damaged(self, tmp_path: Path, text: str) -> None:
        """A damaged evaluation is an error that names the file."""
        (tmp_path / "evaluation.json").write_text(text)
        with pytest.raises(InputError, match=r"evaluation\.json"):
            load_earlier(tmp_path)


class TestReport:
    def test_same_bytes(self, folder: Path, tmp_path: Path) -> None:
        """The same evaluation gives the same bytes of all files."""
        result = evaluated(folder, "greedy")
        for name in ("one", "two"):
            save(result, tmp_path / name)
        files = sorted(
            path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")
        )
        assert len(files) >= 4 + 2 + 2  # documents, figures, scenarios
        for file in files:
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()

    def test_junit(self, folder: Path, tmp_path: Path) -> None:
        """JUnit has a case for each cell, and its counts are those of its cases."""
        result = evaluated(folder, "greedy", RefusingEngine(), against="", seed=3)
        save(result, tmp_path)
        suite = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - our own
        assert len(result.cells) + len(result.unmeasured) == int(suite.get("tests", 0))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures", -1)) == 1
        assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped", -1)) == 1

    def test_words(self, folder: Path, tmp_path: Path) -> None:
        """Page and Markdown have all criteria, values, answers, failures and commands."""
        save(
            evaluated(folder, "greedy"),
            tmp_path,
            Answers(answers=(("question", "No <b>one</b>."),)),
        )
        page = (tmp_path / "report.html").read_text()
        text = (tmp_path / "report.md").read_text()
        standing_out = ("Worse than even", "throughput of other", "throughput of the candidate")
        for words in (*standing_out, "Principles", "starvation", "1/2 BDP", "--only share"):
            assert words in page
            assert words in text
        assert "No &lt;b&gt;one&lt;/b&gt;." in page
        assert "No <b>one</b>." in text

    def test_percent(self, folder: Path, tmp_path: Path) -> None:
        """Reports show fractions in percent, with their bounds; JSON has them as they are."""
        file = folder / "share.toml"
        measure = '[[criterion.measures]]\nmetric = "share"\nat_most = 0.25\n\n'
        networks = "[[criterion.networks]]"
        file.write_text(file.read_text().replace(networks, measure + networks, 1))
        result = evaluated(folder, "even", extent="quick")
        save(result, tmp_path)
        (cell,) = (each for each in result.cells if each.measure.metric == "share")
        median = cell.median("even")
        assert 0 < median < 1
        text = (tmp_path / "report.md").read_text()
        assert "share of the throughput of the candidate (at most 25 %)" in text
        assert f"{100 * median:.1f} " in text
        document = json.loads((tmp_path / "evaluation.json").read_text())
        assert median in [one["medians"]["even"] for one in document["cells"]]

    def test_json(self, folder: Path, tmp_path: Path) -> None:
        """JSON has every value, as numbers or null."""
        result = evaluated(folder, "greedy", CrashingEngine())
        save(result, tmp_path)
        document = json.loads((tmp_path / "evaluation.json").read_text())
        assert [cell.values["even"] for cell in result.cells] == [
            tuple(cell["values"]["even"]) for cell in document["cells"]
        ]
        assert document["cells"][0]["medians"]["greedy"] is None
        assert "crashed" in document["errors"][0]["reason"]

    def test_scenarios(self, folder: Path, tmp_path: Path) -> None:
        """The saved scenarios are those of the first repetition with the candidate."""
        from ccbench.experiment.scenario import Scenario  # noqa: PLC0415

        result = evaluated(folder, "greedy")
        save(result, tmp_path)
        for case in result.design.cases:
            saved = Scenario.load(tmp_path / "scenarios" / f"{case.key}.toml")
            assert result.design.scenario(case, "greedy") == saved

    def test_bounds(self, folder: Path, tmp_path: Path) -> None:
        """The report counts the bounds of the source that the candidate's medians meet."""
        file = folder / "share.toml"
        bounded = 'of = "other"\nat_least = 4.5\n'
        file.write_text(file.read_text().replace('of = "other"\n', bounded, 1))
        for candidate, met in (("greedy", 0), ("even", 2)):
            save(evaluated(folder, candidate), tmp_path / candidate)
            text = (tmp_path / candidate / "report.md").read_text()
            assert f"{met} of 2 bounds met" in text
            assert "(at least 4.5 Mbit/s)" in text
