# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import importlib
import pkgutil
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from ccbench import Scenario, studies
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.kernel.boot import stacks
from ccbench.studies import ModelStudy, SearchStudy, SimulationStudy
from ccbench.studies.study import grouped
from tests.unit.studies.conftest import scenarios_of

if TYPE_CHECKING:
    from ccbench.datacenter.case import SimulationCase
    from ccbench.studies import AnyStudy


def size(study: AnyStudy, *, quick: bool) -> tuple[int, float]:
    """Return the number of a study's runs, at most, and their total length."""
    if isinstance(study, SearchStudy):
        searches = study.searches(quick=quick, full=False)
        assert all(2 * item.planned <= item.most_runs() for item in searches)
        return (
            sum(one.most_runs() for one in searches),
            sum(one.most_runs() * one.duration_s for one in searches),
        )
    if isinstance(study, ModelStudy):
        return 0, 0.0
    parts: tuple[SimulationCase, ...] | tuple[Scenario, ...]
    if isinstance(study, SimulationStudy):
        parts = study.cases(quick=quick)
        assert len({*parts}) == len(parts)
    else:
        references = () if study.references is None else study.references(quick=quick)
        before = {*chain(*grouped(references))}
        scenarios = scenarios_of(study, quick=quick)
        assert before.isdisjoint(scenarios)
        parts = (*before, *scenarios * max(1, len(study.engines) + len(study.kernels)))
    return len(parts), sum(part.duration_s for part in parts)


class TestRegistry:
    def test_names_match_files(self) -> None:
        """Every module of a study is registered under its own name, and no other is."""
        modules = pkgutil.walk_packages(studies.__path__, "ccbench.studies.")
        files = {name.replace("-", "_").replace(".", "_") for name in studies.names()}
        holding = {
            info.name.rpartition(".")[2]
            for info in modules
            if hasattr(importlib.import_module(info.name), "STUDY")
        }
        assert files == holding
        for name in studies.names():
            assert name == studies.get(name).name

    @pytest.mark.slow
    @pytest.mark.parametrize("name", studies.names())
    def test_sizes(self, name: str) -> None:
        """A study has the size stated in the catalogue; its quick version is at most a tenth."""
        study = studies.get(name)
        if missing := study.info.missing():
            with pytest.raises(MissingRequirement):
                size(study, quick=False)
            pytest.skip(missing)
        if study.info.needs_stacks and not all(check.ok for check in stacks.checks()):
            pytest.skip("not all stacks are installed, and the study leaves out the others")
        runs, virtual_s = size(study, quick=False)
        assert studies.info(name).runs == runs
        assert studies.info(name).virtual_s == pytest.approx(virtual_s)
        few, quick_s = size(study, quick=True)
        assert few <= runs
        assert (few > 0) is not isinstance(study, ModelStudy)
        assert quick_s <= 0.1 * virtual_s

    @pytest.mark.parametrize(
        ("name", "scenarios"), [("ware-5.13", 3125), ("ware-5.15", 3125), ("ware-5.17", 3125)]
    )
    def test_full(self, name: str, scenarios: int) -> None:
        """The full version has the grid of the thesis's size, and differs in nothing else."""
        study = studies.get(name)
        assert isinstance(study, SearchStudy)
        *others, sweep = study.searches(quick=False, full=False)
        *same, full = study.searches(quick=False, full=True)
        assert others == same
        assert (960, scenarios) == (sweep.planned, full.planned)

    def test_unknown(self) -> None:
        """An unknown name is refused with the nearest one."""
        with pytest.raises(InputError, match=r"study is 'ware3\.2'.*did you mean 'ware-3\.2'\?"):
            studies.get("ware3.2")
