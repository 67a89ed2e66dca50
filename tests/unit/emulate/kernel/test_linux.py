# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source import linux
from tests.unit.emulate.kernel.conftest import CCA, KERNEL, pack, write

if TYPE_CHECKING:
    from pathlib import Path


class TestVersion:
    def test_makefile(self) -> None:
        """A kernel's version is read from its Makefile, regardless of blanks."""
        text = "# comment\nVERSION = 6\nPATCHLEVEL=1\nSUBLEVEL  =  158 \nEXTRAVERSION = -rc3\n"
        assert linux.version(text) == (6, 1, 158)

    @pytest.mark.parametrize("text", ["", "all:\n\techo\n", "VERSION = 1.2.3\n"])
    def test_other_makefile(self, text: str) -> None:
        """The Makefile of another program has no version."""
        with pytest.raises(ValueError, match="VERSION"):
            linux.version(text)


class TestUnpack:
    def test_tarball(self, tarball: Path, tmp_path: Path) -> None:
        """A tarball is unpacked without its top folder and without files that no build needs."""
        copy = tmp_path / "copy"
        copy.mkdir()
        linux.unpack(tarball, copy)
        assert (copy / "arch/um/Kconfig").read_text() == KERNEL["arch/um/Kconfig"]
        assert (copy / "drivers/gpu/Kconfig").exists()
        assert not (copy / "drivers/gpu/card.c").exists()

    @pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
    def test_compression(
        self, kernel: Path, tmp_path: Path, compression: Literal["", "gz", "bz2", "xz"]
    ) -> None:
        """A tarball may have any compression and any name."""
        copy = tmp_path / "copy"
        copy.mkdir()
        linux.unpack(pack(kernel, tmp_path / "packed", compression), copy)
        assert (copy / "Makefile").read_text() == (kernel / "Makefile").read_text()

    def test_tree(self, kernel: Path, tmp_path: Path) -> None:
        """A tree is copied without leftovers of earlier builds, and stays unchanged."""
        left = {"net/tcp_swift.o": "", ".config": "", "include/generated/autoconf.h": ""}
        write(kernel, left)
        before = sorted(kernel.rglob("*"))
        copy = tmp_path / "copy"
        copy.mkdir()
        linux.unpack(kernel, copy)
        assert before == sorted(kernel.rglob("*"))
        assert (copy / "net/tcp_swift.c").read_text() == CCA
        assert [] == [name for name in left if (copy / name).exists()]

    def test_too_old(self, kernel: Path, tmp_path: Path) -> None:
        """A kernel before 6.1 is refused in one line with its version and the minimum."""
        write(kernel, {"Makefile": "VERSION = 5\nPATCHLEVEL = 15\nSUBLEVEL = 7\n"})
        with pytest.raises(
            InputError, match=r"^source: \S+ is Linux 5\.15\.7, .* 6\.1 or newer.*$"
        ):
            linux.unpack(kernel, tmp_path / "copy")

    def test_no_kernel(self, tmp_path: Path) -> None:
        """A folder without a kernel is refused in one line."""
        other = write(tmp_path / "other", {"Makefile": "all:\n"})
        with pytest.raises(InputError, match=r"^source: \S+other is not the source of a Linux .*$"):
            linux.unpack(other, tmp_path / "copy")

    @pytest.mark.parametrize("compression", ["gz", "bz2", "xz"])
    def test_cut_tarball(
        self, kernel: Path, tmp_path: Path, compression: Literal["gz", "bz2", "xz"]
    ) -> None:
        """A truncated tarball is refused in one line."""
        tarball = pack(kernel, tmp_path / "packed", compression)
        tarball.write_bytes(tarball.read_bytes()[: tarball.stat().st_size * 2 // 3])
        copy = tmp_path / "copy"
        copy.mkdir()
        with pytest.raises(InputError, match=r"^source: \S+packed (is|cannot be) .*$"):
            linux.unpack(tarball, copy)


class TestDigest:
    def test_tree(self, kernel: Path) -> None:
        """A tree's digest changes only with files that are built."""
        before = linux.digest(kernel)
        write(kernel, {"net/tcp_swift.o": "compiled", "drivers/gpu/card.c": "changed"})
        assert before == linux.digest(kernel)
        write(kernel, {"net/tcp_swift.c": f"{CCA}\n"})
        assert before != linux.digest(kernel)

    def test_tarball(self, tarball: Path) -> None:
        """A tarball's digest is that of its bytes, regardless of its name."""
        before = linux.digest(tarball)
        assert before == linux.digest(tarball.rename(tarball.with_name("other.tar.xz")))


class TestFind:
    def test_missing(self, tmp_path: Path) -> None:
        """A missing source is refused."""
        with pytest.raises(InputError, match=r"source: there is no \S+nowhere;"):
            linux.find(tmp_path / "nowhere")

    def test_other_file(self, tmp_path: Path) -> None:
        """A file that is not a tarball is refused in one line."""
        write(tmp_path, {"notes.txt": "hello\n"})
        with pytest.raises(InputError, match=r"^source: \S+notes\.txt is not a tarball; .*$"):
            linux.find(tmp_path / "notes.txt")
