# SPDX-License-Identifier: Apache-2.0
"""Flows that lack the ECN that a scenario asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from ccbench.cli.run import _print_fallbacks
from ccbench.experiment.scenario import Flow
from ccbench.run.run import Run
from ccbench.run.tables import COMPLETION_COLUMNS, ECN_COLUMNS
from tests.scenarios import changed
from tests.unit.run.test_run import SCENARIO, make_run, table

if TYPE_CHECKING:
    from pathlib import Path

COMPLETE = {"sender": "accecn", "receiver": "accecn", "received_ect0_bytes": 1000}


def run(*ends: dict[str, Any], asking: tuple[str, ...] = (), **settings: Any) -> Run:
    """Return a run of flows that have delivered data, with these rows about their ends."""
    scenario = changed(
        SCENARIO, **{"flows": (Flow(cca="bbr", count=len(ends)),), "ecn": "accecn", **settings}
    )
    rows = [{**COMPLETE, "flow": flow, **end} for flow, end in enumerate(ends)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    delivered = table(COMPLETION_COLUMNS, delivered_bytes=[1000] * len(ends))
    made = make_run(scenario, ecn=table(ECN_COLUMNS, **columns), completions=delivered)
    return replace(made, provenance={**made.provenance, "accecn_ccas": asking})


@pytest.mark.parametrize(
    ("end", "settings", "reason"),
    [
        ({}, {}, None),
        ({"sender": "none", "receiver": "none"}, {}, None),
        ({"sender": "rfc3168"}, {"receiver_ecn": True}, "classic ECN .* receiver lacks AccECN"),
        ({"sender": "off"}, {"receiver_ecn": True}, "^no ECN.* receiver lacks AccECN"),
        ({"sender": "off"}, {"receiver_ecn": False}, "^no ECN.* receiver lacks ECN"),
        ({"sender": "rfc3168"}, {}, "classic ECN .* the path or a sysctl"),
        ({"received_ect0_bytes": 0}, {}, "^no ECN.* the path clears it"),
        ({"received_ect0_bytes": 0, "received_ce_bytes": 1000}, {}, None),
        ({"sender_failures": 1}, {}, "^no ECN.* the path alters"),
        ({"sender_failures": 2}, {}, "^no ECN.* the path alters"),
        ({"sender_failures": 8, "receiver_failures": 15}, {}, None),
        ({"sender": "rfc3168"}, {"ecn": True}, None),
    ],
)
def test_reasons(end: dict[str, Any], settings: dict[str, Any], reason: str | None) -> None:
    """A flow without accurate ECN is named with the reason that its ends and the scenario show."""
    reasons = run(end, **settings).ecn_fallbacks()
    assert list(reasons) == ([] if reason is None else [0])
    if reason is not None:
        assert pd.Series(reasons).str.contains(reason, regex=True).all()


def test_asking_cca() -> None:
    """A congestion control that needs accurate ECN asks for it whatever the scenario's setting."""
    off = {"sender": "off", "receiver": "off"}
    reasons = run(off, ecn=False, asking=("bbr",)).ecn_fallbacks()
    assert reasons == {0: "no ECN, as its receiver lacks ECN"}
    assert list(run(off, ecn=False, asking=("prague",)).ecn_fallbacks()) == []


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """There is one line per reason, with the first ten flows."""
    classic, off = {"sender": "rfc3168"}, {"sender": "off"}
    _print_fallbacks(run(*[classic] * 12, off, {}, receiver_ecn=True))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("flows 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more: classic ECN")
    assert second.startswith("flow 12: no ECN")


def test_file(tmp_path: Path) -> None:
    """The table is saved and loaded; runs without it have no file."""
    whole = run({"sender": "rfc3168"}, {})
    whole.save(tmp_path / "ecn")
    pd.testing.assert_frame_equal(Run.load(tmp_path / "ecn").ecn, whole.ecn)
    make_run().save(tmp_path / "other")
    assert not (tmp_path / "other" / "ecn.parquet").exists()


def test_rows() -> None:
    """A table with other flows is an error of the engine."""
    with pytest.raises(ValueError, match="ecn has 1 rows, not 2"):
        make_run(ecn=run({}).ecn)
