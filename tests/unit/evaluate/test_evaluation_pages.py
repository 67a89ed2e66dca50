# SPDX-License-Identifier: Apache-2.0
"""docs/evaluation_pages.py, and the page that it writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import evaluation_pages

from ccbench.evaluate import Design, evaluate, load_pack, save
from tests.documentation import DOCS
from tests.unit.conftest import NoisyEngine

if TYPE_CHECKING:
    from pathlib import Path


def cell(criterion: str, judgement: str, failure: str = "") -> dict[str, Any]:
    """Return a cell of a compact result."""
    return {
        "criterion": criterion,
        "quantity": "throughput",
        "unit": "Mbit/s",
        "medians": {"mine": 1.5, "cubic": None},
        "judgements": {"cubic": judgement},
        "failure": failure,
    }


def lines(place: str, *cells: dict[str, Any]) -> list[str]:
    """Return the lines that replace a place of the page."""
    result = {
        "candidate": "mine",
        "extent": "quick",
        "repetitions": 16,
        "made_by": "ccbench, Linux 6.12",
        "cells": list(cells),
    }
    text: str = evaluation_pages.filled(f"<!-- {place} -->\n<!-- end -->", [result])
    assert text == evaluation_pages.filled(text, [result])
    return text.splitlines()


def test_page() -> None:
    """The tables of the page are those of the results; otherwise run `make pages`."""
    text = (DOCS / "evaluations.md").read_text(encoding="utf-8")
    assert text == evaluation_pages.filled(text, evaluation_pages.results())


def test_league() -> None:
    """A row has the number of each kind of difference, and definite failures, or a =."""
    table = lines(
        "league",
        *(cell("5.1.2-bufferbloat", judgement) for judgement in ("better", "better", "worse")),
        cell("5.1.3-packet-loss", "like"),
        cell("5.2.1-cubic", "other", "starvation"),
    )
    for row in (
        "| 5.1.2 Bufferbloat | +2 −1 |",
        "| 5.1.3 High packet loss | = |",
        "| 5.2.1 Competition with CUBIC | ±1 **✗** |",
        "| 7.5 High delay | · |",
        "| **all** | +2 −1 ±1 **✗** |",
    ):
        assert row in table


def test_details() -> None:
    """Differences are shown with their values, and what is alike is not; failures are named."""
    text = lines("details", cell("5.1.3-packet-loss", "like"), cell("7.5-high-delay", "worse", "x"))
    assert "| 7.5 High delay | throughput (Mbit/s) | worse | 1.5 | none |" in text
    assert not any(line.startswith("| 5.1.3") for line in text)
    assert "**Definite failure**: 7.5 High delay: x." in text


def test_compact(folder: Path, tmp_path: Path) -> None:
    """A result has the medians and judgements of its evaluation, without values of single runs."""
    design = Design(candidate="greedy", pack=load_pack(folder), baselines=("even",))
    result = evaluate(design, engine=NoisyEngine(), store=None, jobs=1)
    save(result, tmp_path)
    document = json.loads((tmp_path / "evaluation.json").read_text())
    document["provenance"] = {"ccbench": "1", "kernel_release": "6.12"}
    found = evaluation_pages.compact(document)
    assert len(found["cells"]) == len(result.cells)
    for one, own in zip(found["cells"], result.cells, strict=True):
        assert "values" not in one
        assert one["judgements"] == {each.baseline: each.judgement for each in own.comparisons}
        assert abs(one["medians"]["even"] / own.median("even") - 1) < 0.01
