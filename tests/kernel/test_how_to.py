# SPDX-License-Identifier: Apache-2.0
"""The commands on the pages of docs/ are run in order, each page in a folder of its own.

With ``CCBENCH_REWRITE_PAGES=1`` the outputs and figures on the pages are replaced by today's.
"""

from __future__ import annotations

import os
import re
import shutil
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench.classify.setting import SETTINGS
from ccbench.emulate.kernel.source.lookup import installed
from tests.documentation import CHECKOUT, DOCS, as_shown, blocks, commands, how_to_pages
from tests.unit.classify.test_cluster_command import level, write_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.documentation import Block

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.long,
    pytest.mark.usefixtures("own_store"),
]


def is_for_us(mark: str) -> bool:
    """Return whether a block is run here; slow blocks only on request."""
    return not mark or (mark == "expensive" and "CCBENCH_EXPENSIVE" in os.environ)


def _observed_servers(folder: Path) -> None:
    """Write results of classify for three similar servers."""
    folder.mkdir()
    for name, packets, label in (("a", 30, "cubic"), ("b", 31, "cubic"), ("c", 32, "unknown")):
        points = np.full(1001, packets)
        trace = level(packets, label, points=points, setting=SETTINGS[0].name)
        write_server(folder / name, label, [trace])


def _linux_of_pages() -> str:
    """Return the release of the Linux whose numbers the pages show."""
    text = (DOCS / "how-to" / "kernel.md").read_text(encoding="utf-8")
    (release,) = re.findall(r"^Linux +(\S+)$", text, re.MULTILINE)
    return str(release)


def _rewrite(page: Path, outputs: Sequence[tuple[Block, str]]) -> None:
    """Replace outdated outputs in the blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for block, output in reversed(outputs):
        begin, end = block.span
        text = text[:begin] + output + text[end:]
    page.write_text(text, encoding="utf-8")


def _replace_figures(page: Path, folder: Path, program: Callable[..., str]) -> None:
    """Replace the figures of a page that its commands drew in a folder, also as SVG."""
    images = DOCS / "images"
    shown = set(re.findall(r"\]\((?:\.\./)?images/([\w-]+\.png)\)", page.read_text("utf-8")))
    drawn = sorted(name for name in shown if (folder / name).exists())
    for name in drawn:
        shutil.copy(folder / name, images)
    for block in blocks(page):
        for words in commands(block.text) if block.language == "sh" and not block.mark else ():
            for name in {*words} & {*drawn}:
                vector = images / name.replace(".png", ".svg")
                program(*(str(vector) if word == name else word for word in words))


@pytest.mark.parametrize("page", how_to_pages(), ids=lambda page: page.stem)
def test_page(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The commands of a page work in order in an empty folder, and print the outputs shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(CHECKOUT / "examples")
    _observed_servers(tmp_path / "servers")
    release = installed().release  # `ccbench kernel use` on the page may select another one
    outputs = [
        (block, as_shown(block.text, printed))
        for block, printed in _shown(page, tmp_path, program, capsys)
    ]
    if "CCBENCH_REWRITE_PAGES" in os.environ:
        _rewrite(page, outputs)
        _replace_figures(page, tmp_path, program)
        return
    wrong: list[str] = []
    for block, output in outputs:
        old, new = block.text.splitlines(), output.splitlines()
        wrong += unified_diff(old, new, f"{page.name} shows", "is printed", lineterm="")
    if release != _linux_of_pages():
        pytest.skip(f"outputs were not compared: pages show those of Linux {_linux_of_pages()}")
    assert not wrong, "\n".join(wrong)


def _shown(
    page: Path, folder: Path, program: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Block, str]]:
    """Run the commands of a page in a folder; yield each shown output with the printed one."""
    names: dict[str, Any] = {}
    printed: str | None = None
    for block in blocks(page):
        try:
            if block.language in {"toml", "diff"} and block.mark:
                file = folder / block.mark
                file.parent.mkdir(exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                exec(block.text, names)  # noqa: S102 - it is our own
                printed = capsys.readouterr().out
            elif block.language == "sh":
                lines = commands(block.text) if is_for_us(block.mark) else None
                printed = None if lines is None else "".join(program(*words) for words in lines)
            elif not block.words and printed is not None:
                yield block, printed
        except Exception as error:
            raise AssertionError(f"{page.name}: {block.text}") from error
