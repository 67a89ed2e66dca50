# SPDX-License-Identifier: Apache-2.0
"""Searches for the worst network with an engine whose harm is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench import harm
from ccbench.base.errors import InputError
from ccbench.evaluate import Design, evaluate, load_pack, save
from ccbench.evaluate.worst import FEWEST, networks_within, plan, search
from ccbench.experiment.scenario import Scenario
from ccbench.raygen.shrinking import digits
from tests.unit.conftest import NoisyEngine
from tests.unit.evaluate.conftest import SHARE

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.evaluate import Pack


@pytest.fixture
def pack(folder: Path) -> Pack:
    """Give a pack with a criterion in which the other flows may be harmed."""
    text = SHARE.replace("duration_s = 4", "duration_s = 60")
    text = text.replace("[[criterion.measures]]", 'harmed = "other"\n\n[[criterion.measures]]', 1)
    (folder / "share.toml").write_text(text)
    return load_pack(folder)


def design_of(pack: Pack, candidate: str) -> Design:
    """Return the design of a CCA of arithmetic beside the other one."""
    other = "even" if candidate == "greedy" else "greedy"
    return Design(candidate=candidate, pack=pack, baselines=(other,), extent="quick", search=6)


def test_witness(pack: Pack, tmp_path: Path) -> None:
    """The worst network is simple, is evaluated too, and its file shows the harm."""
    engine = NoisyEngine()
    design = design_of(pack, "greedy")
    (witness,) = search(design, engine=engine, store=None, jobs=1)
    values = dict(witness.settings)
    assert {"flows.0.count", "flows.1.count"} < {*values}
    assert all(digits(value) <= 1 for value in values.values())
    assert witness.duration_s < 60
    assert min(witness.harm) > 0
    result = evaluate(replace(design, witnesses=(witness,)), engine=engine, store=None, jobs=1)
    networks = [cell.case.network.name for cell in result.cells]
    assert witness.network.name in networks
    save(result, tmp_path / "report")
    scenario = Scenario.load(tmp_path / "report" / "scenarios" / "share--worst.toml")
    shown = harm.repeat(
        harm.Experiment(
            alpha=scenario.flows[:1],
            beta=scenario.flows[1:],
            path=scenario.path,
            duration_s=scenario.duration_s,
        ),
        engine=engine,
        store=None,
        jobs=1,
    )
    assert shown.relative.value > witness.bound
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert witness.words in page
    assert "ccbench harm --scenario scenarios/share--worst.toml" in page
    assert "--search 6" in page
    json.dumps(result.to_dict())


def test_no_harm(pack: Pack) -> None:
    """A fair CCA has no witness, and the evaluation says so."""
    (witness,) = search(design_of(pack, "even"), engine=NoisyEngine(), store=None, jobs=1)
    assert not witness.settings
    assert "found no harm" in witness.words
    design = replace(design_of(pack, "even"), witnesses=(witness,))
    assert 1 == len(design.cases)


def test_plan(pack: Pack) -> None:
    """The plan has two runs for each network, and those of further and fresh seeds."""
    (own,) = plan(design_of(pack, "greedy"), engine=NoisyEngine())
    assert own.runs >= 12
    for networks in range(FEWEST, 60, 7):  # any number has a first generation that mates in pairs
        assert plan(replace(design_of(pack, "greedy"), search=networks), engine=NoisyEngine())


def test_minutes(pack: Pack) -> None:
    """More time and more cores allow more networks, in proportion; a moment allows the fewest."""
    design = design_of(pack, "greedy")

    def within(minutes: float, cores: int = 1) -> int:
        return networks_within(minutes, design, engine=NoisyEngine(), cores=cores)

    assert within(1e-9) == FEWEST
    hour = within(60)
    assert abs(within(120) / hour - 2) < 0.1
    assert abs(within(60, cores=2) / hour - 2) < 0.1


def test_harmed(folder: Path) -> None:
    """Flows that do not exist cannot be harmed."""
    text = SHARE.replace("[[criterion.measures]]", 'harmed = "b"\n\n[[criterion.measures]]', 1)
    (folder / "share.toml").write_text(text)
    with pytest.raises(InputError, match="harmed is 'b'; it must be the label of all flows but"):
        load_pack(folder)
