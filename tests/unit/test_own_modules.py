# SPDX-License-Identifier: Apache-2.0
"""Errors about a user's own modules. Nothing is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.cli._status import ExitStatus
from ccbench.cli.main import _report
from ccbench.emulate.kernel.command import Builder, BuildError
from ccbench.emulate.kernel.source import guest_build, guest_sources
from ccbench.emulate.kernel.source.modules import Module
from ccbench.emulate.kernel.source.tree import KernelTree

if TYPE_CHECKING:
    from pathlib import Path


def test_folder_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder around module folders is refused with the paths of these folders."""
    for name in ("tcp_one", "tcp_two"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        (tmp_path / "mine" / name / "Kbuild").write_text(f"obj-m := {name}.o\n", encoding="utf-8")
    mine = tmp_path / "mine"
    monkeypatch.setenv("CCBENCH_MODULES", str(mine))
    with pytest.raises(InputError, match="a Kbuild or Makefile that lists a module") as error:
        guest_sources.find_sources()
    assert str(error.value).endswith(f": name its subfolders: {mine}/tcp_one:{mine}/tcp_two")
    monkeypatch.setenv("CCBENCH_MODULES", str(mine / "tcp_one"))
    assert guest_sources.find_sources().own == (mine / "tcp_one",)


def test_errors_of_compilers(tmp_path: Path) -> None:
    """A compiler's error is in the message, however much other output follows."""
    script = "echo 'a.c:7:1: error: no x'; for i in $(seq 30); do echo CC $i; done; exit 2"
    with pytest.raises(BuildError) as error:
        Builder(log=tmp_path / "log", jobs=1, cflags="").run(
            ["sh", "-c", script], purpose="compiling", folder=tmp_path
        )
    first, *rest = str(error.value).splitlines()
    assert first.endswith("/log, which contains:")
    assert ["  a.c:7:1: error: no x"] == rest


def test_all_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All errors of the compilers are shown, each on a line of its own."""
    script = "for i in $(seq 40); do echo a.c:$i:1: error: no x; done; exit 2"
    with pytest.raises(BuildError) as error:
        Builder(log=tmp_path / "log", jobs=1, cflags="").run(
            ["sh", "-c", script], purpose="compiling", folder=tmp_path
        )
    assert ExitStatus.FAILED == _report(error.value)
    first, *rest = capfd.readouterr().err.splitlines()
    assert first.startswith("ccbench: compiling failed")
    assert "\\n" not in first
    assert [f"  | a.c:{i}:1: error: no x" for i in range(1, 41)] == rest


def test_names(tmp_path: Path) -> None:
    """A module, a congestion control and a qdisc with the name of another are refused."""
    (tmp_path / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n", encoding="utf-8")
    tree = KernelTree(
        path=tmp_path,
        key="",
        source_digest="",
        source_name="",
        release="6.12",
        hz=1000,
        ccas=("cubic",),
        qdiscs=("red",),
    )
    included = Module(name="tcp_copa", digest="", ccas=("copa",))

    def check(name: str = "tcp_mine", cca: str = "mine", qdisc: str = "mine") -> None:
        own = Module(name=name, digest="", ccas=(cca,), qdiscs=(qdisc,), is_own=True)
        guest_build._check_names(tree, [own, included])

    for names, clash in (
        ({"name": "tcp_cubic"}, "the module tcp_cubic is also one"),
        ({"cca": "cubic"}, "the congestion control cubic is also one"),
        ({"cca": "copa"}, "the congestion control copa is also one"),
        ({"qdisc": "red"}, "the qdisc red is also one"),
    ):
        with pytest.raises(InputError, match=f"CCBENCH_MODULES: {clash}"):
            check(**names)
    check()
