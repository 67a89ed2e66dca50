# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import EngineError, InputError
from ccbench.emulate.kernel.boot import crash
from ccbench.emulate.kernel.boot.crash import Crash, Place, source_line, store_console
from ccbench.emulate.kernel.boot.ending import failure
from ccbench.emulate.kernel.source.kernel_build import KernelBuild

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.base.errors import CcbenchError

POINTER = """\
[    0.000000] ccbench_link: loading out-of-tree module taints kernel.
[    0.355000] RIP: 0033:mine_do+0x2f/0x340 [tcp_mine]
[    0.355000] task:init state:D
[    0.355000]  [<70810fc4>] ? waits+0x14/0x60 [ccbench_flows]
[    0.355000] Kernel panic - not syncing: Segfault with no mm at addr 0x8
[    0.355000] Call Trace:
[    0.355000]  [<60015be0>] ? tcp_ack+0x0/0x70
[    0.355000]  [<7085e675>] ? mine_ssthresh+0x45/0x60 [tcp_mine]
[    0.355000]  [<60221090>] ? tcp_ack+0xda0/0x1560
"""
BUG = """\
[    0.124000] BUG: failure at /modules/tcp_mine/a.c:74/mine_do()!
[    0.124000] Kernel panic - not syncing: BUG!
[    0.124000]  [<6028a200>] ? strcat+0x30/0x40
[    0.124000]  [<602938ae>] ? panic+0xe0/0x238
[    0.124000]  [<7085e7a9>] ? mine_do+0x64/0x8b [tcp_mine]
"""

SOURCE = """\
static volatile int zero;
__attribute__((noinline)) int first(void)
{
	return zero;
}
int second(void)
{
	return first() +
		100 / zero;
}
"""


def build_in(folder: Path) -> KernelBuild:
    """Return an empty kernel build in this folder."""
    return KernelBuild(
        path=folder,
        release="6.12",
        hz=1000,
        ccas=(),
        qdiscs=(),
        modules={},
        version="0" * 16,
        identity="0" * 16,
    )


@pytest.fixture
def crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test its own cache; return the folder of consoles."""
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "crashes"


class TestCrash:
    def test_pointer(self) -> None:
        """The crashing instruction comes first, then its callers, and last the waiting tasks."""
        actual = Crash.read(POINTER.splitlines())
        assert actual is not None
        assert "a bad pointer, 0x8" == actual.cause
        assert ["mine_do", "mine_ssthresh", "tcp_ack", "waits"] == [
            place.function for place in actual.places
        ]
        assert Place(function="mine_do", offset=0x2F, size=0x340, module="tcp_mine") == (
            actual.culprit
        )

    def test_bug(self) -> None:
        """Entries above panic() on the stack belong to earlier calls and are dropped."""
        actual = Crash.read(BUG.splitlines())
        assert actual is not None
        assert ["mine_do"] == [place.function for place in actual.places]
        assert "a call of BUG() at tcp_mine/a.c:74" == actual.cause

    def test_none(self) -> None:
        """A console without a crash yields none."""
        assert Crash.read(["[    0.1] all is well", "ccbench: finished"]) is None


class TestSourceLine:
    def test_lines(self, tmp_path: Path) -> None:
        """An instruction has its source line; a return address has the line of its call."""
        (tmp_path / "tcp_mine").mkdir()
        (tmp_path / "debug").mkdir()
        (tmp_path / "tcp_mine" / "a.c").write_text(SOURCE)
        command = ["gcc", "-g", "-O1", f"-ffile-prefix-map={tmp_path}=/modules", "-c"]
        module = tmp_path / "debug" / "tcp_mine.ko"
        file = tmp_path / "tcp_mine" / "a.c"
        subprocess.run([*command, str(file), "-o", str(module)], check=True)
        build = build_in(tmp_path)
        assert "tcp_mine/a.c:4" == source_line(
            Place(function="first", offset=0, size=16, module="tcp_mine"), build
        )
        code = subprocess.run(
            ["objdump", "-d", str(module)], capture_output=True, text=True, check=True
        ).stdout
        begin = int(code.partition(" <second>:")[0].split()[-1], 16)
        after_call = code.partition("call")[2].splitlines()[1]  # the next instruction
        if not after_call.strip()[0].isdigit() or "R_X86" in after_call:
            after_call = code.partition("call")[2].splitlines()[2]
        offset = int(after_call.split(":")[0], 16) - begin
        place = Place(function="second", offset=offset, size=32, module="tcp_mine", returns=True)
        assert "tcp_mine/a.c:8" == source_line(place, build)

    def test_unknown(self, tmp_path: Path) -> None:
        """Without a module or debug information there is no source line."""
        for module in ("", "tcp_mine"):
            place = Place(function="first", offset=0, size=16, module=module)
            assert "" == source_line(place, build_in(tmp_path))


class TestKept:
    def test_bounded(self, crashes: Path) -> None:
        """Equal consoles are stored once, and only the latest consoles are kept."""
        paths = [store_console(f"console {i}") for i in (0, 0, *range(1, 30))]
        assert paths[0] == paths[1]
        assert crash.MAX_CONSOLES == len(list(crashes.iterdir()))
        assert "console 29" == paths[-1].read_text()


def ended(console: str, folder: Path) -> CcbenchError | None:
    """Return the failure of a guest with 64 MB."""
    build = build_in(folder)
    return failure(
        console, build, status=1, memory_mb=64, hung_s=0, records=folder, programs=folder
    )


class TestFailure:
    def test_crash(self, tmp_path: Path, crashes: Path) -> None:
        """One line names the crash, its place, the file with details and the remedy."""
        error = ended(POINTER, tmp_path)
        assert isinstance(error, EngineError)
        (stored,) = crashes.iterdir()
        assert str(error) == (
            "tcp_mine crashed in mine_do+0x2f [tcp_mine]: a bad pointer, 0x8; "
            f"the console log is {stored}: correct the module"
        )
        assert POINTER == stored.read_text()
        assert "Kernel panic - not syncing: Segfault with no mm at addr 0x8" == error.console[0]

    def test_no_cache(self, tmp_path: Path, crashes: Path) -> None:
        """If the console cannot be stored, the error says so and is otherwise complete."""
        crashes.parent.mkdir()
        crashes.write_text("no folder")
        error = ended(POINTER, tmp_path)
        assert "its console log could not be written to " in str(error)
        assert str(error).startswith("tcp_mine crashed in mine_do+0x2f")

    def test_finished(self, tmp_path: Path) -> None:
        """A guest that completed its plan has no error, unless a fault occurred on the way."""
        assert ended("ccbench: finished", tmp_path) is None

    def test_sysctl(self, tmp_path: Path) -> None:
        """A sysctl that the kernel refuses is named as in the scenario."""
        console = "ccbench: failed: write /proc/sys/net/ipv4/tcp_x 7: Invalid argument"
        error = ended(console, tmp_path)
        assert isinstance(error, InputError)
        assert isinstance(error, EngineError)
        assert error.console == ()
        assert str(error) == (
            "sysctls.net.ipv4.tcp_x = '7' is refused by the virtual kernel (Invalid argument): "
            "change it"
        )
