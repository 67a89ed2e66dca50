# SPDX-License-Identifier: Apache-2.0
"""Random streams of the virtual kernel, compared with the theory of independent streams.

Seeds are fixed, so each test passes always or never. Bounds are those that independent streams
would miss with a probability of one in a million, corrected for the number of comparisons.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm, spearmanr

from ccbench import Bottleneck, Flow, Noise, Scenario
from ccbench.emulate import run_many
from ccbench.run.tables import NO_FLOW
from tests.kernel.conftest import run
from tests.scenarios import flat
from tests.unit.base.test_random_streams import MISS

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench import Run

pytestmark = pytest.mark.kernel

#: Runs whose first packets are compared.
_RUNS = 500

_CBR = Flow(kind="cbr", rate_mbps=10)
_POISSON = Flow(kind="poisson", rate_mbps=10)

#: From a packet of `_CBR` to the next, and the mean of `_POISSON`.
_GAP_NS = 1.2e6


def path(*flows: Flow, loss: tuple[float, ...] = (0.0,), **settings: object) -> Scenario:
    """Return a path without queueing, with a bottleneck for each probability of loss."""
    links = tuple(Bottleneck(bandwidth_mbps=1000, queue_packets=1000, loss=p) for p in loss)
    return flat(flows=flows, bottlenecks=links, rtt_ms=2, **settings)


def lost(result: Run, bottleneck: int = 0, flow: int = 0) -> npt.NDArray[np.bool_]:
    """Return the positions of a flow's packets at a bottleneck that are lost there."""
    events = result.queue[result.queue["event"].isin(["loss", "enqueue"])]
    own = events[(events["flow"] == flow) & (events["bottleneck"] == bottleneck)]
    return own["event"].eq("loss").to_numpy()


def arrivals_ns(result: Run, flow: int = 0) -> npt.NDArray[np.int64]:
    """Return the arrival times of a flow's packets at the first bottleneck."""
    queue = result.queue
    arrives = queue["event"].isin(["loss", "enqueue"]) & (queue["bottleneck"] == 0)
    return queue.loc[arrives & (queue["flow"] == flow), "time_ns"].to_numpy()


class TestLoss:
    def test_pairs_of_seeds(self) -> None:
        """Runs with 16 consecutive seeds lose no more of the same packets than by chance.

        Of n packets two runs both lose a binomial number, each with the probability squared.
        """
        scenario = path(_CBR, loss=(0.01,), duration_s=60)
        fates = np.array([lost(run(replace(scenario, seed=seed))) for seed in range(1, 17)])
        both = (fates.astype(int) @ fates.T.astype(int))[np.triu_indices(16, k=1)]
        assert both.max() <= binom.isf(MISS / len(both), fates.shape[1], 0.01**2)

    def test_first_packets_over_seeds(self) -> None:
        """Over many consecutive seeds each of the first packets has the given probability of loss.

        The loss with one seed is independent of that with the next: the correlation has a standard
        deviation of 1/sqrt(n).
        """
        flow = replace(_CBR, rate_mbps=100)
        first = path(flow, loss=(0.1,), duration_s=0.01)
        fates = np.empty((_RUNS, 50), dtype=bool)
        scenarios = (replace(first, seed=seed) for seed in range(_RUNS))
        for i, result in run_many(scenarios, store=None):
            fates[i] = lost(result)[:50]
        times = fates.sum(axis=0)
        low, high = (tail(MISS / 100, _RUNS, 0.1) for tail in (binom.ppf, binom.isf))
        assert low <= times.min()
        assert times.max() <= high
        deviations = (fates - 0.1) / np.sqrt(0.1 * 0.9)
        serial = (deviations[1:] * deviations[:-1]).mean(axis=0) * np.sqrt(_RUNS - 1)
        assert np.abs(serial).max() < norm.isf(MISS / 100)


class TestPoissonArrivals:
    def test_gaps(self) -> None:
        """Gaps of several consecutive seeds are exponential."""
        for seed in range(1, 9):
            gaps = np.diff(arrivals_ns(run(path(_POISSON, duration_s=10, seed=seed))))
            assert kstest(gaps / _GAP_NS, "expon").pvalue > MISS / 8

    def test_flows_of_one_run(self) -> None:
        """Flows of one run have independent gaps."""
        result = run(path(replace(_POISSON, count=4), duration_s=10))
        gaps = [np.diff(arrivals_ns(result, flow))[:5000] for flow in range(4)]
        assert_unrelated(np.array(gaps))


class TestPurposes:
    def test_streams_of_one_seed_are_unrelated(self) -> None:
        """Losses at two bottlenecks, jitter, gaps and background are uncorrelated.

        The n-th draw of each is compared with the n-th of the others.
        """
        losses = run(path(_CBR, loss=(0.2, 0.2), duration_s=10))
        gaps = np.diff(arrivals_ns(run(path(_POISSON, duration_s=10))))
        draws = [lost(losses, 0), lost(losses, 1), gaps]
        for kind in ("forward_jitter_ms", "sender_jitter_ms"):
            noise = Noise(**{kind: 1.0})
            times_ns = arrivals_ns(run(path(_CBR, noise=noise, duration_s=10)))
            draws.append(times_ns - _GAP_NS * np.arange(len(times_ns)))
        background = run(path(_CBR, noise=Noise(background_share=0.01), duration_s=10))
        draws.append(np.diff(arrivals_ns(background, NO_FLOW)))
        count = min(map(len, draws))
        assert count > 5000
        assert_unrelated(np.array([draw[:count] for draw in draws]))

    def test_jitter_is_uniform(self) -> None:
        """Jitter is uniform from 0 to its size; packets are farther apart than that."""
        scenario = path(_CBR, noise=Noise(forward_jitter_ms=1), duration_s=10)
        times_ns = arrivals_ns(run(scenario))
        late_ms = (times_ns - _GAP_NS * np.arange(len(times_ns))) / 1e6
        late_ms -= late_ms.min()
        assert kstest(late_ms, "uniform").pvalue > MISS


class TestAdditions:
    @pytest.mark.parametrize(
        "more",
        [
            path(_CBR, replace(_POISSON, count=2), loss=(0.1, 0.1), duration_s=5),
            path(_CBR, _POISSON, loss=(0.1, 0.1, 0.1), duration_s=5),
            path(_CBR, _POISSON, Flow(cca="cubic"), loss=(0.1, 0.1), duration_s=5),
            replace(
                path(_CBR, _POISSON, loss=(0.1, 0.1), duration_s=5),
                path=replace(
                    path(_CBR, _POISSON, loss=(0.1, 0.1), duration_s=5).path,
                    noise=Noise(background_share=0.05),
                ),
            ),
        ],
        ids=["a Poisson flow", "a bottleneck", "a TCP flow", "background traffic"],
    )
    def test_additions_change_nothing(self, more: Scenario) -> None:
        """Added flows, bottlenecks or background change neither losses nor arrivals of a flow."""
        few, many = run(path(_CBR, _POISSON, loss=(0.1, 0.1), duration_s=5)), run(more)
        for flow in (0, 1):
            for bottleneck in (0, 1):
                before, after = lost(few, bottleneck, flow), lost(many, bottleneck, flow)
                count = min(len(before), len(after))
                assert count > 3000
                assert np.array_equal(before[:count], after[:count])
        assert np.array_equal(arrivals_ns(few, 1), arrivals_ns(many, 1))


def assert_unrelated(draws: npt.NDArray[np.float64]) -> None:
    """Check that no two rows have correlated ranks.

    Without correlation the coefficient of n draws has a standard deviation of 1/sqrt(n - 1).
    """
    coefficients = np.array(
        [spearmanr(one, other).statistic for i, one in enumerate(draws) for other in draws[:i]]
    )
    bound = norm.isf(MISS / 2 / len(coefficients)) / np.sqrt(draws.shape[1] - 1)
    assert np.abs(coefficients).max() < bound
