# SPDX-License-Identifier: Apache-2.0
"""Evaluations on the virtual kernel: the criteria find what they should, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.evaluate import Design, evaluate, load_pack
from ccbench.evaluate.pack import PACKS
from ccbench.evaluate.worst import search
from ccbench.raygen.shrinking import digits

if TYPE_CHECKING:
    from ccbench.evaluate import Evaluation

pytestmark = [pytest.mark.kernel, pytest.mark.long, pytest.mark.usefixtures("own_store")]

#: Each fault, the criterion that finds it, and its definite failure or the measure that is worse
#: than those of CUBIC and Reno.
FAULTS = {
    "deaf": ("5.1.3-packet-loss", "loss rate"),
    "greedy": ("5.2.1-cubic", "throughput of CUBIC, 20 to 60 s"),
    "lost": ("7.3-varying-delay", "starves after the path has become longer"),
    "standing": ("7.1-codel", "95th percentile of the queueing delay"),
    "dividing": ("5.1.3-packet-loss", "a division by zero"),
    "orderly": ("7.7-reordering", "goodput"),
    "marked": ("7.1-codel", "95th percentile of the queueing delay"),
    "tired": ("7.8-pause", "the rate does not recover after a pause"),
    "restless": ("5.1.1-outage", "changes the field icsk_rto"),
}

#: Files of a pack with one criterion.
_COMPETITION = {"pack.toml", "5.2.1-cubic.toml"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> KernelEngine:
    """Give the engine with Reno with one fault each."""
    folder = tmp_path_factory.mktemp("modules") / "tcp_faulty"
    shutil.copytree(Path(__file__).with_name("tcp_faulty"), folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_MODULES", str(folder))
        return KernelEngine(installed())


def evaluated(candidate: str, engine: KernelEngine, *criteria: str) -> Evaluation:
    """Return the quick evaluation of a CCA by some criteria."""
    pack = load_pack("rfc9743")
    design = Design(candidate=candidate, pack=pack, extent="quick", only=criteria, repetitions=8)
    return evaluate(design, engine=engine)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str, engine: KernelEngine) -> None:
    """Each fault is found by its criterion: as a failure, or as worse than CUBIC and Reno."""
    criterion, words = FAULTS[fault]
    result = evaluated(f"faulty_{fault}", engine, criterion)
    failures = [cell.failed.words for cell in result.cells if cell.failed]
    worse = [
        cell.title
        for cell in result.cells
        if all(one.judgement == "worse" for one in cell.comparisons)
    ]
    assert any(words in found for found in (*failures, *worse)), (failures, worse)


def test_nothing_else(engine: KernelEngine) -> None:
    """A fault that its criteria do not show is not found there: the pause, in three others."""
    others = ("5.1.3-packet-loss", "7.1-codel", "7.3-varying-delay")
    result = evaluated("faulty_tired", engine, *others)
    assert not result.failures
    assert not [
        cell.title
        for cell in result.cells
        for one in cell.comparisons
        if one.baseline == "reno" and one.judgement != "like"
    ]


def test_worst_network(engine: KernelEngine, tmp_path: Path) -> None:
    """A search finds a simple network in which BBR takes CUBIC's share, in a shorter run."""
    pack = tmp_path / "pack"
    shutil.copytree(PACKS / "rfc9743", pack, ignore=lambda _, names: {*names} - _COMPETITION)
    file = pack / "5.2.1-cubic.toml"
    text = file.read_text(encoding="utf-8").replace("duration_s = 60", "duration_s = 20")
    file.write_text(text.replace("[20, 60]", "[5, 20]"), encoding="utf-8")
    design = Design(candidate="bbr", pack=load_pack(pack), extent="quick", search=4)
    (witness,) = search(design, engine=engine)
    counts = [value for name, value in witness.settings if name.endswith("count")]
    assert [1, 1] == counts
    assert all(digits(value) <= 2 for _, value in witness.settings)
    assert witness.duration_s <= 20
    assert sum(harm > witness.bound for harm in witness.harm) > len(witness.harm) / 2
