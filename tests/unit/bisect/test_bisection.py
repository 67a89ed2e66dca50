# SPDX-License-Identifier: Apache-2.0
"""Searches with an engine whose flows share by the text of the module."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.errors import EngineError, InputError
from ccbench.bisect import Commits, CriterionQuestion, MetricQuestion, RunQuestion, bisect
from ccbench.emulate.kernel.command import BuildError
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES
from ccbench.evaluate import Design, Measure, load_pack
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from tests.unit.conftest import ArithmeticEngine, NoisyEngine
from tests.unit.evaluate.conftest import SHARE

if TYPE_CHECKING:
    from ccbench.bisect import Bisection, Question
    from ccbench.run.run import Run

SCENARIO = Scenario(
    flows=(Flow(cca="even", label="mine"), Flow(cca="even", label="other")),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_packets=20),), rtt_ms=40),
    duration_s=4,
    queue_log=True,
)
METRIC = MetricQuestion(scenario=SCENARIO, measure=Measure(metric="throughput", of="other"))


def engine_of(base: type[ArithmeticEngine], *, crashes: str = "") -> Any:
    """Return a function that compiles the module: its first word is the CCA of the first flow."""

    class Engine(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            (folder,) = os.environ[OWN_MODULES].split(":")
            self.text = (Path(folder) / "tcp_mine.c").read_text().strip()

        def version(self) -> str:
            if self.text == "broken":
                raise BuildError("compiling failed", ["tcp_mine.c:1: error: broken"])
            return self.text

        def run(self, scenario: Scenario, **options: Any) -> Run:
            if crashes and self.text.startswith(crashes):
                raise EngineError("it crashed")
            first, *others = scenario.flows
            own = (replace(first, cca=self.text.split()[0]), *others)
            run: Run = super().run(replace(scenario, flows=own), **options)
            return replace(run, scenario=scenario)

    return Engine


def searched(
    module: Path, question: Question, base: type[ArithmeticEngine] = ArithmeticEngine, **more: Any
) -> Bisection:
    """Return the search from the first version on."""
    crashes = more.pop("crashes", "")
    return bisect(
        Commits.between(module, "HEAD~12"),
        question,
        make_engine=engine_of(base, crashes=crashes),
        store=None,
        jobs=1,
        **more,
    )


def subject(found: Bisection) -> str:
    """Return the subject of the first bad version."""
    assert found.first_bad is not None
    return found.first_bad.subject


def test_run(module: Path, tmp_path: Path) -> None:
    """The commit that changes the run is found, and runs before and after it are saved."""
    found = searched(module, RunQuestion(SCENARIO), output=tmp_path / "out")
    assert "Version 4: greedy 4" == subject(found)
    assert {"good", "bad"} == {path.name for path in (tmp_path / "out").iterdir()}
    assert ["the reference", "alike"] == [
        each.words for each in found.tested if each.verdict == "good"
    ]


def test_skipped(module: Path) -> None:
    """A version that does not compile is skipped with the compiler's error."""
    history = Commits.between(module, "HEAD~12", "HEAD~4")
    found = bisect(
        history, RunQuestion(SCENARIO), make_engine=engine_of(ArithmeticEngine), store=None, jobs=1
    )
    assert "Version 4: greedy 4" == subject(found)
    (skipped,) = (each for each in found.tested if each.verdict == "skipped")
    assert "does not compile: tcp_mine.c:1: error: broken" == skipped.words


def test_metric(module: Path) -> None:
    """Without a bound, a metric is compared with the middle between both ends."""
    found = searched(module, METRIC, NoisyEngine)
    assert "Version 4: greedy 4" == subject(found)
    good, *_, bad = (each for each in found.tested if each.values)
    assert min(good.values) > max(bad.values)
    json.dumps(found.to_dict())


def test_bound(module: Path) -> None:
    """With a bound, only its side counts; ends on the wrong side are refused."""
    below = replace(METRIC, bound=4.0, good_is_above=True)
    assert "Version 4: greedy 4" == subject(searched(module, below, NoisyEngine))
    with pytest.raises(
        InputError, match=r"of the good version, which is not significantly below 4"
    ):
        searched(module, replace(METRIC, bound=4.0), NoisyEngine)
    with pytest.raises(InputError, match=r"the bad version, which is not significantly below 1"):
        searched(module, replace(METRIC, bound=1.0, good_is_above=True), NoisyEngine)


def test_criterion(module: Path, tmp_path: Path) -> None:
    """A criterion finds the version that is worse or fails, with its words."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "pack.toml").write_text('title = "Small"\nsource = "Nobody"\n')
    (pack / "share.toml").write_text(SHARE)
    design = Design(candidate="even", pack=load_pack(pack), baselines=("greedy",), extent="quick")
    found = searched(module, CriterionQuestion(design), NoisyEngine)
    assert "Version 4: greedy 4" == subject(found)
    assert "1 BDP, throughput of other: worse" in found.tested[-1].words


def test_crash(module: Path) -> None:
    """If the run of the bad version fails, the search is for the first failure."""
    found = searched(module, METRIC, crashes="greedy")
    assert "Version 4: greedy 4" == subject(found)
    assert "it crashed" in found.tested[-1].words


def test_crash_between(module: Path) -> None:
    """If only versions between the ends fail, they are skipped."""
    found = searched(module, RunQuestion(SCENARIO), crashes="greedy 4")
    assert found.first_bad is None or "greedy 5" in subject(found)
    assert {4, 5} >= set(found.suspects)


def test_alike(module: Path) -> None:
    """Ends without a difference are refused."""
    history = Commits.between(module, "HEAD~4")
    engine = engine_of(ArithmeticEngine)
    with pytest.raises(InputError, match="byte for byte: choose another scenario"):
        bisect(history, RunQuestion(SCENARIO), make_engine=engine, store=None, jobs=1)
    with pytest.raises(InputError, match="which do not differ significantly: raise --repeat"):
        bisect(history, METRIC, make_engine=engine, store=None, jobs=1)


def test_environment(module: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The user's other modules stay, the environment is as before, and no folder is left."""
    monkeypatch.setenv(OWN_MODULES, str(module))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def stop(step: str, share: float) -> None:
        assert step
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searched(module, RunQuestion(SCENARIO), on_progress=stop)
    assert str(module) == os.environ[OWN_MODULES]
    assert not list((tmp_path / "temporary").glob("ccbench-*/*"))
