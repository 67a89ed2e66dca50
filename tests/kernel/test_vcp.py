# SPDX-License-Identifier: Apache-2.0
"""VCP behaves as its paper states (Xia, Subramanian, Stoica and Kalyanaraman, SIGCOMM 2005)."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Flow
from ccbench.metrics import jain_index
from tests.kernel.conftest import events, qdisc_statistics, run
from tests.kernel.explicit import BDP, MBPS, RTT_MS, link, path, queued, rates

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

T_RHO_S, XI, BETA, GAMMA = 0.2, 0.0625, 0.875, 0.98
#: The fields of ``struct tc_vcp_xstats`` up to the counts of marks.
XSTATS = ["capacity", "input_rate", "load", "code", "queue_bytes"]
CODES = ["none", "low", "high", "overload"]


def course(load: str, duration_s: float = 40, **settings: Any) -> pd.DataFrame:
    """Return a lone flow's states with this load, after its first second."""
    state = run(path(Flow(cca="vcp"), duration_s=duration_s, **settings)).cca_info(0).loc[1:]
    return state[state["load"] == load]


class TestRegions:
    @pytest.mark.parametrize("rtt_ms", [50, 100, 200])
    def test_low(self, rtt_ms: float) -> None:
        """With low load, windows of all RTTs grow by xi = 6.25 % per interval of 200 ms."""
        windows = course("low", rtt_ms=rtt_ms)["window_packets"]
        seconds = windows.index.to_numpy()
        growth = np.polyfit(seconds, np.log(windows.to_numpy()), 1)[0] * T_RHO_S
        assert math.exp(growth) - 1 == pytest.approx(XI, rel=0.15)
        assert windows.iloc[-1] > 4 * windows.iloc[0]

    @pytest.mark.parametrize("rtt_ms", [50, 100, 200])
    def test_high(self, rtt_ms: float) -> None:
        """With high load, windows grow by (rtt / t_rho)^2 packets per RTT: equal rates for all."""
        state = course("high", rtt_ms=rtt_ms)
        windows, seconds = state["window_packets"].to_numpy(), state.index.to_numpy()
        steps = np.diff(windows) / np.diff(seconds)
        per_rtt = float(np.median(steps[steps > 0])) * rtt_ms / 1e3
        assert per_rtt == pytest.approx((rtt_ms / 1e3 / T_RHO_S) ** 2, rel=0.15)

    def test_overload(self) -> None:
        """An overload multiplies the window by 0.875, once in t_rho, which is then frozen."""
        result = run(path(Flow(cca="vcp"), duration_s=60, sample_interval_ms=10))
        state = result.cca_info(0).loc[15:]
        ratios = state["window_packets"] / state["window_packets"].shift()
        cuts = ratios[ratios < 0.95]
        assert len(cuts) > 2
        assert cuts.to_numpy() == pytest.approx(BETA, abs=0.02)
        assert (np.diff(cuts.index) > T_RHO_S).all()
        for cut_s in cuts.index:
            frozen = state["window_packets"].loc[cut_s : cut_s + T_RHO_S - 0.03]
            assert frozen.max() - frozen.min() < 0.5

    def test_thresholds(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """The code changes at four fifths of the load, and at the target of 98 % of the link."""
        for offered, code in ((0.7, "low"), (0.85, "high"), (0.95, "high"), (1.05, "overload")):
            constant = Flow(kind="cbr", rate_mbps=offered * GAMMA * MBPS)
            scenario = path(constant, link("vcp"), duration_s=3)
            (data,) = qdisc_statistics(monkeypatch, engine, scenario)
            state = dict(zip(XSTATS, struct.unpack_from("=2Q3I", data), strict=True))
            assert CODES[state["code"]] == code
            assert state["load"] / 2**16 >= 0.98 * offered
            assert state["capacity"] == pytest.approx(MBPS * 1e6 / 8, rel=0.01)


class TestClaims:
    def test_efficiency(self) -> None:
        """Flows use the link but for the amplitude of their cycle, with a short queue, no drops."""
        result = run(path(Flow(cca="vcp", count=5), duration_s=60))
        # Between beta and 1 times the target, but for the interval of the measurement.
        assert (1 + BETA) / 2 * GAMMA * MBPS * 0.95 < sum(rates(result)) <= MBPS
        assert queued(result) < 0.05 * BDP
        assert len(events(result, "drop")) == 0

    def test_fairness(self) -> None:
        """Flows that start at different times converge, though more slowly than with XCP."""
        flows = tuple(Flow(cca="vcp", start_s=5.0 * i) for i in range(3))
        result = run(path(*flows, duration_s=200))
        early = result.throughput(0.5).loc[11:15].mean().to_numpy()
        assert jain_index(early) < 0.95
        assert jain_index(rates(result, 150)) > 0.99

    def test_round_trip_times(self) -> None:
        """Flows with RTTs of 100 to 200 ms have nearly equal shares after a while."""
        flows = tuple(Flow(cca="vcp", extra_rtt_ms=50 * i) for i in range(3))
        result = run(path(*flows, duration_s=200))
        assert jain_index(rates(result, 100)) > 0.98

    def test_marks(self) -> None:
        """Routers raise the code that the sender sets, and only overload is a mark of CE."""
        result = run(path(Flow(cca="vcp"), duration_s=40))
        marks = events(result, "mark")["time_ns"]
        state = result.cca_info(0)
        first_s = float(state.index[state["load"] == "overload"][0])
        assert float(marks.min()) / 1e9 == pytest.approx(first_s, abs=2 * RTT_MS / 1e3)

    def test_parameters(self) -> None:
        """The gain kappa of the sender sets its growth: xi is a quarter of it."""
        parameters = {"tcp_vcp.kappa_permille": "500"}
        windows = course("low", module_parameters=parameters)["window_packets"]
        growth = np.polyfit(windows.index.to_numpy(), np.log(windows.to_numpy()), 1)[0] * T_RHO_S
        assert math.exp(growth) - 1 == pytest.approx(2 * XI, rel=0.15)
