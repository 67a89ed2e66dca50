# SPDX-License-Identifier: Apache-2.0
"""A small search on the virtual kernel, from end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench import Scenario
from ccbench.emulate import Store, run
from ccbench.experiment.trace import Trace
from ccbench.harm import measure
from ccbench.raygen import (
    DEFAULT_SPACE,
    Choice,
    Number,
    SearchConfig,
    Space,
    search,
    strategies,
)
from ccbench.raygen.objective import OBJECTIVES
from tests.kernel.conftest import guests
from tests.unit.conftest import assert_same

if TYPE_CHECKING:
    from ccbench.raygen import Progress

pytestmark = pytest.mark.kernel

CONFIG = SearchConfig(
    alpha="bbr", beta="cubic", budget=6, population=4, duration_s=2, seed=7, confirm=1
)


def run_count(config: SearchConfig) -> int:
    """Return the runs of a search of two generations without equal chromosomes.

    One network of each generation runs again, and so do the claims.
    """
    return 2 * (config.budget + 2 + 5 * config.confirm)


RUNS = run_count(CONFIG)

EVERY_GENE = "".join(
    f"[[genes]]\nname = '{name}'\n{settings}\n"
    for name, settings in {
        "trace": "scale = 'choice'\nvalues = ['uneven.trace']",
        "rtt_ms": "low = 10\nhigh = 60",
        "queue_packets": "low = 20\nhigh = 200",
        "alpha_rtt_ratio": "low = 0.5\nhigh = 2",
        "loss": "low = 0\nhigh = 0.001\nscale = 'linear'",
        "qdisc": "scale = 'choice'\nvalues = ['droptail', 'fq_codel', 'pie']",
        "workload": "scale = 'choice'\nvalues = ['long', 'short']",
        "alpha_start_s": "low = 0\nhigh = 4\nscale = 'linear'",
        "beta_start_s": "low = 0\nhigh = 5\nscale = 'linear'",
        "alpha_flows": "low = 1\nhigh = 3",
        "beta_flows": "scale = 'choice'\nvalues = [1, 2]",
    }.items()
)


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def is_running(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


class StopError(Exception):
    """Ends a search from within."""


@pytest.mark.usefixtures("own_store")
class TestSearch:
    def test_files(self, tmp_path: Path, boots: list[Path]) -> None:
        """A search leaves its table, its settings, the worst scenarios and a figure."""
        folder = tmp_path / "out"
        config = replace(CONFIG, confirm=2)
        result = search(config, output_dir=folder)
        table = pd.read_csv(folder / "results.csv", keep_default_na=False)
        assert len(boots) == run_count(config)
        assert list(table["number"]) == list(range(CONFIG.budget))
        assert list(table["generation"]) == [1, 1, 1, 1, 2, 2]
        for gene in DEFAULT_SPACE.genes:
            assert table[gene.name].between(gene.at(0), gene.at(1)).all()
        assert set(files(folder)) == {
            *("results.csv", "claims.csv", "search.json", "timelines.json", "worst.png"),
            *(f"worst-{rank}.toml" for rank in range(1, 6)),
            *(f"worst-{rank}-solo.toml" for rank in range(1, 6)),
        }
        state = json.loads((folder / "search.json").read_text())
        assert (state["experiments_done"], state["engine"]) == (CONFIG.budget, "kernel")
        # The scenario file repeats the worst, from the store.
        solo, competing = (run(Scenario.load(folder / f"worst-1{of}.toml")) for of in ("-solo", ""))
        assert len(boots) == run_count(config)
        harm = measure(solo, competing).relative
        claim = result.claims.iloc[0]
        assert claim["relative_harm_min"] <= harm <= claim["relative_harm_max"]

    def test_same_seed_same_bytes(self, tmp_path: Path, boots: list[Path]) -> None:
        """The files are the same bytes, for any number of jobs and order of the runs."""
        written = []
        for jobs in (1, 2):
            store, folder = Store(tmp_path / f"runs-{jobs}"), tmp_path / f"out-{jobs}"
            search(CONFIG, store=store, jobs=jobs, output_dir=folder)
            written.append(files(folder))
        assert written[0] == written[1]
        assert len(boots) == 2 * RUNS

    def test_another_seed(self) -> None:
        """Another seed searches elsewhere."""
        first, second = (
            search(replace(CONFIG, seed=seed, duration_s=1)).experiments for seed in (1, 2)
        )
        assert not set(first["bandwidth_mbps"]) & set(second["bandwidth_mbps"])

    @pytest.mark.parametrize("strategy", sorted({*strategies.names()} - {"genetic"}))
    def test_other_strategies(self, tmp_path: Path, boots: list[Path], strategy: str) -> None:
        """Every strategy uses its budget, leaves the same files, and resumes without a run."""
        config = replace(CONFIG, strategy=strategy, budget=8, duration_s=2)
        result = search(config, output_dir=tmp_path / "out")
        table = pd.read_csv(tmp_path / "out" / "results.csv", keep_default_na=False)
        assert list(range(8)) == list(table["number"])
        boots.clear()
        assert_same(result, search(config, output_dir=tmp_path / "out"))
        assert [] == boots

    def test_interrupted(self, tmp_path: Path, boots: list[Path]) -> None:
        """The same search resumes where it was stopped; finished experiments are not run again."""

        def stop(now: Progress) -> None:
            if now.tried == 3:
                raise StopError

        with pytest.raises(StopError):
            search(CONFIG, output_dir=tmp_path / "out", on_progress=stop)
        before = Store().usage().runs
        boots.clear()
        search(CONFIG, output_dir=tmp_path / "out")
        assert before >= 6
        assert len(boots) == RUNS - before
        whole = search(CONFIG, store=Store(tmp_path / "another"), output_dir=tmp_path / "whole")
        assert whole.experiments["relative_harm"].notna().all()
        assert files(tmp_path / "out") == files(tmp_path / "whole")

    def test_solo_runs_are_shared(self, boots: list[Path]) -> None:
        """Another alpha in the same networks requires only competing runs."""
        first = replace(CONFIG, budget=4)  # the random generation, the same for every alpha
        search(first)
        boots.clear()
        again = search(replace(first, alpha="vegas"))
        fresh = 4 * CONFIG.confirm  # of all four, whose solo runs are stored
        assert len(again.claims) == 4
        # The network that runs again may be another one, with a solo run of its own.
        assert len(boots) - (4 + fresh) in {1, 2}

    def test_every_gene(self, tmp_path: Path) -> None:
        """All kinds of genes run on the kernel: loss, qdisc, trace, RTT ratio, start, workload."""
        Trace(name="uneven", opportunities_ms=(1, 2, 9)).to_file(tmp_path / "uneven.trace")
        (tmp_path / "space.toml").write_text(EVERY_GENE)
        space = Space.load(tmp_path / "space.toml")
        config = replace(CONFIG, space=space, duration_s=15, budget=12, population=12, seed=3)
        result = search(config)
        assert [""] * 12 == list(result.experiments["error"])
        short = result.experiments["workload"] == "short"
        assert 0 < short.sum() < 12
        lengths = result.experiments["to_s"] - result.experiments["from_s"]
        assert {10.0} == set(lengths[short])
        started = result.experiments[["alpha_start_s", "beta_start_s"]].max(axis=1)
        assert (result.experiments["from_s"] >= started)[~short].all()

    def test_seeds_differ(self) -> None:
        """Harm is a random variable: seeds differ even if no CCA draws random numbers."""
        config = replace(CONFIG, alpha="cubic", beta="reno", budget=4, repeat=3, duration_s=10)
        result = search(config)
        assert (result.experiments["relative_harm_sd"] > 0).all()


#: An outage of a second in the 1.5 s in which BBR has four packets in flight to measure the RTT.
OUTAGE = Space(
    (
        Choice(name="perturbations.0.kind", values=("loss", "none", "outage")),
        Number(name="perturbations.0.at_s", low=9.5, high=11, scale="linear", decimals=1),
        Number(name="perturbations.0.lasts_s", low=1, high=2, decimals=1),
        Number(name="perturbations.0.share", low=0.05, high=0.1),
    ),
    path={"rtt_ms": 40, "bottlenecks": [{"bandwidth_mbps": 12, "queue_bdp": 2}]},
)
STALL = SearchConfig(
    alpha="bbr",
    objective="stall",
    space=OUTAGE,
    budget=8,
    population=8,
    confirm=2,
    seed=3,
    duration_s=18,
    strategy_options=(("initial", "stratified"),),
)


@pytest.mark.usefixtures("own_store")
class TestLoneFlow:
    def test_finds_the_stall_of_bbr(self, tmp_path: Path) -> None:
        """BBR's shrunk stall is one outage, shows again and needs it; CUBIC stalls no longer."""
        result = search(STALL, output_dir=tmp_path / "out")
        row = result.simplest.iloc[0]
        assert row["relative_harm_low"] > 0.03
        assert row["perturbations.0.kind"] == "outage"
        tested = Scenario.load(tmp_path / "out" / "simplest-1.toml")
        reference = Scenario.load(tmp_path / "out" / "simplest-1-solo.toml")
        value = OBJECTIVES["stall"].value
        outage_s = row["perturbations.0.lasts_s"] / STALL.duration_s
        assert value(run(tested)) > value(run(reference)) + 0.03
        assert value(run(reference)) == pytest.approx(outage_s, abs=0.02)
        calm = replace(tested, path=replace(tested.path, changes=()))
        assert value(run(calm)) == 0

    def test_same_bytes_and_resumed(self, tmp_path: Path, boots: list[Path]) -> None:
        """A search that stops while it confirms resumes, and ends with the same bytes."""

        def stop(now: Progress) -> None:
            if now.confirming and now.done > 24:
                raise StopError

        with pytest.raises(StopError):
            search(STALL, output_dir=tmp_path / "out", on_progress=stop)
        stored = Store().usage().runs
        boots.clear()
        search(STALL, jobs=1, output_dir=tmp_path / "out")
        resumed = len(boots)
        boots.clear()
        search(STALL, jobs=2, store=Store(tmp_path / "more"), output_dir=tmp_path / "whole")
        assert len(boots) == resumed + stored
        assert "simplest.csv" in files(tmp_path / "whole")
        assert files(tmp_path / "out") == files(tmp_path / "whole")


class TestKill:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_nothing_remains(
        self, own_store: Path, tmp_path: Path, boots: list[Path], number: signal.Signals
    ) -> None:
        """A killed search leaves no process and no partial run, and can be resumed."""
        config = replace(CONFIG, duration_s=8)
        options = ["--budget", "6", "--population", "4", "--duration", "8", "--seed", "7"]
        options += ["--confirm", "1"]
        command = ["raygen", "--alpha", "bbr", "--beta", "cubic", *options, "-o", "out"]
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        with subprocess.Popen(
            [sys.executable, "-c", "from ccbench.cli.main import main; main()", *command],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(temporary)},
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            looked_s = time.monotonic()
            while Store().usage().runs < 2:
                assert process.poll() is None
                time.sleep(0.05)
                looked_s = time.monotonic()
            process.send_signal(number)
            if time.monotonic() - looked_s > 1:
                pytest.skip("this machine was too busy: the signal may have come after the search")
            _, errors = process.communicate()
        deadline = time.monotonic() + 300
        while any(map(is_running, guests(temporary))) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not any(map(is_running, guests(temporary)))
        assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number), errors
        assert not [path for path in own_store.rglob(".*.tmp") if number != signal.SIGKILL]
        stored = Store().usage().runs
        search(config, output_dir=tmp_path / "out")
        assert len(boots) == run_count(config) - stored
