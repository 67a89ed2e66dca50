# SPDX-License-Identifier: Apache-2.0
"""Values of options: numbers with units, and names."""

from __future__ import annotations

import re

import click
import pytest

from ccbench.cli.main import program
from tests.unit.cli.conftest import assert_refused, ccbench
from tests.unit.cli.test_cli import commands

#: Units in metavars of options, and their spelling in messages.
_UNITS = {
    "MBPS": "Mbit/s",
    "GBPS": "Gbit/s",
    "GBITPS": "Gbit/s",
    "MS": "ms",
    "US": "μs",
    "S": "s",
    "SECONDS": "s",
    "HZ": "Hz",
    "MB": "MB",
}


def command_at(words: tuple[str, ...]) -> click.Command:
    """Return the command with these words."""
    command: click.Command = program
    for word in words:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


_WITH_UNITS = [
    (words, option.opts[0], _UNITS[option.metavar])
    for words in commands(program)
    for option in command_at(words).params
    if isinstance(option, click.Option) and option.metavar in _UNITS
]


class TestUnits:
    @pytest.mark.parametrize(("words", "option", "unit"), _WITH_UNITS, ids=str)
    def test_unit_is_refused(self, words: tuple[str, ...], option: str, unit: str) -> None:
        """Each option refuses a number with a unit, and the message names the option's unit."""
        result = ccbench(*words, option, f"50{unit}")
        remedy = f"write the number of {unit} without the unit"
        assert_refused(result, option, f"'50{unit}'", remedy)

    def test_all(self) -> None:
        """The main options are covered, and no option with a unit accepts any float."""
        assert {"--bandwidth", "--rtt", "--duration"} <= {option for _, option, _ in _WITH_UNITS}
        floats = [
            (words, option.opts[0])
            for words in commands(program)
            for option in command_at(words).params
            if option.type is click.FLOAT and re.search("Mbit|seconds|MB|ms", str(option.metavar))
        ]
        assert [] == floats


def test_no_such_study() -> None:
    """An unknown study is answered with the command that lists all, or with the closest names."""
    assert_refused(ccbench("study", "run", "nosuch"), "`ccbench study list`", "choose one of these")
    assert_refused(ccbench("study", "run", "ware-3.11"), "did you mean 'ware-")
