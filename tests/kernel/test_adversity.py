# SPDX-License-Identifier: Apache-2.0
"""A machine with full disks, read-only folders or several users at once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ccbench.base.cache import cache_dir
from ccbench.emulate.kernel.source.lookup import installed
from ccbench.emulate.store import Store
from ccbench.run.run import Run
from tests.conftest import on_small_disk
from tests.kernel.test_kills import SCENARIO

pytestmark = pytest.mark.kernel

_ROOT = Path(__file__).parents[2]
_CCBENCH = [sys.executable, "-c", "from ccbench.cli.main import main; main()"]
_HOME = "Zoë's öffentliche Dateien – 測試"


def ccbench(
    folder: Path, *words: str, before: tuple[str, ...] = (), tmp: Path | None = None
) -> str:
    """Run the program in a folder; return its status and output."""
    done = subprocess.run(
        [*before, *_CCBENCH, *words],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{_ROOT}:{os.environ.get('PYTHONPATH', '')}",
            **({} if tmp is None else {"TMPDIR": str(tmp)}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    return f"{done.returncode}: {done.stdout.strip()}"


@pytest.fixture
def scenario(tmp_path: Path, own_store: Path) -> Path:
    """Give a folder with a scenario that is not stored yet."""
    assert not own_store.exists()
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    return tmp_path


def digest(run: Path) -> str:
    """Return the SHA-256 of a run's log."""
    return hashlib.sha256((run / "queue.parquet").read_bytes()).hexdigest()


@pytest.mark.parametrize("count", [2, 8])
def test_one_store(scenario: Path, own_store: Path, count: int) -> None:
    """Processes that concurrently need the same run of one store all get it, stored once."""

    def run_once(number: int) -> str:
        return ccbench(scenario, "run", "scenario.toml", "-o", f"result-{number}")

    with ThreadPoolExecutor(count) as pool:
        output = list(pool.map(run_once, range(count)))
    assert all(line.startswith("0:") for line in output), output
    assert len({digest(scenario / f"result-{number}") for number in range(count)}) == 1
    assert Store(own_store).usage().runs == 1
    assert not list(own_store.rglob(".*"))


@pytest.mark.parametrize("location", ["store", "output", "workspace"])
def test_full(scenario: Path, own_store: Path, location: str) -> None:
    """A full disk is one line that names it; with free space the same command works."""
    (scenario / "small").mkdir()
    tmp = scenario / "small" if location == "workspace" else None
    output = "small/result" if location == "output" else "result"
    if location == "store":
        own_store.symlink_to(scenario / "small")
    before = on_small_disk(scenario / "small", "300k")
    printed = ccbench(scenario, "run", "scenario.toml", "-o", output, before=before, tmp=tmp)
    status = 2 if location == "workspace" else 1  # refused before the run starts
    assert printed.startswith(f"{status}: ccbench:"), printed
    assert "\n" not in printed
    assert "bug in ccbench" not in printed
    full = {"store": own_store, "output": output, "workspace": scenario / "small"}
    assert str(full[location]) in printed
    assert "make room there, or " in printed
    printed = ccbench(scenario, "run", "scenario.toml", "-o", output, tmp=tmp)
    assert printed.startswith("0:"), printed
    assert Run.load(scenario / output).scenario.flow_count == 2


def test_full_during_run(scenario: Path) -> None:
    """A workspace that fills up during a run, which is not predictable, is named."""
    folder = scenario / "small"
    folder.mkdir()
    program = (
        "from ccbench import Scenario; from ccbench.emulate.kernel.engine import KernelEngine; "
        'KernelEngine().run(Scenario.load("scenario.toml"))'
    )
    ended = subprocess.run(
        [*on_small_disk(folder, "300k"), sys.executable, "-c", program],
        cwd=scenario,
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    output = ended.stderr.splitlines()[-1]
    assert output.startswith("ccbench.base.errors.CcbenchError:")
    assert "is full" in output
    assert "make room there, or set TMPDIR" in output


def test_read_only_cache(scenario: Path) -> None:
    """An unwritable cache is named with the variable to set."""
    cache = cache_dir()
    before = ("unshare", "--mount", "sh", "-c", 'mount --bind -o ro "$0" "$0" && "$@"', str(cache))
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting requires root")
    output = ccbench(scenario, "run", "scenario.toml", before=before)
    assert output.startswith("1: ccbench:"), output
    assert "CCBENCH_CACHE" in output
    assert "\n" not in output


def test_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are built and run in a home directory with spaces and non-ASCII letters."""
    current = installed().path
    tree = Path(current.parents[1] / "current").resolve()
    home = tmp_path / _HOME
    (home / "spare").mkdir(parents=True)
    own = shutil.copytree(Path(__file__).parent / "tcp_metronome", home / "tcp_metronome")
    monkeypatch.delenv("CCBENCH_CACHE", raising=False)
    script = f"""
import os
import shutil
from pathlib import Path
from ccbench.base.cache import cache_dir
from ccbench.cli.main import main
from ccbench.emulate.kernel.source import paths

assert " " in str(cache_dir()), cache_dir()
paths._SPARE = Path({str(tmp_path)!r})
kernel = paths.kernels_dir()
(kernel / "trees").mkdir(parents=True)
(kernel / "trees" / {tree.name!r}).symlink_to({str(tree)!r})
(kernel / "current").symlink_to("trees/" + {tree.name!r})
(kernel / "builds").mkdir()
(kernel / "builds" / {current.name!r}).symlink_to({str(current)!r})
os.link = shutil.copy2  # the tree may lie on another disk
main()
"""
    (home / "szenario é.toml").write_text(SCENARIO)
    done = subprocess.run(
        [sys.executable, "-c", script, "run", "szenario é.toml", "-o", "Ergebnis ä"],
        cwd=home,
        env={
            **os.environ,
            "HOME": str(home),
            "XDG_CACHE_HOME": "",
            "CCBENCH_MODULES": str(own),
            "TMPDIR": str(home / "spare"),
            "PYTHONPATH": f"{_ROOT}:{os.environ.get('PYTHONPATH', '')}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Run.load(home / "Ergebnis ä").scenario.flow_count == 2
