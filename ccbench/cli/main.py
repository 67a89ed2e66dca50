# SPDX-License-Identifier: Apache-2.0
"""The program ``ccbench``: its commands and the handling of errors.

Every error is one line on standard error and an exit status of
:class:`~ccbench.cli._status.ExitStatus`. A traceback of an internal error appears only with
``--debug``.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

import ccbench
from ccbench.base import limits
from ccbench.base.cache import ELSEWHERE, cache_dir
from ccbench.base.errors import CcbenchError, ConsoleError, InputError
from ccbench.base.os_errors import explain
from ccbench.cli import _signals
from ccbench.cli._console import coloured
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main", "program"]


#: Messages of Python and of the loader of libraries if memory or the limit of threads is exhausted.
_EXHAUSTED = ("can't start new thread", "failed to map segment")
_NO_MEMORY = "there is not enough memory{}: free some, run fewer in parallel, or raise `ulimit -v`"

#: Address space of the program with its libraries, in MB.
_PROGRAM_MB = 1024


#: Names of the commands.
_COMMANDS = (
    *("bfc", "bisect", "classify", "classify-cluster", "classify-train", "deployable", "diff"),
    *("doctor", "elasticity", "evaluate", "harm", "kernel", "metrics", "model", "module", "plot"),
    *("raygen", "report", "run", "shell", "study", "sweep", "traces", "traffic"),
)


class _Commands(Mapping[str, click.Command]):
    """The commands by name, each in a module of its own, which is imported on first use."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in _COMMANDS:
            raise KeyError(name)
        word = name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"ccbench.cli.{word}"), word)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


class _Program(click.Group):
    """A click group that always exits with an `ExitStatus`."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            limits.ADDRESS_SPACE.check(_PROGRAM_MB, "ccbench")
            return super().invoke(ctx)
        except (CcbenchError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # the reader is gone (`ccbench ... | head`): click exits silently
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, MemoryError) or any(words in str(error) for words in _EXHAUSTED):
                allowed = limits.ADDRESS_SPACE.allowed()
                limit = "" if allowed is None else f" (ulimit -v is {allowed:.0f} MB)"
                raise CcbenchError(_NO_MEMORY.format(limit)) from error
            if isinstance(error, OSError):  # no space left, no permission, ...
                raise CcbenchError(_explained(error)) from error
            raise CcbenchError(
                f"{type(error).__name__}: {error} ({_origin(error)}; "
                f"`ccbench --debug {ctx.invoked_subcommand} ...` prints the traceback)"
            ) from error

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        try:
            # A command returns its status or None, and --help returns 0.
            status = super().main(*args, **{**extra, "standalone_mode": False}) or ExitStatus.OK
        except (*_REPORTED, KeyboardInterrupt) as error:
            # An interrupted C library may raise any other error.
            status = _signals.received() or _report(error)
        finally:
            _signals.ignore()
        if _signals.received() is ExitStatus.INTERRUPTED:
            _print_error(_INTERRUPTED)
        sys.exit(_signals.received() or status)


def _origin(error: Exception) -> str:
    """Return the place of an error in the user's own Python file, or say that it is ccbench's."""
    installed = (str(Path(ccbench.__file__).parent), sys.prefix, sys.base_prefix, "<")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(installed)]
    if not own:
        return "a bug in ccbench"
    return f"in {own[-1].name}, line {own[-1].lineno} of {own[-1].filename}"


#: Errors that end a command. OSError covers output before any command runs (--help to a full disk).
_REPORTED = (click.ClickException, click.Abort, CcbenchError, OSError)
_INTERRUPTED = "interrupted; finished runs are stored"


def _report(error: BaseException) -> ExitStatus:
    """Print the error that ended a command and return the exit status."""
    if isinstance(error, click.ClickException):
        return _report_usage(error)
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        _print_error(_INTERRUPTED)
        return ExitStatus.INTERRUPTED
    console = error.console if isinstance(error, ConsoleError) else ()
    message = str(error.args[0]) if console else str(error)
    _print_error(_explained(error) if isinstance(error, OSError) else message)
    for line in console:
        click.echo(f"  | {line}", err=True)
    return ExitStatus.BAD_INPUT if isinstance(error, InputError) else ExitStatus.FAILED


def _explained(error: OSError) -> str:
    """Return the message of a system error with the next step, if one is known."""
    if error.filename is None:
        return explain(error)
    path, cache = Path(os.fsdecode(error.filename)), cache_dir()
    if path.is_relative_to(cache) or cache.is_relative_to(path):
        return explain(error, elsewhere=ELSEWHERE)
    return explain(error)


def _report_usage(error: click.ClickException) -> ExitStatus:
    """Print click's own error about the command line in one line."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return ExitStatus.BAD_INPUT
    message = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    end = "" if message.endswith("?") else "."
    _print_error(f"{message}{end} See: {context.command_path if context else 'ccbench'} --help")
    return ExitStatus.BAD_INPUT


def _print_error(message: str) -> None:
    # Control characters in file names must neither break the line nor reach the terminal.
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in message)
    click.echo(f"{coloured('ccbench:', 'red')} {shown}", err=True)


def _show_version(context: click.Context) -> None:
    import ccbench
    from ccbench.emulate.kernel.source.lookup import ready

    click.echo(f"ccbench {ccbench.__version__}")
    kernel = ready()
    if kernel is None:
        click.echo("virtual kernel: not built; run: ccbench kernel build")
    else:
        click.echo(f"virtual kernel {kernel.version}: {kernel.title}, {kernel.hz} Hz")
        click.echo(f"modules: {', '.join(kernel.modules)}")
    context.exit()


@click.group(
    "ccbench",
    cls=_Program,
    commands=_Commands(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, wanted: _show_version(context) if wanted else None,
    help="Show the versions of ccbench, kernel and modules, and exit.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def program(*, debug: bool) -> None:
    """Benchmark congestion control on the real Linux TCP stack in virtual time.

    Start with `ccbench doctor`, which checks this machine and names missing packages.
    """


def _open_standard_streams() -> None:
    """Open closed standard streams on /dev/null, so that no other file gets their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in ascending order, so each gets its own descriptor
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8"))


def main() -> NoReturn:
    """Run the program on ``sys.argv`` and exit."""
    _open_standard_streams()
    # Print file names that are not UTF-8, and characters that the terminal lacks, escaped.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    _signals.catch()
    sys.exit(program(prog_name="ccbench"))
