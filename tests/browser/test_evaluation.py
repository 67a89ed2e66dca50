# SPDX-License-Identifier: Apache-2.0
"""The report of an evaluation in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ccbench.evaluate import Design, evaluate, load_pack, save
from tests.browser.conftest import check_dark, check_fit, elements
from tests.conftest import made_once
from tests.unit.conftest import NoisyEngine
from tests.unit.evaluate.conftest import write_pack

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def page(shared_folder: Path) -> Path:
    """Give the report of a small evaluation with a definite failure, made once in a session."""

    def make(folder: Path) -> None:
        pack = load_pack(write_pack(folder))
        design = Design(candidate="greedy", pack=pack, baselines=("even",), against="even")
        save(evaluate(design, engine=NoisyEngine(), store=None, jobs=1), folder)

    return made_once(shared_folder / "evaluated", make) / "report.html"


def test_figures(opened: Any) -> None:
    """Every figure has a text for screen readers, and a caption."""
    figures = elements(opened, "figure")
    assert 2 == len(figures)
    for figure in figures:
        assert figure.find_element("css selector", "svg").get_attribute("aria-label")
        assert figure.find_element("css selector", "figcaption").text


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_fits(opened: Any, width: int) -> None:
    """The page has no horizontal scroll bar on a phone, a tablet and a wide screen."""
    check_fit(opened, width)


def test_dark(opened: Any) -> None:
    """In dark mode, page and figures are light on dark."""
    check_dark(opened)


def test_links(opened: Any) -> None:
    """Every link within the page has its target, and the console of the browser is empty."""
    for link in elements(opened, "a[href^='#']"):
        target = str(link.get_attribute("href")).partition("#")[2]
        assert opened.execute_script("return document.getElementById(arguments[0])", target)
    assert [] == opened.get_log("browser")
