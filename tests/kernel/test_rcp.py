# SPDX-License-Identifier: Apache-2.0
"""RCP behaves as its papers state (Dukkipati and others, IWQoS 2005; Dukkipati, thesis, 2007)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench import Change, Flow
from ccbench.metrics import jain_index
from ccbench.studies.abc.links import two_rates
from tests.kernel.conftest import events, qdisc_statistics, run
from tests.kernel.explicit import MBPS, RTT_MS, link, path, queued, rates

if TYPE_CHECKING:
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

ETA = 0.95
#: The fields of ``struct tc_rcp_xstats``.
XSTATS = ["capacity", "input_rate", "flow_rate", "rtt_us", "answered", "others", "updates"]


class TestShare:
    @pytest.mark.parametrize("count", [1, 2, 5, 12])
    def test_rate(self, count: int) -> None:
        """In equilibrium, flows use the offered rate, the share eta C / N, and no packet waits."""
        result = run(path(Flow(cca="rcp", count=count)))
        offered = result.cca_info(0)["rate_mbps"].loc[10:]
        assert offered.mean() == pytest.approx(ETA * MBPS / count, rel=0.02)
        assert rates(result) == pytest.approx([ETA * MBPS / count] * count, rel=0.02)
        assert queued(result) < 3

    def test_round_trip_times(self) -> None:
        """Flows whose RTTs differ by up to four times have equal shares."""
        flows = tuple(Flow(cca="rcp", extra_rtt_ms=100 * i) for i in range(4))
        result = run(path(*flows, duration_s=40))
        assert jain_index(rates(result)) > 0.999

    def test_late_flow(self) -> None:
        """A flow gets its share in its second round trip; both have it after twenty."""
        result = run(path(Flow(cca="rcp"), Flow(cca="rcp", start_s=5), duration_s=10))
        per_rtt = result.throughput(RTT_MS / 1e3)
        first = per_rtt[1].loc[5.2:5.6].to_numpy()
        assert first.max() > 0.8 * ETA * MBPS / 2
        late = per_rtt.loc[7.2:].mean().to_numpy()
        assert late == pytest.approx([ETA * MBPS / 2] * 2, rel=0.03)

    def test_recurrence(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """After eta C has grown by a quarter, R approaches it by alpha of the rest per RTT."""
        faster = Change(at_s=10, bandwidth_mbps=1.25 * MBPS)
        result = run(path(Flow(cca="rcp", count=4), duration_s=15, changes=(faster,)))
        total = result.throughput(RTT_MS / 1e3).sum(axis="columns").loc[9.9:]
        rest = 1 - total.to_numpy() / (1.25 * ETA * MBPS)
        # R' = alpha (eta C - y(t - d)) R / (eta C d), with the feedback of an RTT.
        steps, course = 100, [0.2] * 100
        while course[-1] > 0.2 / 4:
            course.append(course[-1] - 0.5 / steps * course[-steps] * (1 - course[-1]))
        expected = len(course) / steps - 1
        measured = int(np.argmax(rest < 0.2 / 4))
        # C is known after an RTT, and effective after another one.
        assert expected < measured < expected + 4
        (data,) = qdisc_statistics(monkeypatch, engine, result.scenario)
        state = dict(zip(XSTATS, struct.unpack("=3Q4I", data), strict=True))
        assert state["capacity"] == pytest.approx(1.25 * MBPS * 1e6 / 8, rel=0.01)
        assert state["flow_rate"] == pytest.approx(ETA * state["capacity"] / 4, rel=0.03)
        assert state["input_rate"] == pytest.approx(ETA * state["capacity"], rel=0.1)
        assert state["rtt_us"] == pytest.approx(RTT_MS * 1e3, rel=0.1)
        assert state["answered"] > 100 * state["others"]


class TestCompletion:
    def test_short_flows(self) -> None:
        """Short flows next to a long one end as with processor sharing, and Reno's much later."""
        times = {}
        for cca, router in (("rcp", link("rcp")), ("reno", link("droptail"))):
            short = tuple(
                Flow(cca=cca, kind="bytes", size_bytes=300_000, start_s=5 + 3.0 * i)
                for i in range(4)
            )
            result = run(path(Flow(cca=cca), *short, router))
            ended = result.completions.iloc[1:]
            times[cca] = (ended["end_ns"] - ended["start_ns"]).to_numpy() / 1e9
        # At half of the link, after the round trips of the handshake and of the first window.
        shared_s = 300_000 * 8 / (ETA * MBPS / 2 * 1e6) + 2.5 * RTT_MS / 1e3
        assert times["rcp"] == pytest.approx([shared_s] * 4, rel=0.25)
        assert times["reno"].mean() > 2 * times["rcp"].mean()


class TestWireless:
    def test_alternating_link(self) -> None:
        """On a link of 12 and 24 Mbit/s in turn, RCP reduces its rate by too much (ABC, F)."""
        used = {
            scheme: run(path(Flow(cca=scheme), link(scheme, two_rates()))).utilisation()
            for scheme in ("rcp", "abc")
        }
        assert used["rcp"] < 0.8 * used["abc"]

    def test_smaller_capacity(self) -> None:
        """A link that becomes four times slower has an empty queue again after 5 s."""
        slower = Change(at_s=10, bandwidth_mbps=MBPS / 4)
        result = run(path(Flow(cca="rcp"), duration_s=25, changes=(slower,)))
        assert float(result.occupancy(0.005).loc[15:].mean()) < 10
        assert rates(result, 15)[0] == pytest.approx(ETA * MBPS / 4, rel=0.05)
        assert len(events(result, "drop")) == 0
