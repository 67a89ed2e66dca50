# SPDX-License-Identifier: Apache-2.0
"""Each test case of the BBR draft catches a fault of the module."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.studies.bbr3.bbr_draft import CASES, verdict
from ccbench.studies.bbr3.state import BBR3, Sender
from ccbench.studies.bbr3.wire import observed
from tests.kernel.bbr3.mutations import MUTATIONS, Mutation, write_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.studies.bbr3.case import Point

    Verdict = Callable[[str, Sender, Point], tuple[str, str]]

pytestmark = [pytest.mark.kernel, pytest.mark.long]

_CASES = {case.name: case for case in CASES}

#: Names of the faulty congestion controls; a fault that fails two cases is one of them.
_EDITS = dict.fromkeys(mutation.edit for mutation in MUTATIONS)
_NAMES = {edit: f"bbr3_m{number:02d}" for number, edit in enumerate(_EDITS)}

_VISIBLE = [mutation for mutation in MUTATIONS if mutation.is_visible]


def _ids(mutations: Iterable[Mutation]) -> list[str]:
    return [f"{mutation.case}, {mutation.fault}" for mutation in mutations]


@pytest.fixture(scope="session")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> KernelBuild:
    """Give the virtual kernel with a congestion control per fault."""
    folder = tmp_path_factory.mktemp("modules") / "bbr3_mutants"
    write_modules(folder, {_NAMES[mutation.edit]: mutation for mutation in MUTATIONS})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_MODULES", str(folder))
        return installed()


@pytest.fixture(scope="session")
def verdict_on(mutants: KernelBuild) -> Verdict:
    """Give a function that returns the verdict of a case on a path, and what was found."""
    engine = KernelEngine(mutants)

    @cache
    def verdict_on(name: str, sender: Sender, point: Point) -> tuple[str, str]:
        case = _CASES[name]
        state = observed(engine.run(case.planned(sender, point)), sender, point)
        if case.waits(sender):
            entry_s, premises = case.entry(state)
            if math.isnan(entry_s):
                return verdict(iter(premises))
            return verdict_on(name, replace(sender, entry_s=entry_s), point)
        return verdict(iter(case.steps(sender, state, point)))

    return verdict_on


def test_all_cases() -> None:
    """There is a fault for each test case of the draft."""
    titles = {case.title for case in CASES}
    assert len(titles) == 22
    assert {_CASES[mutation.case].title for mutation in MUTATIONS} == titles


@pytest.mark.parametrize("mutation", MUTATIONS, ids=_ids(MUTATIONS))
def test_fails(verdict_on: Verdict, mutation: Mutation) -> None:
    """The case holds for the module, and fails with the fault."""
    for cca, expected in (("bbr3", "holds"), (_NAMES[mutation.edit], "fails")):
        result, found = verdict_on(mutation.case, Sender(cca, BBR3.info), mutation.point)
        assert result == expected, f"{cca}: {found}"


@pytest.mark.parametrize("mutation", _VISIBLE, ids=_ids(_VISIBLE))
def test_fails_by_wire(verdict_on: Verdict, mutation: Mutation) -> None:
    """Without the module's state the case holds for it, and does not with a visible fault."""
    result, found = verdict_on(mutation.case, Sender("bbr3", ()), mutation.point)
    assert result == "holds", found
    result, found = verdict_on(mutation.case, Sender(_NAMES[mutation.edit], ()), mutation.point)
    assert result != "holds", found
