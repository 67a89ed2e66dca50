# SPDX-License-Identifier: Apache-2.0
"""Test cases of the BBR draft by TCP's own state agree with those by the state of the module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench import studies
from ccbench.cli import main
from ccbench.studies.bbr3.bbr_draft import CASES, study_of
from ccbench.studies.bbr3.case import Point
from ccbench.studies.bbr3.state import Sender
from tests.kernel.bbr3.mutations import Mutation, write_modules

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.long,
    pytest.mark.usefixtures("session_store"),
]


def _verdicts(engine: KernelEngine, sender: Sender) -> dict[tuple[str, float], str]:
    """Return the verdicts of the quick version by case and rate."""
    table = studies.run_study(study_of(sender), quick=True, engine=engine).findings.table
    keys = zip(table["case"], table["mbps"], strict=True)
    return dict(zip(keys, table["verdict"], strict=True))


def test_agreement(engine: KernelEngine) -> None:
    """Without its state, the module's verdicts are those with it, but for what is not visible."""
    study = studies.get("bbr-draft-wire")
    table = studies.run_study(study, quick=True, engine=engine).findings.table
    assert {*table["case"]} == {case.name for case in CASES} - {"startup-loss", "tiny-bdp"}
    others = table[table["by state"] != table["by TCP's own state"]]
    assert {
        # inflight_longterm, which is not updated
        ("up-loss-app", 10, "fails", "holds"),
        ("up-loss-app", 100, "fails", "holds"),
        # the beginning of REFILL, and with it the length of the pause in it
        ("refill-app", 100, "does not come about", "holds"),
    } == {*others.drop(columns="rtt_ms").itertuples(index=False, name=None)}


_NO_GET_INFO = Mutation(
    case="",
    point=Point(10, 10),
    fault="",
    file="main.c",
    find="\t.get_info\t= bbr3_get_info,\n",
    replace="",
)


def test_own_module(engine: KernelEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's module that reports nothing has the verdicts of the module without its state."""
    folder = tmp_path / "modules"
    write_modules(folder, {"mybbr": _NO_GET_INFO})
    source = folder / "tcp_mybbr.c"
    text = re.sub(r"CCA_INFO\(.*?\),", ",", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    source.write_text(text, encoding="utf-8")
    monkeypatch.setenv("CCBENCH_MODULES", str(folder))
    words = ["study", "run", "bbr-draft", "--cca", "mybbr", "--quick", "-o", str(tmp_path)]
    done = CliRunner().invoke(main.program, words)
    assert done.exit_code == 0, done.output
    assert "By TCP's own state: holds on 2 of 2 paths." in " ".join(done.output.split())
    table = pd.read_csv(tmp_path / "bbr-draft-mybbr.csv")
    keys = zip(table["case"], table["mbps"], strict=True)
    verdicts = dict(zip(keys, table["verdict"], strict=True))
    assert _verdicts(engine, Sender("bbr3", ())) == verdicts


@pytest.mark.parametrize("cca", ["cubic", "reno"])
def test_other_ccas(engine: KernelEngine, cca: str) -> None:
    """No case holds for a congestion control that is not BBR."""
    assert "holds" not in _verdicts(engine, Sender(cca, ())).values()
