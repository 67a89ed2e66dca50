# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source.edits import ADDITIONS, EDITS, Edit, apply_edits
from ccbench.emulate.kernel.source.tcp_edits import TCP_EDITS
from tests.unit.emulate.kernel.conftest import CHANGES

if TYPE_CHECKING:
    from pathlib import Path


class TestEdit:
    def test_applied(self) -> None:
        """An edit keeps the groups that it names and inserts HZ; ^ and $ match at lines."""
        edit = Edit(file="a", find=r"^(config HZ .*) \d+$", replace=r"\g<1> @HZ@", reason="to test")
        assert edit.applied("x 1\nconfig HZ int 100\n", hz=250) == "x 1\nconfig HZ int 250\n"

    @pytest.mark.parametrize("text", ["", "x x"])
    def test_not_once(self, text: str) -> None:
        """An edit whose pattern does not match exactly once is an error with its purpose."""
        edit = Edit(file="a.c", find="x", replace="y", reason="randomness from the seed")
        with pytest.raises(InputError, match=r"^source: a\.c has [02] matches.*randomness from"):
            edit.applied(text, hz=100)

    def test_alternatives(self) -> None:
        """The pattern that the kernel has is applied, whichever it is."""
        edit = Edit(
            file="a.c", find="old", replace="o@HZ@", otherwise=(("new", "n@HZ@"),), reason="to test"
        )
        assert ["o9", "n9"] == [edit.applied(text, hz=9) for text in ("old", "new")]

    @pytest.mark.parametrize("text", ["", "old new", "new new"])
    def test_several_alternatives(self, text: str) -> None:
        """All alternatives together must match exactly once."""
        edit = Edit(file="a.c", find="old", replace="", otherwise=(("new", ""),), reason="to test")
        with pytest.raises(InputError, match=r"a\.c has [02] matches"):
            edit.applied(text, hz=100)


class TestApplyEdits:
    def test_changes_and_additions(self, kernel: Path) -> None:
        """Edits of a file are applied in order, and additions are copied."""
        again = Edit(file="arch/um/Kconfig", find="default", replace="range", reason="to test")
        apply_edits(kernel, (*CHANGES, again), {"arch/um/new.h": "new\n"}, hz=300)
        assert (kernel / "arch/um/Kconfig").read_text() == "config HZ\n\tint\n\trange 300\n"
        assert (kernel / "arch/um/new.h").read_text() == "new\n"

    def test_other_tree(self, kernel: Path) -> None:
        """If a file is missing, the source is reported as incomplete."""
        (kernel / "arch/um/Kconfig").unlink()
        with pytest.raises(InputError, match="there is no arch/um/Kconfig"):
            apply_edits(kernel, CHANGES, {}, hz=300)

    def test_only_user_mode(self) -> None:
        """User mode is edited; of the rest, what TCP tells, and what concerns random draws."""
        touched = [edit.file for edit in EDITS] + list(ADDITIONS)
        measured = ("arch/um/", "arch/x86/um/", "arch/x86/Makefile.um")
        others = {file for file in touched if not file.startswith(measured)}
        assert {
            "drivers/char/ccbench_draws.h",
            "drivers/char/random.c",
            "init/ccbench_initcalls.h",
            "init/main.c",
        } == others
        assert {edit.file for edit in TCP_EDITS} <= {
            "include/net/tcp.h",
            "net/ipv4/tcp_input.c",
            "net/ipv4/tcp_output.c",
            "net/ipv4/tcp_rate.c",
        }

    def test_moved(self, kernel: Path) -> None:
        """Where a file does not exist, the one is edited to which its contents have moved."""
        edit = Edit(
            file="arch/um/none.c",
            moved_to="arch/um/Kconfig",
            find="default",
            replace="range",
            reason="to test",
        )
        apply_edits(kernel, (edit,), {}, hz=300)
        assert "range" in (kernel / "arch/um/Kconfig").read_text()
