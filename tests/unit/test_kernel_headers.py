# SPDX-License-Identifier: Apache-2.0
"""The modules that load into ordinary kernels compile for them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "kernel_modules"

#: Where Debian and Ubuntu put what modules are compiled against.
HEADERS = sorted(
    folder
    for folder in Path("/usr/src").glob("linux-headers-*")
    if (folder / "Module.symvers").is_file()
)

pytestmark = pytest.mark.skipif(
    not HEADERS,
    reason="there are no kernel headers: apt-get install linux-headers-amd64",
)


@pytest.fixture(params=HEADERS, ids=lambda folder: folder.name.removeprefix("linux-headers-"))
def headers(request: pytest.FixtureRequest) -> Path:
    """Give the headers of one kernel."""
    folder: Path = request.param
    return folder


class TestOutOfTree:
    @pytest.mark.parametrize(
        ("folder", "modules"),
        [
            ("sch_abc", {"sch_abc.ko"}),
            ("tcp_abc", {"tcp_abc.ko", "tcp_abc_ns.ko"}),
            ("tcp_copa", {"tcp_copa.ko"}),
            ("tcp_nimbus", {"tcp_nimbus.ko"}),
            ("tcp_rapid", {"tcp_rapid.ko"}),
        ],
    )
    def test_compiles(self, tmp_path: Path, headers: Path, folder: str, modules: set[str]) -> None:
        """Each folder by itself makes its modules, without a warning of those that W=1 adds."""
        for name in ("include", folder):
            shutil.copytree(SOURCES / name, tmp_path / name)
        command = ["make", "-C", str(headers), f"M={tmp_path / folder}", "W=1", "modules"]
        # Of make's own, so that it does not speak of the make that may have started pytest.
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
        assert {module.name for module in (tmp_path / folder).glob("*.ko")} == modules
