# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from ccbench.bfc import flow_sizes
from ccbench.bfc.scheme import SCHEMES, Scheme, scheme
from ccbench.bfc.simulation import Simulation, simulate
from ccbench.bfc.topology import Link, Topology, clos, dumbbell, star
from ccbench.bfc.workload import HEADER_BYTES, Incast, Workload, flow_table, payload_share
from ccbench.errors import DamagedRun, InputError

if TYPE_CHECKING:
    from pathlib import Path

#: Picoseconds that a byte takes at 100 Gbit/s.
_BYTE_PS = 80
_FULL = 1000 + HEADER_BYTES

_SMALL = clos(racks=4, servers_per_rack=4, spines=2)
_BURSTY = Workload(sizes="facebook", load=0.8, incast=Incast(degree=12, total_mb=1, load=0.1))


def _long(*pairs: tuple[int, int]) -> pd.DataFrame:
    return flow_table((0.0, *pair, 0, "long") for pair in pairs)


def _rates_gbps(result: Simulation) -> np.ndarray:
    """Return the goodput of each flow."""
    delivered = result.flows["delivered_bytes"].to_numpy()
    return np.asarray(delivered * 8 / result.summary["end_s"] / 1e9)


@pytest.fixture(scope="module", params=sorted(SCHEMES))
def bursty(request: pytest.FixtureRequest) -> Simulation:
    """Return bursts, incast and all, under each of the schemes."""
    chosen = SCHEMES[request.param]
    return simulate(_SMALL, _BURSTY, chosen, duration_s=3e-4, seed=3, drain_s=5e-3)


class TestOneFlow:
    @pytest.mark.parametrize("name", ["bfc", "dctcp", "ideal-fq"])
    @pytest.mark.parametrize(("size", "packets"), [(1, 1), (1000, 1), (1001, 2), (5_300, 6)])
    def test_completion(self, name: str, size: int, packets: int) -> None:
        """A lone flow takes the pipeline's time: all packets once, the last on each further hop."""
        flows = flow_table([(1e-6, 0, 15, size, "background")])
        result = simulate(_SMALL, flows, scheme(name), duration_s=1e-4)
        last = (size - 1) % 1000 + 1 + HEADER_BYTES
        full = (packets - 1) * _FULL
        # Before it reaches a link, the last packet may wait for the full one ahead of it.
        hops = 3 * (_FULL if packets > 1 else last) + last
        expected_ps = 4 * 1_000_000 + (full + hops) * _BYTE_PS
        assert expected_ps == round(result.flows["fct_s"].iloc[0] * 1e12)
        assert 1.0 == result.flows["slowdown"].iloc[0]

    def test_slower_link(self) -> None:
        """A slow link in the middle sets the pace, and the ideal knows it."""
        network = dumbbell(pairs=1, gbps=100, bottleneck_gbps=25)
        flows = flow_table([(0.0, 0, 1, 50_000, "background")])
        result = simulate(network, flows, scheme("ideal-fq"), duration_s=1e-3)
        packet_ps = _FULL * _BYTE_PS
        expected_ps = packet_ps + 50 * 4 * packet_ps + packet_ps + 3 * 1_000_000
        assert expected_ps == round(result.flows["fct_s"].iloc[0] * 1e12)
        assert 1.0 == result.flows["slowdown"].iloc[0]

    @pytest.mark.parametrize("name", ["bfc", "dctcp", "dcqcn", "ideal-fq"])
    def test_fills_the_link(self, name: str) -> None:
        """A lone long flow gets the whole link, but for its headers."""
        result = simulate(_SMALL, _long((0, 15)), scheme(name), duration_s=5e-4)
        assert _rates_gbps(result)[0] == pytest.approx(100 * 1000 / _FULL, rel=0.02)


class TestEveryScheme:
    def test_slowdown(self, bursty: Simulation) -> None:
        """No flow is faster than in an empty network."""
        slowdown = bursty.flows["slowdown"].dropna()
        assert len(slowdown) > 50
        assert slowdown.min() >= 1

    def test_completes(self, bursty: Simulation) -> None:
        """All flows complete once no new ones come, and deliver exactly their bytes."""
        assert 0 == bursty.summary["unfinished_flows"]
        assert (bursty.flows["bytes"] == bursty.flows["delivered_bytes"]).all()

    def test_conservation(self, bursty: Simulation) -> None:
        """Packets that were made were consumed, dropped or are left."""
        summary = bursty.summary
        ended = sum(summary[f"{fate}_packets"] for fate in ("consumed", "dropped", "left"))
        assert summary["created_packets"] == ended

    def test_no_drops(self, bursty: Simulation) -> None:
        """PFC, backpressure and endless buffers lose nothing."""
        assert 0 == bursty.summary["dropped_packets"]
        assert 0 == bursty.ports["dropped_packets"].sum()

    def test_links_carry_no_more_than_they_can(self, bursty: Simulation) -> None:
        """No port sends faster than its rate."""
        most = bursty.ports["gbps"] * 1e9 / 8 * bursty.summary["end_s"]
        assert (bursty.ports["sent_bytes"] <= most).all()


class TestDeterminism:
    @staticmethod
    def _digest(result: Simulation) -> str:
        tables = (result.flows, result.samples, result.buffers, result.ports)
        return hashlib.sha256("".join(t.to_csv() for t in tables).encode()).hexdigest()

    @pytest.mark.parametrize("name", ["bfc-sampling", "dcqcn", "hpcc"])
    def test_same_seed(self, name: str) -> None:
        """The same seed gives the same result; another seed another one."""
        runs = [simulate(_SMALL, _BURSTY, scheme(name), 1e-4, seed) for seed in (5, 5, 6)]
        first, second, third = map(self._digest, runs)
        assert first == second
        assert first != third


class TestFairness:
    def test_round_robin(self) -> None:
        """Flows with queues of their own share a link evenly."""
        flows = _long(*((i, 5) for i in range(5)))
        rates = _rates_gbps(simulate(star(servers=6), flows, scheme("ideal-fq"), 1e-3))
        assert rates == pytest.approx([rates.mean()] * 5, rel=0.02)
        assert rates.sum() == pytest.approx(95.4, rel=0.02)

    def test_max_min(self) -> None:
        """Fair queueing gives a flow that is limited elsewhere its rate, and the rest to others."""
        network = Topology(
            servers=3,
            switches=1,
            links=(Link(0, 3, 10, 1), Link(1, 3, 100, 1), Link(2, 3, 100, 1)),
            capacity_gbps=100,
        )
        # Two BDPs: with one, a flow that also waits its turn cannot fill its own link.
        wide = replace(scheme("ideal-fq"), window_bdp=2)
        slow, fast = _rates_gbps(simulate(network, _long((0, 2), (1, 2)), wide, duration_s=1e-3))
        assert slow == pytest.approx(10 * 1000 / _FULL, rel=0.03)
        assert fast == pytest.approx(90 * 1000 / _FULL, rel=0.03)

    def test_shortest_first(self) -> None:
        """With SRF a short flow that comes late overtakes long ones; with turns it does not."""
        flows = flow_table(
            [
                *((0.0, i, 4, 400_000, "background") for i in range(3)),
                (1e-5, 3, 4, 30_000, "background"),
            ]
        )
        fct_s = {
            name: simulate(star(servers=5), flows, scheme(name), 1e-3).flows["fct_s"].iloc[3]
            for name in ("ideal-srf", "ideal-fq")
        }
        assert fct_s["ideal-srf"] < 0.6 * fct_s["ideal-fq"]

    def test_queue_of_poisson_arrivals(self) -> None:
        """Equal packets that come at random wait as long as in an M/D/1 queue."""
        load, count = 0.7, 60_000
        draws = np.random.default_rng(1)
        packet_s = _FULL * _BYTE_PS * 1e-12
        start_s = np.cumsum(draws.exponential(packet_s / load, count))
        # Many senders: what each sends is so little that nothing waits before the switch.
        source = 1 + draws.integers(200, size=count)
        rows = zip(start_s, source, strict=True)
        flows = flow_table((t, int(s), 0, 1000, "background") for t, s in rows)
        result = simulate(star(servers=201), flows, scheme("ideal-fq"), float(start_s[-1]) + 1e-6)
        waited_s = (result.flows["fct_s"] - result.flows["ideal_s"]).mean()
        assert waited_s == pytest.approx(load / (2 * (1 - load)) * packet_s, rel=0.1)


class TestDctcp:
    def test_queue_stays_near_the_threshold(self) -> None:
        """Two long flows keep the queue around K and the link busy (SIGCOMM 2010, section 3.3)."""
        chosen = replace(scheme("dctcp"), ecn_kb=(65, 65), pfc=False)
        result = simulate(
            star(servers=3), _long((0, 2), (1, 2)), chosen, 4e-3, sample_interval_s=1e-6
        )
        queue = result.buffers.iloc[1000:, 0]
        # Flows overshoot by a packet each, and swing by half of sqrt(2 N K (C RTT + K)) / 2 or so.
        assert 30_000 < queue.mean() < 75_000
        assert queue.max() < 120_000
        assert _rates_gbps(result).sum() == pytest.approx(95.4, rel=0.02)

    @pytest.mark.parametrize("senders", [2, 4])
    def test_one_cut_in_a_round_trip(self, senders: int) -> None:
        """The queue falls no deeper than by a cut of each flow (SIGCOMM 2010, section 3.3)."""
        threshold = 40
        chosen = replace(
            scheme("dctcp"), ecn_kb=(threshold * _FULL / 1e3,) * 2, ecn_probability=1.0, pfc=False
        )
        network = star(servers=senders + 1, gbps=10, delay_us=10)
        flows = _long(*((i, senders) for i in range(senders)))
        result = simulate(network, flows, chosen, 2e-2, sample_interval_s=1e-6)
        queue = result.buffers.iloc[10_000:, 0] / _FULL
        window = (result.summary["base_rtt_s"] * 1e10 / 8 / _FULL + threshold) / senders
        share = (2 * window + 1) / (window + 1) ** 2
        alpha = np.sqrt(share)
        for _ in range(20):  # equation 6: alpha² (1 - alpha / 4)
            alpha = np.sqrt(share / (1 - alpha / 4))
        swing = senders * (window + 1) * alpha / 2
        assert queue.min() > threshold + senders - swing - 2
        assert queue.max() < threshold + 3 * senders

    def test_marks_need_a_queue(self) -> None:
        """A lone flow at its link's own rate builds no queue, so nothing is marked."""
        result = simulate(star(servers=2), _long((0, 1)), scheme("dctcp"), 1e-3)
        assert 0 == result.ports["marked_packets"].sum()


class TestDcqcn:
    def test_shares(self) -> None:
        """Marked flows slow down, then share most of the link, and PFC loses nothing."""
        result = simulate(
            star(servers=5), _long(*((i, 4) for i in range(4))), scheme("dcqcn"), 5e-2
        )
        rates = _rates_gbps(result)
        assert rates.sum() > 60
        assert rates.max() < 2 * rates.min()
        assert 0 == result.summary["dropped_packets"]


class TestHpcc:
    @pytest.mark.parametrize("senders", [1, 2, 8])
    def test_keeps_utilisation_at_its_target(self, senders: int) -> None:
        """Long flows use about eta of the link, with next to no queue."""
        network = star(servers=senders + 1)
        flows = _long(*((i, senders) for i in range(senders)))
        result = simulate(network, flows, scheme("hpcc"), 3e-3, sample_interval_s=1e-6)
        late = result.samples["long_bytes"].iloc[[999, -1]]
        goodput = (late.iloc[1] - late.iloc[0]) * 8 / (late.index[1] - late.index[0]) / 1e9
        on_the_wire = goodput * (_FULL + 80) / 1000
        assert on_the_wire == pytest.approx(95, abs=4)
        assert result.buffers.iloc[1000:, 0].mean() < 15_000


class TestPfc:
    def test_never_drops(self) -> None:
        """However many flows burst without control, a small buffer with PFC loses nothing."""
        network = star(servers=40, buffer_mb=2)
        flows = flow_table((0.0, i, 39, 200_000, "incast") for i in range(39))
        greedy = Scheme(name="greedy", pfc=True)
        result = simulate(network, flows, greedy, duration_s=1e-4, drain_s=1e-2)
        assert 0 == result.summary["dropped_packets"]
        assert result.ports["pauses"].sum() > 0
        assert 0 < result.paused_share() < 1
        assert result.summary["peak_buffer_bytes"] <= 2_000_000

    def test_go_back_n(self) -> None:
        """Without PFC the same burst loses packets, and all flows complete nevertheless."""
        network = star(servers=40, buffer_mb=2)
        flows = flow_table((0.0, i, 39, 200_000, "incast") for i in range(39))
        result = simulate(network, flows, Scheme(name="greedy"), 1e-4, drain_s=0.2)
        assert result.summary["dropped_packets"] > 0
        assert result.summary["resent_data_packets"] > 0
        assert 0 == result.summary["unfinished_flows"]

    def test_too_small_a_buffer(self) -> None:
        """A buffer without room for what is in flight when PFC stops is refused."""
        with pytest.raises(InputError, match="headroom"):
            simulate(star(servers=40, buffer_mb=0.5), _long((0, 1)), scheme("dctcp"), 1e-4)


class TestBfc:
    @pytest.mark.parametrize("senders", [2, 3, 5, 9])
    def test_runs_dry_as_rarely_as_appendix_c_says(self, senders: int) -> None:
        """Alike flows run out of packets at once, in a share of time of at most E_f."""
        flows = _long(*((i, senders) for i in range(senders)))
        rates = _rates_gbps(simulate(star(servers=senders + 1), flows, scheme("bfc"), 1e-3))
        # Each comes in at the link's rate and leaves at its share of that: x is their number.
        empty = (senders - 1) / (senders + senders**2 - 1)
        assert rates.sum() > (1 - empty) * 95.4
        assert rates == pytest.approx([rates.mean()] * senders, rel=0.1)

    def test_buffer_is_bounded(self) -> None:
        """A queue holds little more than the threshold and what comes until the pause works."""
        result = simulate(star(servers=5), _long(*((i, 4) for i in range(4))), scheme("bfc"), 1e-3)
        bdp = 2e-6 * 100e9 / 8  # of a hop
        # All four start at once: four links' worth until the first pauses work.
        assert result.summary["peak_buffer_bytes"] < bdp + 4 * (bdp + 3 * _FULL)
        assert result.ports["queue_pauses"].sum() > 0

    def test_upstream_waits_instead(self) -> None:
        """Backpressure moves an incast's packets from the receiver's switch to where they began."""
        flows = flow_table((0.0, i, 15, 500_000, "incast") for i in range(12))
        free, held = (
            simulate(_SMALL, flows, chosen, 1e-4, drain_s=5e-3)
            for chosen in (replace(scheme("bfc"), backpressure=False), scheme("bfc"))
        )
        assert held.summary["peak_buffer_bytes"] < 0.2 * free.summary["peak_buffer_bytes"]
        assert held.flows["fct_s"].max() < 1.05 * free.flows["fct_s"].max()

    def test_dynamic_assignment_avoids_collisions(self) -> None:
        """Fewer flows than queues do not share one; by a hash alone they would."""
        flows = _long(*((i, 20) for i in range(20)))
        shares = {}
        for name in ("bfc", "bfc-stochastic", "bfc-single"):
            ports = simulate(star(servers=21), flows, scheme(name), 2e-4).ports
            shares[name] = ports["collisions"].sum() / ports["assignments"].sum()
        assert shares["bfc"] < 0.01
        assert shares["bfc"] < shares["bfc-stochastic"] < shares["bfc-single"]

    def test_head_of_line_blocking(self) -> None:
        """One queue for all holds up a flow that goes elsewhere; queues of their own do not."""
        crowd = [(0.0, i, 12, 1_500_000, "background") for i in range(8)]
        bystander = (2e-5, 8, 13, 100_000, "background")
        # All leave the first rack over the same spine.
        network = clos(racks=2, servers_per_rack=10, spines=1, spine_gbps=400)
        slowdown = {}
        for name in ("bfc", "bfc-single"):
            result = simulate(network, flow_table([*crowd, bystander]), scheme(name), 1e-3)
            slowdown[name] = float(result.flows["slowdown"].iloc[-1])
        assert slowdown["bfc-single"] > 1.1 * slowdown["bfc"]

    def test_algorithm_2(self) -> None:
        """End-to-end control holds the RTT of many long flows near 2.5 base RTTs, so less waits."""
        flows = _long(*((i % 8, 8) for i in range(64)))
        network = star(servers=9)
        alone, controlled = (
            simulate(network, flows, scheme(name), 2e-3) for name in ("bfc", "bfc-cc")
        )
        assert controlled.buffers.iloc[-50:, 0].mean() <= alone.buffers.iloc[-50:, 0].mean()
        assert _rates_gbps(controlled).sum() == pytest.approx(95.4, rel=0.03)

    def test_incast_label(self) -> None:
        """Labelled flows leave the other queues to the rest, which then waits less."""
        crowd = [(0.0, i % 60, 60, 100_000, "incast") for i in range(120)]
        short = [(5e-5 + i * 1e-6, i, 60, 1000, "background") for i in range(50)]
        flows = flow_table([*crowd, *short])
        p99 = {}
        for name in ("bfc", "bfc-incast-label"):
            result = simulate(star(servers=61), flows, scheme(name), 1e-3)
            p99[name] = result.slowdowns()["p99"].iloc[0]
        assert p99["bfc-incast-label"] < p99["bfc"]

    @pytest.mark.parametrize("skip_paused", [True, False])
    def test_paused_queue_is_not_given_away(self, *, skip_paused: bool) -> None:
        """Where that is asked for, no flow waits in an empty queue that is paused; else some do."""
        two = replace(scheme("bfc"), queues=3, skip_paused=skip_paused)
        network = clos(racks=2, servers_per_rack=4, spines=1)
        busy = [(0.0, sender, 4, 0, "long") for sender in (5, 6, 7)]
        # The first waits at the busy receiver's switch and pauses where it came from; that queue is
        # empty then. Which of the others would get it does not matter: none may.
        others = [(5.25e-5 + i * 4e-7, 1 + i % 3, 5 + i % 3, 500, "background") for i in range(6)]
        flows = flow_table([*busy, (5e-5, 0, 4, 1000, "background"), *others])
        result = simulate(network, flows, two, 1e-4, drain_s=1e-4)
        assert result.ports["queue_pauses"].sum() > 0
        assert skip_paused == (result.flows["slowdown"].iloc[4:].max() < 1.2)

    @pytest.mark.parametrize(("pause_packets", "pauses"), [(1, True), (2, False)])
    def test_pause_packets(self, pause_packets: int, *, pauses: bool) -> None:
        """Flows of one packet pause nothing if it takes two of a flow in a switch."""
        chosen = replace(scheme("bfc"), pause_packets=pause_packets, queues=3)
        flows = flow_table((0.0, i, 39, 1000, "background") for i in range(39))
        result = simulate(star(servers=40), flows, chosen, 1e-4)
        assert pauses == (result.ports["queue_pauses"].sum() > 0)
        assert 0 == result.summary["unfinished_flows"]


class TestEcmp:
    def test_spreads(self) -> None:
        """Many flows use all spines about evenly."""
        network = clos(racks=2, servers_per_rack=8, spines=4)
        rows = ((1e-9 * i, i % 8, 8 + i % 8, 1000, "background") for i in range(4000))
        ports = simulate(network, flow_table(rows), scheme("ideal-fq"), 1e-4).ports
        up = ports[(ports["node"] == 16) & (ports["to"] > 17)]["data_packets"]
        assert 4000 == up.sum()
        # A binomial draw with p = 1/4; five standard deviations.
        assert up.to_numpy() == pytest.approx(1000, abs=5 * np.sqrt(4000 * 3 / 16))

    def test_flow_stays_on_its_way(self) -> None:
        """A flow's packets all take the same way, so none comes out of order."""
        network = clos(racks=2, servers_per_rack=2, spines=4)
        ports = simulate(network, _long((0, 3)), scheme("bfc"), 1e-4).ports
        used = ports[(ports["node"] == 4) & (ports["data_packets"] > 0)]
        assert 1 == len(used)


class TestWorkload:
    @pytest.mark.parametrize("sizes", flow_sizes.NAMES)
    def test_mean_size(self, sizes: str) -> None:
        """Sizes drawn have the distribution's mean."""
        distribution = flow_sizes.get(sizes)
        drawn = distribution.at((np.arange(1_000_000) + 0.5) / 1_000_000)
        assert drawn.mean() == pytest.approx(distribution.mean_bytes, rel=0.001)

    @pytest.mark.parametrize("arrivals", ["poisson", "lognormal"])
    def test_load(self, arrivals: str) -> None:
        """Flows offer the share of what the core's links can carry that was asked for."""
        workload = Workload(sizes="google", load=0.6, arrivals=arrivals)
        flows = workload.flows(clos(), duration_s=4e-3, seed=1)
        assert flows["bytes"].sum() * 8 / 4e-3 / 6.4e12 == pytest.approx(0.6, rel=0.1)

    def test_lognormal_is_bursty(self) -> None:
        """The gaps' logarithm has the standard deviation sigma; Poisson's vary as their mean."""
        gaps = {
            arrivals: np.diff(
                Workload(sizes="facebook", arrivals=arrivals).flows(clos(), 1e-2, 1)["start_ps"]
            ).astype(float)
            for arrivals in ("poisson", "lognormal")
        }
        assert np.log(gaps["lognormal"] + 1).std() == pytest.approx(2, rel=0.05)
        assert gaps["poisson"].std() == pytest.approx(gaps["poisson"].mean(), rel=0.05)

    def test_incast(self) -> None:
        """Each event has `degree` flows to one server, which together have its size."""
        workload = Workload(load=0, incast=Incast(degree=100, total_mb=20))
        flows = workload.flows(clos(), duration_s=1.9e-3, seed=1)
        assert 400 == len(flows)
        assert [0, 500_000_000, 1_000_000_000, 1_500_000_000] == sorted(set(flows["start_ps"]))
        for _, event in flows.groupby("start_ps"):
            assert 1 == event["destination"].nunique()
            assert 100 == event["source"].nunique()
            assert 20_000_000 == event["bytes"].sum()

    def test_transfers(self) -> None:
        """Flows of given sizes all begin at once."""
        transfers = ((0, 1, 1500), (2, 1, 700))
        flows = Workload(load=0, transfers=transfers).flows(star(servers=3), 1e-3, 1)
        rows = flows[["source", "destination", "bytes"]].itertuples(index=False, name=None)
        assert transfers == tuple(rows)
        assert [0, 0] == flows["start_ps"].tolist()

    def test_payload_share(self) -> None:
        """Small flows spend more of what they take on headers."""
        shares = [payload_share(flow_sizes.get(name)) for name in ("google", "websearch")]
        assert shares[0] < shares[1] < 1000 / _FULL

    def test_half_of_googles_bytes(self) -> None:
        """Flows up to 100 KB have nearly half of Google's bytes (thesis, section 3.2)."""
        sizes = flow_sizes.get("google").at((np.arange(1_000_000) + 0.5) / 1_000_000)
        assert 0.35 < sizes[sizes <= 100_000].sum() / sizes.sum() < 0.5


class TestInput:
    def test_unknown_server(self) -> None:
        """A flow to a server that does not exist is named."""
        with pytest.raises(InputError, match="server of a flow is 9"):
            simulate(star(servers=2), _long((0, 9)), scheme("bfc"), 1e-4)

    def test_unconnected(self) -> None:
        """Servers without a way between them are refused."""
        network = Topology(
            servers=2,
            switches=2,
            links=(Link(0, 2, 100, 1), Link(1, 3, 100, 1)),
            capacity_gbps=100,
        )
        with pytest.raises(InputError, match="no way"):
            simulate(network, _long((0, 1)), scheme("bfc"), 1e-4)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: scheme("bcf"), "did you mean 'bfc'"),
            (lambda: Workload(load=-1), "load is -1"),
            (lambda: Incast(degree=0, total_mb=20), "degree is 0"),
            (lambda: clos(racks=0), "racks is 0"),
            (lambda: Scheme(name="x", sampling=0), "sampling is 0"),
            (lambda: star(servers=2, gbps=-1), "gbps is -1"),
        ],
    )
    def test_bad_values(self, make: object, message: str) -> None:
        """What is out of range is named with what is allowed."""
        assert callable(make)
        with pytest.raises(InputError, match=message):
            make()


class TestProgress:
    def test_time_advances(self) -> None:
        """The callback hears of ever later times."""
        seen: list[float] = []
        simulate(star(servers=2), _long((0, 1)), scheme("bfc"), 5e-3, progress=seen.append)
        assert len(seen) > 1
        assert seen == sorted(seen)

    def test_interrupt(self) -> None:
        """What the callback raises ends the simulation, as Ctrl-C does."""

        def stop(_time_s: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            simulate(star(servers=2), _long((0, 1)), scheme("bfc"), 1.0, progress=stop)


class TestSaving:
    def test_round_trip(self, tmp_path: Path) -> None:
        """What was saved is read back equal."""
        result = simulate(_SMALL, _BURSTY, scheme("bfc"), 5e-5, queue_delays=True)
        result.save(tmp_path / "result")
        again = Simulation.load(tmp_path / "result")
        for name in ("flows", "samples", "buffers", "ports", "active_flows", "queue_delays"):
            pd.testing.assert_frame_equal(getattr(result, name), getattr(again, name))
        assert result.summary == again.summary

    def test_damage(self, tmp_path: Path) -> None:
        """A file that was changed is noticed."""
        simulate(star(servers=2), _long((0, 1)), scheme("bfc"), 1e-5).save(tmp_path / "result")
        (tmp_path / "result" / "flows.parquet").write_bytes(b"x")
        with pytest.raises(DamagedRun, match="was changed"):
            Simulation.load(tmp_path / "result")
