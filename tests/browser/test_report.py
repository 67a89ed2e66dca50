# SPDX-License-Identifier: Apache-2.0
"""The report of a search in a real browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.raygen import search
from ccbench.raygen.html import REPORT_HTML, report
from tests.browser.conftest import check_dark, check_fit, elements
from tests.conftest import made_once
from tests.unit.conftest import ArithmeticEngine

if TYPE_CHECKING:
    from pathlib import Path

    from selenium.webdriver.remote.webelement import WebElement


@pytest.fixture(scope="module")
def page(shared_folder: Path) -> Path:
    """Give the report of a small search, made once in a session."""

    def make(folder: Path) -> None:
        engine: Any = ArithmeticEngine()
        settings: dict[str, Any] = {"alpha": "greedy", "beta": "even", "duration_s": 4}
        search(**settings, budget=40, population=8, engine=engine, store=None, output_dir=folder)
        report(folder, engine=engine, store=None)

    return made_once(shared_folder / "reported", make) / REPORT_HTML


def column(browser: Any, number: int) -> list[str]:
    """Return the texts of a column of the table of all networks."""
    script = (
        "return [...document.querySelector('table.sortable').tBodies[0].rows]"
        ".map(row => row.cells[arguments[0]].textContent)"
    )
    texts: list[str] = browser.execute_script(script, number)
    return texts


def headings(browser: Any) -> list[WebElement]:
    """Return the headings of that table."""
    return elements(browser, "table.sortable thead th")


def heading(browser: Any, start: str) -> int:
    """Return the number of the column whose heading starts with these words."""
    titles = [element.text.replace("\n", " ") for element in headings(browser)]
    (number,) = [i for i, title in enumerate(titles) if title.startswith(start)]
    return number


class TestRendering:
    def test_figures(self, opened: Any) -> None:
        """Every figure is drawn in a legible size, and has a text for screen readers."""
        figures = elements(opened, "figure svg")
        assert 12 == len(figures)
        for figure in figures:
            assert figure.size["width"] > 300
            assert figure.size["height"] > 150
            assert figure.get_attribute("aria-label")

    def test_console(self, opened: Any) -> None:
        """The console of the browser is empty."""
        assert [] == opened.get_log("browser")

    def test_network(self, opened: Any, page: Path) -> None:
        """The page requests nothing but itself."""
        messages = [
            json.loads(entry["message"])["message"] for entry in opened.get_log("performance")
        ]
        requested = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        assert page.as_uri() in requested
        assert [] == [
            url for url in requested if url != page.as_uri() and not url.startswith("data:")
        ]

    @pytest.mark.parametrize("width", [1280, 390])
    def test_fits(self, opened: Any, width: int) -> None:
        """Page and figures fit the window, including a phone's; figures are legible."""
        check_fit(opened, width)

    def test_dark(self, opened: Any) -> None:
        """In dark mode, page and figures are light on dark."""
        check_dark(opened)


class TestTable:
    @pytest.mark.parametrize("title", ["relative harm", "RTT", "number", "greedy flows"])
    def test_numbers(self, opened: Any, title: str) -> None:
        """A click on a heading sorts by its numbers, a second click reverses the order."""
        number = heading(opened, title)
        before = column(opened, number)
        button = elements(opened, "table.sortable thead th button")[number]
        orders = {}
        for _ in range(2):
            button.click()
            order = headings(opened)[number].get_attribute("aria-sort")
            assert order is not None
            orders[order] = list(map(float, column(opened, number)))
        values = sorted(map(float, before))
        assert {"ascending": values, "descending": values[::-1]} == orders

    def test_rows_stay_whole(self, opened: Any) -> None:
        """Sorting moves rows, and neither loses nor changes any."""

        def rows() -> list[str]:
            return [row.text for row in elements(opened, "table.sortable tbody tr")]

        before = rows()
        elements(opened, "table.sortable thead th button")[heading(opened, "relative harm")].click()
        assert before != rows()
        assert sorted(before) == sorted(rows())

    def test_sorted_heading(self, opened: Any) -> None:
        """Only the heading of the sorted column is marked."""
        number = heading(opened, "RTT")
        elements(opened, "table.sortable thead th button")[number].click()
        marked = [element.get_attribute("aria-sort") for element in headings(opened)]
        assert "ascending" == marked.pop(number)
        assert {None} == set(marked)

    def test_keyboard(self, opened: Any) -> None:
        """Headings are also focused and pressed with the keyboard."""
        number = heading(opened, "relative harm")
        opened.execute_script(
            "document.querySelectorAll('table.sortable th button')[arguments[0]].focus()", number
        )
        opened.switch_to.active_element.send_keys("\n")
        values = list(map(float, column(opened, number)))
        assert sorted(values) == values


class TestCopy:
    def test_selects_the_command(self, opened: Any) -> None:
        """The button beside a command selects it completely, and confirms it."""
        button = elements(opened, "button.copy")[0]
        button.click()
        command = elements(opened, ".command code")[0].text
        assert command.startswith("ccbench run ")
        assert command == opened.execute_script("return getSelection().toString()")
        opened.execute_async_script("setTimeout(arguments[0], 100)")
        assert button.text in {"copied", "selected"}
