# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source import guest_sources, names
from tests.unit.emulate.kernel.conftest import CCA, write

if TYPE_CHECKING:
    from pathlib import Path


class TestGuestDigest:
    def test_sources(self, sources: Path) -> None:
        """The digests change with contents and names of module and init sources, and new ones."""
        changes = [
            {"link/ours.c": "changed\n"},
            {"link/Kbuild": "changed\n"},
            {"include/ccbench.h": "changed\n"},
            {"init/init.c": "changed\n"},
            {"tcp_new/tcp_new.c": "new\n"},
        ]
        digests = [guest_sources.Sources(sources).digests()]
        for change in changes:
            write(sources, change)
            digests.append(guest_sources.Sources(sources).digests())
        (sources / "link/ours.c").rename(sources / "link/theirs.c")
        digests.append(guest_sources.Sources(sources).digests())
        assert not any(one in digests[:i] for i, one in enumerate(digests))

    def test_others(self, sources: Path) -> None:
        """The digests depend neither on build leftovers nor on the sources of the kernel itself."""
        before = guest_sources.Sources(sources).digests()
        left = (
            "link/ours.o",
            "link/ours.ko",
            "link/ours.mod.c",
            "link/.ours.o.cmd",
            "um/entropy.h",
        )
        write(sources, {**dict.fromkeys(left, "x"), "um.config": "x", "link/README.md": "x"})
        assert before == guest_sources.Sources(sources).digests()


class TestOwnModules:
    """Folders that CCBENCH_MODULES names."""

    @pytest.mark.parametrize("rules", ["Kbuild", "Makefile"])
    def test_added(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str
    ) -> None:
        """Own modules are built beside ccbench's modules, and count for the digests."""
        folder = tmp_path / "tcp_mine"
        write(folder, {rules: "obj-m := tcp_mine.o\n", "tcp_mine.c": "text\n"})
        monkeypatch.setenv("CCBENCH_MODULES", f"{folder}:")
        actual = guest_sources.find_sources()
        assert actual == guest_sources.Sources(sources, (folder,))
        measured = guest_sources.Sources(sources)
        added = {str(path) for path in set(actual.files()) - set(measured.files())}
        assert added == {"tcp_mine/Kbuild", "tcp_mine/tcp_mine.c"}
        assert "text\n" in list(actual.own_texts())
        assert actual.digests() != measured.digests()

    @pytest.mark.usefixtures("sources")
    def test_other_encoding(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A source need not be in UTF-8, because the compiler accepts other encodings."""
        folder = write(tmp_path / "tcp_mine", {"Kbuild": "obj-m := tcp_mine.o\n"})
        (folder / "tcp_mine.c").write_bytes(b"/* na\xefve */\n" + CCA.encode())
        monkeypatch.setenv("CCBENCH_MODULES", str(folder))
        assert "swift" in names.ccas(guest_sources.find_sources().own_texts())

    @pytest.mark.usefixtures("sources")
    def test_nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A missing folder is an error that names it."""
        monkeypatch.setenv("CCBENCH_MODULES", str(tmp_path / "nowhere"))
        with pytest.raises(InputError, match=r"nowhere'; .*: correct the path$"):
            guest_sources.find_sources()

    @pytest.mark.parametrize(
        ("name", "rules", "message"),
        [
            ("tcp_mine", "", "lists a module: write a line such as obj-m := tcp_mine.o"),
            ("link", "obj-m := x.o\n", "rename link"),
            ("a b", "obj-m := x.o\n", "rename a b"),
        ],
    )
    @pytest.mark.usefixtures("sources")
    def test_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rules: str, message: str
    ) -> None:
        """Modules that make cannot compile are refused by name."""
        folder = tmp_path / "own" / name
        write(folder, {"Kbuild": rules})
        monkeypatch.setenv("CCBENCH_MODULES", str(folder))
        with pytest.raises(InputError, match=message):
            guest_sources.find_sources()
