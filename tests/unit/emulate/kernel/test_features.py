# SPDX-License-Identifier: Apache-2.0
"""Scenarios and congestion controls that need a feature which a kernel may lack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.descriptions import described
from ccbench.emulate.kernel.source.kernel_build import KernelBuild
from tests.unit.experiment.conftest import scenario

ACCECN = "ccbench_feature=accecn: accurate ECN"
MINE = "ccbench_cca=mine feature=accecn: a congestion control of mine"


def engine(*entries: str) -> KernelEngine:
    """Return the engine of a kernel whose modules have these descriptions."""
    known = described(entries)
    kernel = KernelBuild(
        path=Path(),
        release="6.12",
        hz=1000,
        ccas=tuple(sorted({"cubic", *known.ccas} - known.missing.keys())),
        qdiscs=("pfifo",),
        modules={},
        version="0" * 16,
        identity="0" * 16,
        descriptions=known,
    )
    return KernelEngine(kernel)


@pytest.mark.parametrize("settings", [{"ecn": "accecn"}, {"receiver_ecn": "accecn"}])
def test_setting(settings: dict[str, Any]) -> None:
    """Accurate ECN at either host is refused by kernels without it, with a kernel that has it."""
    wanted = scenario(**settings)
    engine(ACCECN).check(wanted)
    with pytest.raises(InputError, match=r"ecn is 'accecn'; .* Linux 6\.12, .* --kernel 7\.3"):
        engine().check(wanted)


@pytest.mark.parametrize("settings", [{"ecn": True}, {"receiver_ecn": True}])
def test_classic(settings: dict[str, Any]) -> None:
    """ECN of RFC 3168 needs no feature."""
    engine().check(scenario(**settings))


def test_cca() -> None:
    """A congestion control whose feature is missing is refused with the reason."""
    flow = scenario().flows[0]
    wanted = scenario(flows=(replace(flow, cca="mine"),))
    engine(ACCECN, MINE).check(wanted)
    reason = r"cca is 'mine'; .*without accurate ECN .* Linux 6\.12 lacks: .*kernel build"
    with pytest.raises(InputError, match=reason):
        engine(MINE).check(wanted)


def test_other_cca() -> None:
    """An unknown congestion control is refused with the usable ones."""
    with pytest.raises(InputError, match=r"cca is 'mien'; it must be one of cubic: "):
        engine(MINE).check_cca("mien")
