# SPDX-License-Identifier: Apache-2.0
"""The built wheel, installed outside the checkout."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ccbench.base import toml_files
from ccbench.emulate.kernel.source import archives
from ccbench.emulate.kernel.source import linux as kernel_source
from ccbench.emulate.kernel.source.lookup import installed, of_release
from ccbench.emulate.kernel.source.packages import downloaded
from ccbench.emulate.kernel.source.paths import kernels_dir
from ccbench.run.run import Run
from tests.conftest import made_once

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKOUT = Path(__file__).parents[2]

#: Ends of the names of a tree's archives.
END_OF_TREE = ("", "-modules")

#: The README's command, but shorter.
HARM = (
    *("harm", "--alpha", "bbr", "--beta", "cubic", "--bandwidth", "100", "--rtt", "40"),
    *("--queue", "1bdp", "--duration", "5", "--repeat", "2"),
)

SCENARIO = """
rtt_ms = 10
duration_s = 2
[[flows]]
cca = "reno"
[[bottlenecks]]
bandwidth_mbps = 5
queue_bdp = 2
"""


def has_loader(program: Path) -> bool:
    """Return whether a 64-bit program names a loader (ELF's PT_INTERP)."""
    content = program.read_bytes()
    (start,) = struct.unpack_from("<Q", content, 0x20)
    size, count = struct.unpack_from("<HH", content, 0x36)
    kinds = [struct.unpack_from("<I", content, start + i * size)[0] for i in range(count)]
    return content.startswith(b"\x7fELF") and 3 in kinds


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
def kernel_wheel(shared_folder: Path) -> Path:
    """Build the wheel with the kernels of this machine, once in a session."""
    settings = toml_files.loads((CHECKOUT / "kernel_wheel" / "pyproject.toml").read_text())
    for linux in settings["tool"]["ccbench-kernel"]["linux"]:
        source = downloaded(kernels_dir() / "sources", linux["release"])
        if source is None or kernel_source.digest(source) != linux["sha256"]:
            pytest.skip(f"the source of Linux {linux['release']} is not here, or another one")
        if of_release(linux["release"]) is None:
            pytest.skip(f"Linux {linux['release']} is not built")

    def build(folder: Path) -> None:
        options = ["--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
        command = [sys.executable, "-m", "build", *options, str(CHECKOUT / "kernel_wheel")]
        subprocess.run(command, check=True, capture_output=True)

    (path,) = made_once(shared_folder / "kernel", build).glob("*.whl")
    return path


@pytest.fixture(scope="module")
def ccbench(
    wheel: Path, kernel_wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Install both wheels into a new virtual environment; run its program with an empty cache.

    The packages they need are those of this environment.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "no-programs").mkdir()
    subprocess.run([sys.executable, "-m", "venv", "venv"], cwd=folder, check=True)
    scripts = folder / "venv" / "bin"
    pip = [str(scripts / "python"), "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps"]
    subprocess.run([*pip, str(wheel), str(kernel_wheel)], cwd=folder, check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    (folder / "scenario.toml").write_text(SCENARIO)

    def run(*arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        cache, no_programs = str(folder / "cache"), str(folder / "no-programs")
        return subprocess.run(
            [scripts / "ccbench", *map(str, arguments)],
            cwd=folder,
            env={**inherited, "CCBENCH_CACHE": cache, "PATH": no_programs, **settings},
            check=False,
            capture_output=True,
            text=True,
        )

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
        assert "ccbench/random_device.so" in names
        assert [] == [name for name in names if not name.startswith(("ccbench/", "ccbench-"))]

    @pytest.mark.kernel
    def test_kernels(self, kernel_wheel: Path) -> None:
        """The wheel of kernels has archives for any Python, and its licence."""
        assert kernel_wheel.name.split("-")[2:4] == ["py3", "none"]
        with zipfile.ZipFile(kernel_wheel) as archive:
            names = archive.namelist()
            kernels = json.loads(archive.read("ccbench_kernel/kernels.json"))["kernels"]
        packed = [f"trees/{each['key']}{end}.tar.xz" for each in kernels for end in END_OF_TREE]
        packed += [f"builds/{each['version']}.tar.xz" for each in kernels]
        content = [name for name in names if not name.startswith("ccbench_kernel-")]
        expected = {f"ccbench_kernel/{name}" for name in (*packed, "kernels.json", "__init__.py")}
        assert {*content} == expected
        assert any(name.endswith("/licenses/COPYING") for name in names)

    @pytest.mark.kernel
    def test_any_c_library(self, kernel_wheel: Path, tmp_path: Path) -> None:
        """Kernel and init start without a loader of the C library, as the wheel's tags promise."""
        assert kernel_wheel.stem.endswith("-manylinux_2_17_x86_64.musllinux_1_1_x86_64")
        with zipfile.ZipFile(kernel_wheel) as wheel:
            for name in wheel.namelist():
                if name.endswith(".tar.xz") and not name.endswith("-modules.tar.xz"):
                    archive = Path(wheel.extract(name, tmp_path))
                    archives.extract(archive, archive.with_suffix(""))
        programs = [*tmp_path.rglob("linux"), *tmp_path.rglob("root/init")]
        assert len(programs) == 4
        assert {program: has_loader(program) for program in programs} == dict.fromkeys(
            programs, False
        )
        assert has_loader(Path(sys.executable).resolve())

    @pytest.mark.kernel
    def test_without_a_compiler(
        self,
        ccbench: Callable[..., subprocess.CompletedProcess[str]],
        program: Callable[..., str],
        tmp_path: Path,
    ) -> None:
        """The wheels measure the README's harm without compilers, with the same packets as here."""
        assert ccbench(*HARM).stdout == program(*HARM)
        runs = []
        for name in ("prebuilt", "here"):
            run = ccbench if name == "prebuilt" else program
            (tmp_path / "scenario.toml").write_text(SCENARIO)
            run("run", tmp_path / "scenario.toml", "--fresh", "-o", tmp_path / name)
            runs.append(Run.load(tmp_path / name))
        prebuilt, here = runs
        assert prebuilt.queue.equals(here.queue)
        assert prebuilt.flows.equals(here.flows)
        assert prebuilt.provenance == here.provenance
        assert "from ccbench-kernel " in ccbench("doctor").stdout

    @pytest.mark.kernel
    def test_own_module(
        self,
        ccbench: Callable[..., subprocess.CompletedProcess[str]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A module of the user is compiled for a prebuilt kernel; only that needs compilers."""
        monkeypatch.setenv("CCBENCH_MODULES", str(CHECKOUT / "tests" / "kernel" / "tcp_metronome"))
        refused = ccbench("kernel", "info")
        assert refused.returncode != 0
        assert "compiling modules needs gcc, ld, strip, make: " in refused.stderr
        described = ccbench("kernel", "info", "--json", PATH=os.environ["PATH"])
        assert installed().version == json.loads(described.stdout)["version"]
        (flow,) = json.loads(ccbench("run", "scenario.toml", "--json").stdout)["flows"]
        assert 4 < flow["throughput_mbps"] <= 5
