# SPDX-License-Identifier: Apache-2.0
"""Completion on the command line, and its appearance in a terminal."""

from __future__ import annotations

import io
import re
import sys

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from ccbench.base.progress_bars import progress
from ccbench.cli._console import coloured, print_pairs, print_table
from ccbench.cli.main import program


def completed(*words: str) -> list[str]:
    """Return the completions of the last of these words."""
    shell = ShellComplete(program, {}, "ccbench", "_CCBENCH_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


class TestCompletion:
    def test_names(self) -> None:
        """Names of studies, engines and qdiscs are completed, not only options."""
        assert ["nimbus-10", "nimbus-11"] == completed("study", "run", "nimbus-1")[:2]
        assert ["kernel", "kernel-http"] == completed("run", "x.toml", "--engine", "ker")
        assert ["fq", "fq_codel", "fq_pie"] == completed("harm", "--qdisc", "fq")

    def test_no_kernel(self) -> None:
        """Before a kernel is built, its congestion controls complete to nothing."""
        assert [] == completed("harm", "--alpha", "no-such")


class TestColour:
    @pytest.mark.parametrize(("wish", "shown"), [("", "\x1b[31mno\x1b[0m"), ("1", "no")])
    def test_no_color(self, monkeypatch: pytest.MonkeyPatch, wish: str, shown: str) -> None:
        """A non-empty NO_COLOR disables colours."""
        monkeypatch.setenv("NO_COLOR", wish)
        assert shown == coloured("no", "red")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestShapes:
    def test_table(self) -> None:
        """No line of a table ends with blanks, so that copied text is clean."""

        @click.command()
        def shows() -> None:
            print_table(["name", "value\nunit"], [["a", "1"], ["b", "12345"]], title="what it is")

        lines = CliRunner().invoke(shows).stdout.splitlines()
        assert "what it is" == lines[0]
        assert all(line == line.rstrip() for line in lines)

    def test_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a terminal, lists wrap between words with an indent; elsewhere they are one line."""
        names = ", ".join(f"name_{i}" for i in range(30))
        for stream, is_broken in ((_Terminal(), True), (io.StringIO(), False)):
            monkeypatch.setenv("COLUMNS", "60")
            monkeypatch.setattr(sys, "stdout", stream)
            print_pairs({"these": names}, words=True)
            lines = stream.getvalue().splitlines()
            assert is_broken == (len(lines) > 1)
            assert names == " ".join(line.removeprefix("these").strip() for line in lines)
            assert not is_broken or max(map(len, lines)) <= 60


def test_punctuation() -> None:
    """A message that ends with a question mark has no additional full stop."""
    line = CliRunner().invoke(program, ["kernel", "build", "--json"]).stderr
    assert "Did you mean '--jobs'? See: ccbench kernel build --help" in line


def test_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the duration is unknown, progress shows the elapsed time."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    with progress() as bar:
        task = bar.add_task("downloading", total=1)
        bar.refresh()
        assert "for 0:00:00" in terminal.getvalue()
        assert "left" not in terminal.getvalue()
        bar.update(task, completed=1)
        bar.refresh()
        assert "left 0:00:00" in re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
