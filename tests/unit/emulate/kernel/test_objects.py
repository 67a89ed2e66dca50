# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.emulate.kernel.source import objects
from tests.unit.emulate.kernel.conftest import write

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    ".config": "CONFIG_NET=y\nCONFIG_HZ=1000\n# CONFIG_IPV6 is not set\n",
    "net/tcp.c": '#include "tcp.h"\n',
    "net/udp.c": "/* UDP */\n",
    "include/tcp.h": "/* header */\n",
}


def commands(source: str, *inputs: str) -> str:
    """Return kbuild's file beside the object of a source."""
    target = source.replace(".c", ".o")
    lines = "".join(f"  {item} \\\n" for item in inputs)
    return (
        f"savedcmd_{target} := gcc -c -o {target} {source}\n\nsource_{target} := {source}\n\n"
        f"deps_{target} := \\\n{lines}\n{target}: $(deps_{target})\n\n$(deps_{target}):\n"
    )


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Give a compiled tree with stored objects."""
    tree = write(tmp_path / "compiled", FILES)
    system = tmp_path / "stddef.h"
    system.write_text("/* of the compiler */\n")
    inputs = ("  $(wildcard include/config/HZ)", "$(wildcard include/config/IPV6)")
    made = {
        "net/tcp.o": "object of TCP",
        "net/.tcp.o.cmd": commands("net/tcp.c", *inputs, "include/tcp.h", str(system)),
        "net/udp.o": "object of UDP",
        "net/.udp.o.cmd": commands("net/udp.c"),
        "net/built-in.o": "linked",
        "net/.built-in.o.cmd": "savedcmd_net/built-in.o := ld net/tcp.o\n",
        "scripts/tool.o": "of the host",
        "scripts/.tool.o.cmd": commands("net/udp.c"),
        "vmlinux.o": "linked",
    }
    write(tree, made)
    objects.save(objects.Place(tree), tree / objects.FILE)
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a configured tree of the same source."""
    write(tmp_path / "tree" / "scripts", {"Makefile": ""})
    return write(tmp_path / "tree", FILES)


def reused(tree: Path, *others: Path) -> set[str]:
    """Return the objects that a tree gets from others."""
    number = objects.reuse(objects.Place(tree), [other / objects.FILE for other in others])
    found = {str(path.relative_to(tree)) for path in tree.rglob("*.o")}
    assert number == len(found)
    return found


class TestReuse:
    def test_equal(self, tree: Path, compiled: Path) -> None:
        """All compiled objects of an equal tree are copied with their commands, and no others."""
        assert reused(tree, compiled) == {"net/tcp.o", "net/udp.o"}
        for name in ("tcp.o", ".tcp.o.cmd"):
            assert (tree / "net" / name).read_text() == (compiled / "net" / name).read_text()
        assert (tree / "net/tcp.o").stat().st_mtime_ns > (tree / "net/tcp.c").stat().st_mtime_ns

    @pytest.mark.parametrize(
        ("file", "text", "expected"),
        [
            ("net/tcp.c", "changed", {"net/udp.o"}),
            ("include/tcp.h", "changed", {"net/udp.o"}),
            ("../stddef.h", "changed", {"net/udp.o"}),
            (".config", FILES[".config"].replace("1000", "100"), {"net/udp.o"}),
            (".config", f"{FILES['.config']}CONFIG_IPV6=y\n", {"net/udp.o"}),
            (".config", f"{FILES['.config']}CONFIG_OTHER=y\n", {"net/tcp.o", "net/udp.o"}),
            ("net/udp.c", "changed", {"net/tcp.o"}),
        ],
    )
    def test_changed(
        self, tree: Path, compiled: Path, file: str, text: str, expected: set[str]
    ) -> None:
        """An object is not copied after a change of its source, a header or one of its options."""
        write(tree, {file: text})
        assert reused(tree, compiled) == expected

    def test_not_made_yet(self, tree: Path, compiled: Path) -> None:
        """An object from a file that the build has yet to make is not copied."""
        (tree / "include" / "tcp.h").unlink()
        assert reused(tree, compiled) == {"net/udp.o"}

    def test_several(self, tree: Path, compiled: Path, tmp_path: Path) -> None:
        """Each object comes from the first tree with the same inputs."""
        other = write(tmp_path / "other", {**FILES, "net/udp.c": "other\n"})
        write(other, {"net/udp.o": "other", "net/.udp.o.cmd": commands("net/udp.c")})
        objects.save(objects.Place(other), other / objects.FILE)
        write(tree, {"net/udp.c": "other\n"})
        assert reused(tree, tmp_path / "none", compiled, other) == {"net/tcp.o", "net/udp.o"}
        assert (tree / "net" / "udp.o").read_text() == "other"

    @pytest.mark.parametrize("end", [0, 10, 400, -30])
    def test_damaged(self, tree: Path, compiled: Path, end: int) -> None:
        """From a damaged file no objects are copied."""
        file = compiled / objects.FILE
        file.write_bytes(file.read_bytes()[:end])
        assert reused(tree, compiled) == set()


class TestModules:
    """Objects of modules, which make compiles in a folder outside of the tree."""

    @pytest.fixture(params=["absolute", "relative"])
    def file(self, compiled: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
        """Give the objects of a module, with names as before and since Linux 6.13."""
        work = write(tmp_path / "work", {"link/main.c": "/* link */\n", "own/own.c": "\n"})
        for source in ("link/main.c", "own/own.c"):
            names = {
                "absolute": (f"{work}/{source}", "include/tcp.h"),
                "relative": (source, f"{compiled}/include/tcp.h"),
            }
            target = source.replace(".c", ".o")
            text = commands(*names[request.param])
            write(work, {target: "object", target.replace("/", "/.") + ".cmd": text})
        objects.save(objects.Place(compiled, work), tmp_path / "objects.zip", folders=["link"])
        return tmp_path / "objects.zip"

    @pytest.fixture
    def work(self, tmp_path: Path) -> Path:
        """Give another folder with the same sources."""
        return write(tmp_path / "elsewhere", {"link/main.c": "/* link */\n", "own/own.c": "\n"})

    def test_another_tree(self, file: Path, work: Path, tree: Path) -> None:
        """An object is copied to another folder and tree; its command names these instead."""
        assert objects.reuse(objects.Place(tree, work), [file]) == 1
        assert (work / "link/main.o").read_text() == "object"
        text = (work / "link/.main.o.cmd").read_text()
        assert ("compiled/" in text, f"{work.parent}/work" in text) == (False, False)
        assert f"{tree}/include/tcp.h" in text or f"{work}/link/main.c" in text

    @pytest.mark.parametrize("changed", ["link/main.c", "include/tcp.h"])
    def test_changed(self, file: Path, work: Path, tree: Path, changed: str) -> None:
        """It is not copied after a change of the module's source, or of a header of the tree."""
        write(tree if changed.startswith("include") else work, {changed: "changed"})
        assert objects.reuse(objects.Place(tree, work), [file]) == 0

    def test_other_folders(self, file: Path, work: Path, tree: Path) -> None:
        """It is not copied if the objects of other folders are wanted."""
        assert objects.reuse(objects.Place(tree, work), [file], folders=["own"]) == 0

    def test_missing_folder(self, file: Path, tmp_path: Path, tree: Path) -> None:
        """Objects of modules that are not compiled here are not copied."""
        work = write(tmp_path / "third", {"other/main.c": ""})
        assert objects.reuse(objects.Place(tree, work), [file]) == 0

    def test_nothing(self, tmp_path: Path, tree: Path) -> None:
        """Without objects no file is written."""
        work = write(tmp_path / "third", {"own/own.c": "", "own/own.o": ""})
        objects.save(objects.Place(tree, work), tmp_path / "none.zip", folders=["link"])
        assert not (tmp_path / "none.zip").exists()
