# SPDX-License-Identifier: Apache-2.0
"""Pages in a real browser: headless Chromium without a network."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webelement import WebElement

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--window-size=1280,900"),
    "--force-prefers-reduced-motion",  # clicks would hit a page that still scrolls
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give a browser that logs every request and every message of its console."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and its driver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in (*_OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with pytest.MonkeyPatch.context() as patch:
        for name in ("NO_PROXY", "no_proxy"):
            patch.setenv(name, "localhost,127.0.0.1")  # the driver listens there
        service = webdriver.ChromeService(executable_path=driver)
        with webdriver.Chrome(options=options, service=service) as running:
            yield running


@pytest.fixture
def opened(browser: Any, page: Path) -> Any:
    """Give the browser with the report opened."""
    browser.get("about:blank")  # ends the page before, which may still load: the new tab page
    for log in ("browser", "performance"):
        browser.get_log(log)  # discard earlier messages
    browser.get(page.as_uri())
    return browser


def elements(browser: Any, selector: str) -> list[WebElement]:
    """Return the elements that match a CSS selector."""
    matches: list[WebElement] = browser.find_elements("css selector", selector)
    return matches


def check_fit(opened: Any, width: int) -> None:
    """Check that page and figures fit a window, and that figures are legible."""
    opened.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    try:
        root = "document.documentElement"
        wide, window = opened.execute_script(f"return [{root}.scrollWidth, {root}.clientWidth]")
        assert wide <= window
        for figure in elements(opened, "figure"):
            sizes = "return [arguments[0].scrollWidth, arguments[0].clientWidth]"
            whole, seen = opened.execute_script(sizes, figure)
            assert whole <= seen <= window
            texts = figure.find_elements("css selector", "svg text")
            heights = sorted(text.size["height"] for text in texts)
            assert heights[len(heights) // 2] >= 8  # in pixels
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def check_dark(opened: Any) -> None:
    """Check that page and figures are light on dark in dark mode, and the reverse in light mode."""

    def brightness(selector: str, name: str) -> float:
        script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        colour: str = opened.execute_script(script, selector, name)
        parts = colour.partition("(")[2].rstrip(")").split(",")[:3]
        return sum(map(float, parts)) / (3 * 255)

    for scheme, dark in (("light", False), ("dark", True)):
        wanted = {"name": "prefers-color-scheme", "value": scheme}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [wanted]})
        paper = brightness("body", "backgroundColor")
        assert (paper < 0.2) == dark
        assert paper == brightness("figure svg [style*='fill: #ffffff']", "fill")
        for selector, name in (("body", "color"), ("figure svg text", "fill")):
            assert (brightness(selector, name) > 0.7) == dark
