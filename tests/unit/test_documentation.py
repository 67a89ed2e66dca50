# SPDX-License-Identifier: Apache-2.0
"""Commands, options and links on the pages are valid."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import version
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import click
import pytest
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from ccbench.cli.main import program
from ccbench.harm.circumstances import WORKLOADS
from tests.documentation import (
    CHECKOUT,
    DOCS,
    MARKS,
    all_commands,
    as_shown,
    blocks,
    commands,
    how_to_pages,
    pages,
)

if TYPE_CHECKING:
    from pathlib import Path

#: Placeholders for the reader: commands are checked up to the first of them.
_BLANKS = re.compile(r"\.\.\.|\[|…|NAME|\$name")


def leaf_commands(group: click.Group, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the names of all commands below a group."""
    actual: set[tuple[str, ...]] = set()
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            actual |= leaf_commands(command, (*above, name))
        else:
            actual.add((*above, name))
    return actual


def refusal(words: list[str]) -> str | None:
    """Return click's error about the names in a command line, without running it.

    Existence of files and missing arguments are not checked.
    """
    context: click.Context | None = None
    command: click.Command = program
    rest = list(words)
    try:
        while isinstance(command, click.Group):
            if rest and rest[0].startswith("-"):
                return None  # such as ccbench --version
            if not rest:
                return None  # the name of a group alone
            # With its settings: click caches them, and other tests use -h.
            settings = command.context_settings
            context = click.Context(command, parent=context, info_name=command.name, **settings)
            _, chosen, rest = command.resolve_command(context, rest)
            assert chosen is not None
            command = chosen
        context = click.Context(command, parent=context, **command.context_settings)
        command.make_parser(context).parse_args(rest)
    except click.UsageError as error:
        return error.format_message()
    return None


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_commands_exist(page: Path) -> None:
    """Every command on a page exists, with its options."""
    wrong = {}
    for words in all_commands(page):
        cut = next((i for i, word in enumerate(words) if _BLANKS.search(word)), None)
        if cut is not None and words[cut - 1].startswith("-"):
            cut -= 1  # the option has no value then
        if output := refusal(words[:cut]):
            wrong[" ".join(words)] = output
    assert wrong == {}


def test_every_command_has_a_page() -> None:
    """Each command has a how-to page, which runs or at least names each of its subcommands."""
    folder = DOCS / "how-to"
    named = {path.stem for path in folder.glob("*.md")} - {"index"}
    assert set(program.commands) == named
    for names in sorted(leaf_commands(program)):
        if names[:2] == ("bfc", "p4") and names[2] != "test":
            continue  # they are in docs/bfc.md, the page of the P4 program
        words = [words[: len(names)] for words in all_commands(folder / f"{names[0]}.md")]
        assert list(names) in words, names


def test_marks() -> None:
    """Blocks of the how-to pages have valid marks."""
    for page in (DOCS / "how-to").glob("*.md"):
        marks = {block.mark for block in blocks(page) if block.language == "sh"}
        assert marks <= MARKS | {""}, page


def test_separate_outputs() -> None:
    """No page overwrites outputs of another, except with the same command."""
    assert {path.stem for path in (DOCS / "how-to").glob("*.md")} == {
        "index",
        *(page.stem for page in how_to_pages() if page.parent.name == "how-to"),
    }
    writers: dict[str, dict[str, set[str]]] = {}
    for page in how_to_pages():
        page_commands = [commands(block.text) for block in blocks(page) if block.language == "sh"]
        for words in chain.from_iterable(page_commands):
            for option, place in pairwise(words):
                if option in {"-o", "--output", "--plot"}:
                    writers.setdefault(place, {}).setdefault(page.stem, set()).add(" ".join(words))
    for place, of_pages in writers.items():
        first, *others = of_pages.values()
        assert all(first == other for other in others), (place, of_pages)


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a  1\n", "a  2\n", "a  2\n"),
        ("a\n...\nd\n", "\na\nb\nc\nd  \n\n", "a\n...\nd\n"),
        ("a\n...\n", "a\n", "a\n"),
        ("names  one, two, ...\n", "names  one, two, three\n", "names  one, two, ...\n"),
        ("names  one, two, ...\n", "names  one, three, four\n", "names  one, ...\n"),
        ("", f"version {'c0ffee12' * 2}\n", "version 0123456789abcdef\n"),
        ("", "20 h with 8 side by side\n", "25 min with 2 side by side\n"),
        ("", "3 MB free in /mnt/tmp, 5 MB\n", "20000 MB free in /tmp, 5 MB\n"),
        ("", "3 MB free in /home/me/x/runs\n", "20000 MB free in /home/you/.cache/ccbench/runs\n"),
    ],
)
def test_as_shown(shown: str, printed: str, expected: str) -> None:
    """Omitted lines stay omitted, and varying values become examples."""
    assert expected == as_shown(shown, printed)
    assert expected == as_shown(expected, printed)


def test_highlighting(tmp_path: Path) -> None:
    """Terminal output is not highlighted as Python on the site; Python and shell blocks are."""
    (tmp_path / "index.md").write_text("# A page\n\n```\nis 1\n```\n\n```sh expensive\nls\n```\n")
    build = ["-q", "-b", "html", "-c", DOCS, "-D", "exclude_patterns=", tmp_path, tmp_path / "site"]
    subprocess.run([sys.executable, "-m", "sphinx", *map(str, build)], check=True)
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "<pre><span></span>is 1" in page
    assert "highlight-sh" in page


def test_text_on_site() -> None:
    """The site shows all text of the pages, as a viewer of plain Markdown does."""
    settings = runpy.run_path(str(DOCS / "conf.py"))
    names = (f.name for f in fields(MdParserConfig) if f"myst_{f.name}" in settings)
    config = MdParserConfig(**{name: settings[f"myst_{name}"] for name in names})
    site = create_md_parser(config, RendererHTML)
    plain = MarkdownIt("commonmark").enable("table")
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    assert [] == [page for page, text in texts.items() if shown(site, text) != shown(plain, text)]
    wrapped = "The share is 5\n% of the link.\n+++\n(a)=\n"
    assert shown(plain, wrapped) == shown(site, wrapped) == [wrapped.strip()]


def shown(parser: MarkdownIt, text: str) -> list[str]:
    """Return the text that a parser of Markdown finds in paragraphs, tables and blocks."""
    return [token.content for token in parser.parse(text) if token.content]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links(name: str) -> None:
    """Links on pages outside the site lead to existing files; Sphinx checks the site's own."""
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert local
    assert [] == [item for item in local if not (CHECKOUT / item).exists()]


def test_messages() -> None:
    """The messages that the page on troubleshooting explains exist in the code."""
    code = "".join(path.read_text("utf-8") for path in (CHECKOUT / "ccbench").rglob("*.py"))
    joined = re.sub(r'"\s*f?"', "", code)  # literals that continue on the next line
    page = (DOCS / "faq.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)`", page.partition("## Error messages")[2], re.MULTILINE)
    assert len(rows) > 10
    assert [] == [message for message in rows if message not in joined]


def test_least_duration() -> None:
    """The page on `deployable` states the least duration of its workloads."""
    starts = [*(workload.flow.start_s for workload in WORKLOADS)]
    starts += [workload.flow.arrivals[-1][0] for workload in WORKLOADS if workload.flow.arrivals]
    page = " ".join((DOCS / "how-to" / "deployable.md").read_text(encoding="utf-8").split())
    claim = "exceed the time at which the last flow of the workloads starts"
    assert f"It must {claim}: {max(starts):g} s by default" in page


def test_make_targets() -> None:
    """Every make target on a page exists, and `make help` lists it."""
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE))
    for page in pages():
        shell = "".join(block.text for block in blocks(page) if block.language == "sh")
        named = set(re.findall(r"^make ([a-z]+)", shell, re.MULTILINE))
        named |= set(re.findall(r"`make ([a-z]+)", page.read_text(encoding="utf-8")))
        assert named <= targets, page


def test_main_commands() -> None:
    """README names the command of the main job and that of all tests, which CI runs."""
    readme, contributing, start = (
        (CHECKOUT / name).read_text(encoding="utf-8")
        for name in ("README.md", "CONTRIBUTING.md", "docs/getting-started.md")
    )
    assert re.search(r"^make demo\b", readme, re.MULTILINE)
    assert re.search(r"^make demo$", start, re.MULTILINE)
    time = re.compile(r"^make test\b.*?(\d+ minutes on 2 cores)", re.MULTILINE)
    assert time.findall(readme) == time.findall(contributing)
    assert len(time.findall(readme)) == 1
    last_line = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1]
    assert last_line == "exec make test"


def test_release() -> None:
    """All distributions and the citation state one version; the licence of kernels is in both."""
    own, kernels, citation = (
        (CHECKOUT / name).read_text(encoding="utf-8")
        for name in ("pyproject.toml", "kernel_wheel/pyproject.toml", "CITATION.cff")
    )
    places = re.compile(
        r'^version(?: =|:) "?([\d.]+)|"ccbench(?:-kernel)?==([\d.]+)"', re.MULTILINE
    )
    stated = ["".join(found) for found in places.findall(f"{own}\n{kernels}\n{citation}")]
    assert [version("ccbench")] * 5 == stated
    licences = [CHECKOUT / name / "COPYING" for name in ("kernel_modules", "kernel_wheel")]
    assert licences[0].read_bytes() == licences[1].read_bytes()
