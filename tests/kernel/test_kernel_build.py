# SPDX-License-Identifier: Apache-2.0
"""Builds of the real virtual kernel; see tests/unit for builds of a small stand-in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ccbench.emulate.kernel.source import home
from ccbench.emulate.kernel.source.lookup import installed
from tests.kernel.conftest import ask

pytestmark = pytest.mark.kernel

#: Every qdisc of mainline Linux in which packets can wait.
QUEUES = (
    "bfifo",
    "cake",
    "cbs",
    "choke",
    "codel",
    "drr",
    "dualpi2",
    "etf",
    "ets",
    "fq",
    "fq_codel",
    "fq_pie",
    "gred",
    "hfsc",
    "hhf",
    "htb",
    "mqprio",
    "multiq",
    "netem",
    "pfifo",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "plug",
    "prio",
    "qfq",
    "red",
    "sfb",
    "sfq",
    "skbprio",
    "taprio",
    "tbf",
)

_OWN = Path(__file__).parent / "tcp_metronome"
INSTALLED = "from ccbench.emulate.kernel.source.lookup import installed; print(installed().version)"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Boot the kernel, and give its reported features."""
    root = tmp_path_factory.mktemp("root")
    (root / "proc").mkdir()
    (root / "qdiscs").write_text("".join(f"{name}\n" for name in QUEUES))
    answer = ask("ask_kernel.c", root)
    answers: dict[str, set[str]] = {"tick": set(), "ccas": set(), "qdisc": set()}
    for line in answer.splitlines():
        key, *values = line.split() or [""]
        if key in answers:
            answers[key].update(values)
    return answers


class TestKernelBuild:
    def test_hz(self, reported: dict[str, set[str]]) -> None:
        """The HZ of a build is that of the running kernel."""
        assert {str(1_000_000_000 // installed().hz)} == reported["tick"]

    def test_ccas(self, reported: dict[str, set[str]]) -> None:
        """The CCAs of a build are those of the running kernel and of the modules."""
        missing = reported["ccas"] - set(installed().ccas)
        more = set(installed().ccas) - reported["ccas"]
        of_modules = {cca for module in installed().modules.values() for cca in module.ccas}
        assert (missing, more - of_modules) == (set(), set())
        assert {"reno", "cubic", "bbr"} <= reported["ccas"]

    def test_qdiscs(self, reported: dict[str, set[str]]) -> None:
        """The qdiscs of a build are the running kernel's qdiscs of Linux, and no others."""
        assert reported["qdisc"] == set(QUEUES) & set(installed().qdiscs)
        assert {"pfifo", "codel", "fq_codel", "pie", "cake", "red"} <= reported["qdisc"]

    def test_files(self) -> None:
        """Kernel, init and modules exist, and the init needs no other file."""
        built = installed()
        assert [] == [name for name in built.modules if not built.module(name).is_file()]
        assert {"ccbench_flows", "ccbench_link"} <= set(built.modules)
        for file in (built.linux, built.init):
            assert file.stat().st_mode & 0o111
        command = ["readelf", "--program-headers", str(built.init)]
        headers = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        assert b"INTERP" not in headers


class TestInstalled:
    def test_changed_module(
        self, other_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a change of a module only this module is compiled again."""
        before = installed()
        sources = Path(shutil.copytree(home.sources_dir(), tmp_path / "kernel_modules"))
        with (sources / "link" / "main.c").open("a") as file:
            file.write('MODULE_INFO(test, "changed");\n')
        monkeypatch.setattr(home, "sources_dir", lambda: sources)
        after = installed()
        assert b"test=changed" in after.module("ccbench_link").read_bytes()
        assert b"test=changed" not in before.module("ccbench_link").read_bytes()
        assert after.linux.samefile(before.linux)
        same = {name for name in after.modules if after.module(name).samefile(before.module(name))}
        assert same == {*after.modules} - {"ccbench_link"}
        assert after.version != before.version
        logs = {path.name.split("-")[0] for path in (other_cache / "logs").iterdir()}
        assert logs == {"modules"}

    def test_side_by_side(self, other_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Several processes that need the modules at once all get them, compiled once."""
        without = installed().version
        monkeypatch.setenv("CCBENCH_MODULES", str(_OWN))
        command = [sys.executable, "-c", INSTALLED]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        versions = {process.communicate()[0].strip() for process in processes}
        assert versions == {installed().version}
        assert {path.name for path in (other_cache / "builds").iterdir()} == {*versions, without}
        assert len(list((other_cache / "logs").iterdir())) == 1


class TestCommand:
    def build(self, source: Path) -> subprocess.CompletedProcess[str]:
        """Build from a source with the program."""
        program = str(Path(sys.executable).parent / "ccbench")
        command = [program, "kernel", "build", "--source", str(source)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    @pytest.mark.usefixtures("other_cache")
    def test_too_old(self, tmp_path: Path) -> None:
        """A kernel that is too old is refused at once, with one line and exit status 2."""
        makefile = "VERSION = 5\nPATCHLEVEL = 15\nSUBLEVEL = 0\nEXTRAVERSION =\n"
        (tmp_path / "Makefile").write_text(makefile)
        done = self.build(tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "Linux 5.15.0" in done.stderr
        assert "6.1 or newer" in done.stderr

    @pytest.mark.usefixtures("other_cache")
    def test_no_kernel(self, tmp_path: Path) -> None:
        """A folder without a kernel's source is refused at once."""
        done = self.build(tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 2
        assert "not the source of a Linux kernel" in done.stderr
