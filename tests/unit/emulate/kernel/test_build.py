# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench.base.cache import cache_dir
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.base.locks import exclusive
from ccbench.emulate.kernel.command import BuildError
from ccbench.emulate.kernel.source import build, lookup, paths, tree
from ccbench.emulate.kernel.source.cached_kernels import prune
from tests.unit.emulate.kernel.conftest import MAKEFILE, MODULE, pack, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class TestRecipe:
    def test_same(self, sources: Path) -> None:
        """The same source, settings and changes have the same key."""
        assert tree.Recipe.of("abc", sources, 1000).key == tree.Recipe.of("abc", sources, 1000).key

    def test_modules_do_not_matter(self, sources: Path) -> None:
        """The key does not depend on the modules and the init."""
        before = tree.Recipe.of("abc", sources, 1000).key
        write(sources, {"link/ours.c": "changed\n", "init/init.c": "changed\n", "README": "new\n"})
        assert before == tree.Recipe.of("abc", sources, 1000).key

    def test_other_inputs_matter(self, sources: Path) -> None:
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


class TestBuild:
    @pytest.mark.usefixtures("sources")
    def test_result(self, kernel: Path) -> None:
        """A build has a kernel, an init and modules, and describes its contents correctly."""
        built = build.build(kernel, hz=250)
        assert (built.release, built.hz) == ("6.12.3", 250)
        assert built.ccas == ("ours", "swift")
        assert built.qdiscs == ("slow",)
        assert [*built.modules] == ["ours"]
        assert "CONFIG_HZ=250\n" in built.linux.read_text()
        assert built.module("ours").is_file()
        assert subprocess.run([built.init], check=False).returncode == 0
        names = ["Module.symvers", "build.json", "debug", "digests.json", "linux", "root"]
        assert sorted(path.name for path in built.path.iterdir()) == names
        assert built.debug("ours").is_file()

    @pytest.mark.usefixtures("sources")
    def test_tarball(self, tarball: Path) -> None:
        """A tarball is built as well as a tree."""
        assert build.build(tarball).release == "6.12.3"

    @pytest.mark.usefixtures("sources")
    def test_once(self, kernel: Path, count: Callable[[], list[str]]) -> None:
        """A finished build is not repeated, and `installed` returns it."""
        built = build.build(kernel)
        assert count() == ["kernel", "modules"]
        assert built == build.build(kernel) == lookup.installed()
        assert count() == []

    def test_changed_module(
        self, kernel: Path, sources: Path, count: Callable[[], list[str]]
    ) -> None:
        """After a change of a module `installed` rebuilds the modules, not the kernel."""
        built = build.build(kernel)
        count()
        write(sources, {"link/ours.c": MODULE.replace("swift", "changed")})
        changed = lookup.installed()
        assert count() == ["modules"]
        assert changed.ccas == ("changed", "swift")
        assert changed.version != built.version

    @pytest.mark.usefixtures("sources")
    def test_impossible_release(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A release that cannot exist is refused before waiting for another build."""
        monkeypatch.setattr(build, "only_one", pytest.fail)
        with pytest.raises(InputError, match=r"release is '99\.9'"):
            build.build(release="99.9")

    def test_unchanged_modules(
        self, kernel: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Unchanged modules are linked to, with their symbols; a user's are always compiled."""
        own = {"Kbuild": "obj-m := mine.o\n", "mine.c": MODULE.replace("swift", "mine")}
        monkeypatch.setenv("CCBENCH_MODULES", str(write(tmp_path / "own", own)))
        write(sources, {"flows/Kbuild": "obj-m := other.o\n", "flows/other.c": MODULE})
        built = build.build(kernel)
        write(sources, {"link/ours.c": MODULE.replace("swift", "changed")})
        changed = lookup.installed()
        linked = {
            name: all(
                getattr(changed, kind)(name).samefile(getattr(built, kind)(name))
                for kind in ("module", "debug")
            )
            for name in changed.modules
        }
        assert linked == {"mine": False, "other": True, "ours": False}
        symbols = (changed.path / "Module.symvers").read_text().splitlines()
        modules = ["flows/other", "link/ours", "own/mine"]
        assert sorted(line.split("\t")[2] for line in symbols) == modules

    @pytest.mark.parametrize("file", ["include/ccbench.h", "link/ours.h", "link/Kbuild"])
    def test_changed_input(self, kernel: Path, sources: Path, file: str) -> None:
        """Modules are compiled again, and have another digest, after a change of their inputs."""
        write(sources, {"link/ours.c": f'#include "ccbench.h"\n#include "ours.h"\n{MODULE}'})
        write(sources, {"link/ours.h": ""})
        built = build.build(kernel)
        write(sources, {file: f"{(sources / file).read_text()}#define CHANGED\n"})
        changed = lookup.installed()
        assert not changed.module("ours").samefile(built.module("ours"))
        is_comment = file.endswith("Kbuild")  # in which # starts one
        assert is_comment == (changed.digests() == built.digests())
        assert changed.identity == built.identity

    def test_other_header(self, kernel: Path, sources: Path) -> None:
        """A common header that a module does not include does not concern it."""
        built = build.build(kernel)
        write(sources, {"include/other.h": "changed\n"})
        assert lookup.installed().module("ours").samefile(built.module("ours"))
        assert lookup.installed().digests() == built.digests()

    def test_comments(self, kernel: Path, sources: Path) -> None:
        """Comments and formatting, also of the edits of Linux, change no identity."""
        write(sources, {"include/ccbench.h": "int shared(void);\n"})
        write(sources, {"link/ours.c": f'#include "ccbench.h"\n{MODULE}'})
        built = build.build(kernel)
        for name in ("include/ccbench.h", "link/ours.c", "init/init.c", "um/ours.h"):
            text = (sources / name).read_text().replace(";", " /* a comment */ ;")
            write(sources, {name: f"/* A comment.\n */\n{text}"})
        write(sources, {"um.config": f"# A comment.\n{(sources / 'um.config').read_text()}"})
        changed = build.build(kernel)
        assert (changed.identity, changed.digests()) == (built.identity, built.digests())
        assert changed.version != built.version
        for name, line in (
            ("init/init.c", "int more;\n"),
            ("um/ours.h", "int more;\n"),
            ("um.config", "CONFIG_IPV4=n\n"),
        ):
            write(sources, {name: (sources / name).read_text() + line})
            before, changed = changed, build.build(kernel)
            assert changed.identity != before.identity
            assert changed.digests() == built.digests()

    def test_order(
        self, kernel: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The order of the user's modules does not matter, nor their presence to the others."""
        assert sources.is_dir()
        built = build.build(kernel)
        for name in ("one", "two"):
            files = {"Kbuild": f"obj-m := {name}.o\n", f"{name}.c": MODULE.replace("swift", name)}
            write(tmp_path / f"tcp_{name}", files)
        versions = set()
        for order in (("one", "two"), ("two", "one")):
            folders = ":".join(str(tmp_path / f"tcp_{name}") for name in order)
            monkeypatch.setenv("CCBENCH_MODULES", folders)
            both = lookup.installed()
            versions.add(both.version)
            assert (both.identity, both.digests(["ours"])) == (built.identity, built.digests())
            assert [module.is_own for module in both.modules.values()] == [True, False, True]
        assert len(versions) == 1

    def test_changed_configuration(
        self, kernel: Path, sources: Path, count: Callable[[], list[str]]
    ) -> None:
        """After a change of the configuration `installed` asks for a build, which rebuilds all."""
        build.build(kernel)
        count()
        write(sources, {"um.config": "CONFIG_NET=y\n"})
        with pytest.raises(MissingRequirement, match="ccbench kernel build"):
            lookup.installed()
        build.build(kernel)
        assert count() == ["kernel", "modules"]

    @pytest.mark.usefixtures("sources")
    def test_find(self, kernel: Path) -> None:
        """`find` finds a kernel, current or not, by its exact version only."""
        slow, fast = build.build(kernel, hz=100), build.build(kernel, hz=1000)
        assert (slow, fast) == (lookup.find(slow.version), lookup.find(fast.version))
        for other in ("0" * 16, "", ".", "..", f"../builds/{slow.version}", slow.version[:8]):
            assert lookup.find(other) is None

    @pytest.mark.usefixtures("sources")
    def test_releases(self, kernel: Path, tmp_path: Path) -> None:
        """Kernels of two releases are found by two or three numbers, and selected by either."""
        makefile = (kernel / "Makefile").read_text()
        newer = shutil.copytree(kernel, tmp_path / "newer")
        write(newer, {"Makefile": makefile.replace("6.12.3", "6.1.12")})
        first, second = build.build(kernel), build.build(newer)
        assert (first, second) == (lookup.of_release("6.12"), lookup.of_release("6.1"))
        assert first == lookup.of_release("6.12.3") == lookup.named("6.12")
        assert second == lookup.named("6.1") == lookup.named(second.version)
        assert [None, None] == [lookup.of_release(name) for name in ("6.2", "6.12.30")]
        assert first == lookup.installed()
        assert second == lookup.use("6.1") == lookup.installed()
        assert first == lookup.use("6.12") == lookup.installed()
        assert [second, first] == sorted(lookup.released(), key=lambda built: built.release)

    @pytest.mark.usefixtures("sources")
    def test_no_such_release(self, kernel: Path) -> None:
        """The error for a release that is not built lists those that are, and how to build it."""
        build.build(kernel)
        with pytest.raises(InputError, match=r"'7\.3'.*\(6\.12\.3\): .*build 7\.3`$"):
            lookup.use("7.3")
        with pytest.raises(InputError, match=r"'7\.3'.*ccbench kernel build 7\.3`$"):
            lookup.named("7.3")
        for find in (lookup.use, lookup.named):
            with pytest.raises(
                InputError, match=r"'5\.4'.*Linux 6\.1 or newer, such as"
            ) as refused:
                find("5.4")
            assert "build 5.4" not in str(refused.value)

    def test_release_after_a_change(self, kernel: Path, sources: Path) -> None:
        """The modules of a kernel found by its release are those of the current sources."""
        before = build.build(kernel)
        write(sources, {"link/ours.c": f"/* changed */\n{MODULE}"})
        after = lookup.of_release("6.12")
        assert after == lookup.installed() != before

    @pytest.mark.usefixtures("sources")
    def test_nothing_built(self) -> None:
        """With nothing built, `installed` names the command that builds."""
        with pytest.raises(MissingRequirement, match="not built; run: ccbench kernel build"):
            lookup.installed()

    def test_option_without_effect(self, kernel: Path, sources: Path) -> None:
        """An option that the kernel does not accept is an error that names it."""
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("cp $(KCONFIG", "grep -v NET $(KCONFIG")})
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("CONFIG) .config", "CONFIG) >.config")})
        write(sources, {"um.config": "CONFIG_NET=y\nCONFIG_INET=y\nCONFIG_TTY=y\n"})
        with pytest.raises(
            InputError, match="does not support the options CONFIG_NET, CONFIG_INET "
        ):
            build.build(kernel)

    @pytest.mark.usefixtures("sources")
    def test_failure(self, kernel: Path) -> None:
        """A failed build leaves only its log."""
        write(kernel, {"Makefile": MAKEFILE.replace("@echo kernel >>COUNT", "@echo no; false")})
        with pytest.raises(BuildError, match="compiling the kernel failed"):
            build.build(kernel)
        cache = cache_dir() / "kernel"
        assert [] == list((cache / "trees").iterdir())
        (log,) = (cache / "logs").iterdir()
        assert "no\n" in log.read_text()

    @pytest.mark.usefixtures("sources")
    @pytest.mark.parametrize("name", ["current/kernel.json", "builds/*/build.json"])
    @pytest.mark.parametrize("text", ["", "{}", "[" * 100_000])
    def test_damaged(self, kernel: Path, name: str, text: str) -> None:
        """A damaged description of a kernel is an error with a remedy, which repairs it."""
        built = build.build(kernel)
        (damaged,) = (cache_dir() / "kernel").glob(name)
        damaged.write_text(text)
        with pytest.raises(CcbenchError, match=r"is damaged .*; run: ccbench kernel build"):
            lookup.installed()
        assert lookup.ready() is None
        assert build.build(kernel) == built == lookup.installed()
        damaged.write_text(text)
        assert len(prune()) == 1
        assert build.build(kernel) == built

    @pytest.mark.usefixtures("sources")
    def test_progress(self, kernel: Path) -> None:
        """Progress names the phases, never decreases and ends at 1."""
        seen: list[tuple[str, float]] = []
        build.build(kernel, on_progress=lambda what, part: seen.append((what, part)))
        parts = [part for _, part in seen]
        assert parts == sorted(parts)
        assert parts[-1] == 1
        assert {"unpacking the kernel's source", "compiling the modules"} < {w for w, _ in seen}

    @pytest.mark.usefixtures("sources")
    def test_finished(self, kernel: Path, tarball: Path) -> None:
        """A finished build in use waits for no other build; a missing one reports that it waits."""
        built = build.build(kernel)
        seen: list[str] = []

        def stop(step: str, _share: float) -> None:
            seen.append(step)
            if step.startswith("waiting"):
                raise KeyboardInterrupt

        with exclusive(paths.kernels_dir() / "lock"):
            assert built == build.build(kernel, on_progress=stop)
            with pytest.raises(KeyboardInterrupt):
                build.build(tarball, on_progress=stop)
        assert seen == ["done", "waiting for another build"]

    def test_waiting(self, kernel: Path, sources: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A run that needs modules built while another build runs says that it waits."""
        build.build(kernel)
        write(sources, {"link/ours.c": f"/* changed */\n{MODULE}"})
        with ThreadPoolExecutor() as pool, exclusive(paths.kernels_dir() / "lock"):
            waiting = pool.submit(lookup.installed)
            while "waiting for another build" not in caplog.messages and not waiting.done():
                time.sleep(0.01)
            assert caplog.messages == ["waiting for another build"]
            assert not waiting.done()

    @pytest.mark.usefixtures("sources")
    def test_default(self, kernel: Path, tarball: Path) -> None:
        """Builds of another source, release or HZ leave the default, and a new build renews it."""
        first = build.build(kernel)
        for other in (build.build(tarball), build.build(kernel, hz=250)):
            assert first == lookup.installed() != other
        makefile = (kernel / "Makefile").read_text()
        write(kernel, {"Makefile": makefile.replace("6.12.3", "6.12.4").replace("= 3", "= 4")})
        renewed = build.build(kernel)
        assert first != renewed == lookup.installed()
        write(kernel, {"Makefile": makefile.replace("6.12.3", "6.13.1")})
        assert build.build(kernel) != renewed == lookup.installed()

    def test_default_of_another_version(self, kernel: Path, tmp_path: Path, sources: Path) -> None:
        """After an update of ccbench, only a new build of the default replaces it."""
        makefile = (kernel / "Makefile").read_text()
        newer = shutil.copytree(kernel, tmp_path / "newer")
        write(newer, {"Makefile": makefile.replace("6.12.3", "6.13.1")})
        build.build(kernel)
        write(sources, {"um.config": "CONFIG_NET=y\n"})
        build.build(newer)
        with pytest.raises(MissingRequirement, match=r"run: ccbench kernel build 6\.12$"):
            lookup.installed()
        assert build.build(kernel) == lookup.installed()

    @pytest.mark.usefixtures("sources")
    def test_default_package(self, kernel: Path) -> None:
        """Without a release, the package of the default's release is built."""
        folder = paths.kernels_dir() / "sources"
        folder.mkdir(parents=True)
        makefile = (kernel / "Makefile").read_text()
        for release in ("6.12", "6.13"):
            write(kernel, {"Makefile": makefile.replace("6.12.3", f"{release}.3")})
            pack(kernel, folder / f"linux-source-{release}_{release}.3-1_all.tar.xz", "xz")
        assert build.build().release == "6.12.3"
        newer = build.build(release="6.13")
        assert build.build().release == "6.12.3"
        lookup.use("6.13")
        assert build.build() == newer == lookup.installed()

    def test_side_by_side(
        self, kernel: Path, sources: Path, count: Callable[[], list[str]]
    ) -> None:
        """Several processes that build the same kernel at once build it once, and all get it."""
        program = (
            "import sys; from pathlib import Path;"
            "from ccbench.emulate.kernel.source import build, home, tree;"
            "home.sources_dir = lambda: Path(sys.argv[2]);"
            "tree.EDITS, tree.ADDITIONS = tree.EDITS[:1], {'arch/um/ours.h': 'um/ours.h'};"
            "tree.TCP_EDITS = ();"
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
            build.build(hz=hz)

    def test_jobs(self) -> None:
        """At least one compiler has to run."""
        with pytest.raises(InputError, match="jobs is 0"):
            build.build(jobs=0)

    @pytest.mark.usefixtures("sources")
    def test_cache_with_spaces(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If make cannot work in the cache folder, kernels are built in another private folder."""
        monkeypatch.setattr(paths, "_SPARE", tmp_path)
        folders = []
        for name in ("my cache", "your cache", "my cache"):
            monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / name))
            folders.append(paths.kernels_dir())
        assert folders[0] == folders[2] != folders[1]
        assert " " not in folders[0].name
        assert folders[0].parent.stat().st_mode & 0o777 == 0o700

    @pytest.mark.usefixtures("sources")
    def test_nowhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """If that folder belongs to another user, the cache folder is refused and named."""
        monkeypatch.setattr(paths, "_SPARE", tmp_path)
        (tmp_path / f"ccbench-{os.getuid()}").symlink_to("/")
        monkeypatch.setenv("CCBENCH_CACHE", str(tmp_path / "my cache"))
        with pytest.raises(InputError, match=r"my cache.*: .*export CCBENCH_CACHE="):
            build.build()

    @pytest.mark.usefixtures("sources")
    def test_unknown_module(self, kernel: Path) -> None:
        """An unknown module is refused with the list of modules."""
        with pytest.raises(InputError, match="no theirs, but ours"):
            build.build(kernel).module("theirs")
