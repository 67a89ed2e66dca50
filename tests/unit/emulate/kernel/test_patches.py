# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import difflib
import io
import os
import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.kernel.source import linux
from ccbench.emulate.kernel.source.patches import Patch, apply_patches, read
from tests.unit.emulate.kernel.conftest import KERNEL, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Few different lines, so that contexts repeat; with whitespace that Git can be told to change.
TEXTS = st.lists(
    st.sampled_from(["a", "b", "", "\tif (x)", "-- c", "++ d", "@@", "c \t", " \td", "e\r", "\r"]),
    max_size=30,
)

FILE = "".join(f"line {i}\n" for i in range(1, 21))


def diff(old: str, new: str, name: str = "net/tcp.c") -> str:
    """Return the unified diff of a file's texts."""
    before, after = (io.StringIO(text, newline="\n").readlines() for text in (old, new))
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline\n" for line in lines)


def apply(tree: Path, *texts: str) -> tuple[str, ...]:
    """Apply patches of these texts to a tree; return the options that they add."""
    patches = [Patch(f"{i}.patch", text.encode()) for i, text in enumerate(texts, start=1)]
    return apply_patches(tree, patches, "6.12.3")


def content(tree: Path) -> dict[str, tuple[bytes, bool]]:
    """Return contents and executability of the files in a tree."""
    return {
        str(path.relative_to(tree)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in tree.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Give a tree with one file."""
    (tmp_path / "tree" / "net").mkdir(parents=True)
    (tmp_path / "tree" / "net" / "tcp.c").write_text(FILE)
    return tmp_path / "tree"


class TestApply:
    @given(old=TEXTS, new=TEXTS, ends=st.tuples(st.booleans(), st.booleans()))
    def test_any_change(
        self, tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], ends: object
    ) -> None:
        """The difference of any two texts, applied to the first, gives the second."""
        assert isinstance(ends, tuple)
        before, after = (
            "\n".join(["first", *lines, "last"]) + ("\n" if end else "")
            for lines, end in zip((old, new), ends, strict=True)
        )
        if before == after:
            return
        tree = tmp_path_factory.mktemp("tree")
        (tree / "net").mkdir()
        (tree / "net" / "tcp.c").write_bytes(before.encode())
        apply(tree, diff(before, after))
        assert (tree / "net" / "tcp.c").read_bytes() == after.encode()

    def test_series(self, tree: Path) -> None:
        """Patches apply in the given order, and a patch may change a file twice."""
        texts = [FILE]
        for i in (3, 10, 3):
            texts.append(texts[-1].replace(f"line {i}\n", f"line {i}\nmore\n", 1))
        first, second, third = (diff(a, b) for a, b in pairwise(texts))
        apply(tree, first + second, third)
        assert (tree / "net" / "tcp.c").read_text() == texts[-1]

    def test_moved(self, tree: Path) -> None:
        """Lines that have moved are found, at the place nearest to the expected one."""
        text = diff(FILE, FILE.replace("line 10\n", "changed\n"))
        (tree / "net" / "tcp.c").write_text(FILE + "new\n" * 5 + FILE)
        apply(tree, text)
        expected = FILE.replace("line 10\n", "changed\n") + "new\n" * 5 + FILE
        assert (tree / "net" / "tcp.c").read_text() == expected

    def test_mail(self, tree: Path) -> None:
        """The text of a mail and its signature are skipped, and empty lines may lack a space."""
        (tree / "net" / "tcp.c").write_text("a\n\nb\n")
        text = diff("a\n\nb\n", "a\n\nc\n").replace("\n \n", "\n\n")
        mail = f"From 1234 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n 1 file\n\n{text}"
        apply(tree, f"{mail}-- \n2.39.5\n\n")
        assert (tree / "net" / "tcp.c").read_text() == "a\n\nc\n"

    def test_of_git(self, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The output of `git diff` applies: all kinds of changes, and paths that Git quotes."""
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        text = "".join(f"{i}\n" for i in range(9))
        grown = ("changed", "edited", "two words", 'Käse "x".c', "[a]*")
        names = (*grown, "removed", "moved", "script")
        write(tree, {f"net/{name}": f"{name}\n{text}" for name in names} | {"net/empty": ""})
        before = shutil.copytree(tree, tmp_path / "before")
        subprocess.run(["git", "init", "--quiet", tree], check=True)
        first = self.stored(tree)
        for name in grown:
            with (tree / "net" / name).open("a") as file:
                file.write("no newline at the end")
        for name in ("removed", "empty"):
            (tree / "net" / name).unlink()
        write(tree, {"lib/new/x.sh": "new\n", "lib/none": ""})
        for name in ("moved", "edited"):
            (tree / "net" / name).rename(tree / "lib" / name)
        for path in ("net/script", "lib/new/x.sh"):
            (tree / path).chmod(0o755)
        command = ["git", "diff", "-M", "--no-rename-empty", first, self.stored(tree)]
        made = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True).stdout
        assert made.count("rename from") == 2
        shutil.rmtree(tree / ".git")
        apply(before, made)
        assert content(before) == content(tree)

    @staticmethod
    def stored(tree: Path) -> str:
        """Store the files of a tree in its repository; return the object's name."""
        subprocess.run(["git", "add", "--all"], cwd=tree, check=True)
        command = ["git", "write-tree"]
        return subprocess.run(
            command, cwd=tree, capture_output=True, text=True, check=True
        ).stdout.strip()

    def test_of_diff(self, tree: Path, tmp_path: Path) -> None:
        """The output of `diff -ruN` of two folders applies, with changed and new files."""
        changed = shutil.copytree(tree, tmp_path / "changed")
        (changed / "net" / "tcp.c").write_text(FILE.replace("line 7\n", "seven\n"))
        (changed / "net" / "new.c").write_text("new\n")
        command = ["diff", "-ruN", "tree", "changed"]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        apply(tree, made.stdout)
        same = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert (same.returncode, same.stdout) == (0, b"")

    def test_line_ends(self, tree: Path) -> None:
        """Line ends must be equal, and remain as they are."""
        (tree / "net" / "tcp.c").write_bytes(b"a\r\nb\r\n")
        text = diff("a\r\nb\r\n", "a\r\nc\r\n")
        apply(tree, text)
        assert (tree / "net" / "tcp.c").read_bytes() == b"a\r\nc\r\n"
        (tree / "net" / "tcp.c").write_bytes(b"a\nb\n")
        with pytest.raises(InputError, match=r"line 1 of net/tcp\.c does not match; name"):
            apply(tree, text)

    def test_settings(self, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither settings of the user nor a repository with the cache in it affect patches."""
        subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
        settings = "[apply]\nwhitespace = fix\nignoreWhitespace = change\n[core]\nautocrlf = true\n"
        write(tmp_path, {".gitconfig": settings, ".config/git/attributes": "* text eol=crlf\n"})
        with (tmp_path / ".git" / "config").open("a") as file:
            file.write(settings)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
        monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
        text = diff(FILE, FILE.replace("line 7\n", "seven \t\n"))
        apply(tree, f"diff --git a/net/tcp.c b/net/tcp.c\n{text}")
        assert (tree / "net" / "tcp.c").read_bytes().splitlines(keepends=True)[6] == b"seven \t\n"
        with pytest.raises(InputError, match="does not match"):
            apply(tree, diff(FILE, FILE.replace("line 7\n", "line  7\n")))

    def test_unused_files(self, tree: Path, tmp_path: Path) -> None:
        """Changes of exactly those files that are not unpacked are skipped."""
        files = [
            *("Documentation/index.rst", "Documentation/networking/tcp.rst"),
            *("arch/arm/mm/a.c", "arch/arm/boot/dts/a.dts", "arch/arm/Kconfig", "arch/x86/mm/a.c"),
            *("arch/um/a.h", "drivers/net/a.c", "drivers/net/ethernet/intel/ice/a.h", "sound/a.c"),
            *("drivers/net/ethernet/Makefile", "drivers/gpu/drm/a.c", "tools/perf/a/b.json"),
            *("tools/testing/selftests/net/a.sh", "tools/include/a.h", "tools/perfect"),
        ]
        linux.unpack(write(tmp_path / "source", KERNEL | dict.fromkeys(files, "x\n")), tree)
        unpacked = {name for name in files if (tree / name).exists()}
        assert 0 < len(unpacked) < len(files)
        apply(tree, "".join(diff("x\n", "y\n", name) for name in files))
        assert {name for name in files if (tree / name).exists()} == unpacked
        assert {(tree / name).read_text() for name in unpacked} == {"y\n"}


class TestRefused:
    def test_mismatch(self, tree: Path) -> None:
        """A hunk that does not match is named with file, line, patch and release."""
        texts = [FILE.replace("line 2\n", "two\n"), FILE.replace("line 18\n", "18\n")]
        wrong = diff(texts[0], texts[0].replace("line 18\n", "changed\n"))
        right = diff(FILE, texts[0])
        (tree / "net" / "tcp.c").write_text(texts[1])
        message = (
            r"^patch: 2\.patch does not apply to Linux 6\.12\.3: the change at line 15 of "
            r"net/tcp\.c does not match; name the patch for this release, or"
        )
        with pytest.raises(InputError, match=message):
            apply(tree, right, wrong)

    def test_twice(self, tree: Path) -> None:
        """A patch that is in the source already is recognised."""
        text = diff(FILE, FILE.replace("line 9\n", "nine\n"))
        message = r"does not match, but its result is there already; leave it out$"
        with pytest.raises(InputError, match=message):
            apply(tree, text, text)
        new = diff("", "new\n", "net/new.c").replace("a/net/new.c", "/dev/null")
        with pytest.raises(InputError, match=r"net/new\.c exists already, but its result is there"):
            apply(tree, new, new)

    def test_nothing_changed(self, tree: Path) -> None:
        """A patch of which a part does not apply changes nothing."""
        before = content(tree)
        good = diff(FILE, FILE.replace("line 7\n", "seven\n"))
        with pytest.raises(InputError, match=r"has no file net/udp\.c"):
            apply(tree, good + diff("x\n", "y\n", "net/udp.c"))
        assert content(tree) == before

    def test_ends(self, tree: Path) -> None:
        """A change at the start or end of a file does not match elsewhere."""
        text = FILE.replace("line 20\n", "line 20\nend\n")
        (tree / "net" / "tcp.c").write_text(f"{FILE}more\n")
        with pytest.raises(InputError, match=r"line 18 of net/tcp\.c does not match"):
            apply(tree, diff(FILE, text))

    def test_files(self, tree: Path) -> None:
        """A change of a missing file is an error, and so is the creation of an existing one."""
        with pytest.raises(InputError, match=r"has no file net/udp\.c"):
            apply(tree, diff("x\n", "y\n", "net/udp.c"))
        with pytest.raises(InputError, match=r"net/tcp\.c exists already"):
            apply(tree, "--- /dev/null\n+++ b/net/tcp.c\n@@ -0,0 +1 @@\n+new\n")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "is not a valid patch: it has no lines such as"),
            ("int main(void);\n", "is not a valid patch: it has no lines such as"),
            ("--- a/x\n+++ b/x\n", "is not a valid patch: it has no lines such as"),
            ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n", "is not a valid patch: corrupt .* line 5;"),
            ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", r"'\.\./x'; it may change files"),
            ("--- a//etc/x\n+++ b//etc/x\n@@ -1 +1 @@\n-a\n+b\n", "'/etc/x'; it may change"),
            (
                "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
                "is not a valid patch: unable to find filename",
            ),
            (
                "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n",
                "makes a symbolic link",
            ),
            ("diff --git a/x b/x\nindex 12..34 160000\n", "makes a symbolic link or a submodule"),
            ("diff --git a/x b/../x\nrename from x\nrename to ../x\n", r"changes '\.\./x'"),
            ("diff --git a/../x b/x\ncopy from ../x\ncopy to x\n", r"changes '\.\./x'"),
            ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "unrecognized binary patch"),
            (f"diff --git a/x b/x\nindex {0:040}..{1:040}\nBinary files differ\n", "binary files"),
        ],
    )
    def test_invalid(self, text: str, problem: str) -> None:
        """What is not a patch, or changes anything else than files of Linux, is refused."""
        with pytest.raises(InputError, match=f"^patch: own.patch .*{problem}") as caught:
            _ = Patch("own.patch", text.encode()).paths
        assert "\n" not in str(caught.value)

    def test_behind_a_link(self, tree: Path, tmp_path: Path) -> None:
        """A file behind a symbolic link of the tree is not changed."""
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "tcp.c").write_text("x\n")
        (tree / "link").symlink_to(tmp_path / "elsewhere")
        (tree / "file").symlink_to(tmp_path / "elsewhere" / "tcp.c")
        for name in ("link/tcp.c", "file"):
            with pytest.raises(InputError, match=r"symbolic link|does not match"):
                apply(tree, diff("x\n", "y\n", name))
        with pytest.raises(InputError, match="beyond a symbolic link"):
            apply(tree, diff("", "new\n", "link/new.c"))
        assert content(tmp_path / "elsewhere") == {"tcp.c": (b"x\n", False)}

    def test_unreadable(self, tmp_path: Path) -> None:
        """A missing file or a folder is refused by its name."""
        for path in (tmp_path / "none.patch", tmp_path):
            with pytest.raises(InputError, match=r"^patch is .*it must be a file that can be read"):
                read(path)

    def test_without_git(self, on_path: Callable[[str, str], None], tmp_path: Path) -> None:
        """A machine without Git is told the package."""
        path = write(tmp_path, {"a.patch": diff("a\n", "b\n")}) / "a.patch"
        on_path("true", "")
        with pytest.raises(MissingRequirement, match=r"needs git: sudo apt-get install -y git$"):
            read(path)


class TestAddedOptions:
    def test_kconfig(self, tree: Path) -> None:
        """The options of CCAs and qdiscs that Kconfig files gain are found, and no others."""
        bic, red = "config TCP_CONG_BIC\n\ttristate\n\n", "config NET_SCH_RED\n\ttristate\n"
        write(tree, {"net/Kconfig": bic + red, "sched/Kconfig": ""})
        new = f"config TCP_CONG_FOO\n\ttristate\n{bic}config NET_SCH_FOO\nconfig OTHER\n"
        texts = [
            diff(bic + red, new, "net/Kconfig"),
            diff("", f"{red}config NET_SCH_BAR\n", "sched/Kconfig.new"),
            diff(FILE, f"config TCP_CONG_BAR\n{FILE}"),
        ]
        expected = ("CONFIG_TCP_CONG_FOO=y", "CONFIG_NET_SCH_FOO=y", "CONFIG_NET_SCH_BAR=y")
        assert apply(tree, *texts) == expected
