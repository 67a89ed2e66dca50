# SPDX-License-Identifier: Apache-2.0
"""Repetitions of a scenario."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario, emulate
from ccbench.base.errors import InputError
from ccbench.base.random_streams import repetition_seeds
from ccbench.experiment.noise import Noise
from ccbench.experiment.wifi import Wifi
from ccbench.run.repetition import check_folder, folders, repetitions
from tests.scenarios import changed
from tests.unit.conftest import run_with_rates

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench import Run
    from tests.unit.conftest import MakeRun, NoisyEngine

LINK = Bottleneck(bandwidth_mbps=10, queue_bdp=1)
SCENARIO = Scenario(
    flows=(Flow(cca="greedy"), Flow(cca="even")),
    path=NetworkPath(bottlenecks=(LINK,), rtt_ms=40, noise=Noise(reverse_jitter_ms=1)),
    duration_s=5,
    queue_log=False,
)


class TestRepeat:
    """:func:`emulate.repeat`."""

    def test_estimates(self, noisy_engine: NoisyEngine) -> None:
        """Every number of every flow is estimated from the runs of the repetition seeds."""
        runs: dict[int, Run] = {}
        result = emulate.repeat(
            SCENARIO, 4, engine=noisy_engine, store=None, on_run=runs.__setitem__
        )
        assert [runs[i].scenario for i in range(4)] == list(repetitions(SCENARIO, 4))
        flows = result.estimates(lambda one: one.flows)
        rates = [runs[i].summary()["throughput_mbps"].tolist()[0] for i in range(4)]
        assert flows["throughput_mbps"].tolist()[0].values == tuple(rates)
        assert flows["cca"].tolist() == ["greedy", "even"]
        bottlenecks = result.estimates(lambda one: one.bottlenecks)
        assert bottlenecks["queue_packets"].tolist()[0] == 33
        assert bottlenecks["utilisation"].tolist()[0].mean == pytest.approx(1)
        assert bottlenecks["queueing_delay_ms"].tolist()[0].mean == 0  # without a log, too

    def test_document(self, noisy_engine: NoisyEngine) -> None:
        """The document has medians with their intervals, and every run's own numbers."""
        document = emulate.repeat(SCENARIO, 3, engine=noisy_engine, store=None).to_dict()
        assert [run["seed"] for run in document["runs"]] == list(repetition_seeds(1, 3))
        flow = document["flows"][1]
        single = [run["flows"][1]["throughput_mbps"] for run in document["runs"]]
        assert flow["throughput_mbps"] == pytest.approx(np.median(single))
        assert flow["throughput_mbps_low"] < flow["throughput_mbps"] < flow["throughput_mbps_high"]

    def test_exact(self, noisy_engine: NoisyEngine) -> None:
        """Identical runs are one run without interval."""
        scenario = replace(SCENARIO, path=replace(SCENARIO.path, noise=Noise()))
        result = emulate.repeat(scenario, 3, engine=noisy_engine, store=None)
        assert result.is_exact
        assert math.isnan(result.estimates(lambda one: one.flows)["drops"].tolist()[0].low)

    def test_one_byte(self, make_run: MakeRun) -> None:
        """The digest covers the whole result, and nothing else."""
        run = make_run(SCENARIO, [6.0, 4.0])
        assert run.digest() == make_run(replace(SCENARIO, seed=9), [6.0, 4.0]).digest()
        changed = run.flows.assign(cwnd_packets=run.flows["cwnd_packets"] + 1)
        assert run.digest() != replace(run, flows=changed).digest()
        state = run.flows["state"].where(run.flows.index != 3, "loss")
        assert run.digest() != replace(run, flows=run.flows.assign(state=state)).digest()

    def test_bad_count(self, noisy_engine: NoisyEngine) -> None:
        """There is at least one repetition."""
        with pytest.raises(InputError, match="count is 0"):
            emulate.repeat(SCENARIO, 0, engine=noisy_engine)


@pytest.mark.parametrize(
    ("changes", "random"),
    [
        ({}, True),
        ({"noise": Noise()}, False),
        ({"noise": Noise(), "bottlenecks": (replace(LINK, loss=1e-6),)}, True),
        ({"noise": Noise(), "flows": (Flow(kind="poisson", rate_mbps=1),)}, True),
        (
            {
                "noise": Noise(),
                "bottlenecks": (Bottleneck(wifi=Wifi(bitrates_mbps=(13,)), queue_packets=9),),
            },
            True,
        ),
    ],
)
def test_draws_at_random(changes: dict[str, object], *, random: bool) -> None:
    """Noise, losses, Poisson arrivals and Wi-Fi are random; nothing else in a scenario is."""
    assert changed(SCENARIO, **changes).draws_at_random == random


class TestFolder:
    """The folder of repetitions."""

    def test_replaced(self, tmp_path: Path) -> None:
        """Runs of the same number of repetitions may be replaced."""
        for path in folders(tmp_path, 2):
            run_with_rates(SCENARIO, [6.0, 4.0]).save(path)
        check_folder(tmp_path, 2)
        check_folder(tmp_path, 3)

    @pytest.mark.parametrize("name", ["notes.txt", "run.json", "repetition-3"])
    def test_other_contents(self, tmp_path: Path, name: str) -> None:
        """Other files in the folder are refused: old repetitions would mix with new ones."""
        (tmp_path / name).mkdir()
        with pytest.raises(InputError, match=name):
            check_folder(tmp_path, 2)

    def test_file(self, tmp_path: Path) -> None:
        """A file is refused as a folder."""
        path = tmp_path / "file"
        path.write_text("")
        with pytest.raises(InputError, match="file"):
            check_folder(path, 2)
