# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import difflib
import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source.linux import is_unused
from ccbench.emulate.kernel.source.patches import Patch, added_options, apply_patches, read

if TYPE_CHECKING:
    from pathlib import Path

#: Few different lines, so that contexts repeat.
TEXTS = st.lists(st.sampled_from(["a", "b", "", "\tif (x)", "-- c", "++ d", "@@"]), max_size=30)

FILE = "".join(f"line {i}\n" for i in range(1, 21))


def diff(old: str, new: str, name: str = "net/tcp.c") -> str:
    """Return the unified diff of a file's texts."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline\n" for line in lines)


def apply(tree: Path, *texts: str) -> None:
    """Apply patches of these texts to a tree."""
    patches = [Patch(f"{i}.patch", text.encode()) for i, text in enumerate(texts, start=1)]
    apply_patches(tree, patches, "6.12.3", is_unused)


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
        (tree / "net" / "tcp.c").write_text(before)
        apply(tree, diff(before, after))
        assert (tree / "net" / "tcp.c").read_text() == after

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

    def test_new_removed_and_renamed(self, tree: Path) -> None:
        """A patch of Git may create, remove and rename files, with and without changes."""
        for name in ("gone", "empty", "moved", "edited"):
            (tree / "net" / name).write_text("" if name == "empty" else f"{name}\n")
        apply(
            tree,
            "diff --git a/lib/x.sh b/lib/x.sh\nnew file mode 100755\nindex 000..123\n"
            "--- /dev/null\n+++ b/lib/x.sh\n@@ -0,0 +1 @@\n+new\n"
            "diff --git a/lib/none b/lib/none\nnew file mode 100644\nindex 000..e69\n"
            "diff --git a/net/gone b/net/gone\ndeleted file mode 100644\nindex 123..000\n"
            "--- a/net/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
            "diff --git a/net/empty b/net/empty\ndeleted file mode 100644\nindex e69..000\n"
            "diff --git a/net/moved b/lib/moved\nsimilarity index 100%\n"
            "rename from net/moved\nrename to lib/moved\n"
            "diff --git a/net/edited b/lib/edited\nsimilarity index 50%\n"
            "rename from net/edited\nrename to lib/edited\nindex 123..456 100644\n"
            "--- a/net/edited\n+++ b/lib/edited\n@@ -1 +1,2 @@\n edited\n+more\n",
        )
        found = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
        assert found == {"net/tcp.c", "lib/x.sh", "lib/none", "lib/moved", "lib/edited"}
        assert (tree / "lib" / "edited").read_text() == "edited\nmore\n"
        assert (tree / "lib" / "x.sh").stat().st_mode & 0o111

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

    def test_unused_files(self, tree: Path) -> None:
        """Changes of files that builds do not read, such as documentation, are skipped."""
        documentation = diff("x\n", "y\n", "Documentation/networking/tcp.rst")
        apply(tree, documentation + diff(FILE, FILE.replace("line 1\n", "one\n")))
        assert (tree / "net" / "tcp.c").read_text().startswith("one\n")
        assert not (tree / "Documentation").exists()


class TestRefused:
    def test_mismatch(self, tree: Path) -> None:
        """A hunk that does not match is named with file, line, patch and release."""
        texts = [FILE.replace("line 2\n", "two\n"), FILE.replace("line 18\n", "18\n")]
        wrong = diff(texts[0], texts[0].replace("line 18\n", "changed\n"))
        right = diff(FILE, texts[0])
        (tree / "net" / "tcp.c").write_text(texts[1])
        message = (
            r"^patch: 2\.patch does not apply to Linux 6\.12\.3: hunk 1 of net/tcp\.c \(line 15\)"
            r" does not match; name"
        )
        with pytest.raises(InputError, match=message):
            apply(tree, right, wrong)

    def test_twice(self, tree: Path) -> None:
        """A patch that is in the source already is recognised."""
        text = diff(FILE, FILE.replace("line 9\n", "nine\n"))
        with pytest.raises(InputError, match=r"hunk 1 .* but its result is there already"):
            apply(tree, text, text)

    def test_files(self, tree: Path) -> None:
        """A change of a missing file is an error, and so is the creation of an existing one."""
        with pytest.raises(InputError, match=r"has no file net/udp\.c"):
            apply(tree, diff("x\n", "y\n", "net/udp.c"))
        with pytest.raises(InputError, match=r"net/tcp\.c exists already"):
            apply(tree, "--- /dev/null\n+++ b/net/tcp.c\n@@ -0,0 +1 @@\n+new\n")

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "is not a patch"),
            ("int main(void);\n", "is not a patch"),
            ("--- a/x\n+++ b/x\n", "has no lines @@ for x"),
            ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n", "is damaged: hunk 1 of x ends before"),
            ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", r"'\.\./x'; it may change files"),
            ("--- /etc/x\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n", "changes '/etc/x'; paths must"),
            ("--- a//etc/x\n+++ b//etc/x\n@@ -1 +1 @@\n-a\n+b\n", "'/etc/x'; it may change"),
            ("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", "changes 'x'; paths must"),
            (
                "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n",
                "makes a symbolic link",
            ),
            ("diff --git a/x b/x\nindex 12..34 160000\n", "makes a symbolic link or a submodule"),
            ("diff --git a/x b/x\nrename from x\nrename to ../x\n", r"changes '\.\./x'"),
            ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "changes binary files"),
            ("diff --git a/x b/x\nBinary files a/x and b/x differ\n", "changes binary files"),
        ],
    )
    def test_invalid(self, text: str, problem: str) -> None:
        """What is not a patch, or changes anything else than files of Linux, is refused."""
        with pytest.raises(InputError, match=f"^patch: own.patch .*{problem}") as caught:
            Patch("own.patch", text.encode())
        assert "\n" not in str(caught.value)

    def test_behind_a_link(self, tree: Path, tmp_path: Path) -> None:
        """A file behind a symbolic link of the tree is not changed."""
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "tcp.c").write_text("x\n")
        (tree / "link").symlink_to(tmp_path / "elsewhere")
        (tree / "file").symlink_to(tmp_path / "elsewhere" / "tcp.c")
        for name in ("link/tcp.c", "file"):
            with pytest.raises(InputError, match="behind a symbolic link"):
                apply(tree, diff("x\n", "y\n", name))
        with pytest.raises(InputError, match="behind a symbolic link"):
            apply(tree, "--- /dev/null\n+++ b/link/new.c\n@@ -0,0 +1 @@\n+new\n")
        assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["tcp.c"]

    def test_unreadable(self, tmp_path: Path) -> None:
        """A missing file or a folder is refused by its name."""
        for path in (tmp_path / "none.patch", tmp_path):
            with pytest.raises(InputError, match=r"^patch is .*it must be a file that can be read"):
                read(path)


class TestAddedOptions:
    def test_kconfig(self) -> None:
        """The options of CCAs and qdiscs that a Kconfig file gains are found, and no others."""
        old = "config TCP_CONG_BIC\n\ttristate\n"
        new = f"config TCP_CONG_FOO\n\ttristate\n\n{old}\nconfig NET_SCH_FOO\nconfig OTHER\n"
        kconfig = Patch("1", diff(old, new, "net/ipv4/Kconfig").encode())
        source = Patch("2", diff(old, f"config TCP_CONG_BAR\n{old}", "net/tcp.c").encode())
        assert added_options([kconfig, source]) == ("CONFIG_TCP_CONG_FOO=y", "CONFIG_NET_SCH_FOO=y")
