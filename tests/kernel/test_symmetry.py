# SPDX-License-Identifier: Apache-2.0
"""Laws that need no reference: exchanged groups, algorithms against themselves, known exactness."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest

from ccbench import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.base.random_streams import derived_seed
from ccbench.emulate import run_many
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.source.lookup import of_release
from ccbench.experiment.noise import NO_NOISE, Noise
from ccbench.experiment.path import typical_path
from ccbench.experiment.subflow import Subflow
from ccbench.harm import long_flows, repeat
from ccbench.run.repetition import Repetition, repetitions
from tests.kernel.conftest import dumbbell, kernel_with, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench import Run

pytestmark = pytest.mark.kernel

#: CCAs of all families: loss-based, delay-based, both, and model-based.
_CCAS = ("reno", "cubic", "htcp", "illinois", "westwood", "veno", "vegas", "copa", "bbr", "bbr3")


def all_runs(scenarios: Iterable[Scenario], engine: KernelEngine | None = None) -> list[Run]:
    """Return the runs of scenarios in order, without a store."""
    wanted = tuple(scenarios)
    runs = dict(run_many(wanted, engine=engine or KernelEngine(), jobs=1, store=None))
    return [runs[i] for i in range(len(wanted))]


def means_mbps(result: Run) -> list[float]:
    """Return each flow's mean throughput in the second half."""
    throughput = result.throughput(1.0)
    return throughput[throughput.index > result.scenario.duration_s / 2].mean().tolist()


class TestWrittenOrder:
    """The order in which a scenario names its groups."""

    @pytest.mark.parametrize(
        ("first", "second"), [("reno", "cubic"), ("cubic", "cubic"), ("copa", "htcp")]
    )
    def test_exchanged(self, first: str, second: str) -> None:
        """Two flows that start at different times have the same rates in either order."""
        flows = Flow(cca=first), Flow(cca=second, start_s=0.007)
        written, exchanged = (run(dumbbell(*order)) for order in (flows, flows[::-1]))
        assert means_mbps(written) == means_mbps(exchanged)[::-1]

    def test_together(self) -> None:
        """Flows that start at the same instant are in the order of their numbers: it matters."""
        flows = Flow(cca="cubic"), Flow(cca="cubic")
        first, second = means_mbps(run(dumbbell(*flows, rtt_ms=100, queue_packets=80)))
        assert first != second


class TestItself:
    """Every congestion control against itself, and exchanged roles."""

    def test_interval_contains_0(self) -> None:
        """Of 20 intervals of 95 % for equal sides, at most three miss 0 (more: 1.6 %)."""
        missed = []
        for cca, network in product(_CCAS, ((10, 20, 2.0), (20, 40, 1.0))):
            bandwidth_mbps, rtt_ms, queue_bdp = network
            pair = long_flows(
                alpha=cca,
                beta=cca,
                path=typical_path(
                    bandwidth_mbps=bandwidth_mbps, rtt_ms=rtt_ms, queue_bdp=queue_bdp
                ),
                duration_s=8,
                seed=derived_seed(1, cca, str(network)),
            )
            harm = repeat(pair, jobs=1, store=None).relative
            if not harm.low <= 0 <= harm.high:
                missed.append(f"{cca} at {network}: {harm}")
        assert len(missed) <= 3, missed

    def test_exchanged_roles(self) -> None:
        """A flow of H-TCP has the same share against CUBIC as alpha and as beta."""
        shares = []
        for alpha, beta in (("htcp", "cubic"), ("cubic", "htcp")):
            pair = long_flows(
                alpha=alpha,
                beta=beta,
                path=typical_path(bandwidth_mbps=20, rtt_ms=100, queue_bdp=1),
                duration_s=20,
                seed=derived_seed(1, alpha),
            )
            harm = repeat(pair, repetitions=12, jobs=1, store=None)
            side = "alpha_mbps" if alpha == "htcp" else "competing_mbps"
            shares.append(harm.estimate(side))
        error = math.hypot(*(share.half_width for share in shares))
        assert abs(shares[0].mean - shares[1].mean) < 1.5 * error

    def test_order_matters(self) -> None:
        """Against itself CUBIC has harm of one sign if it starts first, else of the other."""
        pair = long_flows(
            alpha="cubic",
            beta="cubic",
            path=typical_path(bandwidth_mbps=50, rtt_ms=100, queue_bdp=1),
            duration_s=30,
        )
        order = repeat(pair, repetitions=10, jobs=1).order
        assert order is not None
        assert min(order.alpha_first) > 0 > max(order.beta_first)
        assert order.explained > 0.5


class TestExact:
    """Exactness, known from the functions that drew random numbers."""

    def test_every_cca(self) -> None:
        """A flow of any congestion control that is exact is the same for every seed."""
        kernel = kernel_with()
        exact = {}
        for cca in kernel.ccas:
            scenarios = repetitions(dumbbell(Flow(cca=cca, count=2), duration_s=3), 2)
            runs = all_runs(scenarios)
            exact[cca] = [result.is_exact for result in runs]
            if any(exact[cca]):
                assert runs[0].digest() == runs[1].digest(), cca
        assert exact["reno"] == exact["cubic"] == exact["vegas"] == [True, True]
        assert exact["bbr"] == exact["bbr3"] == exact["cdg"] == [False, False]

    def test_every_qdisc(self) -> None:
        """Flows at any qdisc whose run is exact are the same for every seed."""
        kernel = kernel_with()
        exact = {}
        for name, qdisc in kernel.queues.items():
            if any(option.is_required for option in qdisc.options.values()):
                continue
            flow = Flow(cca="cubic", count=4)
            runs = all_runs(repetitions(dumbbell(flow, qdisc=name, duration_s=3), 2))
            exact[name] = [result.is_exact for result in runs]
            if any(exact[name]):
                assert runs[0].digest() == runs[1].digest(), name
        assert exact["pfifo"] == exact["codel"] == [True, True]
        assert exact["fq_codel"] == exact["pie"] == exact["sfq"] == [False, False]

    @pytest.mark.parametrize(
        "flows",
        [
            (Flow(cca="reno", ip_version=6),),
            (Flow(kind="bytes", cca="cubic", size_bytes=500_000),),
            (Flow(kind="rate", cca="cubic", rate_mbps=2), Flow(kind="cbr", rate_mbps=1)),
            (Flow(kind="onoff", cca="cubic", on_s=0.5, off_s=0.5), Flow(direction="reverse")),
            (Flow(subflows=(Subflow(), Subflow())),),
            (Flow(kind="video", bitrates_mbps=(1, 2), segment_s=1, buffer_s=2),),
        ],
        ids=lambda flows: flows[0].kind,
    )
    @pytest.mark.parametrize("release", ["6.1", "6.12", "7.3"])
    def test_every_kind(self, flows: tuple[Flow, ...], release: str) -> None:
        """Flows of all deterministic kinds are exact, with IPv6 and in both directions, too."""
        kernel = of_release(release)
        if kernel is None:
            pytest.skip(f"Linux {release} has not been built")
        links = (Bottleneck(bandwidth_mbps=10, queue_packets=50),)
        scenario = Scenario(
            flows=flows,
            path=NetworkPath(bottlenecks=links, reverse_bottlenecks=links, rtt_ms=40),
            duration_s=3,
        )
        first, second = all_runs(repetitions(scenario, 2), KernelEngine(kernel))
        assert first.provenance["random_draws"] == {}
        assert first.digest() == second.digest()

    def test_hashes_of_few_queues(self) -> None:
        """FQ-CoDel with four queues is never exact, even if all seeds agree by chance."""
        link = Bottleneck(
            bandwidth_mbps=10, queue_packets=50, qdisc="fq_codel", qdisc_options=(("flows", 4),)
        )
        scenario = replace(
            dumbbell(Flow(cca="cubic", count=2), duration_s=3),
            path=replace(
                dumbbell(Flow(cca="cubic", count=2), duration_s=3).path, bottlenecks=(link,)
            ),
        )
        runs = all_runs(repetitions(scenario, 4))
        assert not any(result.is_exact for result in runs)

    def test_random_phases(self) -> None:
        """BBR draws one of seven phases: each run says so, also those that agree by chance."""
        scenario = dumbbell(Flow(cca="bbr"), duration_s=3)
        runs = all_runs(repetitions(scenario, 8))
        assert len({result.digest() for result in runs}) < len(runs)  # some agree
        assert all(list(result.provenance["random_draws"]) == ["bbr_main"] for result in runs)

    @pytest.mark.parametrize("noise", [NO_NOISE, Noise(reverse_jitter_ms=0.1)])
    def test_noise(self, noise: Noise) -> None:
        """The path's own draws count as well."""
        result = run(dumbbell(Flow(cca="reno"), duration_s=3, noise=noise))
        assert result.is_exact is not bool(noise)
        assert Repetition.of(result).is_exact is result.is_exact
