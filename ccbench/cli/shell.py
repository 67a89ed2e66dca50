# SPDX-License-Identifier: Apache-2.0
"""``ccbench shell``."""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ccbench.base import result_folders
from ccbench.cli._console import made_by, print_pairs
from ccbench.cli._mahimahi_words import equivalent
from ccbench.cli._options import (
    EngineChoice,
    check_link,
    command_engine_options,
    optional,
    output_option,
    quantity,
    queue_option,
    rtt_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ccbench.emulate.recording import CommandRecording
    from ccbench.experiment.path import NetworkPath

__all__ = ["shell"]

_PROMPT = "ccbench> "

#: Folder of the files that a command wrote, in that of its recording.
_FILES = "files"

#: Time until a message says what a command waits for, in seconds.
_WAIT_S = 2.0


@click.command(
    context_settings={"allow_interspersed_args": False},
    short_help="Run any program behind an emulated link.",
)
@click.option(
    "--bandwidth", type=quantity("Mbit/s"), metavar="MBPS", help="Rate of the link in Mbit/s."
)
@click.option("--trace", metavar="NAME|FILE", help="Trace of a link of varying rate instead.")
@optional(rtt_option)
@optional(queue_option)
@click.option("--loss", type=float, default=0.0, metavar="P", help="Probability of random loss.")
@click.option(
    "--path",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with the network instead of these options, in virtual time.",
)
@click.option(
    "--direction",
    type=click.Choice(["down", "up"]),
    default="down",
    show_default=True,
    help="Traffic that passes the link: downloads or uploads of the command.",
)
@click.option(
    "--server",
    metavar="COMMAND",
    help="Server at the other end, in virtual time; it starts a second before the command.",
)
@click.option(
    "--limit",
    type=quantity("s"),
    metavar="S",
    help="Virtual time after which the command is ended.  [default: 600]",
)
@click.option(
    "--real-time", is_flag=True, help="In real time: with mahimahi, or the engine of --engine."
)
@command_engine_options
@output_option(
    "Folder for queue.parquet (every event at the queue), shell.json, and files of the command."
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def shell(
    context: click.Context,
    *,
    bandwidth: float | None,
    trace: str | None,
    rtt: float | None,
    queue_setting: dict[str, Any],
    loss: float,
    file: Path | None,
    direction: Literal["down", "up"],
    server: str | None,
    limit: float | None,
    real_time: bool,
    engine: EngineChoice,
    output: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND behind an emulated link, and record the link's queue.

    The exit status is that of the command, and a summary is printed on standard error. By default
    the command and a server of yours run in virtual time, without root. What the command prints
    is passed on several times a second. It reads its standard input, if that is a file or a pipe,
    and sees your files; those that it writes are kept in the folder of -o. Without COMMAND, each
    line that you enter is one; the clock runs only while a command does.

    \b
        ccbench shell --bandwidth 12 --rtt 80 --queue 64 \\
          --server 'python3 -m http.server 8000' -- curl -s http://{address}:8000/file

    In real time, with Mahimahi or BESS, the command reaches the Internet, and its standard input
    and output are those of ccbench. The default COMMAND is your shell. Behind Mahimahi,
    $MAHIMAHI_BASE is the address of this machine.

    \b
        sudo ccbench shell --real-time --bandwidth 12 --rtt 80 --queue 64 -- curl https://example.com
    """  # noqa: D301 - click needs the backslash
    if (ours := equivalent(command)) is not None:
        message = f"{command[0]} is of Mahimahi: write {ours}"
        raise click.UsageError(message)
    if real_time and engine.name == "kernel":
        engine = EngineChoice("mahimahi", engine.values)
    path = _path(
        file=file, bandwidth=bandwidth, trace=trace, rtt=rtt, queue=queue_setting, loss=loss
    )
    if output is not None:
        result_folders.prepare(output, "recorded queue")
    if engine.name == "kernel":
        from ccbench.emulate.kernel.shell import LIMIT_S

        status = _in_virtual_time(
            command=command,
            path=path,
            engine=engine,
            output=output,
            server=server or "",
            direction=direction,
            limit_s=LIMIT_S if limit is None else limit,
        )
        context.exit(status)

    from ccbench.emulate.registry import resolve_link

    for flag, value in (("--path", file), ("--server", server), ("--limit", limit)):
        if value is not None:
            message = f"{flag} is for virtual time: leave it out with --engine {engine.name}"
            raise click.UsageError(message)
    words = command or (os.environ.get("SHELL", "/bin/sh"),)
    recording = resolve_link(engine.make()).record(
        words, path.bottlenecks[0], path.rtt_ms, direction=direction
    )
    _report(recording, output, {}, {})
    context.exit(recording.status)


def _in_virtual_time(
    *,
    command: tuple[str, ...],
    path: NetworkPath,
    engine: EngineChoice,
    output: Path | None,
    server: str,
    direction: Literal["down", "up"],
    limit_s: float,
) -> int:
    """Run a command, or each line of standard input; return the exit status of the last one."""
    from ccbench.emulate.kernel.shell import VirtualCommand

    kernel: Any = engine.make()
    status = 0
    for words in [command] if command else _lines():
        virtual = VirtualCommand(
            words=words,
            path=path,
            server=server,
            direction=direction,
            limit_s=limit_s,
            standard_input=_input() if command else b"",
        )
        began_s = time.monotonic()
        recording, written = virtual.record(kernel, _print)
        took_s = time.monotonic() - began_s
        stopped = ", stopped by --limit" if recording.duration_s >= limit_s else ""
        times = {
            "virtual time": f"{recording.duration_s:.4g} s{stopped}",
            "real time": f"{took_s:.2g} s",
        }
        _report(recording, output, times, written)
        status = recording.status
    return status


def _print(printed: bytes) -> None:
    sys.stdout.buffer.write(printed)
    sys.stdout.flush()


def _input() -> bytes:
    """Return standard input to its end, if it is a file or a pipe, as the clock waits for it."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # there is none
        return b""
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        return b""
    text = "waiting for the end of standard input (for none: </dev/null)"
    waiting = threading.Timer(_WAIT_S, click.echo, [text], {"err": True})
    waiting.start()
    try:
        return sys.stdin.buffer.read()
    finally:
        waiting.cancel()


def _lines() -> Iterator[tuple[str, ...]]:
    """Yield each line of standard input as a command of the user's shell."""
    while True:
        try:
            line = click.prompt("", prompt_suffix=_PROMPT, default="", show_default=False)
        except click.Abort:
            return
        if line.strip() == "exit":
            return
        if line.strip():
            yield ("sh", "-c", line)


def _report(
    recording: CommandRecording,
    output: Path | None,
    times: dict[str, str],
    written: Mapping[str, bytes],
) -> None:
    """Save a recording and the files of its command, and print its summary on standard error."""
    if output is not None:
        recording.save(output)
        for name, content in written.items():
            file = output / _FILES / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    saved = {} if output is None else {"saved to": str(output)}
    if written and output is None:
        saved["not saved"] = f"{', '.join(written)}: add -o FOLDER"
    shown = {
        name.replace("_", " "): f"{value:.6g}"
        for name, value in recording.summary().items()
        if value is not None and not (times and name == "duration_s")
    }
    provenance = made_by(recording.provenance)
    print_pairs({**shown, **times, "made by": provenance, **saved}, err=True)


def _path(
    *,
    file: Path | None,
    bandwidth: float | None,
    trace: str | None,
    rtt: float | None,
    queue: dict[str, Any] | None,
    loss: float,
) -> NetworkPath:
    """Return the path of a file or of the options; a Scenario converts a queue in BDPs."""
    from ccbench.experiment.scenario import Scenario, load_path

    if file is not None:
        if any((bandwidth, trace, rtt, queue, loss)):
            message = "--path is a whole network: leave the options of the link out"
            raise click.UsageError(message)
        return load_path(file)
    check_link({"bandwidth": bandwidth, "trace": trace, "rtt": rtt, "queue_setting": queue})
    values = {"bandwidth_mbps": bandwidth, "trace": trace, "loss": loss, **(queue or {})}
    link = {name: value for name, value in values.items() if value is not None}
    document = {"flows": [{}], "bottlenecks": [link], "rtt_ms": rtt, "duration_s": 1}
    return Scenario.from_dict(document).path
