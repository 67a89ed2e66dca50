# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import MissingRequirement
from ccbench.emulate.kernel.source import toolchain

if TYPE_CHECKING:
    from collections.abc import Callable


class TestToolchain:
    def test_missing(self, on_path: Callable[[str, str], None]) -> None:
        """All missing packages are named in one line, with the command that installs them."""
        for program in ("make", "bison", "tar", "ld", "strip"):
            on_path(program, "")
        on_path("gcc", "echo libc.a")  # gcc prints the bare name if it does not find the file
        with pytest.raises(MissingRequirement) as error:
            toolchain.check()
        assert str(error.value) == (
            "building the virtual kernel needs flex, bc, static C library: "
            "sudo apt-get install -y flex bc libc6-dev"
        )

    def test_complete(self, on_path: Callable[[str, str], None]) -> None:
        """With everything installed nothing is missing."""
        for program in ("ld", "strip", "make", "flex", "bison", "bc", "xz", "tar"):
            on_path(program, "")
        on_path("gcc", "echo /usr/lib/libc.a")
        assert toolchain.missing() == {}

    def test_other_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On another architecture the error names the required one and this one."""
        monkeypatch.setattr("platform.machine", lambda: "aarch64")
        with pytest.raises(MissingRequirement, match="x86-64; this machine is Linux on aarch64"):
            toolchain.check()
