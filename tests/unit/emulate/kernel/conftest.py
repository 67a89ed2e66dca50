# SPDX-License-Identifier: Apache-2.0
"""A kernel tree and module sources that compile in milliseconds, and programs on PATH."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Literal

import pytest

from ccbench.emulate.kernel.source import home, tree
from ccbench.emulate.kernel.source.edits import Edit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAKEFILE = r"""VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 3
EXTRAVERSION =

all:
	@echo kernel >>COUNT
	@mkdir -p include/config && echo 6.12.3 >include/config/kernel.release && : >modules.builtin
	@cp .config linux && touch net/tcp_swift.o net/sch_slow.o

prepare:
	@true

allnoconfig:
	@cp $(KCONFIG_ALLCONFIG) .config
	@sed -n 's/^.default /CONFIG_HZ=/p' arch/um/Kconfig >>.config

modules:
	@echo modules >>COUNT
	@cd $(M) && for folder in $$(sed -n 's/^obj-m := //p' Kbuild); do \
		name=$$(sed -n 's/^obj-m := \(.*\)\.o/\1/p' $$folder/Kbuild); \
		gcc -c -Iinclude -o $$folder/$$name.ko $$folder/$$name.c && \
		echo $$folder$$name.o >$$folder/$$name.mod && \
		gcc -MM -Iinclude -MT source_x $$folder/$$name.c | \
			sed 's/: / := /' >$$folder/.$$name.o.cmd && \
		printf "0\t$${name}_symbol\t$(M)/$$folder$$name\tEXPORT_SYMBOL\t\n" >>Module.symvers; done
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

#: A congestion control that compiles without a kernel's headers.
MODULE = f"""
#define __init
#define __read_mostly
struct tcp_congestion_ops {{ const char *name; int *init; }};
static int init[1];
static int tcp_register_congestion_control(struct tcp_congestion_ops *ops) {{ return !ops; }}
{CCA}
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
    "link/ours.c": MODULE.replace("swift", "ours"),
    "init/init.c": "int main(void)\n{\n\treturn 0;\n}\n",
}

CHANGES = (Edit(file="arch/um/Kconfig", find=r"\d+$", replace="@HZ@", reason="HZ is no option"),)


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def count(tmp_path: Path) -> Callable[[], list[str]]:
    """Give a function that returns the steps compiled since its last call."""
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
    """Give module sources that replace the real ones."""
    folder = write(tmp_path / "kernel_modules", SOURCES)
    monkeypatch.setattr(home, "sources_dir", lambda: folder)
    monkeypatch.setattr(tree, "EDITS", CHANGES)
    monkeypatch.setattr(tree, "TCP_EDITS", ())
    monkeypatch.setattr(tree, "ADDITIONS", {"arch/um/ours.h": "um/ours.h"})
    return folder


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Give a function that adds a program (name, shell script) to an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(name: str, script: str = "") -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return make
