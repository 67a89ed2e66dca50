# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench.base.cache import cache_dir
from ccbench.base.errors import CcbenchError, MissingRequirement
from ccbench.base.locks import locked
from ccbench.cli import main as cli
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import build, integrity, kernel_build, locks, lookup
from ccbench.emulate.kernel.source.cached_kernels import cached_kernels, prune
from tests.unit.emulate.kernel.conftest import MODULE, write

if TYPE_CHECKING:
    from collections.abc import Callable


class TestKept:
    @pytest.mark.usefixtures("sources")
    def test_first_is_the_default(self, kernel: Path) -> None:
        """`installed` returns the first kernel, whatever is built later, until `use` selects."""
        slow, fast = build.build(kernel, hz=100), build.build(kernel, hz=1000)
        assert slow == lookup.installed()
        assert fast == lookup.use("6.12.3") == lookup.installed()
        assert build.build(kernel, hz=100) == slow
        assert lookup.installed() == fast

    @pytest.mark.usefixtures("sources")
    def test_after_a_kill(self, kernel: Path) -> None:
        """Leftovers of a killed build are removed by the next build."""
        left = cache_dir() / "kernel" / "trees" / ".0123.4567.tmp"
        write(left, {"net/core/dev.c": ""})
        build.build(kernel)
        assert not left.exists()

    def test_pruned(self, kernel: Path, sources: Path, tmp_path: Path) -> None:
        """Old and damaged builds are removed; running, current and newest of each HZ stay."""
        (tmp_path / "cache").symlink_to(tmp_path)  # as where homes are links
        built = {}
        for text in ("used", "old", "damaged", "other"):
            write(sources, {"link/ours.c": f"/* {text} */\n"})
            built[text] = build.build(kernel, hz=100)
            made_s = len(built)
            os.utime(built[text].path / "build.json", (made_s, made_s))
        built["current"] = build.build(kernel, hz=1000)
        lookup.use("6.12")
        (built["damaged"].path / "build.json").write_text("{")
        held = locked(built["used"].path, shared=True)
        states = {item.path.name: item.state for item in cached_kernels() if item.kind == "build"}
        expected = {"used": "running", "old": "old", "damaged": "damaged"}
        expected |= {"other": "newest", "current": "current"}
        assert states == {built[text].version: state for text, state in expected.items()}
        assert len(prune(dry_run=True)) == 2
        removed = {one.path.name for one in prune()}
        assert removed == {built[text].version for text in ("old", "damaged")}
        left = {path.name for path in (cache_dir() / "kernel" / "builds").iterdir()}
        assert left == set(states) - removed
        os.close(held)
        assert [one.path.name for one in prune()] == [built["used"].version]
        assert lookup.installed() == built["current"]
        assert build.build(kernel, hz=100) == built["other"]  # its tree still exists

    def test_sizes(self, kernel: Path, sources: Path) -> None:
        """Sizes are disk usage: shared files count once."""
        for text in ("one", "other"):
            write(sources, {"link/ours.c": f"/* {text} */\n"})
            build.build(kernel)
        folder = cache_dir() / "kernel"
        counted = subprocess.run(
            ["du", "-s", "-B1", str(folder / "trees"), str(folder / "builds")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[::2]
        own = sum(path.stat().st_blocks * 512 for path in (folder / "trees", folder / "builds"))
        assert sum(item.size_bytes for item in cached_kernels()) == sum(map(int, counted)) - own

    @pytest.mark.usefixtures("sources")
    def test_commands(self, kernel: Path) -> None:
        """Text and JSON output list the builds, and the builds removed."""
        none = CliRunner().invoke(cli.program, ["kernel", "prune"])
        assert (none.exit_code, none.stdout) == (0, "0 removed, 0.0 MB\n")
        slow, fast = build.build(kernel, hz=100), build.build(kernel, hz=1000)
        lookup.use("6.12")
        (slow.path / "build.json").write_text("")
        listed = CliRunner().invoke(cli.program, ["kernel", "list"]).stdout.splitlines()
        rows = {words[0]: words[-1] for words in map(str.split, listed) if len(words) > 1}
        assert rows[slow.version] == "damaged"
        assert rows[fast.version] == "current"
        pruned = CliRunner().invoke(cli.program, ["kernel", "prune", "--json"])
        assert [Path(item["path"]) for item in json.loads(pruned.stdout)["kernels"]] == [slow.path]

    def test_contents(self, kernel: Path, sources: Path) -> None:
        """Each build lists its CCAs; text output has the common ones, and those of one release."""
        build.build(kernel)
        write(kernel, {"Makefile": (kernel / "Makefile").read_text().replace("6.12.3", "6.13.1")})
        write(sources, {"link/ours.c": MODULE.replace("swift", "newer")})
        build.build(kernel)
        newer, older = (item for item in cached_kernels() if item.kind == "build")
        assert (older.release, newer.release) == ("6.12.3", "6.13.1")
        assert set(older.ccas) - set(newer.ccas) == {"ours"}
        listed = CliRunner().invoke(cli.program, ["kernel", "list"]).stdout.splitlines()
        words = dict(re.split(r"  +", line, maxsplit=1) for line in listed[-4:] if "  " in line)
        assert "swift" in words["congestion controls"]
        assert words["Linux 6.12.3 also"] == "ours"
        assert words["Linux 6.13.1 also"] == "newer"

    @pytest.mark.usefixtures("sources")
    def test_left_by_own_modules(
        self, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A newer build with a module that the user has no longer is old, and is not listed."""
        usual = build.build(kernel)
        os.utime(usual.path / "build.json", (1, 1))
        own = {"tcp_own/Kbuild": "obj-m := tcp_own.o\n"}
        own["tcp_own/tcp_own.c"] = MODULE.replace("swift", "mine")
        folder = write(tmp_path / "own", own) / "tcp_own"
        monkeypatch.setenv("CCBENCH_MODULES", str(folder))
        mine = lookup.of_release("6.12")
        assert mine is not None
        assert mine.own.ccas == ("mine",)
        shown = CliRunner().invoke(cli.program, ["kernel", "list"]).stdout
        assert "mine" in shown
        monkeypatch.delenv("CCBENCH_MODULES")
        states = {one.path.name: one.state for one in cached_kernels() if one.kind == "build"}
        assert states == {usual.version: "current", mine.version: "old"}
        assert "mine" not in CliRunner().invoke(cli.program, ["kernel", "list"]).stdout
        shutil.rmtree(usual.path)
        assert "mine" not in CliRunner().invoke(cli.program, ["kernel", "list"]).stdout

    @pytest.mark.usefixtures("sources")
    def test_held(self, kernel: Path) -> None:
        """A running build is not removed; a build removed before its use is an error."""
        built = build.build(kernel)
        locks.hold(built)
        locks.hold(built)
        assert {item.state for item in cached_kernels() if item.kind == "build"} == {"running"}
        os.close(locks._held.pop(built.path))
        shutil.rmtree(built.path)
        with pytest.raises(MissingRequirement, match="was removed just now; run the command again"):
            locks.hold(built)

    def test_few_builds_are_kept(self, kernel: Path, sources: Path) -> None:
        """After edits of modules, the last eight builds of a tree are kept, and those in use."""
        used = build.build(kernel)
        locks.hold(used)
        for number in range(9):
            write(sources, {"link/ours.c": f"/* {number} */\n"})
            lookup.installed()
        left = [path.name for path in (cache_dir() / "kernel" / "builds").iterdir()]
        assert len(left) == 8 + 1
        assert used.version in left
        os.close(locks._held.pop(used.path))

    @pytest.mark.usefixtures("sources")
    def test_of_an_engine(self, kernel: Path) -> None:
        """The default kernel of an engine stays from its look-up on, before the first run."""
        build.build(kernel)
        path = KernelEngine().kernel.path
        assert not locks.remove_unused(path, cache_dir() / "kernel")
        os.close(locks._held.pop(path))
        assert locks.remove_unused(path, cache_dir() / "kernel")

    @pytest.mark.usefixtures("sources")
    def test_of_another_version(self, kernel: Path) -> None:
        """An intact build whose description this ccbench cannot read is old, not damaged."""
        built = build.build(kernel)
        (built.path / "build.json").write_text("{}")
        integrity.seal(built.path)
        assert {item.kind: item.state for item in cached_kernels()}["build"] == "old"

    @pytest.mark.usefixtures("sources")
    def test_few_trees_are_kept(self, kernel: Path) -> None:
        """The default and the last six kernel trees, which are large, are kept."""
        rates = range(100, 901, 100)
        for hz in rates:
            build.build(kernel, hz=hz)
        assert len(list((cache_dir() / "kernel" / "trees").iterdir())) == 1 + 6
        assert lookup.installed().hz == min(rates)

    @pytest.mark.usefixtures("sources")
    @pytest.mark.parametrize("name", ["linux", "root/modules/ours.ko", "root/init"])
    def test_damaged_file(self, kernel: Path, name: str) -> None:
        """A missing or truncated file of a build is listed; `kernel build` repairs the build."""
        built = build.build(kernel)
        content = (built.path / name).read_bytes()
        for damage in (lambda path: path.unlink(), lambda path: os.truncate(path, 10)):
            damage(built.path / name)
            states = {item.kind: item.state for item in cached_kernels()}
            assert states["build"] == "damaged"
            with pytest.raises(CcbenchError, match=rf"damaged \({name} .*kernel build"):
                kernel_build.check_intact(built)
            assert build.build(kernel) == built == lookup.installed()
            assert (built.path / name).read_bytes() == content
            kernel_build.check_intact(built)

    @pytest.mark.usefixtures("sources")
    def test_damaged_tree(self, kernel: Path, count: Callable[[], list[str]]) -> None:
        """A tree without a file that modules need is compiled again by `kernel build`."""
        built = build.build(kernel)
        (cache_dir() / "kernel" / "current" / "include/config/kernel.release").unlink()
        count()
        assert build.build(kernel) == built
        assert count() == ["kernel"]

    def test_damage_does_not_spread(self, kernel: Path, sources: Path) -> None:
        """A damaged module of an earlier build is not linked into a new one."""
        write(sources, {"flows/Kbuild": "obj-m := other.o\n", "flows/other.c": MODULE})
        before = build.build(kernel)
        os.truncate(before.module("other"), 10)
        write(sources, {"link/ours.c": MODULE.replace("swift", "changed")})
        after = lookup.installed()
        assert after.module("other").stat().st_size > 10
