# SPDX-License-Identifier: Apache-2.0
"""Mixes of short flows have the specified sizes, load and arrivals."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import integrate, stats

from ccbench import Bottleneck, Flow, NetworkPath, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.cli.main import program
from ccbench.experiment import arrivals
from ccbench.experiment.flow_sizes import SIZES, FlowSizes, LogNormal, Points, PowerLaw, find
from ccbench.experiment.traffic import FlowMix, divided

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.experiment.flow_sizes import Piece

_PIECES = [
    PowerLaw(10e3, 15e3, -1),
    PowerLaw(10e3, 100e6, 1.83),
    PowerLaw(15e3, 100e6, 1),
    PowerLaw(100, 1e6, 0),
    LogNormal(1, 133e3, 11_600, 1.318),
    LogNormal(20e3, 30e3, 11_600, 0.5),
    Points(((40, 0), (1500, 0.4), (1e6, 1))),
]
_SCENARIO = """
rtt_ms = 50
duration_s = 20
bottlenecks = [{{ bandwidth_mbps = 12, queue_bdp = 2 }}]
flows = [{{ kind = "bytes", arrivals = {arrivals} }}]
"""


class TestPieces:
    @pytest.mark.parametrize("piece", _PIECES, ids=repr)
    def test_mean(self, piece: Piece) -> None:
        """The mean is the integral of the quantiles."""
        shares = np.linspace(0, 1, 400_001)
        middles = piece.quantile((shares[1:] + shares[:-1]) / 2)
        assert piece.mean_bytes == pytest.approx(middles.mean(), rel=3e-3)

    @pytest.mark.parametrize("piece", _PIECES, ids=repr)
    def test_bounds(self, piece: Piece) -> None:
        """The quantiles of 0 and 1 are the bounds."""
        ends = piece.quantile(np.array([0.0, 1.0]))
        assert ends == pytest.approx([piece.low_bytes, piece.high_bytes])

    @pytest.mark.parametrize("piece", _PIECES, ids=repr)
    def test_inverse(self, piece: Piece) -> None:
        """The share of flows up to a quantile is that quantile's share."""
        for share in (0.01, 0.3, 0.9, 0.999):
            size = float(piece.quantile(np.array([share]))[0])
            assert piece.share_up_to(size) == pytest.approx(share, abs=1e-9)

    def test_power_law(self) -> None:
        """On logarithmic axes the density of a power law is a line of slope -(1 + index)."""
        law = PowerLaw(10e3, 100e6, 1.2)
        assert law.mean_bytes == pytest.approx(
            integrate.quad(lambda x: x**-1.2, 10e3, 100e6, limit=200)[0]
            / integrate.quad(lambda x: x**-2.2, 10e3, 100e6, limit=200)[0],
            rel=1e-4,
        )

    def test_one_size(self) -> None:
        """A distribution of equal bounds has one size."""
        sizes = FlowSizes.fixed(1234)
        assert set(sizes.sample(10, np.random.default_rng(1))) == {1234}


class TestFlowSizes:
    @pytest.mark.parametrize("name", ["heavy-tailed", "pareto"])
    def test_as_published(self, name: str) -> None:
        """Nimbus's cross traffic has flows of 10 KB to 100 MB, of 22 KB on average."""
        sizes = SIZES[name]
        assert (sizes.low_bytes, sizes.high_bytes) == (10e3, 100e6)
        assert sizes.mean_bytes == pytest.approx(22e3, rel=1e-6)

    def test_published_points(self) -> None:
        """The distribution meets the authors' points, and their mean by uniform interpolation."""
        sizes = SIZES["caida"]
        points = [(1e4, 0.976), (1e5, 0.995), (1e6, 0.999), (5e6, 0.9998), (1e8, 1.0)]
        assert [sizes.share_up_to(size) for size, _ in points] == [share for _, share in points]
        # The mean of 100,000 draws has the deviation of one draw divided by the root of 100,000: 22
        # KB are within it.
        quantiles = sizes.quantile((np.arange(1_000_000) + 0.5) / 1_000_000)
        error = quantiles.std() / math.sqrt(100_000)
        assert abs(sizes.mean_bytes - 22e3) < error
        assert sizes.mean_bytes == pytest.approx(quantiles.mean(), rel=1e-3)
        # 100,000 of them offer half of 96 Mbit/s for the stated 360 s, within that error.
        assert 100_000 / sizes.flows_per_s(48) == pytest.approx(360, rel=error / 22e3)

    def test_points_in_order(self) -> None:
        """Decreasing points, or points that do not end with all flows, are refused."""
        with pytest.raises(InputError, match=r"the size of points\[1\] is 10.*above 20"):
            Points(((20, 0), (10, 1)))
        with pytest.raises(InputError, match=r"the share of points\[1\] is 0.1.*at least 0.5"):
            Points(((10, 0.5), (20, 0.1)))
        with pytest.raises(InputError, match=r"the last share of points is 0.5"):
            Points(((10, 0), (20, 0.5)))

    def test_whole_bytes(self) -> None:
        """A flow has at least one byte, even if the smallest measured size is 0."""
        assert SIZES["caida"].at([0.0, 1.0]).tolist() == [1, 100_000_000]

    def test_heavy_tail_reaches_its_bound(self) -> None:
        """Without its bound the power law would have one flow of 100,000 beyond it."""
        (_, _), (share, tail) = SIZES["heavy-tailed"].pieces
        assert isinstance(tail, PowerLaw)
        beyond = share * (tail.high_bytes / tail.low_bytes) ** -tail.tail_index
        assert beyond == pytest.approx(1e-5, rel=1e-6)

    @pytest.mark.parametrize("name", SIZES)
    def test_sample(self, name: str) -> None:
        """Drawn sizes follow the distribution (Kolmogorov-Smirnov)."""
        sizes = SIZES[name]
        drawn = sizes.sample(20_000, np.random.default_rng(7))
        assert sizes.low_bytes <= drawn.min()
        assert drawn.max() <= sizes.high_bytes
        actual = stats.kstest(drawn, np.vectorize(sizes.share_up_to))
        assert actual.pvalue > 0.001

    def test_pieces_in_order(self) -> None:
        """Pieces that overlap or do not add up to 1 are refused."""
        small, large = PowerLaw(1, 10), PowerLaw(5, 20)
        with pytest.raises(InputError, match=r"pieces\[1\].low_bytes is 5.0.*at least 10"):
            FlowSizes(((0.5, small), (0.5, large)))
        with pytest.raises(InputError, match=r"pieces is 0.5.*add up to 1"):
            FlowSizes(((0.5, small),))

    def test_unknown(self) -> None:
        """An unknown name is refused with the list of names."""
        with pytest.raises(InputError, match=r"one of heavy-tailed, caida, pareto, web.*'web'"):
            find("webb")


class TestFlowMix:
    def test_load(self) -> None:
        """Over many seeds flows offer their load, within their variance."""
        mixes = [FlowMix(sizes="pareto", load_mbps=48, stop_s=60, seed=i) for i in range(40)]
        loads = [sum(size for _, size in mix.arrivals()) * 8e-6 / 60 for mix in mixes]
        error = np.std(loads, ddof=1) / math.sqrt(len(loads))
        assert np.mean(loads) == pytest.approx(48, abs=4 * float(error))
        assert error < 0.5

    def test_poisson(self) -> None:
        """Counts in short intervals have a variance equal to their mean; gaps are exponential."""
        mix = FlowMix(sizes=20_000, load_mbps=48, start_s=10, stop_s=110)
        starts = np.array([start_s for start_s, _ in mix.arrivals()])
        counts = np.histogram(starts, bins=np.arange(10, 110.05, 0.1))[0]
        # Of 1000 intervals the index of dispersion is chi-squared, its deviation sqrt(2 / 1000).
        assert counts.var(ddof=1) / counts.mean() == pytest.approx(1, abs=4 * math.sqrt(2e-3))
        gaps = np.diff(starts)
        assert stats.kstest(gaps / gaps.mean(), "expon").pvalue > 0.001
        assert starts.min() >= 10
        assert starts.max() < 110

    def test_sizes_do_not_depend_on_arrivals(self) -> None:
        """Sizes and arrivals are independent."""
        mix = FlowMix(sizes="heavy-tailed", load_mbps=48, stop_s=60)
        starts, sizes = np.array(mix.arrivals()).T
        assert abs(stats.spearmanr(starts, sizes).statistic) < 4 / math.sqrt(len(starts))

    def test_seed(self) -> None:
        """The same seed draws the same flows, another seed different ones."""
        first, same, other = (
            FlowMix(load_mbps=10, stop_s=20, seed=seed).arrivals() for seed in (5, 5, 6)
        )
        assert first == same
        assert first != other

    def test_of_one_size(self) -> None:
        """All flows may have one size."""
        mix = FlowMix(sizes=1500, load_mbps=1, stop_s=20)
        assert {size for _, size in mix.arrivals()} == {1500}

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"load_mbps": 0, "stop_s": 9}, "load_mbps is 0"),
            ({"load_mbps": 9, "stop_s": 0}, "stop_s is 0"),
            ({"load_mbps": 9, "stop_s": 5, "start_s": 5}, "stop_s is 5.*above 5"),
            ({"load_mbps": 9, "stop_s": 5, "sizes": "big"}, "sizes is 'big'"),
            ({"load_mbps": 9, "stop_s": 5, "seed": -1}, "seed is -1"),
            ({"load_mbps": 900, "stop_s": 9000}, "fewer than 1000000 flows"),
            ({"stop_s": 9}, "load_mbps is missing"),
            ({"load_mbps": 9, "stop_s": 9, "size": 1}, "size"),
        ],
    )
    def test_wrong_settings(self, settings: dict[str, object], message: str) -> None:
        """Invalid settings of a mix are reported by name."""
        with pytest.raises(InputError, match=message):
            FlowMix.from_dict(settings)

    def test_too_few(self) -> None:
        """A mix without a single flow is refused."""
        with pytest.raises(InputError, match="enough for one flow"):
            FlowMix(sizes="web", load_mbps=0.001, stop_s=0.001).arrivals()


class TestDivided:
    def test_groups(self) -> None:
        """Each flow is in exactly one group, and each group has an equal share."""
        flows = FlowMix(sizes="pareto", load_mbps=20, stop_s=20).arrivals()
        groups = divided(flows, 3, seed=2)
        assert sorted(flow for group in groups for flow in group) == sorted(flows)
        expected = len(flows) / 3
        for group in groups:
            assert len(group) == pytest.approx(expected, abs=4 * math.sqrt(expected * 2 / 3))
            assert list(group) == sorted(group)

    def test_too_few(self) -> None:
        """An empty group is an error."""
        with pytest.raises(InputError, match="1 flow, too few for 2 groups"):
            divided(((0.0, 10),), 2)


class TestScenario:
    def test_toml(self) -> None:
        """A table in a scenario file stands for the flows that the mix draws."""
        table = '{ sizes = "pareto", load_mbps = 5, start_s = 2, stop_s = 20, seed = 3 }'
        scenario = Scenario.from_toml(_SCENARIO.format(arrivals=table))
        mix = FlowMix(sizes="pareto", load_mbps=5, start_s=2, stop_s=20, seed=3)
        assert scenario.flows[0].arrivals == mix.arrivals()
        assert Scenario.from_toml(scenario.to_toml()) == scenario

    def test_mistake(self) -> None:
        """An error in the table is reported with its position."""
        with pytest.raises(InputError, match=r"flows\[0\].arrivals.load_mbps is -1"):
            Scenario.from_toml(_SCENARIO.format(arrivals="{ load_mbps = -1, stop_s = 20 }"))

    def test_completion_times(self) -> None:
        """Flows of a given size have their completion time, or none if they did not end."""
        flows = (Flow(), Flow(kind="bytes", arrivals=((1.0, 5000), (2.0, 7000)), label="short"))
        link = Bottleneck(bandwidth_mbps=12, queue_bdp=1)
        scenario = Scenario(
            flows=flows, path=NetworkPath(bottlenecks=(link,), rtt_ms=50), duration_s=9
        )
        columns = ["time_ns", "bottleneck", "event", "flow", "bytes"]
        queue = pd.DataFrame(columns=[*columns, "backlog_packets", "backlog_bytes"])
        names = ["time_ns", "flow", "delivered_bytes", "throughput_bytes", "retransmits", "drops"]
        names += ["cwnd_packets", "ssthresh_packets", "srtt_us", "min_rtt_us", "pacing_rate_bps"]
        samples = pd.DataFrame(columns=[*names, "lost", "state", "inflight_packets"])
        done = pd.DataFrame(
            {
                "start_ns": [0, 10**9, 2 * 10**9],
                "end_ns": [-1, 12 * 10**8, -1],
                "delivered_bytes": [9, 5000, 100],
                "sent_bytes": [9, 5000, 7000],
                "retransmits": 0,
            }
        )
        run = Run(scenario=scenario, queue=queue, flows=samples, completions=done, provenance={})
        times = run.completion_times()
        assert times.index.tolist() == [1, 2]
        assert times["size_bytes"].tolist() == [5000, 7000]
        assert times["fct_s"].fillna(-1).tolist() == [pytest.approx(0.2), -1]


class TestCommand:
    def test_file(self, tmp_path: Path) -> None:
        """The command writes the flows that the library draws, exactly."""
        file = tmp_path / "flows.csv"
        options = ["--sizes", "web", "--load", "5", "--duration", "30", "--seed", "4"]
        shown = CliRunner().invoke(program, ["traffic", *options, "-o", str(file), "--json"])
        flows = FlowMix(sizes="web", load_mbps=5, stop_s=30, seed=4).arrivals()
        assert tuple(arrivals.from_file(file)) == flows
        document = json.loads(shown.output)
        assert document["flows"] == len(flows)
        assert document["load_mbps"] == pytest.approx(sum(size for _, size in flows) * 8e-6 / 30)

    def test_same_bytes(self, tmp_path: Path) -> None:
        """The same seed writes the same bytes."""
        files = [tmp_path / name for name in ("a.csv", "b.csv")]
        for file in files:
            options = ["--load", "5", "--duration", "30", "-o", str(file)]
            CliRunner().invoke(program, ["traffic", *options])
        assert files[0].read_bytes() == files[1].read_bytes()

    def test_mistake(self) -> None:
        """An unknown name of sizes is one line and exit status 2."""
        options = ["--load", "5", "--duration", "30", "--sizes", "wide"]
        shown = CliRunner().invoke(program, ["traffic", *options])
        assert shown.exit_code == 2
        assert "sizes is 'wide'" in shown.output
