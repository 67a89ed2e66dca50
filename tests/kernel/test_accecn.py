# SPDX-License-Identifier: Apache-2.0
"""Accurate ECN (RFC 9768): negotiation, counters, and ABC's echo by them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Bottleneck, Flow, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.engine import KernelEngine
from tests.kernel.conftest import dumbbell, events, kernel_with, run_with
from tests.kernel.test_abc import TestVaryingLink, delays_s, departed, link, path
from tests.scenarios import changed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.kernel

ENDS = ("sender", "receiver")
#: A queue that marks often, and holds every packet.
MARKING = Bottleneck(
    bandwidth_mbps=20,
    queue_packets=5000,
    qdisc="codel",
    qdisc_options=(("ecn", True), ("ce_threshold_ms", 2)),
)
TRANSFER: dict[str, Any] = {"kind": "bytes", "size_bytes": 10_000_000}


def run(scenario: Scenario) -> Run:
    """Run a scenario on a kernel with accurate ECN."""
    return run_with("accecn", scenario)


def marking(*flows: Flow, **settings: Any) -> Scenario:
    """Return a scenario of complete transfers over a queue that marks and drops nothing."""
    senders = flows or (Flow(cca="cubic", **TRANSFER),)
    given = {"ecn": "accecn", "duration_s": 15, **settings}
    return changed(dumbbell(*senders), bottlenecks=(MARKING,), **given)


def modes(result: Run, flow: int = 0) -> tuple[str, str]:
    """Return what both ends of a flow have negotiated."""
    sender, receiver = (result.ecn[end].iloc[flow] for end in ENDS)
    return sender, receiver


class TestNegotiation:
    @pytest.mark.parametrize("cca", ["cubic", "bbr", "reno", "dctcp"])
    def test_both(self, cca: str) -> None:
        """Hosts with accurate ECN use it for every congestion control."""
        result = run(marking(Flow(cca=cca, **TRANSFER)))
        assert modes(result) == ("accecn", "accecn")
        assert result.ecn_fallbacks() == {}
        assert result.ecn[["sender_failures", "receiver_failures"]].eq(0).all(axis=None)

    @pytest.mark.parametrize(
        ("receiver_ecn", "mode", "reason"),
        [
            (True, "rfc3168", "classic ECN (RFC 3168), as its receiver lacks AccECN"),
            (False, "off", "no ECN, as its receiver lacks ECN"),
        ],
    )
    @pytest.mark.parametrize("cca", ["cubic", "dctcp"])
    def test_receiver(self, cca: str, *, receiver_ecn: bool, mode: str, reason: str) -> None:
        """A flow uses the ECN of an ordinary receiver with less of it, and the run says so."""
        result = run(marking(Flow(cca=cca, **TRANSFER), receiver_ecn=receiver_ecn))
        assert modes(result) == (mode, mode)
        assert result.ecn_fallbacks() == {0: reason}
        assert len(events(result, "mark")) > 0 if receiver_ecn else events(result, "mark").empty

    def test_sender(self) -> None:
        """A sender without accurate ECN is as the scenario states: no fallback."""
        result = run(marking(ecn=True, receiver_ecn="accecn"))
        assert modes(result) == ("rfc3168", "rfc3168")
        assert result.ecn_fallbacks() == {}

    def test_sysctl(self) -> None:
        """A sysctl of the scenario that prevents accurate ECN is no secret."""
        result = run(marking(sysctls={"net.ipv4.tcp_ecn": 1}))
        assert modes(result) == ("rfc3168", "rfc3168")
        assert "the path or a sysctl prevents AccECN" in result.ecn_fallbacks()[0]

    def test_other_flows(self) -> None:
        """UDP has no negotiation, and neither has a flow whose SYN is lost."""
        udp = Flow(kind="cbr", rate_mbps=1)
        lost = replace(MARKING, loss_every_packets=2)
        result = run(marking(udp))
        assert modes(result) == ("none", "none")
        assert result.ecn_fallbacks() == {}
        # The first packet of the flow of UDP arrives, the SYN is the second one.
        late = replace(Flow(cca="cubic", start_s=0.001), stop_s=0.5)
        result = run(
            replace(
                marking(udp, late),
                path=replace(marking(udp, late).path, bottlenecks=(lost,)),
                duration_s=0.5,
            )
        )
        assert modes(result, flow=1) == ("none", "none")

    def test_only_if_asked_for(self) -> None:
        """Other scenarios have no such table, and so no file."""
        assert run(marking(ecn=True)).ecn.empty


class TestPath:
    def test_cleared(self) -> None:
        """If a router clears ECN, hosts negotiate it in vain, and the run says so."""
        clearing = replace(MARKING, clears_ecn=True)
        result = run(replace(marking(), path=replace(marking().path, bottlenecks=(clearing,))))
        assert modes(result) == ("accecn", "accecn")
        assert "the path clears it" in result.ecn_fallbacks()[0]
        assert events(result, "mark").empty

    def test_cleared_late(self) -> None:
        """Marks of a router before the one that clears ECN do not arrive."""
        clearing = replace(MARKING, bandwidth_mbps=40, clears_ecn=True)
        result = run(
            replace(marking(), path=replace(marking().path, bottlenecks=(MARKING, clearing)))
        )
        assert len(events(result, "mark", 0)) > 0
        assert result.ecn["received_ce_packets"].item() == 0
        assert result.ecn["delivered_ce_packets"].item() == 0

    @pytest.mark.parametrize("ecn", ["accecn", "classic"])
    def test_cleared_elsewhere(self, ecn: str) -> None:
        """A cleared field is not congestion: without a queue that drops, both fill it alike."""
        clearing = replace(MARKING, clears_ecn=True)
        cleared, without = (
            run(
                replace(
                    marking(ecn=setting),
                    path=replace(marking(ecn=setting).path, bottlenecks=(router,)),
                )
            )
            for setting, router in (
                ("accecn" if ecn == "accecn" else True, clearing),
                (False, MARKING),
            )
        )
        ended_s = [result.completions["end_ns"].item() / 1e9 for result in (cleared, without)]
        # The option of accurate ECN takes 12 of 1448 bytes.
        assert ended_s[0] == pytest.approx(ended_s[1], rel=0.02)


class TestCounters:
    FLOWS = tuple(Flow(cca=cca, **TRANSFER) for cca in ("dctcp", "cubic", "bbr"))

    def complete(self) -> Run:
        """Return the run of complete transfers."""
        return run(marking(*self.FLOWS, duration_s=20))

    def test_receiver(self) -> None:
        """The receiver counts exactly the packets that the queue marked (section 3.2)."""
        result = self.complete()
        marks = events(result, "mark")["flow"].value_counts().sort_index()
        assert (result.completions["end_ns"] > 0).all()
        assert marks.min() > 5
        assert result.ecn["received_ce_packets"].tolist() == marks.tolist()

    def test_classic_receiver(self) -> None:
        """The same holds for the receiver's count with RFC 3168."""
        result = run(marking(receiver_ecn=True))
        assert result.ecn["received_ce_packets"].item() == len(events(result, "mark")) > 0

    def test_sender(self) -> None:
        """Without losses of ACKs, each covers few packets, and 3 bits tell the sender every mark.

        The counter is ambiguous only for an ACK of eight packets or more (section 3.2.2.5).
        """
        ends = self.complete().ecn
        assert ends["delivered_ce_packets"].tolist() == ends["received_ce_packets"].tolist()

    def test_sender_in_time(self) -> None:
        """During a transfer, the sender lacks at most the marks of a window of data."""
        result = run(marking(Flow(cca="dctcp"), Flow(cca="cubic"), duration_s=10))
        last = result.flows.groupby("flow")["cwnd_packets"].max()
        missing = result.ecn["received_ce_packets"].astype(int) - result.ecn["delivered_ce_packets"]
        assert missing.between(0, last).all()
        assert result.ecn["delivered_ce_packets"].min() > 5

    def test_bytes(self) -> None:
        """Every byte has one codepoint, and the option tells the sender (section 3.2.3)."""
        result = self.complete()
        ends = result.ecn
        for verb in ("received", "delivered"):
            columns = [f"{verb}_{name}_bytes" for name in ("ect1", "ect0", "ce")]
            counted = ends[columns].sum(axis="columns")
            assert counted.tolist() == result.completions["sent_bytes"].tolist()
        for name in ("ect1", "ect0", "ce"):
            assert ends[f"received_{name}_bytes"].equals(ends[f"delivered_{name}_bytes"])
        # These congestion controls send ECT(0).
        assert (ends["received_ect1_bytes"] == 0).all()
        assert (ends["received_ect0_bytes"] > 0).all()

    def test_without_option(self) -> None:
        """Without the option, the sender still has the counter of packets, but no bytes."""
        result = run(marking(sysctls={"net.ipv4.tcp_ecn_option": 0}))
        ends = result.ecn.iloc[0]
        assert ends["delivered_ce_packets"] == ends["received_ce_packets"] > 0
        assert ends["delivered_ect0_bytes"] == ends["delivered_ce_bytes"] == 0

    def test_dctcp(self) -> None:
        """DCTCP's queue is the same with an ordinary receiver, whose feedback is as accurate."""
        flow = Flow(cca="dctcp")
        queues = [
            run(marking(flow, receiver_ecn=receiver, duration_s=10)).occupancy().loc[2:].mean()
            for receiver in (None, "accecn")
        ]
        assert queues[1] == pytest.approx(queues[0], rel=0.02)


class TestAbc:
    """ABC with marks ECT(1) and ECT(0), echoed by the counters of bytes."""

    FLOW = Flow(cca="abc_accecn")

    def full(self, rate: Any = 24, **settings: Any) -> Scenario:
        """Return a scenario with a router of the full encoding."""
        return path(self.FLOW, links=(link(rate, encoding="full"),), **settings)

    def test_alike(self) -> None:
        """Accurate ECN carries the same feedback as the other echoes, and flows react equally.

        Its ACKs cover at most two packets, as do theirs. The window therefore differs at most by
        two packets, and the delay by the time that they take.
        """
        trace = TestVaryingLink.TRACE
        others = (
            path(Flow(cca="abc"), links=(link(trace),), duration_s=21),
            path(Flow(cca="abc_ns"), links=(link(trace, encoding="full"),), duration_s=21),
        )
        result = run(self.full(trace, duration_s=21))
        for other in map(run, others):
            assert result.utilisation() == pytest.approx(other.utilisation(), rel=0.01)
            two_packets_s = 2 * 1500 * 8e-6 / departed(result, 0, 21)
            assert abs(delays_s(result).mean() - delays_s(other).mean()) < two_packets_s

    def test_steady(self) -> None:
        """A lone flow uses eta of a link plus its packet per RTT, and leaves the queue empty."""
        result = run(self.full())
        assert departed(result, 5, 30) / 24 == pytest.approx(0.98 + 1 / 200, abs=0.003)
        assert np.mean(delays_s(result, 5)) < 0.004

    def test_marks(self) -> None:
        """The sender counts as many accelerated and braked packets as bytes arrive with them."""
        result = run(self.full())
        counted = result.cca_info(0).iloc[-1]
        ends = result.ecn.iloc[0]
        payload_bytes = result.completions["sent_bytes"].item() / len(events(result, "dequeue"))
        for name, codepoint in (("accelerated", "ect1"), ("braked", "ect0")):
            packets = ends[f"delivered_{codepoint}_bytes"] / payload_bytes
            assert counted[name] == pytest.approx(packets, rel=0.005)
        # The router marks about half of the packets.
        assert counted["braked"] == pytest.approx(counted["accelerated"], rel=0.1)

    def test_ordinary_receiver(self) -> None:
        """The receiver needs accurate ECN, but no module."""
        own, ordinary = run(self.full()), run(self.full(receiver_ecn="accecn"))
        assert departed(ordinary, 5, 30) == pytest.approx(departed(own, 5, 30), rel=0.003)
        assert ordinary.ecn_fallbacks() == {}

    def test_legacy_ecn(self) -> None:
        """Congestion marks of another router replace its drops."""
        router = link(12, qdisc="codel", ecn=True)
        result = run(path(self.FLOW, links=(link(24, encoding="full"), router)))
        assert len(events(result, "mark", 1)) > 3
        assert result.completions["retransmits"].sum() == 0
        assert 0.6 * 12 < departed(result, 5, 30, bottleneck=1) < 12.01
        assert events(result, "dequeue", 1)["backlog_packets"].mean() < 60

    @pytest.mark.parametrize(
        ("receiver_ecn", "receiver", "lacking"),
        [(True, "rfc3168", "AccECN"), (False, "off", "ECN")],
    )
    def test_no_accurate_ecn(self, *, receiver_ecn: bool, receiver: str, lacking: str) -> None:
        """Without accurate ECN at the receiver, it is CUBIC without ECN, and the run says so."""
        scenario = path(self.FLOW, links=(link(12, encoding="full"),), receiver_ecn=receiver_ecn)
        result = run(scenario)
        assert modes(result) == ("off", receiver)
        assert result.ecn_fallbacks() == {0: f"no ECN, as its receiver lacks {lacking}"}
        assert result.cca_info(0)["braked"].max() == 0
        assert result.completions["retransmits"].sum() > 0

    def test_no_option(self) -> None:
        """Without AccECN's option, the sender never brakes."""
        result = run(self.full(12, sysctls={"net.ipv4.tcp_ecn_option": 0}))
        assert result.cca_info(0)["braked"].max() == 0
        assert result.ecn["received_ect0_bytes"].item() > 0

    @pytest.mark.parametrize("cca", ["abc", "abc_ns"])
    def test_others(self, cca: str) -> None:
        """The other echoes use flags that accurate ECN redefines, which is an error."""
        encoding = "proxied" if cca == "abc" else "full"
        scenario = path(Flow(cca=cca), links=(link(encoding=encoding),), ecn="accecn")
        engine = KernelEngine(kernel_with("accecn"))
        with pytest.raises(InputError, match=rf"^flows\[0\]\.cca is '{cca}'; .*ecn = \"accecn\""):
            engine.check(scenario)
        engine.check(replace(scenario, path=replace(scenario.path, receiver_ecn=True)))

    @pytest.mark.parametrize("cca", ["abc", "abc_ns"])
    def test_others_on_hosts(self, cca: str) -> None:
        """On hosts with accurate ECN, they send without ECN and fill the queue as CUBIC does."""
        encoding = "proxied" if cca == "abc" else "full"
        results = [
            run(
                path(
                    Flow(cca=sender),
                    links=(link(12, encoding=encoding),),
                    sysctls={"net.ipv4.tcp_ecn": tcp_ecn},
                    duration_s=60,
                )
            )
            for sender, tcp_ecn in ((cca, 3), ("cubic", 0))
        ]
        assert results[0].cca_info(0)["braked"].max() == 0
        assert len(events(results[0], "mark")) <= 1  # the SYN, before the negotiation
        filled, of_cubic = (result.occupancy().loc[20:].mean() for result in results)
        assert filled == pytest.approx(of_cubic, rel=0.25)


class TestCommand:
    def test_summary(self, program: Callable[..., str], tmp_path: Path) -> None:
        """``ccbench run`` has a line for flows that fell back."""
        flows = (Flow(cca="cubic", **TRANSFER), Flow(cca="bbr", **TRANSFER))
        marking(*flows, receiver_ecn=True).save(tmp_path / "fallback.toml")
        version = kernel_with("accecn").version
        output = program("run", tmp_path / "fallback.toml", "--kernel", version)
        assert "flows 0, 1: classic ECN (RFC 3168), as its receiver lacks AccECN" in output
