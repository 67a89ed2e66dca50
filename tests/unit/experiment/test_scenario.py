# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.change import Change
from ccbench.experiment.impairments import Policer
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import MSS_BYTES, MTU_BYTES, Bottleneck, Flow, Scenario, Trace
from ccbench.experiment.subflow import Subflow
from ccbench.experiment.wifi import Wifi
from tests.unit.experiment.conftest import EVERYTHING, LINK, VIDEO, scenario

TRACED = Bottleneck(trace=Trace(name="t", opportunities_ms=(1, 3)), queue_packets=9)

#: A bucket that holds no jumbo frame.
POLICER = Policer(rate_mbps=3, burst_bytes=8999)


class TestScenario:
    def test_mss(self) -> None:
        """A full segment is a full packet less headers and timestamps."""
        assert MTU_BYTES - 20 - 20 - 12 == MSS_BYTES

    def test_queue_bdp(self) -> None:
        """A queue of 2 BDP at 12 Mbit/s and 50 ms holds 100 packets of 1500 bytes."""
        sized = scenario(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_bdp=2),))
        assert sized.path.bottlenecks[0].queue_packets == 100
        same = scenario(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=100),))
        assert sized == same
        assert hash(sized) == hash(same)
        assert sized.key() == same.key()

    def test_queue_bdp_at_least_one(self) -> None:
        """The queue holds at least one packet, however small the BDP."""
        tiny = scenario(bottlenecks=(Bottleneck(bandwidth_mbps=0.1, queue_bdp=0.1),), rtt_ms=1)
        assert tiny.path.bottlenecks[0].queue_packets == 1

    def test_queue_bdp_of_trace(self) -> None:
        """The BDP of a trace is that of its mean rate."""
        trace = Trace(name="12 Mbit/s", opportunities_ms=(1,))
        sized = scenario(bottlenecks=(Bottleneck(trace=trace, queue_bdp=1),))
        assert sized.path.bottlenecks[0].queue_packets == 50

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"flows": ()}, "flows is (); it must be a list of one Flow or more"),
            ({"flows": (LINK,)}, "flows[0] is Bottleneck("),
            ({"bottlenecks": (LINK,) * 9}, "bottlenecks is 9; it must be at most 8"),
            ({"reverse_bottlenecks": (LINK,) * 9}, "reverse_bottlenecks is 9; it must be at most"),
            ({"reverse_bottlenecks": "slow"}, "reverse_bottlenecks is 'slow'; it must be a list"),
            ({"changes": (Change(at_s=60, loss=1),)}, "changes[0].at_s is 60.0; it must be below"),
            (
                {"changes": (Change(at_s=1, every_s=0.001, loss=1),), "duration_s": 101},
                "changes[0].every_s is 0.001; it must be at least 0.00101",
            ),
            (
                {"changes": (Change(at_s=1, bottleneck=1, loss=1),)},
                "changes[0].bottleneck is 1; it must be at most 0, the last bottleneck",
            ),
            (
                {"changes": (Change(at_s=1, outage_s=1),), "bottlenecks": (TRACED,)},
                "changes[0].outage_s is 1.0; it must be left out, as the bottleneck has no const",
            ),
            (
                {"changes": (Change(at_s=1, rtt_ms=9),), "forward_delay_ms": 10},
                "changes[0].rtt_ms is 9.0; it must be at least forward_delay_ms, 10",
            ),
            (
                {"changes": (Change(at_s=1, forward_delay_ms=51),)},
                "changes[0].forward_delay_ms is 51.0; it must be at most the RTT, 50",
            ),
            (
                {"changes": (Change(at_s=1, forward_delay_ms=30), Change(at_s=2, rtt_ms=20))},
                "changes[0].forward_delay_ms is 30.0; it must be at most the RTT, 20",
            ),
            (
                {
                    "changes": (
                        Change(at_s=1, rtt_ms=90, forward_delay_ms=80),
                        Change(at_s=2, rtt_ms=60),
                    )
                },
                "changes[1].rtt_ms is 60.0; it must be at least forward_delay_ms, 80",
            ),
            *(
                (
                    {
                        "changes": (Change(at_s=1, flow=1, app_rate_mbps=1),),
                        "flows": (Flow(), flow),
                    },
                    f"changes[0].flow is 1; it must be {allowed}",
                )
                for flow, allowed in (
                    *(
                        (flow, f"that of a flow of kind bulk, cbr, rate, as kind {flow.kind!r} has")
                        for flow in (
                            Flow(kind="bytes", size_bytes=1),
                            Flow(kind="bytes", arrivals=((1, 1), (2, 1))),
                            Flow(kind="onoff", on_s=1, off_s=1),
                            Flow(kind="video", **VIDEO),
                            Flow(kind="poisson", rate_mbps=1),
                        )
                    ),
                    (Flow(subflows=(Subflow(),)), "that of a flow without subflows, whose"),
                )
            ),
            (
                {"changes": (Change(at_s=1, flow=1, app_rate_mbps=1),)},
                "changes[0].flow is 1; it must be at most 0, the last flow",
            ),
            ({"forward_delay_ms": 51}, "forward_delay_ms is 51.0; it must be at most the RTT, 50"),
            (
                {"flows": (Flow(direction="reverse"),)},
                "flows[0].direction is 'reverse'; it must be \"forward\" without reverse_bott",
            ),
            (
                {
                    "flows": (Flow(direction="reverse", first_bottleneck=1),),
                    "bottlenecks": (LINK, LINK),
                    "reverse_bottlenecks": (LINK,),
                },
                "flows[0].first_bottleneck is 1; it must be at most 0, the last position in rever",
            ),
            (
                {
                    "flows": (Flow(direction="reverse", count=25_001),),
                    "reverse_bottlenecks": (LINK,),
                },
                "flows is 25001; it must be at most 25000 single flows in the reverse direction",
            ),
            (
                {
                    "flows": (Flow(direction="reverse"),),
                    "reverse_bottlenecks": (LINK,),
                    "receiver_ecn": True,
                },
                "receiver_ecn is True; it must be left out with flows in the reverse direction",
            ),
            ({"flows": (Flow(count=10**6), Flow())}, "flows is 1000001"),
            ({"rtt_ms": 0}, "rtt_ms is 0; it must be a number at least 0.001 and at most 10000"),
            ({"duration_s": float("inf")}, "duration_s is inf"),
            ({"rtt_ms": 10**400}, "rtt_ms is 1000000"),
            ({"seed": -1}, "seed is -1"),
            (
                {"sample_interval_ms": 0.009},
                "sample_interval_ms is 0.009; it must be a number at least 0.01",
            ),
            ({"ecn": 1}, 'ecn is 1; it must be true, false or "accecn"'),
            ({"receiver_ecn": "yes"}, "receiver_ecn is 'yes'; it must be true, false"),
            ({"flows": (Flow(), Flow(start_s=60))}, "flows[1].start_s is 60.0; it must be below"),
            ({"flows": (Flow(stop_s=61),)}, "flows[0].stop_s is 61.0"),
            (
                {"flows": (Flow(first_bottleneck=1),)},
                "flows[0].first_bottleneck is 1; it must be at most 0",
            ),
            (
                {"flows": (Flow(last_bottleneck=1),)},
                "flows[0].last_bottleneck is 1; it must be at most 0",
            ),
            (
                {"flows": (Flow(kind="bytes", arrivals=((1, 1), (60, 1))),)},
                "flows[0].arrivals[1].start_s is 60.0",
            ),
            ({"sysctls": (("kernel.panic", "1"),)}, "sysctls is 'kernel.panic'"),
            ({"sysctls": (("net.a/../../b", "1"),)}, "sysctls is 'net.a/../../b'"),
            ({"sysctls": (("net.ipv4.tcp_sack", 0.5),)}, "sysctls.net.ipv4.tcp_sack is 0.5"),
            (
                {"queue_log": "short"},
                "queue_log is 'short'; it must be true, false or \"summary\"",
            ),
            ({"module_parameters": (("tolerance", "1"),)}, "module_parameters is 'tolerance'"),
            (
                {"module_parameters": (("tcp_rapid.push", "N init=/x"),)},
                "module_parameters.tcp_rapid.push is 'N init=/x'",
            ),
            ({"module_parameters": 3}, "module_parameters is 3; it must be a table"),
            (
                {
                    "bottlenecks": (Bottleneck(bandwidth_mbps=100_000, queue_bdp=100),),
                    "rtt_ms": 1000,
                },
                "bottlenecks[0].queue_bdp = 100: queue_packets is 833333333",
            ),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting that is out of range is named with its position and value."""
        with pytest.raises(InputError) as caught:
            scenario(**settings)
        assert str(caught.value).startswith(message)

    def test_one_line(self) -> None:
        """A message is one short line, however long the invalid value."""
        with pytest.raises(InputError) as caught:
            Flow(kind="bulk", arrivals=((0.5, 1),) * 1000)
        assert len(str(caught.value)) < 200

    def test_flow_table(self) -> None:
        """Single flows are numbered group by group, arrivals one by one."""
        table = EVERYTHING.flow_table()
        assert len(table) == EVERYTHING.flow_count == 17
        assert list(table.index) == list(range(17))
        assert list(table["group"]) == [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10]
        assert list(table["label"][:4]) == ["new", "new", "cubic", "cubic"]
        assert list(table["label"][-6:]) == ["poisson", "program", *["mptcp 0", "mptcp 1"] * 2]
        assert list(table["cca"][-4:]) == ["cubic", "reno", "cubic", "reno"]
        assert list(table["extra_rtt_ms"][-4:]) == [0, 9, 0, 9]
        assert list(table["last_bottleneck"][-4:]) == [0, 1, 0, 1]
        assert list(table["start_s"][3:6]) == [0.5, 0.5, 7.0]
        assert list(table["size_bytes"][2:6]) == [10_000, 1000, 2000, 3000]
        assert list(table["stop_s"][:3]) == [50.0, 50.0, 60.0]
        assert table["rate_mbps"].isna().sum() == 14
        assert table["size_bytes"].isna().sum() == 13

    def test_many_arrivals(self) -> None:
        """A scenario may have a hundred thousand short flows."""
        arrivals = tuple((i / 2000, 1000 + i) for i in range(100_000))
        many = scenario(flows=(Flow(kind="bytes", arrivals=arrivals),))
        assert Scenario.from_toml(many.to_toml()) == many
        assert many.flow_table()["size_bytes"].iloc[-1] == 100_999


class TestPacketSizes:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"mtu_bytes": 575}, "mtu_bytes is 575; it must be a whole number at least 576"),
            (
                {"mtu_bytes": 1279, "flows": (Flow(ip_version=6),)},
                "mtu_bytes is 1279; it must be at least 1280 with IPv6: raise it",
            ),
            (
                {"mtu_bytes": 1280, "flows": (Flow(), Flow(kind="cbr", rate_mbps=1))},
                "flows[1].packet_bytes is 1500; it must be at most mtu_bytes, 1280: lower it",
            ),
            (
                {"mtu_bytes": 9000, "flows": (Flow(receiver=Receiver(window_bytes=8999)),)},
                "flows[0].receiver.window_bytes is 8999; it must be at least mtu_bytes, 9000",
            ),
            (
                {"mtu_bytes": 9000, "changes": (Change(at_s=1, flow=0, window_bytes=8999),)},
                "changes[0].window_bytes is 8999; it must be at least mtu_bytes, 9000",
            ),
            (
                {"mtu_bytes": 9000, "bottlenecks": (replace(LINK, policer=POLICER),)},
                "bottlenecks[0].policer.burst_bytes is 8999; it must be at least mtu_bytes, 9000",
            ),
            (
                {
                    "mtu_bytes": 1280,
                    "bottlenecks": (Bottleneck(wifi=Wifi(bitrates_mbps=(65,)), queue_packets=9),),
                },
                "mtu_bytes is 1280; it must be 1500 with Wi-Fi",
            ),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """What must fit into a full packet, or hold one, is named with the size."""
        with pytest.raises(InputError) as caught:
            scenario(**settings)
        assert str(caught.value).startswith(message)

    def test_bdp(self) -> None:
        """A bandwidth-delay product has the same bytes in packets of any size."""
        link = Bottleneck(bandwidth_mbps=72, queue_bdp=2)
        for mtu in (576, 1280, 1500, 9000):
            sized = scenario(bottlenecks=(link,), mtu_bytes=mtu)
            assert sized.path.bdp_packets() * mtu == pytest.approx(72e6 / 8 * 0.05)
            assert sized.path.bottlenecks[0].queue_packets == round(2 * 72e6 / 8 * 0.05 / mtu)

    def test_identity(self) -> None:
        """The default is not part of a scenario's document."""
        assert "mtu_bytes" not in scenario().to_dict()
        assert scenario().key() == scenario(mtu_bytes=1500).key()


class TestEnds:
    @pytest.mark.parametrize(
        ("flow", "message"),
        [
            (Flow(kind="cbr", rate_mbps=1), "changes[0].flow is 0; it must be that of a TCP flow"),
            (
                Flow(receiver=Receiver(read_mbps=3)),
                "changes[0].window_bytes is 9000; it must be left out for a receiver with",
            ),
            (
                Flow(subflows=(Subflow(),)),
                "changes[0].flow is 0; it must be that of a flow without",
            ),
        ],
    )
    def test_window(self, flow: Flow, message: str) -> None:
        """A window changes only where the receiver has one to set."""
        with pytest.raises(InputError) as caught:
            scenario(flows=(flow,), changes=(Change(at_s=1, flow=0, window_bytes=9000),))
        assert str(caught.value).startswith(message)


class TestChange:
    def test_no_effect(self) -> None:
        """The message about a change as a whole starts with its place."""
        document = {**scenario().to_dict(), "changes": [{"at_s": 1}]}
        with pytest.raises(InputError, match=r"^changes\[0\]: nothing changes: add one of"):
            Scenario.from_dict(document)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"at_s": 1}, "nothing changes: add one of rtt_ms, forward_delay_ms, wifi_jitter_ms"),
            ({"at_s": 0, "loss": 1}, "at_s is 0; it must be a number above 0"),
            ({"loss": 1}, "at_s or when is missing: write for example at_s = 10"),
            (
                {"loss": 1, "at_s": 1, "when": {"flow": 0, "packet": 1}},
                "at_s and when exclude each other: remove",
            ),
            ({"outage_s": 20, "at_s": 1, "every_s": 15}, "outage_s is 20.0; it must be below ev"),
            ({"loss": 1, "at_s": 1, "after_s": 1}, "after_s is 1.0; it must be left out without"),
            ({"loss": 1, "when": 3}, "when is 3; it must be a table"),
            ({"loss": 1, "when": {"flow": 0}}, "when.packet or info is missing: write"),
            ({"loss": 1, "when": {"flow": 0, "info": "state"}}, "when.info has no comparison"),
            (
                {"loss": 1, "when": {"flow": 0, "info": "a", "above": 1, "equals": 2}},
                "when.info has equals and above",
            ),
            (
                {"loss": 1, "when": {"flow": 0, "packet": 3, "occurrence": 2}},
                "when.occurrence is 2; it must be left out with packet",
            ),
            ({"loss": 1, "when": {"flow": 0, "packet": 0}}, "when.packet is 0; it must be"),
            ({"at_s": 1, "loss": 1, "overtakes": True}, "overtakes is True; it must be left out"),
            ({"at_s": 1, "loss": 1.5}, "loss is 1.5; it must be a number at least 0 and at most 1"),
            ({"at_s": 1, "qdisc_options": 3}, "qdisc_options is 3; it must be a table"),
            ({"at_s": 1, "app_rate_mbps": 1}, "flow is missing: add it, as app_rate_mbps needs it"),
            ({"at_s": 1, "loss": 1, "flow": 0}, "app_rate_mbps or window_bytes is missing: add it"),
            (
                {"at_s": 1, "flow": 0, "app_rate_mbps": 0.0001},
                "app_rate_mbps is 0.0001; it must be 0, or at least 0.001: write 0 for a pause",
            ),
            (
                {"at_s": 1, "flow": 0, "app_rate_mbps": 100_001},
                "app_rate_mbps is 100001; it must be a number at least 0 and at most 100000",
            ),
            (
                {"at_s": 1, "flow": 0, "app_rate_mbps": True},
                "app_rate_mbps is True; it must be a number",
            ),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A wrong change is named with its field, value and the next step."""
        with pytest.raises(InputError) as caught:
            Change.from_dict(settings)
        assert str(caught.value).startswith(message)
