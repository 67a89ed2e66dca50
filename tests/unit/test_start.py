# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at odd moments: while the program is loaded, in C code of others, at the end."""

from __future__ import annotations

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
