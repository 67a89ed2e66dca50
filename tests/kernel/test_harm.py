# SPDX-License-Identifier: Apache-2.0
"""Harm of real TCP, by every metric."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow
from ccbench.base.errors import InputError
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.experiment.path import typical_path
from ccbench.harm import (
    THRESHOLDS,
    Assessment,
    Experiment,
    Workload,
    assess,
    compare,
    load_networks,
    load_workloads,
    long_flows,
    metrics_named,
    recovery_s,
    repeat,
    sensitivity,
)
from ccbench.metrics import METRICS, achieved
from ccbench.run.packets import delivered, fates
from tests.kernel.conftest import dumbbell, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


pytestmark = pytest.mark.kernel

MIXED = (Flow(cca="bbr"), Flow(cca="cubic"), Flow(kind="cbr", rate_mbps=1))
QDISCS = ("droptail", "pfifo_head_drop", "pie", "red", "sfq", "codel", "fq_codel")


class TestPackets:
    @pytest.mark.parametrize("qdisc", QDISCS)
    def test_mean(self, qdisc: str) -> None:
        """Packets' waits, taken one by one, have the mean that the table shows."""
        result = run(dumbbell(*MIXED, qdisc=qdisc, duration_s=20))
        waits = delivered(result)["queueing_ms"]
        assert waits.min() >= 0
        assert waits.mean() == pytest.approx(result.queueing_delay_ms(), rel=1e-9)
        shown = result.bottleneck_summary()["queueing_delay_ms"].item()
        assert shown == result.queueing_delay_ms() <= waits.max()

    def test_choke(self) -> None:
        """CHOKe drops from the middle of its queue: delays are missing rather than wrong."""
        with pytest.raises(InputError, match="'choke' drops packets from the middle"):
            delivered(run(dumbbell(*MIXED, qdisc="choke")))

    def test_base_delay(self) -> None:
        """A full packet's one-way delay is its waits, half the RTT and its time on the links."""
        links = (
            Bottleneck(bandwidth_mbps=20, queue_packets=30),
            Bottleneck(bandwidth_mbps=10, queue_packets=30, loss=0.001),
        )
        result = run(
            replace(
                dumbbell(Flow(cca="cubic", count=2)),
                path=replace(dumbbell(Flow(cca="cubic", count=2)).path, bottlenecks=links),
            )
        )
        table = delivered(result)
        full = table[table["bytes"] == 1500]
        rest = full["one_way_ms"] - full["queueing_ms"]
        assert rest.to_numpy() == pytest.approx(20 + 0.6 + 1.2, abs=1e-4)

    def test_counters(self) -> None:
        """The fates of packets agree with the flows' own counters."""
        result = run(dumbbell(*MIXED))
        assert fates(result)["lost"].tolist() == result.summary()["drops"].tolist()

    def test_even_rate_has_no_jitter(self) -> None:
        """Evenly spaced packets through an empty queue all take the same time."""
        result = run(dumbbell(Flow(kind="cbr", rate_mbps=1)))
        values = achieved(result, [m for m in METRICS.values() if m.scope == "flow"]).iloc[0]
        assert values["jitter"] == pytest.approx(0, abs=1e-5)
        assert values["queueing_delay_p99"] == 0
        assert values["loss_rate"] == 0
        assert values["throughput"] == pytest.approx(1, rel=0.01)

    def test_completion(self) -> None:
        """A short flow's throughput is its bytes over its completion time."""
        size = 500_000
        result = run(dumbbell(Flow(kind="bytes", size_bytes=size, start_s=1.03)))
        values = achieved(result, metrics_named(["goodput", "fct", "downloaded"])).iloc[0]
        assert values["goodput"] == pytest.approx(size * 8e-6 / values["fct"])
        assert values["downloaded"] == size / 1e6
        # Slow start takes its round trips, and the link its time.
        assert size * 8e-6 / 10 + 0.04 < values["fct"] < size * 8e-6 / 10 + 8 * 0.04


class TestWorkloads:
    def pair(self, beta: Flow, alpha: Flow | None = None, **network: Any) -> tuple[Any, Any]:
        """Run beta alone and beside alpha."""
        scenario = dumbbell(beta, alpha or Flow(cca="cubic"), **network)
        experiment = Experiment(
            alpha=scenario.flows[1:],
            beta=scenario.flows[:1],
            path=scenario.path,
            duration_s=scenario.duration_s,
            queue_log=True,
        )
        return run(experiment.solo), run(experiment.competing)

    def test_short_flow(self) -> None:
        """A long flow that keeps the queue full delays a short one."""
        beta = Flow(kind="bytes", size_bytes=200_000, start_s=5)
        (harm,) = compare(*self.pair(beta, queue_packets=128), metrics_named(["fct"]))
        assert 0.3 < harm.absolute < 1

    def test_limited_flow(self) -> None:
        """A flow that offers a tenth of the link keeps its rate beside one CUBIC flow."""
        beta = Flow(kind="rate", rate_mbps=1)
        (harm,) = compare(*self.pair(beta), metrics_named(["goodput"]))
        assert harm.absolute == pytest.approx(0, abs=0.05)

    def test_call(self) -> None:
        """A call through a queue filled by CUBIC waits for nearly all of it, and not alone."""
        beta = Flow(kind="cbr", rate_mbps=0.1, packet_bytes=250)
        solo, competing = self.pair(beta, queue_packets=64)
        (harm,) = compare(solo, competing, metrics_named(["queueing_delay_p99"]))
        assert harm.solo == 0
        assert harm.absolute == 1
        full_queue_ms = 64 * 1.2
        assert 0.8 * full_queue_ms < harm.competing <= full_queue_ms

    def test_fq_codel_protects_the_call(self) -> None:
        """Behind fair queueing the same call is hardly harmed."""
        beta = Flow(kind="cbr", rate_mbps=0.1, packet_bytes=250)
        drop_tail = compare(*self.pair(beta), metrics_named(["one_way_delay_p95"]))[0]
        fair = compare(*self.pair(beta, qdisc="fq_codel"), metrics_named(["one_way_delay_p95"]))[0]
        assert fair.absolute < 0.2 < drop_tail.absolute

    def test_recovery(self) -> None:
        """A flow recovers soon after the other has gone, and not before."""
        solo, competing = self.pair(Flow(), Flow(cca="bbr", start_s=5, stop_s=12), duration_s=20)
        during = recovery_s(solo, competing, since_s=6)
        after = recovery_s(solo, competing, since_s=12)
        assert during >= 6  # not while the other is there
        assert after <= 5


@pytest.mark.usefixtures("own_store")
class TestRepeated:
    """Repeated measurements of short runs on the virtual kernel."""

    def pair(self, alpha: str, noise: Noise | None = None) -> Experiment:
        """Return a flow of alpha against one of CUBIC."""
        path = typical_path(bandwidth_mbps=10, rtt_ms=20, queue_bdp=2)
        path = path if noise is None else replace(path, noise=noise)
        return long_flows(alpha=alpha, beta="cubic", path=path, duration_s=10)

    def test_exact(self, boots: list[Path]) -> None:
        """Reno and CUBIC draw nothing at random: without noise every seed gives the same run."""
        result = repeat(self.pair("reno", NO_NOISE))
        assert result.is_exact
        assert len(result.repetitions) == 1
        assert len(boots) == 2  # of one seed

    def test_random_cca(self) -> None:
        """BBR draws its phases at random, with or without noise."""
        result = repeat(self.pair("bbr", NO_NOISE), repetitions=3)
        assert not result.is_exact
        assert len(set(result.relative.values)) == 3

    @pytest.mark.parametrize(
        "noise",
        [
            None,
            Noise(forward_jitter_ms=0.5),
            Noise(sender_jitter_ms=0.5),
            Noise(start_spread_ms=20),
            Noise(background_share=0.01),
        ],
        ids=lambda noise: "typical" if noise is None else noise.describe(),
    )
    def test_noise(self, noise: Noise | None) -> None:
        """With noise of any kind every seed gives another run of the same experiment."""
        result = repeat(self.pair("reno", noise), repetitions=3)
        assert len(set(result.relative.values)) == 3
        assert result.relative.deviation > 0
        # Two loss-based flows share roughly equally.
        assert abs(result.relative.mean) < 0.4

    def test_bbr_harms_in_a_short_queue(self) -> None:
        """The interval of BBR's harm to CUBIC at half a BDP is wholly above 0 (Ware 2024, 5.5)."""
        pair = self.pair("bbr")
        link = Bottleneck(bandwidth_mbps=10, queue_bdp=0.5)
        path = replace(pair.path, bottlenecks=(link,), rtt_ms=40)
        result = repeat(replace(pair, path=path, duration_s=20))
        assert result.sign == 1

    def test_sensitivity(self) -> None:
        """Flows start in random order at every level, also at 0; else that is one exact run."""
        result = sensitivity(self.pair("reno"), (0, 1), repetitions=2)
        assert result.table()["repetitions"].tolist() == [2, 2]
        together = self.pair("reno", Noise(reverse_jitter_ms=1))
        assert sensitivity(together, (0, 1), repetitions=2).table()["exact"].tolist() == [
            True,
            False,
        ]

    def test_command(self, program: Callable[..., str], tmp_path: Path) -> None:
        """The command prints the levels and draws them."""
        pair = ("--alpha", "reno", "--beta", "cubic", "--duration", 4, "--repeat", 2)
        network = ("--bandwidth", 10, "--rtt", 20, "--queue", "2bdp")
        plot = tmp_path / "noise.svg"
        output = program("harm", *pair, *network, "--sensitivity", "--plot", plot)
        assert " 0      start spread 20 ms" in output
        assert "<svg" in plot.read_text()

    def test_repeated_run(self, program: Callable[..., str], tmp_path: Path) -> None:
        """A scenario without randomness is reported as exact; with jitter it has intervals."""
        path = tmp_path / "scenario.toml"
        dumbbell(Flow(cca="cubic"), Flow(cca="reno"), duration_s=4).save(path)
        assert "identical byte for byte" in program("run", path, "--repeat", 2)
        assert " to " in program("run", path, "--repeat", 2, "--jitter", 1)


class TestDeployable:
    def test_starved(self) -> None:
        """Harm to a flow starved to the end has a lower bound from the time until then."""
        short = Workload(
            name="short", flow=Flow(kind="bytes", size_bytes=2_000_000), metrics=("fct",)
        )
        network = load_networks(f"{self.FOLDER}/networks.toml")[:1]
        duration_s = 2.0
        result = assess(
            Assessment(
                alpha="bbr",
                beta="cubic",
                networks=network,
                workloads=(short, Workload(name="long", flow=Flow(), metrics=("throughput",))),
                duration_s=duration_s,
                repetitions=1,
            )
        )
        (harm,) = result.harms.query(
            "victim == 'short' and attacker == 'long' and side == 'alpha' and judged"
        ).to_dict("records")
        assert harm["censored"]
        # The flow starts within 20 ms.
        assert harm["competing"] == pytest.approx(duration_s, abs=0.02)
        assert harm["harm"] == pytest.approx(1 - harm["solo"] / harm["competing"])

    FOLDER = "examples/deployable"

    @pytest.fixture
    def assessment(self) -> Assessment:
        """Give a small assessment of BBR beside CUBIC."""
        return Assessment(
            alpha="bbr",
            beta="cubic",
            networks=load_networks(f"{self.FOLDER}/networks.toml"),
            workloads=load_workloads(f"{self.FOLDER}/workloads.toml"),
            duration_s=20,
            repetitions=2,
            max_repetitions=2,
        )

    def test_itself(self, assessment: Assessment) -> None:
        """CUBIC breaks no threshold beside CUBIC."""
        result = assess(replace(assessment, alpha="cubic"))
        assert not any(len(result.counterexamples(name)) for name in THRESHOLDS)

    @pytest.mark.usefixtures("own_store")
    def test_resumes(self, assessment: Assessment, boots: list[Path]) -> None:
        """A repeated assessment runs nothing; a larger one runs only the rest."""
        small = replace(assessment, networks=assessment.networks[:1], repetitions=1)
        first = assess(small)
        count = len(boots)
        assert count == len(small.scenarios())
        assert assess(small).cases.equals(first.cases)
        assert count == len(boots)
        more = replace(small, repetitions=2)
        assess(more)
        assert len(boots) == len(more.scenarios())

    @pytest.mark.usefixtures("own_store")
    def test_command(self, program: Callable[..., str], tmp_path: Path) -> None:
        """The command prints a verdict for each threshold, and writes all harms."""
        settings = ("--alpha", "bbr", "--beta", "cubic", "--duration", 10, "--repeat", 1)
        files: tuple[object, ...] = ("--networks", f"{self.FOLDER}/networks.toml")
        files += ("--workloads", f"{self.FOLDER}/workloads.toml", "--metric", "throughput")
        folder = tmp_path / "out"
        output = program("deployable", *settings, *files, "-o", folder)
        for name in THRESHOLDS:
            assert any(line.startswith(name) for line in output.splitlines())
        document = json.loads((folder / "deployable.json").read_text())
        assert all(noise["reverse_jitter_ms"] > 0 for noise in document["noise"].values())
        assert set(document["verdicts"]) == set(THRESHOLDS)
        assert document["provenance"]["engine"] == "kernel"
        assert len((folder / "harms.csv").read_text().splitlines()) > len(THRESHOLDS)
