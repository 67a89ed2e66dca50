# SPDX-License-Identifier: Apache-2.0
"""The program ``ccbench``: its commands, and what becomes of errors.

Every error that a person can do something about is one line on standard error and an exit status of
:class:`~ccbench.cli._status.ExitStatus`; a traceback appears only with ``--debug``.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ccbench.base.cache import ELSEWHERE, cache_dir
from ccbench.base.errors import CcbenchError, EngineError, InputError
from ccbench.base.os_errors import explain
from ccbench.cli._console import coloured
from ccbench.cli._status import ExitStatus
from ccbench.cli.bfc import bfc
from ccbench.cli.classify import classify
from ccbench.cli.classify_cluster import classify_cluster
from ccbench.cli.classify_train import classify_train
from ccbench.cli.deployable import deployable
from ccbench.cli.doctor import doctor
from ccbench.cli.elasticity import elasticity
from ccbench.cli.harm import harm
from ccbench.cli.kernel import kernel
from ccbench.cli.model import model
from ccbench.cli.raygen import raygen
from ccbench.cli.report import report
from ccbench.cli.run import run
from ccbench.cli.shell import shell
from ccbench.cli.study import study
from ccbench.cli.sweep import sweep
from ccbench.cli.traces import traces
from ccbench.cli.traffic import traffic

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["main", "program"]


#: What Python says where there is no memory for another thread, or there may be no more of them.
_NO_THREAD = "can't start new thread"
_NO_MEMORY = "there is not enough memory: free some, run fewer side by side, or raise `ulimit -v`"


class _Program(click.Group):
    """A click group whose every way out is an `ExitStatus`."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (CcbenchError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # the reader has gone (`ccbench ... | head`): click ends quietly
            raise
        except Exception as error:
            if ctx.params["debug"]:
                raise
            if isinstance(error, MemoryError) or _NO_THREAD in str(error):
                raise CcbenchError(_NO_MEMORY) from error
            if isinstance(error, OSError):  # the machine refuses: no room, no permission, ...
                raise CcbenchError(_refusal(error)) from error
            raise CcbenchError(
                f"{type(error).__name__}: {error} (a fault of ccbench; "
                f"`ccbench --debug {ctx.invoked_subcommand} ...` shows where)"
            ) from error

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        try:
            # Where it does not raise, a command returns its status or nothing, and --help a 0.
            status = super().main(*args, **{**extra, "standalone_mode": False}) or ExitStatus.OK
        except (*_ANSWERED, KeyboardInterrupt) as error:
            # What a library in C was interrupted in may end with any other error.
            status = _answer(KeyboardInterrupt() if _interrupts else error)
        sys.exit(status)


#: What ends a command: its own errors, and those of what goes before any, as --help to a full disk.
_ANSWERED = (click.ClickException, click.Abort, CcbenchError, OSError)
#: How often Ctrl-C was heard.
_interrupts: list[int] = []


def _answer(error: BaseException) -> ExitStatus:
    """Say what has ended a command, and return its status."""
    if isinstance(error, click.ClickException):
        return _refuse(error)
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        _complain("interrupted; what was finished is kept")
        return ExitStatus.INTERRUPTED
    _complain(_refusal(error) if isinstance(error, OSError) else str(error))
    if isinstance(error, EngineError):
        for line in error.console:
            click.echo(f"  | {line}", err=True)
    return ExitStatus.BAD_INPUT if isinstance(error, InputError) else ExitStatus.FAILED


def _refusal(error: OSError) -> str:
    """Return what the machine refuses, and what to do about it if that is known."""
    if error.filename is None:
        return explain(error)
    place, cache = Path(os.fsdecode(error.filename)), cache_dir()
    if place.is_relative_to(cache) or cache.is_relative_to(place):
        return explain(error, elsewhere=ELSEWHERE)
    return explain(error)


def _refuse(error: click.ClickException) -> ExitStatus:
    """Report what click itself finds wrong with the command line, in one line too."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return ExitStatus.BAD_INPUT
    message = " ".join(error.format_message().split()).rstrip(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    end = "" if message.endswith("?") else "."
    _complain(f"{message}{end} See: {context.command_path if context else 'ccbench'} --help")
    return ExitStatus.BAD_INPUT


def _complain(message: str) -> None:
    # Names of files may have anything in them, which must not break the line, or steer a terminal.
    shown = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in message)
    click.echo(f"{coloured('ccbench:', 'red')} {shown}", err=True)


def _show_version(context: click.Context) -> None:
    import ccbench
    from ccbench.emulate.kernel.source.build import ready

    click.echo(f"ccbench {ccbench.__version__}")
    kernel = ready()
    if kernel is None:
        click.echo("virtual kernel: not built; run: ccbench kernel build")
    else:
        click.echo(f"virtual kernel {kernel.version}: Linux {kernel.release}, {kernel.hz} Hz")
        click.echo(f"modules: {', '.join(kernel.modules)}")
    context.exit()


@click.group("ccbench", cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, wanted: _show_version(context) if wanted else None,
    help="Say which ccbench, kernel and modules these are, and exit.",
)
@click.option("--debug", is_flag=True, help="Show a traceback when ccbench itself is at fault.")
def program(*, debug: bool) -> None:
    """Benchmarks of congestion control on the real Linux TCP stack in virtual time.

    Start with `ccbench doctor`: it says what this machine can run and what to install for the rest.
    """


_commands = (
    *(doctor, kernel, run, sweep, shell, classify, classify_train, harm, deployable),
    *(classify_cluster, elasticity, raygen, report, study, model, bfc, traces, traffic),
)
for _command in _commands:
    program.add_command(_command)


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(ExitStatus.TERMINATED)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def _fill_standard() -> None:
    """Give closed standard descriptors to nobody, so that no file of ours becomes one of them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # in the order of their numbers, of which each takes its own
            nobody = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nobody, mode, encoding="utf-8"))


def main() -> NoReturn:
    """Run the program on ``sys.argv`` and exit."""
    _fill_standard()
    # A file's name that is not UTF-8, or a letter that the terminal lacks, is no reason to fail.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # `kill` then unwinds the stack as Ctrl-C does: running kernels are stopped on the way out.
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    sys.exit(program(prog_name="ccbench"))
