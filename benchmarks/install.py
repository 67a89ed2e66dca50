# SPDX-License-Identifier: Apache-2.0
"""Measure the time from an empty virtual environment to the first measurement of harm.

    make wheels
    .venv/bin/python benchmarks/install.py

The wheels in dist are installed, with the packages they need from the index, into a new environment
with empty caches: by pip, and by uv if it is installed. The command has no compiler in its PATH.
For each step, the elapsed time and the processor time of all its processes are printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

DIST = Path(__file__).parents[1] / "dist"
HARM = (
    *("harm", "--alpha", "bbr", "--beta", "cubic", "--bandwidth", "100", "--rtt", "40"),
    *("--queue", "1bdp", "--duration", "30"),
)


def measure(title: str, command: list[str], **settings: str) -> float:
    """Run a command, print its times and return the elapsed seconds."""
    began_s, before = time.monotonic(), getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
    elapsed_s, after = time.monotonic() - began_s, getrusage(RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{title:20} {elapsed_s:6.1f} s elapsed {used_s:6.1f} s of processors")
    return elapsed_s


def installed_by(tool: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the commands that make an environment in a folder and install ccbench there."""
    wanted = ["--quiet", "--no-cache", "--find-links", str(DIST), "ccbench[kernel]"]
    if tool == "uv":
        target = ["--python", str(folder / "bin" / "python")]
        return ["uv", "venv", "--quiet", str(folder)], ["uv", "pip", "install", *target, *wanted]
    pip = [str(folder / "bin" / "pip"), "install", "--no-compile"]
    return [sys.executable, "-m", "venv", str(folder)], [*pip, *wanted]


def main() -> None:
    """Measure and print all steps."""
    if not list(DIST.glob("ccbench_kernel-*.whl")):
        sys.exit(f"there is no wheel of ccbench-kernel in {DIST}: run `make wheels`")
    for tool in ("pip", "uv"):
        if tool == "uv" and not shutil.which("uv"):
            continue
        with tempfile.TemporaryDirectory() as name:
            venv, cache = Path(name) / "venv", str(Path(name) / "cache")
            make, install = installed_by(tool, venv)
            total_s = measure(f"{tool}: environment", make)
            total_s += measure(f"{tool}: installation", install)
            command = [str(venv / "bin" / "ccbench"), *HARM]
            path = str(venv / "bin")
            total_s += measure("first harm", command, CCBENCH_CACHE=cache, PATH=path)
        print(f"{'together':20} {total_s:6.1f} s elapsed; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
