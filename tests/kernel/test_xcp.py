# SPDX-License-Identifier: Apache-2.0
"""XCP behaves as its paper states (Katabi, Handley and Rohrs, SIGCOMM 2002), and XCPw as ABC's."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Change, Flow, Scenario, Trace
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot import inputs as inputs_module
from ccbench.emulate.kernel.boot import plan as plan_module
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.experiment.qdiscs import QueuedLink
from ccbench.metrics import jain_index
from ccbench.studies.abc.links import two_rates
from tests.documentation import DOCS
from tests.kernel.conftest import events, qdisc_statistics, read_back, run
from tests.scenarios import flat

if TYPE_CHECKING:
    from ccbench import Run
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

MBPS, RTT_MS = 24, 100
#: Packets in flight that fill the path.
BDP = MBPS * 1e3 * RTT_MS / 8 / 1500
UPDATES = ("interval", "packet")
OPTIONS: dict[str, float | str] = {
    "alpha": 0.55,
    "beta": 0.4,
    "gamma": 0.2,
    "update": "packet",
    "rate_mbps": 17,
}
#: The fields of ``struct tc_xcp_xstats``.
XSTATS = [
    "capacity",
    "input_rate",
    "feedback",
    "positive",
    "negative",
    "rtt_us",
    "queue_bytes",
    "answered",
    "others",
]


def link(rate: float | Trace = MBPS, *, qdisc: str = "xcp", **options: float | str) -> Bottleneck:
    """Return a bottleneck at this rate in Mbit/s, or with a trace."""
    return Bottleneck(
        bandwidth_mbps=None if isinstance(rate, Trace) else rate,
        trace=rate if isinstance(rate, Trace) else None,
        queue_packets=500,
        qdisc=qdisc,
        qdisc_options=tuple(options.items()),
    )


def path(
    *flows: Flow, links: tuple[Bottleneck, ...] = (), duration_s: float = 20, **settings: Any
) -> Scenario:
    """Return a scenario with one XCP router, or with these links."""
    return flat(
        flows=flows or (Flow(cca="xcp"),),
        bottlenecks=links or (link(),),
        duration_s=duration_s,
        **{"rtt_ms": RTT_MS, **settings},
    )


def rates(result: Run, from_s: float | None = None) -> list[float]:
    """Return the flows' mean throughputs in Mbit/s, by default in the second half of a run."""
    start = result.scenario.duration_s / 2 if from_s is None else from_s
    return [float(rate) for rate in result.throughput(0.5).loc[start:].mean()]


def queued(result: Run) -> float:
    """Return the mean number of waiting packets in the second half of a run."""
    return float(result.occupancy(0.005).loc[result.scenario.duration_s / 2 :].mean())


class TestEfficiency:
    @pytest.mark.parametrize("update", UPDATES)
    @pytest.mark.parametrize(("mbps", "rtt_ms", "count"), [(12, 40, 1), (24, 100, 5), (100, 40, 2)])
    def test_full_link(self, update: str, mbps: float, rtt_ms: float, count: int) -> None:
        """Flows use the link with a queue of a few percent of the BDP, and no drops (5.1)."""
        flows = Flow(cca="xcp", count=count)
        result = run(path(flows, links=(link(mbps, update=update),), rtt_ms=rtt_ms))
        assert sum(rates(result)) > 0.98 * mbps
        assert queued(result) < 0.05 * mbps * 1e3 * rtt_ms / 8 / 1500 + 2
        assert len(events(result, "drop")) == 0

    def test_starts_fast(self) -> None:
        """A new flow has nine tenths of an idle link within ten round trips, without drops."""
        result = run(path(duration_s=2))
        assert float(result.throughput(0.1)[0].loc[10 * RTT_MS / 1e3 :].mean()) > 0.9 * MBPS
        assert len(events(result, "drop")) == 0

    @pytest.mark.parametrize("alpha", [0.2, 0.4])
    def test_spare_capacity(self, alpha: float) -> None:
        """Spare capacity s follows s' = -alpha s(t - d) / d (4), after an RTT and an interval."""
        faster = Change(at_s=10, bandwidth_mbps=4 * MBPS)
        flows = Flow(cca="xcp", count=4)
        result = run(path(flows, links=(link(alpha=alpha),), duration_s=15, changes=(faster,)))
        rows = events(result, "enqueue")
        since_rtts = (rows["time_ns"].to_numpy() / 1e9 - 10) / (RTT_MS / 1e3)
        bins = np.arange(0, 15)
        sent = np.histogram(since_rtts, bins, weights=rows["bytes"].to_numpy(float))[0]
        spare = 1 - sent * 8e-3 / RTT_MS / (4 * MBPS)
        assert spare[0] == pytest.approx(0.75, abs=0.05)
        measured = int(np.argmax(spare < 0.75 / 2))

        steps = 100  # per RTT
        course = [0.75] * steps
        while course[-1] > 0.75 / 2:
            course.append(course[-1] - alpha / steps * course[-steps])
        expected = len(course) / steps - 1
        # The grant of an interval is known at its end, and effective a RTT later.
        assert expected + 0.5 < measured < expected + 3

    @pytest.mark.parametrize("update", UPDATES)
    def test_smaller_capacity(self, update: str) -> None:
        """A link that becomes four times slower has its usual queue again after 2 s."""
        slower = Change(at_s=10, bandwidth_mbps=MBPS / 4)
        result = run(path(links=(link(update=update),), changes=(slower,)))
        assert float(result.occupancy(0.005).loc[12:].mean()) < 10
        assert rates(result, 12)[0] > 0.95 * MBPS / 4


class TestFairness:
    STAGGERED = tuple(Flow(cca="xcp", start_s=2.0 * i) for i in range(4))

    @pytest.mark.parametrize("update", UPDATES)
    def test_late_flows(self, update: str) -> None:
        """Flows that start later have equal shares after some ten round trips (5.3)."""
        result = run(path(*self.STAGGERED, links=(link(update=update),)))
        assert jain_index(rates(result, 9)) > 0.99

    def test_without_shuffling(self) -> None:
        """Without shuffled traffic, a full link has nothing to give to a flow that starts later."""
        result = run(path(*self.STAGGERED, links=(link(gamma=0),)))
        assert jain_index(rates(result, 9)) < 0.7

    @pytest.mark.parametrize("update", UPDATES)
    def test_round_trip_times(self, update: str) -> None:
        """Flows whose RTTs differ by up to four times have equal shares (5.3)."""
        flows = tuple(Flow(cca="xcp", extra_rtt_ms=100 * i) for i in range(4))
        result = run(path(*flows, links=(link(update=update),), duration_s=60))
        assert jain_index(rates(result)) > 0.99


class TestRouters:
    @pytest.mark.parametrize("slow", [0, 1])
    def test_slowest_decides(self, slow: int) -> None:
        """The router with the least capacity controls the rate, wherever it is."""
        links = tuple(link(12 if i == slow else MBPS) for i in range(2))
        result = run(path(links=links))
        assert 0.98 * 12 < rates(result)[0] <= 12
        for i in range(2):
            assert float(result.occupancy(0.005, bottleneck=i).loc[10:].mean()) < 10

    def test_statistics(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """In equilibrium, the router's input is its capacity, and it only shuffles traffic."""
        (data,) = qdisc_statistics(monkeypatch, engine, path(duration_s=10))
        state = dict(zip(XSTATS, struct.unpack("=2Qq2Q4I", data), strict=True))
        assert state["capacity"] == pytest.approx(MBPS * 1e6 / 8, rel=0.01)
        assert state["input_rate"] == pytest.approx(state["capacity"], rel=0.03)
        assert abs(state["feedback"]) < 0.03 * state["capacity"]
        assert state["positive"] - state["negative"] == state["feedback"]
        assert state["rtt_us"] == pytest.approx(RTT_MS * 1e3, rel=0.1)
        assert state["answered"] > 100 * state["others"]

    def test_no_router(self) -> None:
        """Without a router that answers, a flow is Reno."""
        lossy = Bottleneck(bandwidth_mbps=MBPS, queue_packets=500, loss=0.001)
        xcp, reno = (
            run(path(Flow(cca=cca), links=(lossy,), duration_s=60)) for cca in ("xcp", "reno")
        )
        assert rates(xcp, 5)[0] == pytest.approx(rates(reno, 5)[0], rel=0.15)
        assert not xcp.cca_info(0)["answered"].any()

    def test_losses(self) -> None:
        """Random losses halve the window, and the router fills the link again within RTTs."""
        result = run(path(links=(replace(link(), loss=0.001),), duration_s=60))
        # A loss per 5 RTTs of 200 packets; Reno has a third of that.
        assert 0.6 * MBPS < rates(result, 5)[0] < 0.95 * MBPS

    def test_given_rate(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """A host's own qdisc with a given rate answers each segment of super-packets."""
        host = rtnetlink.set_qdisc(
            2, engine.kernel.queue("xcp"), QueuedLink(1000, 24), {"rate_mbps": 12}
        )
        plan = plan_module.plan
        step = f"netlink host-qdisc {host.hex()}\nnetns\n"

        def with_qdisc(*arguments: Any) -> str:
            # The last change of namespace ends the sender's.
            return step.join(plan(*arguments).rsplit("netns\n", 1))

        monkeypatch.setattr(inputs_module, "plan", with_qdisc)
        result = engine.run(path(links=(link(qdisc="droptail"),)))
        assert rates(result)[0] == pytest.approx(12, rel=0.02)


class TestWireless:
    def test_alternating_link(self) -> None:
        """On a link of 12 and 24 Mbit/s in turn, XCPw uses much more than XCP (ABC, Figure 19)."""
        uses = [
            run(path(links=(link(two_rates(), alpha=0.55, beta=0.4, update=update),))).utilisation()
            for update in UPDATES
        ]
        assert uses[1] > 0.85
        assert uses[1] > uses[0] + 0.1


class TestFlows:
    def test_application_limited(self) -> None:
        """A flow that sends less than its share leaves the rest to the other."""
        limited = Flow(cca="xcp", kind="rate", rate_mbps=4)
        result = run(path(limited, Flow(cca="xcp"), duration_s=30))
        small, large = rates(result)
        assert small == pytest.approx(4, rel=0.1)
        assert small + large > 0.98 * MBPS

    def test_both_directions(self) -> None:
        """Data and echoes share packets when a flow sends in the direction of another's ACKs."""
        flows = (Flow(cca="xcp"), Flow(cca="xcp", direction="reverse"))
        result = run(path(*flows, reverse_bottlenecks=(link(),)))
        assert min(rates(result)) > 0.9 * MBPS

    def test_ipv6(self) -> None:
        """The option travels in packets of IPv6 as in those of IPv4."""
        result = run(path(Flow(cca="xcp", ip_version=6)))
        assert rates(result)[0] > 0.97 * MBPS
        assert result.cca_info(0)["answered"].iloc[-1] == 1

    def test_packet_size(self) -> None:
        """The option fits into packets of the path's MTU."""
        assert events(run(path(duration_s=2)), "enqueue")["bytes"].max() == 1500

    def test_state(self) -> None:
        """The reported window is that of the socket, and fills the path."""
        result = run(path())
        windows = result.cca_info(0)["window_packets"].loc[10:]
        assert windows.mean() == pytest.approx(BDP, rel=0.05)
        sampled = result.samples("cwnd_packets")[0].loc[10:]
        assert np.abs(windows.to_numpy() - sampled.to_numpy()).max() <= 1


class TestOptions:
    def test_every_option(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """Each option, read back from the kernel, has the value that was set."""
        table = engine.kernel.queue("xcp").options
        assert set(OPTIONS) == set(table)
        actual = read_back(engine, monkeypatch, "xcp", OPTIONS)
        for name, value in OPTIONS.items():
            (got,) = struct.unpack("=I", actual[table[name].attribute])
            assert got == table[name].scaled(name, value), name

    def test_defaults(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """Defaults of the description are those of the module and of the page."""
        table = engine.kernel.queue("xcp").options
        actual = read_back(engine, monkeypatch, "xcp", {})
        page = (DOCS / "explicit.md").read_text(encoding="utf-8")
        shown = dict(re.findall(r"^\| `xcp` \| `(\w+)` \| (\S*?) ?\|", page, re.MULTILINE))
        assert set(shown) == set(table)
        for name, option in table.items():
            assert shown[name].strip('`"') == (
                "" if option.default is None else str(option.default)
            )
            if option.default is not None:
                (got,) = struct.unpack("=I", actual[option.attribute])
                assert got == pytest.approx(option.scaled(name, option.default), abs=1), name

    @pytest.mark.parametrize(
        ("name", "value", "allowed"),
        [("alpha", 5, "at most 4"), ("gamma", 1.1, "at most 1"), ("update", "never", "'packet'")],
    )
    def test_bad(self, engine: KernelEngine, name: str, value: float | str, allowed: str) -> None:
        """An invalid value is an error that names it and the valid ones."""
        scenario = path(links=(replace(link(), qdisc_options=((name, value),)),))
        with pytest.raises(InputError, match=f"qdisc_options.{name}.*{allowed}"):
            engine.check(scenario)
