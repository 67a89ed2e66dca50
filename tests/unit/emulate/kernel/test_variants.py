# SPDX-License-Identifier: Apache-2.0
"""Builds with patches, names and options of their own, of a small stand-in for Linux."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from ccbench.base.cache import cache_dir
from ccbench.base.errors import CcbenchError, InputError
from ccbench.cli import main as cli
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source import build, lookup
from ccbench.emulate.kernel.source.cached_kernels import cached_kernels, prune
from ccbench.emulate.kernel.source.patches import Patch
from ccbench.emulate.kernel.source.variants import check_name, check_option, variant_of
from tests.unit.emulate.kernel.conftest import CCA, MODULE, pack, write
from tests.unit.emulate.kernel.test_patches import diff

if TYPE_CHECKING:
    from pathlib import Path

#: Adds a CCA, with its option, to the stand-in.
NEW_CCA = (
    diff("", "config TCP_CONG_FOO\n", "net/Kconfig")
    + diff("", CCA.replace("swift", "foo"), "net/tcp_foo.c")
    + diff(
        "	@cp .config linux && touch net/tcp_swift.o net/sch_slow.o\n\nprepare:\n",
        "	@cp .config linux && touch net/tcp_swift.o net/sch_slow.o net/tcp_foo.o\n\nprepare:\n",
        "Makefile",
    ).replace("@@ -1,3 +1,3 @@", "@@ -9,3 +9,3 @@")
)


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    """Give a patch that renames the CCA of the stand-in."""
    text = diff(CCA, CCA.replace('"swift"', '"faster"'), "net/tcp_swift.c")
    return write(tmp_path / "patches", {"0001-faster.patch": text}) / "0001-faster.patch"


@pytest.fixture
def foo(tmp_path: Path) -> Path:
    """Give a patch that adds a CCA."""
    return write(tmp_path / "patches", {"foo.patch": NEW_CCA}) / "foo.patch"


def trees() -> list[Path]:
    """Return everything in the folder of trees."""
    return list((cache_dir() / "kernel" / "trees").iterdir())


@pytest.mark.usefixtures("sources")
class TestPatched:
    def test_beside_the_released(self, kernel: Path, patch: Path) -> None:
        """A patched kernel has its name; releases and versions find the others as before."""
        released = build.build(kernel)
        patched = build.build(kernel, patch=[patch])
        assert (released.name, patched.name) == ("6.12.3", "6.12-faster")
        assert ("swift" in released.ccas, "faster" in patched.ccas) == (True, True)
        assert released == lookup.installed()
        assert patched == lookup.named("6.12-faster")
        assert released == lookup.named("6.12") == lookup.named("6.12.3")
        assert patched == lookup.named(patched.version)
        assert lookup.of_release("6.12-fast") is None
        assert (kernel / "net" / "tcp_swift.c").read_text() == CCA
        assert patched == lookup.use("6.12-faster") == lookup.installed()
        assert released == lookup.use("6.12") == lookup.installed()
        with pytest.raises(InputError, match=r"\(6\.12-faster, 6\.12\.3\)"):
            lookup.use("6.1")

    def test_key(self, kernel: Path, patch: Path, tmp_path: Path) -> None:
        """The version depends on the contents and order of the patches, not on their files."""
        other = write(tmp_path / "other", {"moved.patch": patch.read_text()}) / "moved.patch"
        text = diff("int main;\n", "int end;\n", "lib/x.c")
        write(kernel, {"lib/x.c": "int main;\n"})
        more = write(tmp_path / "other", {"more.patch": text}) / "more.patch"
        first = build.build(kernel, patch=[patch], name="own")
        assert build.build(kernel, patch=[other], name="own").version == first.version
        versions = {
            build.build(kernel, patch=patches, name="own", config=config).version
            for patches in ([patch], [patch, more], [more, patch], [more])
            for config in ([], ["CONFIG_FOO=y"])
        }
        assert len(versions) == 8

    def test_changed_patch(self, kernel: Path, patch: Path) -> None:
        """A changed patch is built, and has the name from then on; the older build is pruned."""
        released = build.build(kernel)
        first = build.build(kernel, patch=[patch])
        os.utime(first.path / "build.json", (1, 1))
        patch.write_text(patch.read_text().replace('"faster"', '"fastest"'))
        second = build.build(kernel, patch=[patch])
        assert second == lookup.named("6.12-faster") != first
        states = {one.path.name: one.state for one in cached_kernels() if one.kind == "build"}
        assert states == {released.version: "current", first.version: "old"} | {
            second.version: "newest"
        }
        prune()
        assert lookup.find(first.version) is None
        assert lookup.find(released.version) == released

    def test_changed_patch_of_the_default(self, kernel: Path, patch: Path) -> None:
        """If the default is a patched kernel, it is the newest one of its name."""
        build.build(kernel)
        first = build.build(kernel, patch=[patch])
        lookup.use(first.name)
        patch.write_text(patch.read_text().replace('"faster"', '"fastest"'))
        assert build.build(kernel, patch=[patch]) == lookup.installed() != first

    def test_names_are_kept(self, kernel: Path, patch: Path) -> None:
        """The newest kernel of each name remains, however many kernels are built later."""
        first = build.build(kernel, patch=[patch], name="a", config=["CONFIG_OLD=y"])
        second = build.build(kernel, patch=[patch], name="a")
        third = build.build(kernel, patch=[patch], name="b")
        for hz in range(100, 801, 100):
            build.build(kernel, hz=hz)
        assert (lookup.named("a"), lookup.named("b")) == (second, third)
        assert len(trees()) == 8
        assert lookup.find(first.version) == first  # its tree is removed

    def test_new_cca(self, kernel: Path, foo: Path) -> None:
        """The option of a CCA that a patch adds is enabled."""
        built = build.build(kernel, patch=[foo])
        assert "foo" in built.ccas
        assert "CONFIG_TCP_CONG_FOO=y\n" in built.linux.read_text()

    def test_provenance(self, kernel: Path, patch: Path) -> None:
        """Results state the name and the digests of the patches; those of releases do not."""
        before = KernelEngine(build.build(kernel)).provenance()
        built = build.build(kernel, patch=[patch], config=["CONFIG_FOO=y"])
        after = KernelEngine("6.12-faster").provenance()
        digest = hashlib.sha256(patch.read_bytes()).hexdigest()
        assert built.variant.patches == (("0001-faster.patch", digest),)
        expected = {
            "kernel_name": "6.12-faster",
            "kernel_patches": [{"file": "0001-faster.patch", "sha256": digest}],
            "kernel_options": ["CONFIG_FOO=y"],
        }
        assert {key: after[key] for key in after if key not in before} == expected
        assert after["kernel_release"] == before["kernel_release"]

    def test_name_without_patches(self, kernel: Path) -> None:
        """A tree of the user may have a name, too, and is not found by its release then."""
        built = build.build(kernel, name="own")
        assert built == lookup.named("own")
        assert lookup.of_release("6.12") is None

    def test_options(self, kernel: Path, sources: Path) -> None:
        """Options override those of ccbench."""
        assert "CONFIG_IPV6=n" in (sources / "um.config").read_text()
        built = build.build(kernel, name="six", config=["CONFIG_IPV6=y"])
        assert built.linux.read_text().splitlines()[-2:] == ["CONFIG_IPV6=y", "CONFIG_HZ=1000"]

    def test_modules_left_out(self, kernel: Path, sources: Path, tmp_path: Path) -> None:
        """Modules that do not compile with a patch are left out; needed ones are an error."""
        makefile = (kernel / "Makefile").read_text()
        single = "%/:\n\t@gcc -fsyntax-only -I. $(M)/$@x.c\n"
        header = MODULE.replace("swift", "needing").replace("#define __init\n", '#include "x.h"\n')
        makefile = makefile.replace("-Iinclude", "-Iinclude -I$(CURDIR)")
        write(kernel, {"Makefile": makefile + single, "x.h": "#define __init\n"})
        write(sources, {"tcp_x/Kbuild": "obj-m := x.o\n", "tcp_x/x.c": header})
        assert "needing" in build.build(kernel).ccas
        patch = write(tmp_path, {"a": diff("#define __init\n", "\n", "x.h")}) / "a"
        built = build.build(kernel, patch=[patch])
        assert (built.left_out, [*built.modules]) == (("tcp_x",), ["ours"])
        assert "needing" not in built.ccas
        lookup.use(built.name)
        assert "tcp_x" in CliRunner().invoke(cli.program, ["kernel", "info"]).stdout
        write(sources, {"link/ours.c": header})
        with pytest.raises(CcbenchError, match="compiling the kernel modules failed"):
            build.build(kernel, patch=[patch])


@pytest.mark.usefixtures("sources")
class TestRefused:
    def test_does_not_apply(self, kernel: Path, patch: Path, tmp_path: Path) -> None:
        """A patch that does not apply is refused before Linux is configured, and leaves nothing."""
        write(kernel, {"net/tcp_swift.c": CCA.replace('"swift"', '"other"')})
        built = build.build(kernel)
        steps: list[str] = []
        for source in (kernel, pack(kernel, tmp_path / "linux-6.12.tar.gz", "gz")):
            with pytest.raises(
                InputError, match=r"Linux 6\.12\.3: the change at line 1 of net/tcp_swift\.c"
            ):
                build.build(source, patch=[patch], on_progress=lambda step, _: steps.append(step))
        assert steps == ["unpacking the kernel's source", "applying the patches"] * 2
        assert len(trees()) == 1
        assert lookup.installed() == built

    def test_place_of_an_edit(self, kernel: Path, tmp_path: Path) -> None:
        """A patch that changes a place that ccbench edits is named with the place."""
        old = (kernel / "arch/um/Kconfig").read_text()
        text = diff(old, old.replace("default 100", "default X"), "arch/um/Kconfig")
        path = write(tmp_path, {"hz.patch": text}) / "hz.patch"
        message = r"^patch: hz\.patch changes arch/um/Kconfig where ccbench has to edit it \(HZ is"
        with pytest.raises(InputError, match=message):
            build.build(kernel, patch=[path])
        assert trees() == []

    def test_option_without_effect(self, kernel: Path) -> None:
        """An option that the kernel does not accept is an error that names it."""
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("@cp $(KCONFIG", "@grep -v FOO $(KCONFIG")})
        text = (kernel / "Makefile").read_text().replace("CONFIG) .config", "CONFIG) >.config")
        write(kernel, {"Makefile": text})
        with pytest.raises(InputError, match=r"^config: CONFIG_FOO cannot have the wanted value"):
            build.build(kernel, name="own", config=["CONFIG_FOO=y"])

    def test_name_of_a_release(self, kernel: Path) -> None:
        """A name may not be the release of a kernel in the cache."""
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("echo 6.12.3 >", "echo 6.12.3-own >")})
        build.build(kernel)
        with pytest.raises(InputError, match=r"^name is '6\.12\.3-own'; it must be"):
            build.build(kernel, name="6.12.3-own")

    @pytest.mark.parametrize(
        "name", ["", "6.12", "7", "6.12.117", "0123456789abcdef", "a b", "../a", "-a", "a" * 65]
    )
    def test_names(self, name: str) -> None:
        """Names are words, but not those of releases or builds."""
        with pytest.raises(InputError, match=r"^name is"):
            check_name(name)

    @pytest.mark.parametrize("option", ["", "FOO=y", "CONFIG_FOO", "CONFIG_FOO=m", "CONFIG_A=y\n"])
    def test_options(self, option: str) -> None:
        """Options are assignments; modules of Linux are not supported."""
        with pytest.raises(InputError, match=r"^config is"):
            check_option(option)

    def test_options_without_name(self, kernel: Path) -> None:
        """Options without patches need a name."""
        with pytest.raises(InputError, match="needs a name: write for example --name"):
            build.build(kernel, config=["CONFIG_FOO=y"])


class TestDefaultName:
    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            (["bbrv3.patch"], "6.12-bbrv3"),
            (["0001-tcp-Add-foo.patch"], "6.12-tcp-Add-foo"),
            (["a.diff", "0002-b.patch.txt"], "6.12-a-b"),
            (["my patch (2)"], "6.12-my-patch-2"),
            ([f"000{i}-p{i}.patch" for i in range(1, 6)], "6.12-p1-and-4-more"),
        ],
    )
    def test_of_files(self, kernel: Path, tmp_path: Path, files: list[str], expected: str) -> None:
        """The default name is the release with the names of the patches."""
        text = diff("a\n", "b\n")
        patches = [Patch(name, text.encode()) for name in files]
        tarball = pack(kernel, tmp_path / "linux-source-6.12_6.12.3_all.tar.xz", "xz")
        for source in (kernel, tarball):
            assert variant_of(source, None, patches, ()).name == expected

    def test_none(self, kernel: Path, tmp_path: Path) -> None:
        """If the files' names give none, the error asks for a name."""
        patch = Patch("§.patch", diff("a\n", "b\n").encode())
        own = Patch("a.patch", diff("a\n", "b\n").encode())
        unnamed = pack(kernel, tmp_path / "mine.tar.xz", "xz")
        for source, given in ((kernel, patch), (unnamed, own)):
            with pytest.raises(InputError, match=r"^name: .*write for example --name"):
                variant_of(source, None, [given], ())


@pytest.mark.usefixtures("sources")
class TestCommands:
    def run(self, *words: object) -> str:
        """Run `ccbench kernel` in this process and return its output."""
        done = CliRunner().invoke(cli.program, ["kernel", *map(str, words)])
        assert done.exit_code == 0, done.output
        return done.stdout

    def test_several_patches(self, kernel: Path, patch: Path, foo: Path) -> None:
        """`--patch` takes several files in order, and may be repeated."""
        shown = self.run("build", "--patch", foo, patch, "--source", kernel)
        assert "6.12-foo-faster" in shown
        assert shown == self.run("build", "--patch", foo, "--source", kernel, "--patch", patch)

    def test_list_and_info(self, kernel: Path, patch: Path) -> None:
        """The list states name and number of patches, the description their files."""
        self.run("build", "--source", kernel)
        assert "patches" not in self.run("list")
        self.run("build", "--source", kernel, "--patch", patch, "--name", "fast")
        rows = [line.split() for line in self.run("list").splitlines()]
        assert {tuple(row[2:5]) for row in rows if row[1:2] == ["build"]} == {
            ("6.12.3", "fast", "1"),
            ("6.12.3", "-", "0"),
        }
        assert ["fast", "also"] in [row[:2] for row in rows]
        assert "0001-faster.patch" not in self.run("info")
        assert "fast" in self.run("use", "fast")
        assert "0001-faster.patch (SHA-256 " in self.run("info")
        described = json.loads(self.run("info", "--json"))
        assert described["kernel_name"] == "fast"
        names = {one["name"] for one in json.loads(self.run("list", "--json"))["kernels"]}
        assert names == {"", "fast"}

    def test_default_is_stated(self, kernel: Path, patch: Path) -> None:
        """`kernel build` says which kernel remains the default, and how to change that."""
        assert "The default" not in self.run("build", "--source", kernel)
        shown = self.run("build", "--source", kernel, "--patch", patch, "--name", "fast")
        assert "The default remains Linux 6.12.3: --kernel fast runs this kernel" in shown
        assert "`ccbench kernel use fast` makes it the default" in shown
        self.run("use", "fast")
        again = self.run("build", "--source", kernel, "--patch", patch, "--name", "fast")
        assert "The default" not in again

    def test_removed_patch_file(self, kernel: Path, patch: Path) -> None:
        """The kernel remains usable without the files of its patches."""
        built = build.build(kernel, patch=[patch])
        shutil.rmtree(patch.parent)
        assert lookup.named("6.12-faster") == built
