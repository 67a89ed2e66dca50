# SPDX-License-Identifier: Apache-2.0
"""The program as a whole: help, start-up, and reporting of errors."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from ccbench.base.errors import EngineError, MissingRequirement
from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from tests.unit.cli.conftest import assert_refused, ccbench

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result


def commands(group: click.Group, *path: str) -> list[tuple[str, ...]]:
    """Return the words of a group and of all commands in it."""
    paths = [path]
    for name, subcommand in group.commands.items():
        if isinstance(subcommand, click.Group):
            paths += commands(subcommand, *path, name)
        else:
            paths.append((*path, name))
    return paths


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Result]:
    """Run a command that raises an error."""

    def run(error: BaseException, *options: str) -> Result:
        @click.command()
        def fail() -> None:
            raise error

        commands = {**cli.program.commands, "fail": fail}
        monkeypatch.setattr(cli.program, "commands", commands)
        return ccbench(*options, "fail")

    return run


class TestProgram:
    @pytest.mark.parametrize("command", commands(cli.program), ids=" ".join)
    def test_help(self, command: tuple[str, ...]) -> None:
        """Every command has --help and -h, and lists show its description as one full line."""
        for option in ("--help", "-h"):
            result = ccbench(*command, option)
            assert ExitStatus.OK == result.exit_code
            assert "Usage: " in result.stdout
            assert "\\b" not in result.stdout  # marks examples to print verbatim
            assert "..." not in result.stdout.partition("Commands:")[2]

    def test_version(self) -> None:
        """--version prints name and version, and the virtual kernel: here none."""
        first, second = ccbench("--version").stdout.splitlines()
        assert first == "ccbench 0.1.0"
        assert second == "virtual kernel: not built; run: ccbench kernel build"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this machine has no /dev/full")
    @pytest.mark.parametrize("option", ["--help", "--version"])
    def test_full(self, option: str) -> None:
        """A full disk is one line of error even before any command has begun."""
        code = f"import sys; sys.argv[1:] = ['{option}']; from ccbench.cli.main import main; main()"
        with Path("/dev/full").open("w") as full:
            words = [sys.executable, "-c", code]
            done = subprocess.run(
                words, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        output = "ccbench: No space left on device: `df` says which disk is full\n"
        assert (1, output) == (done.returncode, done.stderr)

    def test_closed(self) -> None:
        """Closed standard streams are no error, and no file takes their descriptors."""
        code = (
            "import os, sys; from ccbench.cli.main import main; sys.argv[1:] = ['traces', 'list']\n"
            "try: main()\n"
            "finally: assert 0 == len({os.readlink(f'/proc/self/fd/{n}') for n in range(3)}) - 1"
        )
        words = ["sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]
        assert 0 == subprocess.run(words, check=False).returncode

    def test_quick_to_start(self) -> None:
        """Commands that compute nothing do not import pandas, which takes most of a second."""
        code = (
            "import sys; from click.testing import CliRunner; from ccbench.cli.main import program;"
            "[CliRunner().invoke(program, words.split()) for words in sys.argv[1:]];"
            "sys.exit('pandas' in sys.modules)"
        )
        commands = ("--help", "--version", "kernel info", "run nowhere.toml", "model bfc")
        more = ("model bbr --bandwidth 9 --rtt 9 --queue 2bdp", "study list", "traces list")
        servers = ("classify nowhere.csv", "classify example.com --plot x.png")
        words = [sys.executable, "-c", code, *commands, *more, *servers]
        assert 0 == subprocess.run(words, check=False).returncode

    @pytest.mark.parametrize("command", [(), ("kernel",)])
    def test_nothing_to_do(self, command: tuple[str, ...]) -> None:
        """A group without a command prints its help and counts as bad input."""
        result = ccbench(*command)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "Commands:" in result.output

    def test_unknown_command(self) -> None:
        """An unknown command is bad input, and the line names the list of commands."""
        assert_refused(ccbench("raygun"), "raygun", "ccbench --help")

    @pytest.mark.parametrize("command", ["doctor", "run", "harm", "raygen"])
    def test_unknown_option(self, command: str) -> None:
        """An unknown option is bad input, and the line names the list of options."""
        assert_refused(ccbench(command, "--colour"), "--colour", f"ccbench {command} --help")


class TestErrors:
    def test_missing_requirement(self, failing: Callable[..., Result]) -> None:
        """A missing requirement is one line and status 1."""
        result = failing(MissingRequirement("no kernel here; run: ccbench kernel build"))
        assert_refused(result, "ccbench kernel build", status=ExitStatus.FAILED)

    def test_engine_error(self, failing: Callable[..., Result]) -> None:
        """A failed run is status 1 and shows the guest's last lines below the message."""
        result = failing(EngineError("the guest panicked", ["[1.0] Oops", "[1.1] Kernel panic"]))
        assert ExitStatus.FAILED == result.exit_code
        lines = ["ccbench: the guest panicked", "  | [1.0] Oops", "  | [1.1] Kernel panic"]
        assert lines == result.stderr.splitlines()

    def test_unforeseen_error(self, failing: Callable[..., Result]) -> None:
        """An unforeseen error is one line that names --debug, and status 1."""
        result = failing(ZeroDivisionError("division by zero"))
        words = ("ZeroDivisionError: division by zero", "ccbench --debug fail")
        assert_refused(result, *words, status=ExitStatus.FAILED)

    def test_debug(self, failing: Callable[..., Result]) -> None:
        """With --debug an unforeseen error is shown with its traceback."""
        result = failing(ZeroDivisionError("division by zero"), "--debug")
        assert isinstance(result.exception, ZeroDivisionError)

    def test_file_error(self, failing: Callable[..., Result]) -> None:
        """A file that cannot be written is named with the reason, and is not reported as a bug."""
        result = failing(PermissionError(13, "Permission denied", "/results"))
        assert_refused(result, "/results: Permission denied: get", status=ExitStatus.FAILED)
        assert "bug" not in result.stderr
        assert "room" not in result.stderr

    def test_full_disk(self, failing: Callable[..., Result]) -> None:
        """A full disk, which Python often reports without a name, is not reported as a bug."""
        result = failing(OSError(28, "No space left on device"))
        assert_refused(result, "No space left on device: `df` says", status=ExitStatus.FAILED)

    def test_no_memory(self, failing: Callable[..., Result]) -> None:
        """Lack of memory, which Python reports without a message, is not reported as a bug."""
        result = failing(MemoryError())
        assert_refused(result, "not enough memory: free some", status=ExitStatus.FAILED)
        assert "bug" not in result.stderr

    def test_address_space(
        self, failing: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Too low a limit of memory is named with its value and the need, before a command runs."""
        monkeypatch.setattr(resource, "getrlimit", lambda _: (2**28, 2**28))
        result = failing(AssertionError("the command ran"))
        words = "address space (ulimit -v) is 256 MB, and ccbench needs 1024 MB: raise it"
        assert_refused(result, words, status=ExitStatus.FAILED)
        monkeypatch.setattr(resource, "getrlimit", lambda _: (2**30, 2**30))
        result = failing(ImportError("libX.so: failed to map segment from shared object"))
        assert_refused(result, "memory (ulimit -v is 1024 MB): free", status=ExitStatus.FAILED)

    def test_ctrl_c(self, failing: Callable[..., Result]) -> None:
        """Ctrl-C ends with a short line, no traceback, and the shell's status for it."""
        result = failing(KeyboardInterrupt())
        assert ExitStatus.INTERRUPTED == result.exit_code
        assert "ccbench: interrupted; finished runs are stored" == result.stderr.strip()
