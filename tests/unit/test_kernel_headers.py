# SPDX-License-Identifier: Apache-2.0
"""The modules for ordinary kernels compile for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
SOURCES = _ROOT / "kernel_modules"
#: The congestion controls and qdiscs.
FOLDERS = sorted(
    folder
    for parent in (SOURCES, *(_ROOT / "examples").glob("own-*"))
    for folder in parent.iterdir()
    if folder.name.startswith(("sch_", "tcp_"))
)
#: Those that need no more of TCP than Linux has (ccbench/emulate/kernel/source/tcp_edits.py).
ORDINARY = [
    folder
    for folder in FOLDERS
    if not any("sent_in_flight" in file.read_text(encoding="utf-8") for file in folder.glob("*.c"))
]

#: Kernel headers of Debian and Ubuntu.
HEADERS = sorted(
    folder
    for folder in Path("/usr/src").glob("linux-headers-*")
    if (folder / "Module.symvers").is_file()
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not HEADERS,
        reason="kernel headers are not installed: apt-get install linux-headers-amd64",
    ),
]


@pytest.fixture(params=HEADERS, ids=lambda folder: folder.name.removeprefix("linux-headers-"))
def headers(request: pytest.FixtureRequest) -> Path:
    """Give the headers of one kernel."""
    folder: Path = request.param
    return folder


class TestOutOfTree:
    @pytest.mark.parametrize("source", ORDINARY, ids=lambda folder: folder.name)
    def test_compiles(self, tmp_path: Path, headers: Path, source: Path) -> None:
        """Each folder compiles on its own, without warnings at W=1."""
        include, folder = tmp_path / "include", tmp_path / source.name
        shutil.copytree(SOURCES / "include", include)
        shutil.copytree(source, folder)
        modules = re.findall(
            r"^obj-m \+?:?= (\w+)\.o$", (folder / "Kbuild").read_text(), re.MULTILINE
        )
        flags = f"CFLAGS_MODULE=-I{include}"
        command = ["make", "-C", str(headers), f"M={folder}", "W=1", flags, "modules"]
        # Without variables of a make that may have started pytest.
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        made = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        output = made.stdout + made.stderr
        assert made.returncode == 0, output
        assert "warning: " not in output.replace("warning: the compiler differs", "")
        assert "WARNING: " not in output
        assert modules
        assert {module.stem for module in folder.glob("*.ko")} == set(modules)
