# SPDX-License-Identifier: Apache-2.0
"""ABC behaves as its paper states (Goyal et al., NSDI 2020)."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, Scenario, Trace
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot import inputs as inputs_module
from ccbench.emulate.kernel.boot import plan as plan_module
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.experiment.qdiscs import QueuedLink
from ccbench.experiment.wifi import Wifi
from ccbench.metrics import jain_index
from ccbench.studies.abc.abc_13 import poisson_arrivals
from tests.documentation import DOCS
from tests.kernel.conftest import events, qdisc_statistics, read_back, run
from tests.scenarios import flat

if TYPE_CHECKING:
    from ccbench import Run
    from ccbench.emulate.kernel.engine import KernelEngine

pytestmark = pytest.mark.kernel

ETA = 0.98
DELTA_S = 0.133
D_T_S = 0.020
RTT_S = 0.1
NO_INCREASE = (("net.ipv4.tcp_abc_increase", "0"),)

#: The fields of ``struct tc_abc_xstats``.
RATES = ("link_rate", "target_rate", "current_rate", "abc_bytes", "other_bytes")
COUNTS = ("accelerates", "brakes", "braked_before", "congested_before", "others")
STATES = ("fraction", "token", "delay_us", "abc_packets", "other_packets", "weight", "pad")
XSTATS = (*RATES, *COUNTS, *STATES)


def link(rate: float | Trace = 24, *, qdisc: str = "abc", **options: float | str) -> Bottleneck:
    """Return a bottleneck at this rate in Mbit/s, or with a trace, with the paper's buffer."""
    return Bottleneck(
        bandwidth_mbps=None if isinstance(rate, Trace) else rate,
        trace=rate if isinstance(rate, Trace) else None,
        queue_packets=250,
        qdisc=qdisc,
        qdisc_options=tuple(options.items()),
    )


def path(
    *flows: Flow, links: tuple[Bottleneck, ...] = (), duration_s: float = 30, **settings: Any
) -> Scenario:
    """Return a scenario with the paper's round-trip time."""
    return flat(
        flows=flows or (Flow(cca="abc"),),
        bottlenecks=links or (link(),),
        rtt_ms=RTT_S * 1e3,
        duration_s=duration_s,
        **settings,
    )


def steps(*mbps_and_ms: tuple[int, int]) -> Trace:
    """Return a trace of rates in Mbit/s, each for its number of ms."""
    times, base = [], 0
    for mbps, ms in mbps_and_ms:
        times += [base + int((i + 1) * 12 / mbps) for i in range(ms * mbps // 12)]
        base += ms
    return Trace(name="steps", opportunities_ms=tuple(times))


def departed(result: Run, from_s: float, to_s: float, bottleneck: int = 0) -> float:
    """Return the rate at which packets left in an interval, in Mbit/s."""
    rows = events(result, "dequeue", bottleneck)
    inside = rows["time_ns"].between(from_s * 1e9, to_s * 1e9, inclusive="left")
    return float(rows.loc[inside, "bytes"].sum()) * 8e-6 / (to_s - from_s)


def delays_s(result: Run, from_s: float = 0, flows: tuple[int, ...] | None = None) -> Any:
    """Return each packet's waiting time in queues that drop none and keep flows in order."""
    waited = []
    for flow in flows or range(result.scenario.flow_count):
        came, left = (
            rows.loc[rows["flow"] == flow, "time_ns"].to_numpy()
            for rows in (events(result, "enqueue"), events(result, "dequeue"))
        )
        delay = (left - came[: len(left)]) / 1e9
        waited.append(delay[left >= from_s * 1e9])
    return np.concatenate(waited)


def fifo_delays_s(result: Run) -> Any:
    """Return the waiting times of packets that left a queue that may have dropped some."""
    rows = result.queue
    came = rows.loc[rows["event"] == "enqueue", "time_ns"].to_numpy()
    # Of the packets that arrived, CoDel drops the first.
    left = rows[rows["event"].isin(["dequeue", "drop"])]
    waited = (left["time_ns"].to_numpy() - came[: len(left)]) / 1e9
    return waited[left["event"] == "dequeue"]


def xstats_of(data: bytes) -> dict[str, int]:
    """Return the fields of ``struct tc_abc_xstats``."""
    values = struct.unpack(f"={len(RATES)}Q{len(COUNTS) + len(STATES)}I", data)
    return dict(zip(XSTATS, values, strict=True))


def statistics(
    monkeypatch: pytest.MonkeyPatch, engine: KernelEngine, scenario: Scenario
) -> list[dict[str, int]]:
    """Run a scenario; return the final statistics of its qdiscs as reported by the kernel."""
    return [xstats_of(data) for data in qdisc_statistics(monkeypatch, engine, scenario)]


class TestOneLink:
    def test_utilisation(self) -> None:
        """A lone flow uses eta of a link plus its packet per RTT, and leaves the queue empty."""
        result = run(path())
        used = departed(result, 5, 30) / 24
        packets_per_s = 24e6 / (8 * 1500)
        assert used == pytest.approx(ETA + 1 / RTT_S / packets_per_s, abs=0.003)
        assert np.mean(delays_s(result, 5)) < D_T_S / 5

    def test_queue_of_many_flows(self) -> None:
        """Many flows' additive increase keeps a queue of A delta + d_t (appendix C)."""
        count, packets_per_s = 24, 24e6 / (8 * 1500)
        result = run(path(Flow(cca="abc", count=count), duration_s=40))
        delay_s = D_T_S
        for _ in range(50):  # one packet per flow and RTT, which includes the queue
            surplus = ETA - 1 + count / (packets_per_s * (RTT_S + delay_s))
            delay_s += (surplus * DELTA_S + D_T_S - delay_s) / 2
        # Little's law, as the beginning may have had drops.
        waited_s = result.occupancy().loc[20:].mean() / packets_per_s
        assert waited_s == pytest.approx(delay_s, rel=0.05)
        assert departed(result, 20, 40) == pytest.approx(24, rel=0.001)

    @pytest.mark.parametrize(("before", "after"), [(12, 24), (24, 12)])
    def test_rate_changes(self, before: int, after: int) -> None:
        """After the rate doubles or halves, arrivals match it one RTT, and a window, later."""
        trace = steps((before, 6000), (after, 6000))
        result = run(path(links=(link(trace),), duration_s=12))
        rows = events(result, "enqueue")
        from_s = 6 + RTT_S + 0.04 + 0.02
        # A link that has become slower is still busy with its queue, which ABC drains.
        to_s = from_s + (0.1 if after > before else 0.3)
        inside = rows["time_ns"].between(from_s * 1e9, to_s * 1e9)
        rate = rows.loc[inside, "bytes"].sum() * 8e-6 / (to_s - from_s)
        if after > before:
            assert rate > 0.85 * after
        else:
            assert rate < after
        # The new state is the usual steady state.
        assert departed(result, 8, 12) > 0.96 * after
        assert np.mean(delays_s(result, 8)) < D_T_S

    def test_cap(self) -> None:
        """The window that is not in use is at most twice the packets in flight (section 4.1)."""
        flows = run(path()).flows
        late = flows[flows["time_ns"] > 3e9]
        assert (late["ssthresh_packets"] <= 2 * late["inflight_packets"] + 4).all()
        assert (late["ssthresh_packets"] >= 1.5 * late["cwnd_packets"]).all()

    def test_fraction(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """In the steady state, half of the capacity left by eta is accelerated (equation 2)."""
        (xstats,) = statistics(monkeypatch, engine, path(duration_s=10))
        assert xstats["link_rate"] == 24e6 / 8
        assert xstats["target_rate"] == pytest.approx(ETA * 24e6 / 8, rel=1e-4)
        expected = 2**16 * xstats["target_rate"] / xstats["current_rate"] / 2
        assert xstats["fraction"] == pytest.approx(expected, rel=1e-3)
        assert xstats["fraction"] / 2**16 == pytest.approx(0.5, abs=0.02)

    def test_conservation(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """Every packet that left has one mark, and every brake was made here."""
        scenario = path(Flow(cca="abc", count=4), duration_s=8)
        (xstats,) = statistics(monkeypatch, engine, scenario)
        result = run(scenario)
        left = events(result, "dequeue")
        made = events(result, "mark")
        marks = sum(xstats[name] for name in ("accelerates", "brakes", "braked_before", "others"))
        # After the end, the guest continues for a moment and empties the queue.
        later = len(events(result, "enqueue")) - len(left) + 5
        assert len(left) <= marks <= len(left) + later
        assert len(made) <= xstats["brakes"] <= len(made) + later
        assert xstats["braked_before"] == 0
        assert 0 <= xstats["abc_bytes"] - left["bytes"].sum() <= 1500 * later

    def test_estimated_rate(self) -> None:
        """Without a given rate, the router's estimate equals it."""
        estimating = replace(link(), qdisc_options=(("rate", "estimated"),))
        given, estimated = (
            run(path(Flow(cca="abc", count=3), links=(router,), duration_s=20))
            for router in (link(), estimating)
        )
        assert departed(estimated, 5, 20) == pytest.approx(departed(given, 5, 20), rel=0.02)
        assert np.mean(delays_s(estimated, 5)) < 2 * D_T_S

    def test_given_rate(self) -> None:
        """A given rate below the link's is used."""
        result = run(path(links=(link(rate_mbps=12),), duration_s=15))
        # Without a queue, bursts stay bursts, and the first packets after a gap are accelerated.
        assert departed(result, 5, 15) == pytest.approx(12 * ETA, rel=0.1)


class TestVaryingLink:
    TRACE = Trace.from_file(Path(__file__).parents[2] / "examples" / "cellular.trace")

    def scenario(self, **options: float | str) -> Scenario:
        """Return a scenario with a link of several rates in turn."""
        router = replace(link(self.TRACE), qdisc_options=tuple(options.items()))
        return path(links=(router,), duration_s=21)

    def test_enqueue_feedback(self) -> None:
        """Marking by the arrival rate increases delays (figure 2)."""
        dequeue, enqueue = (
            delays_s(run(self.scenario(feedback=rate))) for rate in ("dequeue", "enqueue")
        )
        assert np.mean(enqueue) > 1.25 * np.mean(dequeue)
        assert np.percentile(enqueue, 95) > 1.1 * np.percentile(dequeue, 95)

    def test_future(self) -> None:
        """Knowledge of the rate one RTT ahead (PK-ABC) reduces delays at no loss of throughput."""
        present, future = run(self.scenario()), run(self.scenario(lookahead_ms=100))
        assert np.percentile(delays_s(future), 95) < 0.7 * np.percentile(delays_s(present), 95)
        assert future.utilisation() > present.utilisation() - 0.02


class TestWifi:
    @pytest.mark.parametrize("rtt_ms", [20, 40])
    def test_better_than_codel(self, rtt_ms: float) -> None:
        """On Wi-Fi of MCS 1 and 7 in turn, ABC is a quarter faster than CUBIC with CoDel (7.3)."""
        wifi = Wifi(bitrates_mbps=(13, 65), step_s=2)
        rates, waits = {}, {}
        for cca, qdisc in (("abc", "abc"), ("cubic", "codel")):
            router = Bottleneck(wifi=wifi, queue_packets=250, qdisc=qdisc)
            result = run(
                replace(
                    path(Flow(cca=cca), links=(router,)),
                    path=replace(path(Flow(cca=cca), links=(router,)).path, rtt_ms=rtt_ms),
                )
            )
            rates[qdisc] = departed(result, 2, 30)
            waits[qdisc] = np.percentile(fifo_delays_s(result), 95)
        assert rates["abc"] > 1.25 * rates["codel"]
        # Its queue is longer at most by the delay that it tolerates.
        assert waits["abc"] < waits["codel"] + D_T_S


class TestFairness:
    FLOWS = tuple(Flow(cca="abc", start_s=8.0 * i) for i in range(4))

    def test_additive_increase(self) -> None:
        """Flows that start later get equal shares (figure 3b)."""
        result = run(path(*self.FLOWS, duration_s=60))
        assert jain_index(result.throughput(1.0).loc[45:].mean().to_numpy()) > 0.95

    def test_window(self) -> None:
        """Flows are fairer if rates are measured over an RTT than over shorter windows."""
        flows = (Flow(cca="abc", count=3),)
        spread = []
        for window_ms in (40, 100):
            result = run(path(*flows, links=(link(48, window_ms=window_ms),), duration_s=100))
            rates = result.throughput(1.0)
            parts = [rates.loc[from_s : from_s + 40].mean() for from_s in (20, 60)]
            spread.append(np.mean([part.std(ddof=0) / part.mean() for part in parts]))
        # The paper's limit (figure 13), and the results of other windows.
        assert spread[1] < 0.1
        assert spread[1] < spread[0] / 2

    def test_without(self) -> None:
        """Without additive increase later flows get less (figure 3a)."""
        result = run(path(*self.FLOWS, duration_s=60, sysctls=NO_INCREASE))
        assert jain_index(result.throughput(1.0).loc[45:].mean().to_numpy()) < 0.6


class TestSeveralRouters:
    @pytest.mark.parametrize("encoding", ["proxied", "full"])
    def test_brakes_stay(
        self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine, encoding: str
    ) -> None:
        """A brake of the first router passes the second one, and the slower one decides."""
        links = (link(20, encoding=encoding), link(12, encoding=encoding))
        flow = Flow(cca="abc" if encoding == "proxied" else "abc_ns")
        for order in (links, links[::-1]):
            scenario = path(flow, links=order, duration_s=10)
            first, second = statistics(monkeypatch, engine, scenario)
            assert first["brakes"] > 0
            # A SYN arrives as a brake with the full encoding.
            own = first["brakes"] + first["braked_before"]
            assert second["braked_before"] == pytest.approx(own, abs=5)
            assert departed(run(scenario), 4, 10) == pytest.approx(12, rel=0.03)

    @pytest.mark.parametrize("cca", ["abc", "abc_ns"])
    def test_reaction_to_drops(self, cca: str) -> None:
        """If a drop-tail queue is the bottleneck, the sender shares it as CUBIC does."""
        encoding = "proxied" if cca == "abc" else "full"
        links = (link(24, encoding=encoding), replace(link(12, qdisc="droptail"), queue_packets=60))
        flows = (Flow(cca=cca), Flow(cca="cubic"))
        result = run(path(*flows, links=links, duration_s=60))
        assert result.completions["retransmits"].min() > 0
        share = result.throughput(1.0).loc[15:].mean()
        assert departed(result, 15, 60, bottleneck=1) > 0.93 * 12
        assert 0.4 < share[0] / share[1] < 2.5

    def test_legacy_ecn(self) -> None:
        """With the full encoding, congestion marks of another router replace its drops."""
        marking = link(12, qdisc="codel", ecn=True)
        scenario = path(Flow(cca="abc_ns"), links=(link(24, encoding="full"), marking))
        result = run(scenario)
        assert len(events(result, "mark", 1)) > 3
        assert result.completions["retransmits"].sum() == 0
        assert 0.6 * 12 < departed(result, 5, 30, bottleneck=1) < 12.01
        delay = events(result, "dequeue", 1)["backlog_packets"]
        assert delay.mean() < 60


class TestEncodings:
    def test_alike(self) -> None:
        """Both encodings carry the same feedback, and flows react equally."""
        trace = TestVaryingLink.TRACE
        proxied = run(path(links=(link(trace),), duration_s=21))
        full = run(path(Flow(cca="abc_ns"), links=(link(trace, encoding="full"),), duration_s=21))
        assert full.utilisation() == pytest.approx(proxied.utilisation(), rel=0.01)
        assert np.mean(delays_s(full)) == pytest.approx(np.mean(delays_s(proxied)), rel=0.05)

    def test_marks_differ(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """Brakes are congestion marks in one encoding, and none in the other."""
        full = path(Flow(cca="abc_ns"), links=(link(encoding="full"),), duration_s=5)
        assert len(events(run(path(duration_s=5)), "mark")) > 1000
        assert len(events(run(full), "mark")) == 0
        (xstats,) = statistics(monkeypatch, engine, full)
        assert xstats["brakes"] > 1000
        assert xstats["congested_before"] == 0

    @pytest.mark.parametrize(("cca", "encoding"), [("abc", "full"), ("abc_ns", "proxied")])
    def test_mixed(self, engine: KernelEngine, cca: str, encoding: str) -> None:
        """A flow that would misunderstand a router is bad input."""
        scenario = path(Flow(cca=cca), links=(link(encoding=encoding),))
        with pytest.raises(
            InputError,
            match=rf"^bottlenecks\[0\]\.qdisc_options\.encoding is '{encoding}'; .*{cca}",
        ):
            engine.check(scenario)

    def test_no_router(self) -> None:
        """Without an ABC router there are no brakes, and the sender behaves like CUBIC."""
        results = {
            cca: run(path(Flow(cca=cca), links=(link(12, qdisc="droptail"),), duration_s=60))
            for cca in ("abc", "abc_ns", "cubic")
        }
        filled = {cca: result.occupancy().loc[20:].mean() for cca, result in results.items()}
        for cca in ("abc", "abc_ns"):
            assert filled[cca] == pytest.approx(filled["cubic"], rel=0.25)
            assert 0 < results[cca].completions["retransmits"].sum()


class TestPackets:
    def test_application_limited(self) -> None:
        """Small writes of an application are counted by the byte."""
        result = run(path(Flow(cca="abc", kind="rate", rate_mbps=2), duration_s=10))
        assert departed(result, 2, 10) == pytest.approx(2.07, rel=0.02)
        assert np.max(delays_s(result, 2)) < 0.005

    def test_segmentation(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """A host's own qdisc segments super-packets, and marks each segment."""
        host = rtnetlink.set_qdisc(
            2, engine.kernel.queue("abc"), QueuedLink(1000, 24), {"rate_mbps": 12}
        )
        plan = plan_module.plan
        step = f"netlink host-qdisc {host.hex()}\nnetns\n"

        def with_qdisc(*arguments: Any) -> str:
            # The last change of namespace ends the sender's.
            return step.join(plan(*arguments).rsplit("netns\n", 1))

        monkeypatch.setattr(inputs_module, "plan", with_qdisc)
        result = engine.run(path(links=(link(qdisc="droptail"),), duration_s=15))
        assert result.completions["retransmits"].sum() == 0
        # The device is infinitely fast: all traffic is bursts, whose first packets are accelerated.
        assert 12 * ETA < departed(result, 5, 15) < 15


class TestTwoQueues:
    def test_fair(self) -> None:
        """Long flows of ABC and CUBIC share equally, and only CUBIC's wait (section 4.3)."""
        flows = (Flow(cca="abc", count=4), Flow(cca="cubic", count=2))
        result = run(path(*flows, links=(link(48, two_queues=True),), duration_s=50))
        rates = result.throughput(1.0).loc[20:].mean()
        assert rates[:4].mean() == pytest.approx(rates[4:].mean(), rel=0.15)
        waited = [np.median(delays_s(result, 20, flows=(flow,))) for flow in (0, 1, 2, 3)]
        assert max(waited) < 2 * D_T_S
        assert departed(result, 20, 50) > 0.97 * 48

    @pytest.mark.parametrize(("abc", "cubic"), [(4, 4), (2, 6)])
    def test_flow_counts(
        self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine, abc: int, cubic: int
    ) -> None:
        """By numbers of flows, the weight of ABC's queue is its part of all long flows."""
        flows = (Flow(cca="abc", count=abc), Flow(cca="cubic", count=cubic))
        router = link(48, two_queues=True, weights="flow_counts")
        (xstats,) = statistics(monkeypatch, engine, path(*flows, links=(router,)))
        assert xstats["weight"] / 2**16 == pytest.approx(abc / (abc + cubic), abs=0.12)

    def test_short_flows(self) -> None:
        """Numbers of flows favour the queue with short flows, whose long flows get more (7.5)."""
        arrivals = poisson_arrivals(50, 1, 40)
        short = Flow(kind="bytes", cca="cubic", arrivals=arrivals, label="short")
        ratios = {}
        for weights in ("max_min", "flow_counts"):
            flows = (Flow(cca="abc", count=3), Flow(cca="cubic", count=3), short)
            router = replace(
                link(96, two_queues=True, weights=weights, window_ms=20), queue_packets=800
            )
            result = run(replace(path(*flows, links=(router,), duration_s=40), queue_log=False))
            mbps = result.summary()["throughput_mbps"].to_numpy()
            ratios[weights] = mbps[3:6].mean() / mbps[:3].mean()
        assert ratios["max_min"] == pytest.approx(1, abs=0.25)
        assert ratios["flow_counts"] > 2.5

    def test_alone(self) -> None:
        """A single kind of flow gets the whole link."""
        for cca in ("abc", "cubic"):
            flows = (Flow(cca=cca, count=2),)
            result = run(path(*flows, links=(link(12, two_queues=True),), duration_s=20))
            assert departed(result, 5, 20) > 0.97 * 12


class TestOptions:
    OPTIONS: ClassVar[dict[str, float | str]] = {
        "eta": 0.9,
        "delta_ms": 200,
        "d_t_ms": 30,
        "window_ms": 50,
        "token_limit": 8,
        "rate_mbps": 17,
        "rate": "estimated",
        "encoding": "full",
        "feedback": "enqueue",
        "lookahead_ms": 60,
        "two_queues": 1,
        "largest_flows": 20,
        "headroom": 0.2,
        "weight_interval_ms": 300,
        "weights": "flow_counts",
    }

    def test_every_option(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """Each option, read back from the kernel, has the value that was set."""
        table = engine.kernel.queue("abc").options
        assert set(self.OPTIONS) == set(table)
        actual = read_back(engine, monkeypatch, "abc", self.OPTIONS)
        for name, value in self.OPTIONS.items():
            (got,) = struct.unpack("=I", actual[table[name].attribute])
            assert got == table[name].scaled(name, value), name

    def test_defaults(self, monkeypatch: pytest.MonkeyPatch, engine: KernelEngine) -> None:
        """Defaults of the description are those of the module and of the page."""
        table = engine.kernel.queue("abc").options
        actual = read_back(engine, monkeypatch, "abc", {})
        page = (DOCS / "abc.md").read_text(encoding="utf-8")
        shown = dict(re.findall(r"^\| `(\w+)` \| (\S*?) ?\|", page, re.MULTILINE))
        for name, option in table.items():
            if option.default is None:
                assert shown[name] == ""
                continue
            default = shown[name].strip('`"').replace("false", "0")
            assert default == str(option.default)
            (got,) = struct.unpack("=I", actual[option.attribute])
            assert got == pytest.approx(option.scaled(name, option.default), abs=1), name

    @pytest.mark.parametrize(
        ("name", "value", "allowed"),
        [
            ("eta", 1.2, "at most 1"),
            ("eta", 0, "at least"),
            ("token_limit", 1, "at least 2"),
            ("window_ms", 0, "at least 1"),
            ("encoding", "ns", "'proxied' or 'full'"),
            ("rate", 24, "'known' or 'estimated'"),
            ("largest_flows", 65, "at most 64"),
            ("largest_flows", 2.5, "a whole number"),
            ("two_queues", 2, "at most 1"),
            ("delta_ms", "long", "a number"),
            ("beta", 1, "takes eta"),
        ],
    )
    def test_bad(self, engine: KernelEngine, name: str, value: float | str, allowed: str) -> None:
        """An invalid value is an error that names it and the valid ones."""
        scenario = path(links=(replace(link(), qdisc_options=((name, value),)),))
        with pytest.raises(InputError, match=f"qdisc_options.{name}.*{allowed}"):
            engine.check(scenario)
