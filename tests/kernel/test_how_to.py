# SPDX-License-Identifier: Apache-2.0
"""The pages in docs/ that tell what to run: their blocks are run, one after the other."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench.classify.setting import SETTINGS
from tests.documentation import CHECKOUT, DOCS, blocks, commands
from tests.unit.classify.test_cluster_command import level, write_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("own_store")]

_PAGES = [
    DOCS / "getting-started.md",
    *sorted((DOCS / "how-to").glob("*.md")),
]


def is_for_us(mark: str) -> bool:
    """Whether a block is to be run here; those that take minutes only if that is asked for."""
    return not mark or (mark == "expensive" and "CCBENCH_EXPENSIVE" in os.environ)


def first_cells(text: str) -> set[str]:
    """Return what stands first in each line; numbers may be those of another kernel."""
    lines = (line.strip() for line in text.splitlines())
    cells = {re.split(r" {2,}|: ", line)[0] for line in lines if line and line[0] != "─"}
    return {cell for cell in cells if not re.match(r"[-+0-9]*\.[0-9]", cell)}


def _observed_servers(folder: Path) -> None:
    """Write what classify has found about three servers that are much alike."""
    folder.mkdir()
    for name, packets, label in (("a", 30, "cubic"), ("b", 31, "cubic"), ("c", 32, "unknown")):
        points = np.full(1001, packets)
        trace = level(packets, label, points=points, setting=SETTINGS[0].name)
        write_server(folder / name, label, [trace])


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.stem)
def test_page(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: Callable[..., str],
) -> None:
    """A page's files, commands and Python work in its order; rows that it shows are printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    if page.stem == "classify-cluster":
        _observed_servers(tmp_path / "servers")
    names: dict[str, Any] = {}
    printed, runs = "", True
    for block in blocks(page):
        if block.language == "toml" and block.mark:
            (tmp_path / block.mark).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(block.text, names)  # noqa: S102 - it is our own
        elif block.language == "sh":
            runs = is_for_us(block.mark)
            if runs:
                printed = "".join(program(*words) for words in commands(block.text))
        elif not block.words and runs:
            assert first_cells(block.text) <= first_cells(printed)
