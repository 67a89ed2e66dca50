# SPDX-License-Identifier: Apache-2.0
"""The proof of docs/determinism.md: the same seed gives the same bytes, however it is run.

    python examples/determinism.py

Prints a digest of all files of a run or a search, and exits with 1 if digests that must be equal
differ, or digests that must differ are equal.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from ccbench import Bottleneck, Flow, NetworkPath, Noise, Scenario, emulate, raygen

#: Much of it is random: fq_codel's hash, BBR's and CUBIC's start-up, losses, arrivals, jitter.
SCENARIO = Scenario(
    flows=(Flow(cca="bbr", count=2), Flow(cca="cubic"), Flow(kind="poisson", rate_mbps=1)),
    path=NetworkPath(
        bottlenecks=(Bottleneck(bandwidth_mbps=20, queue_bdp=1, qdisc="fq_codel", loss=0.001),),
        rtt_ms=40,
        noise=Noise(reverse_jitter_ms=0.5),
    ),
    duration_s=10,
)


def digest(folder: Path) -> str:
    """Return 16 digits for the names and the bytes of all files below a folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        total.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def one_run(folder: Path, scenario: Scenario = SCENARIO) -> str:
    """Run a scenario afresh, save it in the folder, and return its digest."""
    emulate.run(scenario, store=None).save(folder)
    return digest(folder)


def side_by_side(folder: Path, jobs: int) -> str:
    """Run three seeds with this many jobs, and return the digest of all."""
    scenarios = [replace(SCENARIO, seed=seed) for seed in (1, 2, 3)]
    for i, run in emulate.run_many(scenarios, jobs=jobs, store=None):
        run.save(folder / str(i))
    return digest(folder)


def other_process(folder: Path) -> str:
    """Run in another process, with other environment variables and another working directory."""
    folder.mkdir()
    command = [sys.executable, str(Path(__file__).resolve()), str(folder / "run")]
    environment = {**os.environ, "TMPDIR": str(folder), "LANG": "C", "A_STRANGER": "x" * 1000}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


def search(folder: Path, jobs: int) -> str:
    """Search four networks with this many jobs, and return the digest of its tables."""
    raygen.search(
        alpha="bbr",
        beta="cubic",
        budget=4,
        population=4,
        duration_s=4,
        jobs=jobs,
        store=None,
        output_dir=folder,
    )
    (folder / "worst.png").unlink()  # figures depend on matplotlib
    return digest(folder)


def main() -> int:
    """Print the proof; return the exit status."""
    if len(sys.argv) > 1:
        print(one_run(Path(sys.argv[1])))
        return 0
    with tempfile.TemporaryDirectory(prefix="determinism ") as name:
        top = Path(name)
        runs = {
            "a run": one_run(top / "a"),
            "once more": one_run(top / "b"),
            "another folder, äß": one_run(top / "c" / "äß"),
            "another process": other_process(top / "d"),
        }
        batches = {f"3 seeds, {jobs} jobs": side_by_side(top / f"e{jobs}", jobs) for jobs in (1, 2)}
        searches = {f"a search, {jobs} jobs": search(top / f"f{jobs}", jobs) for jobs in (1, 2)}
        other = one_run(top / "g", replace(SCENARIO, seed=2))
    for what, value in {**runs, **batches, **searches, "another seed": other}.items():
        print(f"{value}  {what}")
    equal = all(len(set(group.values())) == 1 for group in (runs, batches, searches))
    differs = other not in runs.values()
    print("the same seed, the same bytes" if equal and differs else "NOT deterministic")
    return 0 if equal and differs else 1


if __name__ == "__main__":
    sys.exit(main())
