# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and kill at odd moments: while loading, in C code or destructors of others, at the end."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

_WHILE_LOADING = """
class Finder:
    def find_spec(self, name, *_):
        if name == "ccbench.cli.main":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
_AT_THE_END = "atexit.register(signal.raise_signal, signal.SIGINT)"
_IN_C = """
import click
def run(*_):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ValueError("as C++ has it") from None
click.Command.invoke = run
sys.argv[1:] = ["doctor"]
"""
_IGNORED = f"signal.signal(signal.SIGINT, signal.SIG_IGN){_WHILE_LOADING}"


@pytest.mark.parametrize(
    ("before", "status"),
    [(_WHILE_LOADING, 130), (_IN_C, 130), (_AT_THE_END, 130), (_IGNORED, 0)],
    ids=["loading", "C", "end", "ignored"],
)
def test_interrupted(before: str, status: int) -> None:
    """Ctrl-C is one line and a shell's status, and nothing if the caller ignores it."""
    program = "from ccbench.cli.start import start\nstart()"
    code = f"import atexit, signal, sys\n{before}\n{program}"
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=False
    )
    assert status == done.returncode, done.stderr
    output = "ccbench: interrupted; finished runs are stored\n"
    assert done.stderr == (output if status else "")


_DISCARDED = """
import click
def work():
    try:
        time.sleep(60)
    finally:
        print("cleaned up", flush=True)
class Discarding:
    def __del__(self):
        signal.raise_signal(number)
def discard(*_):
    sys.unraisablehook = lambda _: print("discarded", flush=True)
    Discarding()
    work()
def clear(*_):
    try:
        signal.raise_signal(number)
    except BaseException:
        print("discarded", flush=True)
    work()
def finish(*_):
    print("discarded\\ncleaned up", flush=True)
    with suppress(BaseException):
        signal.raise_signal(number)
def fork(*_):
    if os.fork():
        os.wait()
        print("cleaned up", flush=True)
        return
    with suppress(BaseException):
        signal.raise_signal(number)
    time.sleep(0.5)
    print("discarded", flush=True)
    os._exit(0)
"""


def run_command(command: str, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """Run the program, in which any command calls a function of `_DISCARDED`."""
    code = f"""
import os, signal, sys, time
from contextlib import suppress
number = {int(number)}
{_DISCARDED}
click.Group.invoke = {command}
sys.argv[1:] = ["doctor"]
from ccbench.cli.start import start
start()
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", ["discard", "clear", "finish"])
def test_discarded(command: str, number: signal.Signals) -> None:
    """A command ends, and cleans up, even if Python or a library discards the exception."""
    done = run_command(command, number)
    assert done.stdout == "discarded\ncleaned up\n"
    assert done.returncode == 128 + number
    output = "ccbench: interrupted; finished runs are stored"
    assert done.stderr.strip() == (output if number == signal.SIGINT else "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_discarded_in_child(number: signal.Signals) -> None:
    """A forked process may discard the exception and go on; the command does not end."""
    done = run_command("fork", number)
    assert done.stdout == "discarded\ncleaned up\n"
    assert (done.returncode, done.stderr) == (0, "")
