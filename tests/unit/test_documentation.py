# SPDX-License-Identifier: Apache-2.0
"""Pages say nothing that is not so: commands, options, links between files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import pytest

from ccbench.cli.main import program
from tests.documentation import CHECKOUT, DOCS, MARKS, all_commands, blocks, pages

if TYPE_CHECKING:
    from pathlib import Path

#: What stands for something that the reader fills in: such commands are read up to it.
_BLANKS = re.compile(r"\.\.\.|\[|…|NAME|\$name")


def leaf_commands(group: click.Group, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the names of all commands below a group."""
    found: set[tuple[str, ...]] = set()
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= leaf_commands(command, (*above, name))
        else:
            found.add((*above, name))
    return found


def refusal(words: list[str]) -> str | None:
    """Return what click finds wrong with the names in a command line, without running it.

    What must be there on the disk, and what is left out, is not asked for.
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
            # With its settings: click keeps what it makes of them, and other tests ask with -h.
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
    """Every command of a page is one, with options that it has."""
    wrong = {}
    for words in all_commands(page):
        cut = next((i for i, word in enumerate(words) if _BLANKS.search(word)), None)
        if cut is not None and words[cut - 1].startswith("-"):
            cut -= 1  # the option has no value then
        if said := refusal(words[:cut]):
            wrong[" ".join(words)] = said
    assert wrong == {}


def test_every_command_has_a_page() -> None:
    """Each command has a how-to page, which runs or at least names each of its subcommands."""
    folder = DOCS / "how-to"
    named = {path.stem for path in folder.glob("*.md")} - {"index"}
    assert set(program.commands) == named
    for names in sorted(leaf_commands(program)):
        if names[:2] == ("bfc", "p4") and names[2] != "test":
            continue  # they are in docs/bfc.md, which is about the P4 program
        words = [words[: len(names)] for words in all_commands(folder / f"{names[0]}.md")]
        assert list(names) in words, names


def test_marks() -> None:
    """Blocks of the how-to pages say who can run them in words that mean something."""
    for page in (DOCS / "how-to").glob("*.md"):
        marks = {block.mark for block in blocks(page) if block.language == "sh"}
        assert marks <= MARKS | {""}, page


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links(name: str) -> None:
    """What a page beside the site links to is there; Sphinx looks at the site's own."""
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    local = [one for one in targets if not re.match(r"[a-z]+:", one)]
    assert local
    assert [] == [one for one in local if not (CHECKOUT / one).exists()]
