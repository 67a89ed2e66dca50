# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import ccbench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.kernel

QUEUE = "bottlenecks.0.queue_bdp"
RENO: dict[str, Any] = {
    "rtt_ms": 20,
    "duration_s": 30,
    "flows": [{"cca": "reno"}],
    "bottlenecks": [{"bandwidth_mbps": 10, "queue_bdp": 1}],
}


def test_reno_fills_the_queue() -> None:
    """Reno's sawtooth fills a queue of k BDPs to (7 (1 + k) / 9 - 1) BDPs on average.

    At a full link the window's square grows evenly in time, from half its highest value (1 + k) BDP
    on; its mean over time then is 7/9 of that.
    """
    table = ccbench.sweep(
        RENO,
        vary={QUEUE: [1, 2], "rtt_ms": [20, 40]},
        metrics=["sojourn_time", "utilisation"],
        store=None,
    )
    mean_bdp = 7 / 9 * (1 + table[QUEUE]) - 1
    expected_ms = (mean_bdp * table["rtt_ms"]).to_numpy()
    assert table["sojourn_time_ms"].to_numpy() == pytest.approx(expected_ms, rel=0.1)
    assert table["utilisation"].between(0.98, 1).all()


def test_executor(own_store: Path) -> None:
    """With other workers a sweep gives the same table, and its runs are stored."""
    vary = {"flows.0.cca": ["reno", "vegas"]}
    short = {**RENO, "duration_s": 3}
    with ThreadPoolExecutor(1) as executor:
        there = ccbench.sweep(short, vary=vary, executor=executor)
    assert 2 == len(list(own_store.glob("??/*")))
    pd.testing.assert_frame_equal(there, ccbench.sweep(short, vary=vary))
    assert 2 == len(list(own_store.glob("??/*")))


@pytest.mark.usefixtures("own_store")
def test_repetitions(tmp_path: Path, program: Callable[..., str]) -> None:
    """Repetitions differ with randomness such as jitter; BBR harms CUBIC (Ware, 5.2)."""
    text = "rtt_ms = 20\nduration_s = 8\n[[flows]]\n[[flows]]\ncca = 'reno'\n"
    file = tmp_path / "two.toml"
    file.write_text(f"{text}[[bottlenecks]]\nbandwidth_mbps = 20\nqueue_bdp = 0.5\n")
    vary = ("--vary", "flows.1.cca=reno,bbr", "--vary", "noise.reverse_jitter_ms=0,0.6")
    harm = ("--metric", "harm", "--beta", 0)
    printed = program("sweep", file, *vary, "--repeat", 2, *harm, "--json")
    calm, noisy, *of_bbr = json.loads(printed)["estimates"]
    assert calm["exact"]
    assert 1 == len(calm["single"])
    assert 2 == len(set(noisy["single"]))
    assert noisy["low"] < noisy["median"] < noisy["high"]
    for item in of_bbr:  # a queue of half a BDP
        assert all(0.1 < harm < 0.5 for harm in item["single"])
