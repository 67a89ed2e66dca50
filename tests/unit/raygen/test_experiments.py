# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.noise import typical
from ccbench.harm import Experiment, measure, sides
from ccbench.raygen import DEFAULT_SPACE, Choice, Number, SearchConfig, Space
from ccbench.raygen.experiments import experiment
from tests.unit.conftest import run_with_rates


def _experiment(duration_s: float = 60.0, **values: Any) -> Experiment:
    network = {"bandwidth_mbps": 12, "rtt_ms": 100, "queue_bdp": 1.5}
    return experiment(network | values, alpha="bbr", beta="cubic", duration_s=duration_s, seed=1)


class TestRoundTripTimes:
    @pytest.mark.parametrize("ratio", [0.25, 1.0, 4.0])
    def test_ratio(self, ratio: float) -> None:
        """Beta keeps its round-trip time, alpha has a multiple of it; the queue is beta's BDPs."""
        own = _experiment(alpha_rtt_ratio=ratio)
        competing = own.competing
        (beta,), (alpha,) = own.beta, own.alpha
        beta_ms, alpha_ms = (competing.path.rtt_ms + flow.extra_rtt_ms for flow in (beta, alpha))
        assert (100, 100 * ratio) == (beta_ms, alpha_ms)
        # 12 Mbit/s are a full packet each millisecond.
        assert 150 == competing.path.bottlenecks[0].queue_packets

    def test_description(self) -> None:
        """A description has beta's round-trip time and BDPs, and alpha's if it differs."""
        assert "100 ms, 12 Mbit/s, 150 packets (1.5 BDP)" in _experiment().describe()
        words = _experiment(alpha_rtt_ratio=0.25).describe()
        assert "100 ms (alpha's 25 ms), 12 Mbit/s, 150 packets (1.5 BDP)" in words

    @pytest.mark.parametrize("name", ["alpha_start_s", "beta_start_s"])
    def test_late_start(self, name: str) -> None:
        """Starts that leave less than half of the run for measurement are refused."""
        _experiment(**{name: 30})
        with pytest.raises(InputError, match=rf"^{name} is 31; it must be at most 30, as harm"):
            _experiment(**{name: 31})

    def test_typical_noise(self) -> None:
        """Runs have the typical noise of their path, so that seeds matter."""
        assert (
            typical(rtt_ms=100)
            == _experiment().competing.path.noise
            == _experiment().solo.path.noise
        )


class TestFlows:
    def test_settings(self) -> None:
        """Genes by path change a setting of the alpha or the beta flows only."""
        own = _experiment(
            60.0, **{"flows.0.acks": "delayed", "flows.1.receiver.window_bytes": 64_000}
        )
        (beta,), (alpha,) = own.beta, own.alpha
        assert ("delayed", None) == (alpha.acks, alpha.receiver)
        assert beta.receiver is not None
        assert ("default", 64_000) == (beta.acks, beta.receiver.window_bytes)
        assert own.solo.flows == (beta,)

    def test_solo_runs(self) -> None:
        """Genes of alpha's flows do not change the seeds of beta's solo runs."""
        window = Number(name="flows.0.receiver.window_bytes", low=20_000, high=90_000)
        config = SearchConfig(
            alpha="bbr", beta="cubic", space=Space((*DEFAULT_SPACE.genes, window))
        )
        network = DEFAULT_SPACE.corners()[0]
        solo = {config.experiment((*network, size)).solo for size in (20_000, 90_000)}
        assert 1 == len(solo)

    @pytest.mark.parametrize("name", ["flows.0.count", "flows.2.acks", "flows.1.ack"])
    def test_not_settings(self, name: str) -> None:
        """Numbers and starts of flows have short names, and there are two groups of flows."""
        with pytest.raises(InputError, match=name):
            Number(name=name, low=1, high=2)


class TestShortFlows:
    @pytest.mark.parametrize(("values", "begins_s"), [({}, 30), ({"beta_start_s": 7}, 7)])
    def test_ten_seconds(self, values: dict[str, Any], begins_s: float) -> None:
        """Short beta flows have ten seconds beside alpha flows; the runs end with them."""
        short = _experiment(workload="short", **values)
        (beta,), (alpha,) = short.beta, short.alpha
        ends_s = begins_s + 10
        assert (begins_s, ends_s, 0) == (beta.start_s, beta.stop_s, alpha.start_s)
        assert ends_s == short.solo.duration_s == short.competing.duration_s
        assert (begins_s, ends_s) == short.measured_s

    def test_harm_is_that_of_the_ten_seconds(self) -> None:
        """Only the ten seconds count, in alpha's run and in the solo run."""
        short = _experiment(workload="short", beta_start_s=5)
        before, during = np.arange(15)[:, None] < 5, np.arange(15)[:, None] >= 5
        solo = run_with_rates(short.solo, 10.0 * during)
        rates = np.zeros((15, 2))
        flows = sides(short.solo, short.competing)
        rates[:, flows.beta], rates[:, flows.alpha] = 4.0 * during, 99.0 * before + 6.0 * during
        competing = run_with_rates(short.competing, rates)
        actual = measure(solo, competing, short.measured_s)
        assert (10, 4, 6) == (actual.solo_mbps, actual.competing_mbps, actual.alpha_mbps)
        assert (5, 15, None) == (actual.from_s, actual.to_s, actual.converged_at_s)
        assert 0.6 - 0.5 == pytest.approx(actual.relative)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"duration_s": 11}, "^duration_s is 11.0; it must be at least 20, as short beta"),
            ({"beta_start_s": 51}, "^duration_s is 60.0; it must be at least 61, as short beta"),
            ({"alpha_start_s": 40}, "^alpha_start_s is 40; it must be below 40, when the short"),
            ({"workload": "shrt"}, "^workload is 'shrt'; .* did you mean 'short'?"),
        ],
    )
    def test_bad_input(self, values: dict[str, Any], message: str) -> None:
        """Flows that do not fit into the run are refused with the limits."""
        with pytest.raises(InputError, match=message):
            _experiment(**{"workload": "short"} | values)

    def test_starts_that_exclude_each_other(self) -> None:
        """A space in which alpha may start after a short run's end is refused before any run."""
        starts = (
            Number(name=f"{side}_start_s", low=0, high=50, scale="linear")
            for side in ("alpha", "beta")
        )
        genes = (*DEFAULT_SPACE.genes, *starts, Choice(name="workload", values=("long", "short")))
        with pytest.raises(InputError, match=r"^alpha_start_s is 50; it must be below 10"):
            SearchConfig(alpha="bbr", beta="cubic", space=Space(genes))
