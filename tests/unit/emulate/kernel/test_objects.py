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
    objects.save(tree)
    return tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a configured tree of the same source."""
    write(tmp_path / "tree" / "scripts", {"Makefile": ""})
    return write(tmp_path / "tree", FILES)


def reused(tree: Path, *others: Path) -> set[str]:
    """Return the objects that a tree gets from others."""
    number = objects.reuse(tree, others)
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
        objects.save(other)
        write(tree, {"net/udp.c": "other\n"})
        assert reused(tree, tmp_path / "none", compiled, other) == {"net/tcp.o", "net/udp.o"}
        assert (tree / "net" / "udp.o").read_text() == "other"

    @pytest.mark.parametrize("end", [0, 10, 400, -30])
    def test_damaged(self, tree: Path, compiled: Path, end: int) -> None:
        """From a damaged file no objects are copied."""
        file = compiled / objects.FILE
        file.write_bytes(file.read_bytes()[:end])
        assert reused(tree, compiled) == set()
