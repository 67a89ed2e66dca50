# SPDX-License-Identifier: Apache-2.0
"""Watch of a guest's console, and the errors that its text gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.boot import console as consoles
from ccbench.emulate.kernel.boot.console import ConsoleWatch, read_console
from ccbench.emulate.kernel.boot.crash import Crash

if TYPE_CHECKING:
    from pathlib import Path

SLEEPS = "[    0.1] BUG: scheduling while atomic: swapper/0/0x00000100\n"
OWN = "[    0.1] WARNING: CPU: 0 PID: 0 at a.c:7 mine_do+0x2f/0x40 [tcp_mine]\n"
NEWER = "[    0.1] WARNING: a.c:7 at mine_do+0x2f/0x40 [tcp_mine], CPU#0: swapper/0\n"
OTHER = "[    0.1] WARNING: CPU: 0 PID: 0 at net/core/dev.c:7 other+0x2f/0x40\n"
CALLED = "[    0.1]  [<7085e675>] ? mine_do+0x45/0x60 [tcp_mine]\n"
END = "[    0.1] ---[ end trace 0000000000000000 ]---\n"


@pytest.fixture
def console(tmp_path: Path) -> Path:
    """Give an empty console."""
    path = tmp_path / "console"
    path.touch()
    return path


@pytest.mark.parametrize("sign", [SLEEPS, OWN, NEWER, OTHER])
def test_stops(console: Path, sign: str) -> None:
    """The guest is over one look after the first sign of a failure, wherever a look cuts it."""
    watch = ConsoleWatch(console, ["tcp_mine"])
    with console.open("a") as file:
        file.write("[    0.0] all is well\n" + sign[:12])
        file.flush()
        assert not watch.is_over()
        file.write(sign[12:])
        file.flush()
        assert not watch.is_over()  # the call trace follows
        assert watch.is_over()


def test_continues(console: Path) -> None:
    """Without modules of the user, warnings end no guest."""
    console.write_text(OTHER + OWN.replace("tcp_mine", "tcp_bbr3"))
    watch = ConsoleWatch(console, ())
    assert not any(watch.is_over() for _ in range(3))


def test_flood(console: Path) -> None:
    """A console that grows without end ends the guest, and only its ends are read."""
    watch = ConsoleWatch(console, ())
    with console.open("w") as file:
        file.write("first\n")
        file.truncate(consoles.MAX_BYTES)
        file.seek(0, 2)
        file.write("last\n")
    assert watch.is_over()
    text = read_console(console)
    assert text.startswith(f"{consoles.FLOOD}\nfirst\n")
    assert text.endswith("last\n")
    assert len(text) < 2 << 20


def test_warning() -> None:
    """With modules of the user a WARN() is a crash, of the module if that is among the calls."""
    for lines, culprit in ((OWN, "mine_do"), (OTHER + CALLED, "mine_do"), (OTHER, None)):
        actual = Crash.read(f"{lines}{END}{CALLED}".splitlines(), ["tcp_mine"])
        assert actual is not None
        assert "a WARN() whose condition is true" == actual.cause
        assert culprit == (actual.culprit and actual.culprit.function)
    assert Crash.read((OTHER + END).splitlines()) is None
