# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.cli import main as cli
from ccbench.emulate.kernel.source import build, kernel_build, lookup, packing, prebuilt
from ccbench.emulate.kernel.source.linux import digest
from tests.unit.emulate.kernel.conftest import MODULE, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild

#: Files whose content does not matter.
MODULES = {"arch/x86/Makefile": "", "include/linux/tcp.h": "", "scripts/Kbuild": ""}


@pytest.fixture
def packed(
    kernel: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> KernelBuild:
    """Give a build, and install a distribution with it beside an empty cache."""
    assert sources.exists()
    write(kernel, MODULES)
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "packer"))
    make = build.build
    built = make(kernel)
    (tmp_path / "site").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(build, "build", lambda **_: make(kernel))
        packing.pack({"6.12": digest(kernel)}, tmp_path / "site")
        with pytest.raises(InputError, match="but 00 is named"):
            packing.pack({"6.12": "00"}, write(tmp_path / "other", {".keep": ""}))
    monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(prebuilt, "_package", lambda: tmp_path / "site")
    return built


class TestPrebuilt:
    def test_without_compilers(
        self,
        packed: KernelBuild,
        count: Callable[[], list[str]],
        on_path: Callable[[str, str], None],
    ) -> None:
        """A prebuilt kernel is the one that would be compiled, and `build` has nothing to do."""
        count()
        on_path("true", "")
        found = lookup.installed()
        assert (found.version, found.identity) == (packed.version, packed.identity)
        assert found == build.build() == build.build(release="6.12") == lookup.named("6.12")
        assert count() == []
        assert found.origin.startswith("ccbench-kernel ")
        listed = CliRunner().invoke(cli.program, ["kernel", "list"]).stdout
        assert listed.count(found.origin) == 2

    @pytest.mark.usefixtures("packed")
    def test_modules(self, sources: Path, count: Callable[[], list[str]]) -> None:
        """Changed modules are compiled with its own files; neither Linux nor the init are."""
        before = lookup.installed()
        count()
        write(sources, {"link/ours.c": f"{MODULE}\nint changed;\n"})
        after = lookup.installed()
        assert count() == ["modules"]
        assert (after.origin, after.identity) == (before.origin, before.identity)
        assert after.version != before.version
        assert after.init.samefile(before.init)
        kernel_build.check_intact(after)

    @pytest.mark.usefixtures("packed")
    def test_another_version(self, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If another version of ccbench has packed it, it is not used, and the error says so."""
        write(sources, {"um.config": "CONFIG_NET=y\n"})
        monkeypatch.setattr("importlib.metadata.version", lambda name: str(len(name)))
        with pytest.raises(
            MissingRequirement,
            match=re.escape(
                "ccbench-kernel 14 does not fit ccbench 7; run: pip install ccbench-kernel==7"
            ),
        ):
            lookup.installed()
        monkeypatch.setattr("importlib.metadata.version", lambda _: "1")
        with pytest.raises(MissingRequirement, match="other sources than those of this ccbench"):
            lookup.installed()

    @pytest.mark.usefixtures("packed")
    def test_damage(self, tmp_path: Path) -> None:
        """`build` repairs a damaged kernel from the distribution, whose own damage is an error."""
        found = lookup.installed()
        found.linux.write_text("")
        with pytest.raises(CcbenchError, match=r"linux was changed.*run: ccbench kernel build"):
            kernel_build.check_intact(found)
        kernel_build.check_intact(build.build())
        found.linux.write_text("")
        for archive in (tmp_path / "site").rglob("*.xz"):
            archive.write_bytes(archive.read_bytes()[:99])
        with pytest.raises(CcbenchError, match=r"ccbench-kernel is damaged .*--force-reinstall"):
            build.build()

    def test_own_default(self, packed: KernelBuild, kernel: Path) -> None:
        """The user's default remains the default, and a newer kernel of the user is preferred."""
        assert lookup.installed().version == packed.version
        write(kernel, {"net/tcp_new.c": ""})
        own = build.build(kernel)
        assert not own.origin
        lookup.use("6.12")
        assert own == lookup.installed() == lookup.named("6.12")
