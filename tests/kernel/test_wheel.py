# SPDX-License-Identifier: Apache-2.0
"""The built wheel, installed outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base.cache import cache_dir
from ccbench.emulate.kernel.source.lookup import installed
from tests.conftest import made_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHECKOUT = Path(__file__).parents[2]

SCENARIO = """
rtt_ms = 10
duration_s = 2
[[flows]]
cca = "reno"
[[bottlenecks]]
bandwidth_mbps = 5
queue_bdp = 2
"""


@pytest.fixture(scope="module")
def wheel(shared_folder: Path) -> Path:
    """Build the wheel, once in a session."""

    def build(folder: Path) -> None:
        options = ["--wheel", "--no-isolation", "--outdir", str(folder)]
        command = [sys.executable, "-m", "build", *options, str(CHECKOUT)]
        subprocess.run(command, check=True, capture_output=True)

    (path,) = made_once(shared_folder / "dist", build).glob("*.whl")
    return path


@pytest.fixture(scope="module")
def cache() -> Iterator[Path]:
    """Give a cache folder with a kernel's source and tree, and its build without own modules.

    It lies in the user's cache, because a build makes hard links.
    """
    current = installed().path
    stored = cache_dir() / "kernel"
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix="wheel-") as name:
        kernel = Path(name) / "kernel"
        for kind in ("sources", "trees"):
            (kernel / kind).mkdir(parents=True)
            for path in (stored / kind).iterdir():
                (kernel / kind / path.name).symlink_to(path)
        (kernel / "builds").mkdir()
        (kernel / "builds" / current.name).symlink_to(current)
        yield Path(name)


@pytest.fixture(scope="module")
def ccbench(
    wheel: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., str]:
    """Install the wheel into a new virtual environment; run its program and return the output.

    The packages it needs are those of this environment.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=folder, check=True)
    scripts = folder / "venv" / "bin"
    pip = [str(scripts / "python"), "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    subprocess.run([*pip, str(wheel)], cwd=folder, check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    (folder / "scenario.toml").write_text(SCENARIO)

    def run(*arguments: str) -> str:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return subprocess.run(
            [scripts / "ccbench", *arguments],
            cwd=folder,
            env={**environment, "CCBENCH_CACHE": str(cache)},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    return run


@pytest.mark.long
class TestWheel:
    def test_content(self, wheel: Path) -> None:
        """The wheel contains compiled cores, annotations, licences, a page and kernel sources."""
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        sources = [name for name in names if name.startswith("ccbench/kernel_modules/")]
        assert "ccbench/py.typed" in names
        assert "ccbench/raygen/page/report.html" in names
        assert {f"ccbench/pages/{name}" for name in ("base.html", "page.css", "page.js")} <= {
            *names
        }
        assert "ccbench/kernel_modules/COPYING" in names
        assert "ccbench/kernel_modules/um.config" in names
        assert "ccbench/kernel_modules/init/init.c" in names
        assert [] == [
            name for name in sources if Path(name).suffix in {".ko", ".o", ".mod", ".cmd"}
        ]
        assert f"ccbench/_native{sysconfig.get_config_var('EXT_SUFFIX')}" in names
        assert [] == [name for name in names if not name.startswith(("ccbench/", "ccbench-"))]

    @pytest.mark.kernel
    def test_build_and_run(
        self, ccbench: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The installed wheel builds its virtual kernel, with a module of the user, and runs it."""
        monkeypatch.setenv("CCBENCH_MODULES", str(CHECKOUT / "tests" / "kernel" / "tcp_metronome"))
        ccbench("kernel", "build")
        assert installed().version == json.loads(ccbench("kernel", "info", "--json"))["version"]
        (flow,) = json.loads(ccbench("run", "scenario.toml", "--json"))["flows"]
        assert 4 < flow["throughput_mbps"] <= 5
