# SPDX-License-Identifier: Apache-2.0
"""Errors about a user's own modules. Nothing is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.command import Builder, BuildError
from ccbench.emulate.kernel.source import guest_sources

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
