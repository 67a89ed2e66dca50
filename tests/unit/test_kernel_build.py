# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from click.testing import CliRunner

from ccbench._locks import locked
from ccbench.cache import cache_dir
from ccbench.cli import main as cli
from ccbench.emulate.kernel import build as building
from ccbench.emulate.kernel import guest, kconfig, names, source, toolchain, tree
from ccbench.emulate.kernel.command import Builder, BuildError
from ccbench.emulate.kernel.edits import ADDITIONS, EDITS, Edit, apply_edits
from ccbench.emulate.kernel.kept import kept, prune
from ccbench.errors import CcbenchError, InputError, MissingRequirement

if TYPE_CHECKING:
    from collections.abc import Callable

# A kernel as far as building one is concerned: what the edits look for, a Makefile with the targets
# that are made, and one algorithm and one qdisc. Compiling it takes milliseconds.

MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 3
EXTRAVERSION =

all:
	@echo kernel >>COUNT
	@mkdir -p include/config && echo 6.12.3 >include/config/kernel.release
	@cp .config linux && touch net/tcp_swift.o net/sch_slow.o

allnoconfig:
	@cp $(KCONFIG_ALLCONFIG) .config
	@sed -n 's/^.default /CONFIG_HZ=/p' arch/um/Kconfig >>.config

modules:
	@echo modules >>COUNT
	@cd $(M) && for file in */Kbuild; do touch $${file%Kbuild}ours.ko; done
"""

CCA = """
static struct tcp_congestion_ops swift __read_mostly = {
	.init		= init,
	.name		= "swift",
};
static struct tcp_congestion_ops fallback = {
	.name		= "fallback",
};
static int __init start(void)
{
	return tcp_register_congestion_control(&swift);
}
"""

QDISC = """
static struct Qdisc_ops slow_ops __read_mostly = {
	.id		=	"slow",
};
static int __init start(void)
{
	return register_qdisc(&slow_ops);
}
"""

KERNEL = {
    "Makefile": MAKEFILE,
    "net/tcp_swift.c": CCA,
    "net/tcp_not_compiled.c": CCA.replace("swift", "absent"),
    "net/sch_slow.c": QDISC,
    "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
    "drivers/gpu/card.c": "not for user mode\n",
    "drivers/gpu/Kconfig": "",
}

SOURCES = {
    "um.config": "CONFIG_NET=y\nCONFIG_IPV6=n\n",
    "um/ours.h": "/* ours */\n",
    "include/ccbench.h": "/* shared */\n",
    "link/Kbuild": "obj-m := ours.o\n",
    "link/ours.c": CCA.replace("swift", "ours"),
    "init/init.c": "int main(void)\n{\n\treturn 0;\n}\n",
}


def alive(pid: int) -> bool:
    """Say whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


CHANGES = (Edit(file="arch/um/Kconfig", find=r"\d+$", replace="@HZ@", reason="HZ is no option"),)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def count(tmp_path: Path) -> Callable[[], list[str]]:
    """Give a function that says what has been compiled since it was last called."""
    file = tmp_path / "count"

    def since() -> list[str]:
        lines = file.read_text().split() if file.exists() else []
        file.write_text("")
        return lines

    return since


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """Give a kernel tree."""
    files = {**KERNEL, "Makefile": MAKEFILE.replace("COUNT", str(tmp_path / "count"))}
    return write(tmp_path / "linux", files)


def pack(kernel: Path, path: Path, compression: Literal["", "gz", "bz2", "xz"]) -> Path:
    """Make a tarball of a tree."""
    with tarfile.open(path, f"w:{compression}") as archive:  # type: ignore[call-overload]
        archive.add(kernel, "linux-6.12.3")
    return path


@pytest.fixture
def tarball(kernel: Path, tmp_path: Path) -> Path:
    """Give the tree as a tarball."""
    return pack(kernel, tmp_path / "linux.tar.xz", "xz")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give module sources that are built in place of the real ones."""
    folder = write(tmp_path / "kernel_modules", SOURCES)
    monkeypatch.setattr(guest, "sources_dir", lambda: folder)
    monkeypatch.setattr(tree, "EDITS", CHANGES)
    monkeypatch.setattr(tree, "ADDITIONS", {"arch/um/ours.h": "um/ours.h"})
    return folder


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Give a function that makes a program (name, shell script); there are no others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name: str, script: str = "") -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return make


class TestVersion:
    def test_makefile(self) -> None:
        """A kernel's version is read from its Makefile, wherever blanks are in it."""
        text = "# comment\nVERSION = 6\nPATCHLEVEL=1\nSUBLEVEL  =  158 \nEXTRAVERSION = -rc3\n"
        assert source.version(text) == (6, 1, 158)

    @pytest.mark.parametrize("text", ["", "all:\n\techo\n", "VERSION = 1.2.3\n"])
    def test_other_makefile(self, text: str) -> None:
        """The Makefile of anything else has no version."""
        with pytest.raises(ValueError, match="VERSION"):
            source.version(text)


class TestUnpack:
    def test_tarball(self, tarball: Path, tmp_path: Path) -> None:
        """A tarball is unpacked without its top folder and without what no build takes."""
        copy = tmp_path / "copy"
        copy.mkdir()
        source.unpack(tarball, copy)
        assert (copy / "arch/um/Kconfig").read_text() == KERNEL["arch/um/Kconfig"]
        assert (copy / "drivers/gpu/Kconfig").exists()
        assert not (copy / "drivers/gpu/card.c").exists()

    @pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
    def test_compression(
        self, kernel: Path, tmp_path: Path, compression: Literal["", "gz", "bz2", "xz"]
    ) -> None:
        """However it is compressed, whatever it is called."""
        copy = tmp_path / "copy"
        copy.mkdir()
        source.unpack(pack(kernel, tmp_path / "packed", compression), copy)
        assert (copy / "Makefile").read_text() == (kernel / "Makefile").read_text()

    def test_tree(self, kernel: Path, tmp_path: Path) -> None:
        """A tree is copied without what earlier builds have left in it, and stays as it is."""
        left = {"net/tcp_swift.o": "", ".config": "", "include/generated/autoconf.h": ""}
        write(kernel, left)
        before = sorted(kernel.rglob("*"))
        copy = tmp_path / "copy"
        copy.mkdir()
        source.unpack(kernel, copy)
        assert before == sorted(kernel.rglob("*"))
        assert (copy / "net/tcp_swift.c").read_text() == CCA
        assert [] == [name for name in left if (copy / name).exists()]

    def test_too_old(self, kernel: Path, tmp_path: Path) -> None:
        """A kernel before 6.1 is refused in one line that says its version and what is allowed."""
        write(kernel, {"Makefile": "VERSION = 5\nPATCHLEVEL = 15\nSUBLEVEL = 7\n"})
        with pytest.raises(
            InputError, match=r"^source: \S+ is Linux 5\.15\.7, .* 6\.1 or newer.*$"
        ):
            source.unpack(kernel, tmp_path / "copy")

    def test_no_kernel(self, tmp_path: Path) -> None:
        """A folder with something else in it is refused in one line."""
        other = write(tmp_path / "other", {"Makefile": "all:\n"})
        with pytest.raises(InputError, match=r"^source: \S+other is not the source of a Linux .*$"):
            source.unpack(other, tmp_path / "copy")

    @pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
    def test_cut_tarball(
        self, kernel: Path, tmp_path: Path, compression: Literal["gz", "bz2", "xz"]
    ) -> None:
        """A tarball that is not complete is refused in one line."""
        tarball = pack(kernel, tmp_path / "packed", compression)
        tarball.write_bytes(tarball.read_bytes()[: tarball.stat().st_size * 2 // 3])
        copy = tmp_path / "copy"
        copy.mkdir()
        with pytest.raises(InputError, match=r"^source: \S+packed (is|cannot be) .*$"):
            source.unpack(tarball, copy)


class TestDigest:
    def test_tree(self, kernel: Path) -> None:
        """A tree's digest changes with a file that is built and with no other."""
        before = source.digest(kernel)
        write(kernel, {"net/tcp_swift.o": "compiled", "drivers/gpu/card.c": "changed"})
        assert before == source.digest(kernel)
        write(kernel, {"net/tcp_swift.c": f"{CCA}\n"})
        assert before != source.digest(kernel)

    def test_tarball(self, tarball: Path) -> None:
        """A tarball's digest is that of its bytes, whatever it is called."""
        before = source.digest(tarball)
        assert before == source.digest(tarball.rename(tarball.with_name("other.tar.xz")))


class TestFind:
    def test_missing(self, tmp_path: Path) -> None:
        """A source that does not exist is refused."""
        with pytest.raises(InputError, match=r"source: there is no \S+nowhere;"):
            source.find(tmp_path / "nowhere", tmp_path, print)

    def test_other_file(self, tmp_path: Path) -> None:
        """A file that is no tarball is refused in one line."""
        write(tmp_path, {"notes.txt": "hello\n"})
        with pytest.raises(InputError, match=r"^source: \S+notes\.txt is not a tarball; .*$"):
            source.find(tmp_path / "notes.txt", tmp_path, print)


class TestFetch:
    #: apt-cache as it answers with these packages; apt-get and dpkg that make files of the names.
    CACHE = "printf '%s - Linux kernel source\\n' {packages}"
    GET = ": >$2_6.x-1_all.deb"
    DPKG = 'p=${2%%_*}; mkdir -p usr/src 2>/dev/null && : >"usr/src/$p.tar.xz"'

    def fetch(
        self, on_path: Callable[[str, str], None], tmp_path: Path, *packages: str, get: str = GET
    ) -> Path:
        """Fetch where apt knows these packages."""
        mkdir = "PATH=/bin:/usr/bin\n"
        on_path("apt-cache", self.CACHE.format(packages=" ".join(packages) or "''"))
        on_path("apt-get", get)
        on_path("dpkg", mkdir + self.DPKG)
        return source.fetch(tmp_path, print)

    def test_preferred(self, on_path: Callable[[str, str], None], tmp_path: Path) -> None:
        """Linux 6.12 is taken where there are several."""
        packages = ("linux-source-6.1", "linux-source-6.12", "linux-source-6.18")
        fetched = self.fetch(on_path, tmp_path, *packages)
        assert fetched == tmp_path / "linux-source-6.12_6.x-1_all.tar.xz"
        assert fetched.exists()

    def test_newest(self, on_path: Callable[[str, str], None], tmp_path: Path) -> None:
        """Without 6.12 it is the newest, by number and not by letter."""
        packages = ("linux-source-6.8.0", "linux-source-6.11.0", "linux-source-5.15.0")
        fetched = self.fetch(on_path, tmp_path, *packages)
        assert fetched.name.startswith("linux-source-6.11.0_")

    def test_kept(self, on_path: Callable[[str, str], None], tmp_path: Path) -> None:
        """What was downloaded once is not downloaded again."""
        first = self.fetch(on_path, tmp_path, "linux-source-6.12")
        assert first == self.fetch(on_path, tmp_path, "linux-source-6.12", get="exit 1")

    def test_none(self, on_path: Callable[[str, str], None], tmp_path: Path) -> None:
        """If apt knows no such package, the error says how to update its lists."""
        with pytest.raises(MissingRequirement, match=r"sudo apt-get update.*--source DIR\|TARBALL"):
            self.fetch(on_path, tmp_path, "linux-source-5.10")

    def test_failure(self, on_path: Callable[[str, str], None], tmp_path: Path) -> None:
        """If the download fails, the error repeats what apt says, and nothing is left behind."""
        with pytest.raises(MissingRequirement, match="says: E: no network;"):
            self.fetch(
                on_path, tmp_path, "linux-source-6.12", get="echo 'E: no network' >&2; exit 100"
            )
        assert [] == list(tmp_path.glob(".download-*"))

    @pytest.mark.usefixtures("on_path")
    def test_no_apt(self, tmp_path: Path) -> None:
        """On a machine without apt, the error says to name a source."""
        with pytest.raises(MissingRequirement, match=r"no apt-cache;.*--source DIR\|TARBALL"):
            source.fetch(tmp_path, print)


class TestEdit:
    def test_applied(self) -> None:
        """A change keeps the groups that it names and puts in HZ; ^ and $ match at lines."""
        edit = Edit(file="a", find=r"^(config HZ .*) \d+$", replace=r"\g<1> @HZ@", reason="to test")
        assert edit.applied("x 1\nconfig HZ int 100\n", hz=250) == "x 1\nconfig HZ int 250\n"

    @pytest.mark.parametrize("text", ["", "x x"])
    def test_not_once(self, text: str) -> None:
        """A change of what is not there exactly once is not made; the error says what it is for."""
        edit = Edit(file="a.c", find="x", replace="y", reason="randomness from the seed")
        with pytest.raises(InputError, match=r"^source: a\.c has [02] places.*randomness from"):
            edit.applied(text, hz=100)


class TestApplyEdits:
    def test_changes_and_additions(self, kernel: Path) -> None:
        """Files are changed one change after the other, and ours are added."""
        again = Edit(file="arch/um/Kconfig", find="default", replace="range", reason="to test")
        apply_edits(kernel, (*CHANGES, again), {"arch/um/new.h": "new\n"}, hz=300)
        assert (kernel / "arch/um/Kconfig").read_text() == "config HZ\n\tint\n\trange 300\n"
        assert (kernel / "arch/um/new.h").read_text() == "new\n"

    def test_other_tree(self, kernel: Path) -> None:
        """If a file is not there, the source is said to be incomplete."""
        (kernel / "arch/um/Kconfig").unlink()
        with pytest.raises(InputError, match="there is no arch/um/Kconfig"):
            apply_edits(kernel, CHANGES, {}, hz=300)

    def test_only_user_mode(self) -> None:
        """Nothing outside user mode is touched: TCP and the qdiscs are the kernel's own."""
        touched = [edit.file for edit in EDITS] + list(ADDITIONS)
        ours = ("arch/um/", "arch/x86/um/")
        assert [] == [file for file in touched if not file.startswith(ours)]


ENTROPY = """
#include <stdio.h>
#include <sys/types.h>
#include "entropy.h"

int main(int argc, char **argv)
{
	unsigned char bytes[64] = { 0 };

	for (int i = 1, used = 0; i < argc; i++)
		used += ccbench_getrandom(bytes + used, atoi(argv[i]), 0);
	fwrite(bytes, 1, sizeof(bytes), stdout);
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a program that draws as many bytes as its arguments say."""
    folder = tmp_path_factory.mktemp("entropy")
    warn = "static void os_warn(const char *text) { fputs(text, stderr); }\n"
    write(folder, {"os.h": f"#include <stdio.h>\n{warn}", "main.c": ENTROPY})
    include = [f"-I{folder}", f"-I{guest.sources_dir() / 'um'}"]
    command = ["gcc", "-Wall", "-Werror", *include, "-o", "main", "main.c"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


class TestEntropy:
    """kernel_modules/um/entropy.h, compiled as an ordinary program."""

    def draw(self, program: Path, *sizes: int, seed: str | None) -> bytes:
        """Return 64 bytes, the first of which are drawn in pieces of these sizes."""
        environment = {} if seed is None else {"CCBENCH_SEED": seed}
        command = [str(program), *map(str, sizes)]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout

    def test_splitmix64(self, program: Path) -> None:
        """The bytes are the numbers of splitmix64, here for a seed with known ones."""
        drawn = self.draw(program, 24, seed="1234567")
        numbers = [int.from_bytes(drawn[i : i + 8], "little") for i in (0, 8, 16)]
        assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]

    def test_pieces(self, program: Path) -> None:
        """Any number of bytes can be drawn; drawing goes on where it has stopped."""
        drawn = self.draw(program, 3, 8, 1, seed="1")
        assert drawn == self.draw(program, 3, 8, 1, seed="1")
        assert drawn[:3] != drawn[3:6]
        assert drawn[12:] == bytes(52)

    def test_seeds(self, program: Path) -> None:
        """Every seed gives other bytes, up to the largest."""
        seeds = ["0", "1", str(2**63 - 1)]
        assert len({self.draw(program, 32, seed=seed) for seed in seeds}) == len(seeds)

    def test_no_seed(self, program: Path) -> None:
        """Without a seed the bytes are the host's."""
        assert self.draw(program, 32, seed=None) != self.draw(program, 32, seed=None)

    @pytest.mark.parametrize("seed", ["", "abc", "1x"])
    def test_bad_seed(self, program: Path, seed: str) -> None:
        """What is not a number is refused."""
        with pytest.raises(subprocess.CalledProcessError):
            self.draw(program, 8, seed=seed)


class TestKconfig:
    def test_in_effect(self) -> None:
        """Options are in effect if they have their value, or are off and not mentioned."""
        fragment = 'CONFIG_NET=y\nCONFIG_IPV6=n\nCONFIG_BLOCK=n\nCONFIG_NAME=""\n'
        config = 'CONFIG_NET=y\n# CONFIG_IPV6 is not set\nCONFIG_NAME=""\nCONFIG_MORE=y\n'
        assert [] == kconfig.not_in_effect(fragment, config)

    def test_not_in_effect(self) -> None:
        """Options with another value, switched off or unknown are named, comments are not."""
        fragment = "# CONFIG_X=y\nCONFIG_HZ=1000\nCONFIG_NET=y\nCONFIG_WIRELESS=n\nCONFIG_NEW=y\n"
        config = "CONFIG_HZ=100\n# CONFIG_NET is not set\nCONFIG_WIRELESS=y\n"
        assert kconfig.not_in_effect(fragment, config) == [
            "CONFIG_HZ",
            "CONFIG_NET",
            "CONFIG_WIRELESS",
            "CONFIG_NEW",
        ]

    def test_optional(self) -> None:
        """An optional option may be unknown, but not be there with another value."""
        name = min(kconfig.OPTIONAL)
        assert [] == kconfig.not_in_effect(f"{name}=y\n", "")
        assert [name] == kconfig.not_in_effect(f"{name}=y\n", f"# {name} is not set\n")

    def test_fragment(self) -> None:
        """The real fragment names no option twice, and every optional one."""
        fragment = (guest.sources_dir() / "um.config").read_text()
        options = [line for line in fragment.splitlines() if line.startswith("CONFIG_")]
        parsed = kconfig.parse_config(fragment)
        assert len(parsed) == len(options)
        assert parsed.keys() >= kconfig.OPTIONAL


class TestNames:
    def test_ccas(self) -> None:
        """Only algorithms that are registered count, wherever their definition is."""
        assert names.ccas([CCA]) == ("swift",)
        definition, _, registration = CCA.partition("static int")
        assert names.ccas([f"static int{registration}", definition]) == ("swift",)

    @pytest.mark.parametrize(
        "definition",
        [
            'static struct tcp_congestion_ops mine = { .name = "mine", };',
            'static struct tcp_congestion_ops mine =\n{\n\t.name="mine",\n};',
            'struct tcp_congestion_ops __read_mostly mine = {\n  .name = "mine"\n  } ;',
            'static const struct  tcp_congestion_ops mine __ro_after_init={.name = "mine"};',
        ],
    )
    def test_other_styles(self, definition: str) -> None:
        """Somebody's own module is found however it is written."""
        registration = "int start(void) { return tcp_register_congestion_control( &mine ); }"
        assert names.ccas([definition, registration]) == ("mine",)

    def test_no_definition(self) -> None:
        """A pointer to a struct, and a function that takes one, define none."""
        text = """
struct tcp_congestion_ops *mine = &other;
static int use(struct tcp_congestion_ops *mine)
{
	static const char text[] = { '.', 'n' };
	return tcp_register_congestion_control(&mine);
}
static struct unrelated thing = { .name = "thing" };
"""
        assert names.ccas([text]) == ()

    def test_qdiscs(self) -> None:
        """Qdiscs in which no packet waits do not count."""
        assert names.qdiscs([QDISC, QDISC.replace("slow", "noqueue")]) == ("slow",)


class TestToolchain:
    def test_missing(self, on_path: Callable[[str, str], None]) -> None:
        """All that is missing is named in one line, with the command that installs it."""
        for program in ("make", "bison", "tar", "ld"):
            on_path(program, "")
        on_path("gcc", "echo libc.a")  # what gcc says if it has not found the file
        with pytest.raises(MissingRequirement) as error:
            toolchain.check()
        assert str(error.value) == (
            "building the virtual kernel needs flex, bc, static C library: "
            "sudo apt-get install -y flex bc libc6-dev"
        )

    def test_complete(self, on_path: Callable[[str, str], None]) -> None:
        """With everything installed nothing is missing."""
        for program in ("ld", "make", "flex", "bison", "bc", "xz", "tar"):
            on_path(program, "")
        on_path("gcc", "echo /usr/lib/libc.a")
        assert toolchain.missing() == {}

    def test_other_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """On another kind of machine the error says what is needed and what this is."""
        monkeypatch.setattr("platform.machine", lambda: "aarch64")
        with pytest.raises(MissingRequirement, match="x86-64; this machine is Linux on aarch64"):
            toolchain.check()


class TestBuilder:
    def builder(self, tmp_path: Path) -> Builder:
        """Make one."""
        return Builder(log=tmp_path / "log", jobs=1, cflags="")

    def test_failure(self, tmp_path: Path) -> None:
        """A failed step says which, with the last lines of its log, which is kept."""
        script = "for i in $(seq 30); do echo line $i; done; echo wrong >&2; exit 3"
        with pytest.raises(BuildError, match=r"compiling failed with exit status 3") as error:
            self.builder(tmp_path).run(["sh", "-c", script], what="compiling", folder=tmp_path)
        assert str(error.value).endswith("\n  line 30\n  wrong")
        assert "line 1\n" in (tmp_path / "log").read_text()

    def test_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Variables that would change what is built do not reach the compilers."""
        monkeypatch.setenv("KCFLAGS", "-O0")
        lines: list[str] = []
        self.builder(tmp_path).run(["env"], what="", folder=tmp_path, on_line=lines.append)
        set_ = {line.partition("=")[0] for line in lines}
        assert {"PATH", "KBUILD_BUILD_TIMESTAMP"} <= set_
        assert "KCFLAGS" not in set_

    def test_interrupted(self, tmp_path: Path) -> None:
        """If we are interrupted, everything that the step has started ends."""
        pids: list[int] = []

        def interrupt(line: str) -> None:
            pids.append(int(line))
            raise KeyboardInterrupt

        script = "sleep 1000 & echo $!; wait"
        with pytest.raises(KeyboardInterrupt):
            self.builder(tmp_path).run(
                ["sh", "-c", script], what="", folder=tmp_path, on_line=interrupt
            )
        deadline_s = time.monotonic() + 30
        # It is gone as soon as its new parent has noticed.
        while alive(*pids) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert not alive(*pids)


class TestRecipe:
    def test_same(self, sources: Path) -> None:
        """The same source, settings and changes have the same key."""
        assert tree.Recipe.of("abc", sources, 1000).key == tree.Recipe.of("abc", sources, 1000).key

    def test_modules_do_not_matter(self, sources: Path) -> None:
        """The key does not depend on the modules and the init."""
        before = tree.Recipe.of("abc", sources, 1000).key
        write(sources, {"link/ours.c": "changed\n", "init/init.c": "changed\n", "README": "new\n"})
        assert before == tree.Recipe.of("abc", sources, 1000).key

    def test_everything_else_matters(self, sources: Path) -> None:
        """The key changes with source, HZ, configuration, changes, additions and flags."""
        recipe = tree.Recipe.of("abc", sources, 1000)
        others = [
            tree.Recipe.of("abd", sources, 1000),
            tree.Recipe.of("abc", sources, 250),
            replace(recipe, fragment=f"{recipe.fragment}CONFIG_VETH=y\n"),
            replace(recipe, edits=recipe.edits[1:]),
            replace(recipe, additions={"arch/um/ours.h": "other"}),
            replace(recipe, cflags="-O3"),
        ]
        keys = {recipe.key, *(other.key for other in others)}
        assert len(keys) == 1 + len(others)


class TestGuestDigest:
    def test_sources(self, sources: Path) -> None:
        """The digest changes with a source of modules or init, its name, and a new one."""
        changes = [
            {"link/ours.c": "changed\n"},
            {"link/Kbuild": "changed\n"},
            {"include/ccbench.h": "changed\n"},
            {"init/init.c": "changed\n"},
            {"tcp_new/tcp_new.c": "new\n"},
        ]
        digests = [guest.Sources(sources).digest()]
        for change in changes:
            write(sources, change)
            digests.append(guest.Sources(sources).digest())
        (sources / "link/ours.c").rename(sources / "link/theirs.c")
        digests.append(guest.Sources(sources).digest())
        assert len(set(digests)) == len(digests)

    def test_others(self, sources: Path) -> None:
        """The digest depends neither on leftovers of builds nor on what the kernel is made of."""
        before = guest.Sources(sources).digest()
        left = (
            "link/ours.o",
            "link/ours.ko",
            "link/ours.mod.c",
            "link/.ours.o.cmd",
            "um/entropy.h",
        )
        write(sources, {**dict.fromkeys(left, "x"), "um.config": "x", "link/README.md": "x"})
        assert before == guest.Sources(sources).digest()


class TestOwnModules:
    """Folders that CCBENCH_MODULES names."""

    @pytest.mark.parametrize("rules", ["Kbuild", "Makefile"])
    def test_added(
        self, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: str
    ) -> None:
        """They stand beside ccbench's modules, and count for the digest."""
        folder = tmp_path / "tcp_mine"
        write(folder, {rules: "obj-m := tcp_mine.o\n", "tcp_mine.c": "text\n"})
        monkeypatch.setenv("CCBENCH_MODULES", f"{folder}:")
        found = guest.find_sources()
        assert found == guest.Sources(sources, (folder,))
        ours = guest.Sources(sources)
        added = {str(path) for path in set(found.files()) - set(ours.files())}
        assert added == {"tcp_mine/Kbuild", "tcp_mine/tcp_mine.c"}
        assert "text\n" in list(found.module_texts())
        assert found.digest() != ours.digest()

    @pytest.mark.usefixtures("sources")
    def test_other_encoding(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A source need not be in UTF-8, as the compiler does not mind."""
        folder = write(tmp_path / "tcp_mine", {"Kbuild": "obj-m := tcp_mine.o\n"})
        (folder / "tcp_mine.c").write_bytes(b"/* na\xefve */\n" + CCA.encode())
        monkeypatch.setenv("CCBENCH_MODULES", str(folder))
        assert "swift" in names.ccas(guest.find_sources().module_texts())

    @pytest.mark.usefixtures("sources")
    def test_nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder that does not exist is said not to."""
        monkeypatch.setenv("CCBENCH_MODULES", str(tmp_path / "nowhere"))
        with pytest.raises(InputError, match=r"nowhere'; .*: there is none: correct the path$"):
            guest.find_sources()

    @pytest.mark.parametrize(
        ("name", "rules", "message"),
        [
            ("tcp_mine", "", "names a module: write a line such as obj-m := tcp_mine.o"),
            ("link", "obj-m := x.o\n", "rename link"),
            ("a b", "obj-m := x.o\n", "rename a b"),
        ],
    )
    @pytest.mark.usefixtures("sources")
    def test_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rules: str, message: str
    ) -> None:
        """What make could not compile is refused by name."""
        folder = tmp_path / "own" / name
        write(folder, {"Kbuild": rules})
        monkeypatch.setenv("CCBENCH_MODULES", str(folder))
        with pytest.raises(InputError, match=message):
            guest.find_sources()


class TestBuild:
    @pytest.mark.usefixtures("sources")
    def test_result(self, kernel: Path) -> None:
        """A build has a kernel, an init, its modules, and says truthfully what is in it."""
        built = building.build(kernel, hz=250)
        assert (built.release, built.hz) == ("6.12.3", 250)
        assert built.ccas == ("ours", "swift")
        assert built.qdiscs == ("slow",)
        assert built.modules == ("ours",)
        assert "CONFIG_HZ=250\n" in built.linux.read_text()
        assert built.module("ours").is_file()
        assert subprocess.run([built.init], check=False).returncode == 0
        assert sorted(path.name for path in built.path.iterdir()) == ["build.json", "linux", "root"]

    @pytest.mark.usefixtures("sources")
    def test_tarball(self, tarball: Path) -> None:
        """A tarball serves as well as a tree."""
        assert building.build(tarball).release == "6.12.3"

    @pytest.mark.usefixtures("sources")
    def test_once(self, kernel: Path, count: Callable[[], list[str]]) -> None:
        """What is built is not built again, and is what `installed` finds."""
        built = building.build(kernel)
        assert count() == ["kernel", "modules"]
        assert built == building.build(kernel) == building.installed()
        assert count() == []

    def test_changed_module(
        self, kernel: Path, sources: Path, count: Callable[[], list[str]]
    ) -> None:
        """After a change of a module `installed` builds the modules, not the kernel, by itself."""
        built = building.build(kernel)
        count()
        write(sources, {"link/ours.c": CCA.replace("swift", "changed")})
        changed = building.installed()
        assert count() == ["modules"]
        assert changed.ccas == ("changed", "swift")
        assert changed.version != built.version

    def test_changed_configuration(
        self, kernel: Path, sources: Path, count: Callable[[], list[str]]
    ) -> None:
        """After a change of the configuration `installed` says to build, and that builds all."""
        building.build(kernel)
        count()
        write(sources, {"um.config": "CONFIG_NET=y\n"})
        with pytest.raises(MissingRequirement, match="ccbench kernel build"):
            building.installed()
        building.build(kernel)
        assert count() == ["kernel", "modules"]

    @pytest.mark.usefixtures("sources")
    def test_find(self, kernel: Path) -> None:
        """A kernel is found by its version, in use or not, and by nothing else."""
        slow, fast = building.build(kernel, hz=100), building.build(kernel, hz=1000)
        assert (slow, fast) == (building.find(slow.version), building.find(fast.version))
        for other in ("0" * 16, "", ".", "..", f"../builds/{slow.version}", slow.version[:8]):
            assert building.find(other) is None

    @pytest.mark.usefixtures("sources")
    def test_nothing_built(self) -> None:
        """With nothing built `installed` says how to build."""
        with pytest.raises(MissingRequirement, match="not built; run: ccbench kernel build"):
            building.installed()

    @pytest.mark.usefixtures("sources")
    def test_last_is_used(self, kernel: Path) -> None:
        """`installed` finds the kernel that was built last, and older ones are still there."""
        slow, fast = building.build(kernel, hz=100), building.build(kernel, hz=1000)
        assert building.installed() == fast
        assert slow.linux.exists()
        assert building.build(kernel, hz=100) == slow == building.installed()

    def test_option_without_effect(self, kernel: Path, sources: Path) -> None:
        """An option that the kernel does not take is an error that names it."""
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("cp $(KCONFIG", "grep -v NET $(KCONFIG")})
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("CONFIG) .config", "CONFIG) >.config")})
        write(sources, {"um.config": "CONFIG_NET=y\nCONFIG_INET=y\nCONFIG_TTY=y\n"})
        with pytest.raises(InputError, match="does not take the options CONFIG_NET, CONFIG_INET "):
            building.build(kernel)

    @pytest.mark.usefixtures("sources")
    def test_failure(self, kernel: Path) -> None:
        """A build that fails leaves its log and nothing else."""
        write(kernel, {"Makefile": MAKEFILE.replace("@echo kernel >>COUNT", "@echo no; false")})
        with pytest.raises(BuildError, match="compiling the kernel failed"):
            building.build(kernel)
        cache = cache_dir() / "kernel"
        assert [] == list((cache / "trees").iterdir())
        (log,) = (cache / "logs").iterdir()
        assert "no\n" in log.read_text()

    @pytest.mark.usefixtures("sources")
    def test_after_a_kill(self, kernel: Path) -> None:
        """What a killed build has left is removed by the next one."""
        left = cache_dir() / "kernel" / "trees" / ".0123.4567.tmp"
        write(left, {"net/core/dev.c": ""})
        building.build(kernel)
        assert not left.exists()

    def test_pruned(self, kernel: Path, sources: Path, tmp_path: Path) -> None:
        """What is old or damaged is removed; what runs, is current or newest of its HZ stays."""
        (tmp_path / "cache").symlink_to(tmp_path)  # as where homes are links
        built = {}
        for text in ("used", "old", "damaged", "other"):
            write(sources, {"link/ours.c": f"/* {text} */\n"})
            built[text] = building.build(kernel, hz=100)
            made_s = len(built)
            os.utime(built[text].path / "build.json", (made_s, made_s))
        built["current"] = building.build(kernel, hz=1000)
        (built["damaged"].path / "build.json").write_text("{")
        held = locked(built["used"].path, fcntl.LOCK_SH)
        states = {one.path.name: one.state for one in kept() if one.kind == "build"}
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
        assert building.installed() == built["current"]
        assert building.build(kernel, hz=100) == built["other"]  # its tree is there

    def test_sizes(self, kernel: Path, sources: Path) -> None:
        """Sizes are of what is on the disk: what is shared counts once."""
        for text in ("one", "other"):
            write(sources, {"link/ours.c": f"/* {text} */\n"})
            building.build(kernel)
        folder = cache_dir() / "kernel"
        counted = subprocess.run(
            ["du", "-s", "-B1", str(folder / "trees"), str(folder / "builds")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[::2]
        own = sum(path.stat().st_blocks * 512 for path in (folder / "trees", folder / "builds"))
        assert sum(one.size_bytes for one in kept()) == sum(map(int, counted)) - own

    @pytest.mark.usefixtures("sources")
    def test_commands(self, kernel: Path) -> None:
        """People read what there is and what is removed; so do programs."""
        none = CliRunner().invoke(cli.program, ["kernel", "prune"])
        assert (none.exit_code, none.stdout) == (0, "0 removed, 0.0 MB\n")
        slow, fast = building.build(kernel, hz=100), building.build(kernel, hz=1000)
        (slow.path / "build.json").write_text("")
        listed = CliRunner().invoke(cli.program, ["kernel", "list"]).stdout.splitlines()
        rows = {words[0]: words[-1] for words in map(str.split, listed) if len(words) > 1}
        assert rows[slow.version] == "damaged"
        assert rows[fast.version] == "current"
        pruned = CliRunner().invoke(cli.program, ["kernel", "prune", "--json"])
        assert [Path(one["path"]) for one in json.loads(pruned.stdout)["kernels"]] == [slow.path]

    @pytest.mark.usefixtures("sources")
    def test_held(self, kernel: Path) -> None:
        """A process keeps what it runs; what is gone before it could is said."""
        built = building.build(kernel)
        building.hold(built)
        building.hold(built)
        assert {one.state for one in kept() if one.kind == "build"} == {"running"}
        os.close(building._held.pop(built.path))
        shutil.rmtree(built.path)
        with pytest.raises(MissingRequirement, match="was removed just now; run the command again"):
            building.hold(built)

    @pytest.mark.usefixtures("sources")
    @pytest.mark.parametrize("name", ["current/kernel.json", "builds/*/build.json"])
    @pytest.mark.parametrize("text", ["", "{}", "[" * 100_000])
    def test_damaged(self, kernel: Path, name: str, text: str) -> None:
        """What is said of a kernel and cannot be read is an error that says how to go on."""
        built = building.build(kernel)
        (damaged,) = (cache_dir() / "kernel").glob(name)
        damaged.write_text(text)
        for look in (building.installed, lambda: building.build(kernel)):
            with pytest.raises(CcbenchError, match=r"is damaged .*kernel prune"):
                look()
        assert building.ready() is None
        assert len(prune()) == 1
        assert building.build(kernel) == built

    @pytest.mark.usefixtures("sources")
    def test_few_trees_are_kept(self, kernel: Path) -> None:
        """Of kernel trees, which are large, the last three are kept."""
        for hz in (100, 200, 300, 400):
            building.build(kernel, hz=hz)
        assert len(list((cache_dir() / "kernel" / "trees").iterdir())) == 3
        assert building.installed().hz == 400

    @pytest.mark.usefixtures("sources")
    def test_progress(self, kernel: Path) -> None:
        """Progress says what is done and never goes back; it ends at 1."""
        seen: list[tuple[str, float]] = []
        building.build(kernel, on_progress=lambda what, part: seen.append((what, part)))
        parts = [part for _, part in seen]
        assert parts == sorted(parts)
        assert parts[-1] == 1
        assert {"unpacking the kernel's source", "compiling the modules"} < {w for w, _ in seen}

    def test_side_by_side(
        self, kernel: Path, sources: Path, count: Callable[[], list[str]]
    ) -> None:
        """Several processes that build the same at once build it once, and all get it."""
        program = (
            "import sys; from pathlib import Path;"
            "from ccbench.emulate.kernel import build, guest, tree;"
            "guest.sources_dir = lambda: Path(sys.argv[2]);"
            "tree.EDITS, tree.ADDITIONS = tree.EDITS[:1], {'arch/um/ours.h': 'um/ours.h'};"
            "print(build.build(Path(sys.argv[1])).version)"
        )
        command = [sys.executable, "-c", program, str(kernel), str(sources)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        versions = [process.communicate()[0].strip() for process in processes]
        assert len(set(versions)) == 1
        assert versions[0] != ""
        assert count() == ["kernel", "modules"]

    @pytest.mark.parametrize("hz", [0, 99, 1001])
    def test_hz(self, hz: int) -> None:
        """HZ is 100 to 1000."""
        with pytest.raises(InputError, match=f"hz is {hz}; .* at least 100 and at most 1000"):
            building.build(hz=hz)

    def test_jobs(self) -> None:
        """At least one compiler has to run."""
        with pytest.raises(InputError, match="jobs is 0"):
            building.build(jobs=0)

    @pytest.mark.usefixtures("sources")
    def test_cache_with_spaces(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """For a cache folder in which make cannot work, kernels are built in another of ours."""
        monkeypatch.setattr(building, "_SPARE", tmp_path)
        folders = []
        for name in ("my cache", "your cache", "my cache"):
            monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / name))
            folders.append(building.kernels_dir())
        assert folders[0] == folders[2] != folders[1]
        assert " " not in folders[0].name
        assert folders[0].parent.stat().st_mode & 0o777 == 0o700

    @pytest.mark.usefixtures("sources")
    def test_nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If that is somebody else's, the cache folder is refused, and named."""
        monkeypatch.setattr(building, "_SPARE", tmp_path)
        (tmp_path / f"ccbench-{os.getuid()}").symlink_to("/")
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "my cache"))
        with pytest.raises(InputError, match=r"my cache.*: .*export CCBENCH_CACHE="):
            building.build()

    @pytest.mark.usefixtures("sources")
    def test_unknown_module(self, kernel: Path) -> None:
        """Asking for a module that is not there names those that are."""
        with pytest.raises(InputError, match="no theirs, but ours"):
            building.build(kernel).module("theirs")
