# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.dataclass_dicts import settings
from ccbench.emulate import Store
from ccbench.emulate.kernel import web
from ccbench.emulate.kernel.boot import boot as boot_module
from ccbench.emulate.kernel.boot import shared
from ccbench.emulate.kernel.boot.inputs import GuestInput
from ccbench.emulate.kernel.boot.trapping import TRAPPING
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.http import HttpKernelEngine
from ccbench.emulate.kernel.source import locks
from ccbench.emulate.kernel.source.kernel_build import KernelBuild
from ccbench.emulate.kernel.source.modules import Module
from ccbench.experiment.change import Change
from ccbench.experiment.impairments import BurstLoss, Jitter, Policer, Reordering
from ccbench.experiment.kinds.video import MAX_BITRATES
from ccbench.experiment.loss_trace import LossTrace
from ccbench.experiment.noise import Noise
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.rtt_trace import RttTrace
from ccbench.experiment.scenario import Bottleneck, Flow, Scenario, Trace
from ccbench.experiment.subflow import Subflow
from ccbench.experiment.when import When
from ccbench.experiment.wifi import Wifi
from tests.unit.experiment.conftest import EVERYTHING, VIDEO, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

#: Loadable modules, with what they register.
MODULES: dict[str, dict[str, Any]] = {
    "ccbench_flows": {},
    "ccbench_link": {},
    "sch_two": {"qdiscs": ("codel",)},
    "tcp_base": {},
    "tcp_one": {"ccas": ("bbr", "one"), "needs": ("tcp_two", "ccbench_link")},
    "tcp_rapid": {"ccas": ("rapid",)},
    "tcp_two": {"needs": ("tcp_base",)},
}
KERNEL = KernelBuild(
    path=Path("kernel"),
    release="6.12.1",
    hz=1000,
    ccas=("bbr", "cubic", "rapid", "reno"),
    qdiscs=("codel", "pfifo"),
    modules={
        name: Module(name=name, digest=f"{number:016x}", **registered)
        for number, (name, registered) in enumerate(MODULES.items())
    },
    version="0123456789abcdef",
    identity="fedcba9876543210",
)
LINK = Bottleneck(bandwidth_mbps=12, queue_packets=50)
TRACE = Trace(name="one", opportunities_ms=(1, 2, 4))
#: A flow of every kind.
RICH = replace(
    EVERYTHING,
    path=replace(
        EVERYTHING.path,
        bottlenecks=(
            EVERYTHING.path.bottlenecks[0],
            replace(EVERYTHING.path.bottlenecks[1], qdisc_options=(("target_ms", 5),)),
        ),
    ),
)
IMPAIRMENTS: dict[str, Any] = {
    "burst_loss": BurstLoss(to_bad=0.01, to_good=0.2),
    "policer": Policer(rate_mbps=3, burst_bytes=1500),
    "reordering": Reordering(share=0.01, delay_ms=4),
    "jitter": Jitter(delay_ms=10, jitter_ms=2),
}
FRAMES: dict[str, Any] = {"kind": "frames", "frames_per_s": 30, "frame_bytes": 9000}
FADES = BurstLoss(good_ms=900, bad_ms=50)
LOSSES = LossTrace(points=((0, 0), (1, 0.5), (2, 0)))
CHANGE = Change(at_s=10, bandwidth_mbps=6)
WHEN = When(flow=0, info="state", equals="recovery")
RADIO = Wifi(bitrates_mbps=(13, 65))


def identity(one: Scenario) -> str:
    """Return the identity of a run of a scenario."""
    return KernelEngine(KERNEL).identity(one)


def with_flow(**settings: Any) -> Scenario:
    """Make a scenario of one flow and two bottlenecks."""
    return scenario(flows=(Flow(**settings),), bottlenecks=(LINK, LINK))


def with_link(**settings: Any) -> Scenario:
    """Make a scenario with one bottleneck."""
    return scenario(bottlenecks=(Bottleneck(**settings),))


def with_radio(**settings: Any) -> Scenario:
    """Make a scenario with a Wi-Fi link."""
    return with_link(wifi=replace(RADIO, **settings), queue_packets=50)


def with_change(**settings: Any) -> Scenario:
    """Make a scenario that changes."""
    link = Bottleneck(bandwidth_mbps=12, queue_packets=50, qdisc="codel")
    changes = (replace(CHANGE, **settings),)
    return scenario(flows=(Flow(count=2),), bottlenecks=(link, link), changes=changes)


def with_event(when: When | None = None, **settings: Any) -> Scenario:
    """Make a scenario that changes after an event."""
    event = when or replace(WHEN, **settings)
    return scenario(flows=(Flow(count=2),), changes=(Change(when=event, loss=1),))


def with_value(**comparison: Any) -> Scenario:
    """Make a scenario that changes when a value meets a condition."""
    event = with_event(When(flow=0, info="pacing_gain", **comparison))
    return replace(event, flows=(Flow(cca="bbr"),))


def with_receiver(**settings: Any) -> Scenario:
    """Make a scenario whose receiver differs from Linux's."""
    return with_flow(receiver=Receiver(**{"hides_ecn": True, **settings}))


def with_programs(program: str = "/bin/client", **settings: Any) -> Scenario:
    """Make a scenario with a flow between programs."""
    flow = {"sender": "/bin/server", "receiver": Receiver(program=program), **settings}
    return with_flow(kind="program", **flow)


def with_impairment(name: str, **settings: Any) -> Scenario:
    """Make a scenario with an impairment."""
    impairment = replace(IMPAIRMENTS[name], **settings)
    return with_link(bandwidth_mbps=12, queue_packets=50, **{name: impairment})


#: For each field two scenarios that differ in it, and in fields that it requires.
OF_SCENARIO = {
    "flows": (scenario(), scenario(flows=(Flow(), Flow()))),
    "bottlenecks": (scenario(), scenario(bottlenecks=(LINK, LINK))),
    "rtt_ms": (scenario(), scenario(rtt_ms=50.000001)),
    "reverse_bottlenecks": (scenario(), scenario(reverse_bottlenecks=(LINK,))),
    "forward_delay_ms": (scenario(), scenario(forward_delay_ms=0.000001)),
    "mtu_bytes": (scenario(), scenario(mtu_bytes=1501)),
    "rtt_trace": (scenario(), scenario(rtt_trace=RttTrace(points=((0, 50), (9, 51))))),
    "changes": (scenario(), scenario(changes=(CHANGE,))),
    "duration_s": (scenario(), scenario(duration_s=61)),
    "seed": (scenario(), scenario(seed=2)),
    "noise": (scenario(), scenario(noise=Noise(reverse_jitter_ms=1))),
    "ack_batch_ms": (scenario(), scenario(ack_batch_ms=1)),
    "sample_interval_ms": (scenario(), scenario(sample_interval_ms=50)),
    "queue_log": (scenario(), scenario(queue_log="summary")),
    "date": (scenario(), scenario(date="2020-01-02")),
    "ecn": (scenario(ecn=True), scenario(ecn="accecn")),
    "receiver_ecn": (scenario(ecn=True), scenario(ecn=True, receiver_ecn=False)),
    "sysctls": (scenario(), scenario(sysctls={"net.ipv4.tcp_sack": 0})),
    "module_parameters": (scenario(), scenario(module_parameters={"tcp_rapid.tolerance": 64})),
}
OF_FLOW = {
    "cca": (with_flow(), with_flow(cca="bbr")),
    "kind": (with_flow(kind="cbr", rate_mbps=1), with_flow(kind="poisson", rate_mbps=1)),
    "count": (with_flow(), with_flow(count=2)),
    "start_s": (with_flow(), with_flow(start_s=1e-9)),
    "stop_s": (with_flow(), with_flow(stop_s=30)),
    "size_bytes": (with_flow(kind="bytes", size_bytes=1), with_flow(kind="bytes", size_bytes=2)),
    "rate_mbps": (with_flow(kind="rate", rate_mbps=1), with_flow(kind="rate", rate_mbps=2)),
    "on_s": (with_flow(kind="onoff", on_s=1, off_s=1), with_flow(kind="onoff", on_s=2, off_s=1)),
    "off_s": (with_flow(kind="onoff", on_s=1, off_s=1), with_flow(kind="onoff", on_s=1, off_s=2)),
    "bitrates_mbps": (
        with_flow(kind="video", **VIDEO),
        with_flow(kind="video", **{**VIDEO, "bitrates_mbps": (1, 3)}),
    ),
    "segment_s": (
        with_flow(kind="video", **VIDEO),
        with_flow(kind="video", **{**VIDEO, "segment_s": 2}),
    ),
    "buffer_s": (
        with_flow(kind="video", **VIDEO),
        with_flow(kind="video", **{**VIDEO, "buffer_s": 30}),
    ),
    "frames_per_s": (with_flow(**FRAMES), with_flow(**FRAMES | {"frames_per_s": 30.000001})),
    "frame_bytes": (with_flow(**FRAMES), with_flow(**FRAMES | {"frame_bytes": (9000, 9001)})),
    "packet_bytes": (
        with_flow(kind="cbr", rate_mbps=1),
        with_flow(kind="cbr", rate_mbps=1, packet_bytes=200),
    ),
    "ecn": (
        with_flow(kind="cbr", rate_mbps=1),
        with_flow(kind="cbr", rate_mbps=1, ecn="ect1"),
    ),
    "extra_rtt_ms": (with_flow(), with_flow(extra_rtt_ms=1)),
    "first_bottleneck": (with_flow(), with_flow(first_bottleneck=1)),
    "last_bottleneck": (with_flow(), with_flow(last_bottleneck=0)),
    "direction": (
        scenario(flows=(Flow(),), reverse_bottlenecks=(LINK,)),
        scenario(flows=(Flow(direction="reverse"),), reverse_bottlenecks=(LINK,)),
    ),
    "acks": (with_flow(), with_flow(acks="every")),
    "initcwnd": (with_flow(), with_flow(initcwnd=10)),
    "receiver": (with_flow(), with_flow(receiver=Receiver(window_bytes=9000))),
    "segmentation_offload": (with_flow(), with_flow(segmentation_offload=False)),
    "ip_version": (with_flow(), with_flow(ip_version=6)),
    "host": (with_flow(), with_flow(host="a")),
    "arrivals": (
        with_flow(kind="bytes", arrivals=((0.5, 1000), (1.5, 1000))),
        with_flow(kind="bytes", arrivals=((0.5, 1000), (1.5, 1001))),
    ),
    "subflows": (with_flow(), with_flow(subflows=(Subflow(),))),
    "connections": (
        with_flow(kind="bytes", arrivals=((0.5, 1000), (1.5, 1000)), connections=1),
        with_flow(kind="bytes", arrivals=((0.5, 1000), (1.5, 1000)), connections=2),
    ),
}
_OF_PROGRAMS: dict[str, Any] = {
    "sender": "/bin/server {flow}",
    "server": "receiver",
    "env": (("A", "1"),),
    "files": (("a", "b"),),
    "keep": ("*",),
    "may_exit": True,
    "memory_mb": 300,
}
OF_FLOW |= {
    name: (with_programs(), with_programs(**{name: value})) for name, value in _OF_PROGRAMS.items()
}
OF_SUBFLOW = {
    name: (with_flow(subflows=(Subflow(),)), with_flow(subflows=(subflow,)))
    for name, subflow in {
        "cca": Subflow(cca="bbr"),
        "first_bottleneck": Subflow(first_bottleneck=1),
        "last_bottleneck": Subflow(last_bottleneck=0),
        "extra_rtt_ms": Subflow(extra_rtt_ms=1),
    }.items()
}
OF_LINK = {
    "bandwidth_mbps": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=13, queue_packets=50),
    ),
    "trace": (
        with_link(trace=TRACE, queue_packets=50),
        with_link(trace=replace(TRACE, opportunities_ms=(1, 3, 4)), queue_packets=50),
    ),
    "wifi": (with_radio(), with_radio(stations=2)),
    "queue_packets": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=51),
    ),
    "queue_bdp": (
        with_link(bandwidth_mbps=12, queue_bdp=1),
        with_link(bandwidth_mbps=12, queue_bdp=2),
    ),
    "qdisc": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, qdisc="codel"),
    ),
    "qdisc_options": (
        with_link(bandwidth_mbps=12, queue_packets=50, qdisc="codel"),
        with_link(
            bandwidth_mbps=12, queue_packets=50, qdisc="codel", qdisc_options={"target_ms": 6}
        ),
    ),
    "loss": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, loss=1e-6),
    ),
    "clears_ecn": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, clears_ecn=True),
    ),
    "loss_every_packets": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, loss_every_packets=1000),
    ),
    "loss_packets": (
        with_link(bandwidth_mbps=12, queue_packets=50, loss_packets=(1, 2)),
        with_link(bandwidth_mbps=12, queue_packets=50, loss_packets=(1, 3)),
    ),
    "loss_trace": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, loss_trace=LOSSES),
    ),
    "overhead_bytes": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, overhead_bytes=1),
    ),
    "cells": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, cells=True),
    ),
    "duplicates": (
        with_link(bandwidth_mbps=12, queue_packets=50),
        with_link(bandwidth_mbps=12, queue_packets=50, duplicates=1e-12),
    ),
    **{
        name: (
            with_link(bandwidth_mbps=12, queue_packets=50),
            with_link(bandwidth_mbps=12, queue_packets=50, **{name: impairment}),
        )
        for name, impairment in IMPAIRMENTS.items()
    },
}
OF_BURSTS = {
    name: (with_impairment("burst_loss"), with_impairment("burst_loss", **{name: 0.1}))
    for name in ("to_bad", "to_good", "loss_bad", "loss_good")
} | {
    name: (
        with_link(bandwidth_mbps=12, queue_packets=50, burst_loss=FADES),
        with_link(bandwidth_mbps=12, queue_packets=50, burst_loss=replace(FADES, **{name: 60})),
    )
    for name in ("good_ms", "bad_ms")
}
OF_JITTER = {
    "delay_ms": (with_impairment("jitter"), with_impairment("jitter", delay_ms=10.000001)),
    "jitter_ms": (with_impairment("jitter"), with_impairment("jitter", jitter_ms=2.1)),
    "distribution": (with_impairment("jitter"), with_impairment("jitter", distribution="pareto")),
    "correlation": (with_impairment("jitter"), with_impairment("jitter", correlation=0.01)),
    "delays_ms": (
        with_impairment("jitter", delay_ms=None, jitter_ms=None, delays_ms=(1, 2)),
        with_impairment("jitter", delay_ms=None, jitter_ms=None, delays_ms=(1, 2, 2)),
    ),
}
OF_LOSSES = {
    "points": (
        with_link(bandwidth_mbps=12, queue_packets=50, loss_trace=LOSSES),
        with_link(
            bandwidth_mbps=12,
            queue_packets=50,
            loss_trace=LossTrace(points=((0, 0), (1, 0.5), (3, 0))),
        ),
    ),
}
OF_POLICER = {
    "rate_mbps": (with_impairment("policer"), with_impairment("policer", rate_mbps=4)),
    "burst_bytes": (with_impairment("policer"), with_impairment("policer", burst_bytes=1501)),
}
OF_REORDERING = {
    "share": (with_impairment("reordering"), with_impairment("reordering", share=0.02)),
    "delay_ms": (with_impairment("reordering"), with_impairment("reordering", delay_ms=4.000001)),
    "packets": (
        with_impairment("reordering", delay_ms=None, packets=2),
        with_impairment("reordering", delay_ms=None, packets=3),
    ),
}
OF_RECEIVER = {
    "program": (with_programs(), with_programs("/bin/client {port}")),
    "window_bytes": (with_receiver(), with_receiver(window_bytes=9000)),
    "read_mbps": (with_receiver(), with_receiver(read_mbps=2)),
    "read_interval_ms": (
        with_receiver(read_mbps=2),
        with_receiver(read_mbps=2, read_interval_ms=7),
    ),
    "packets_per_ack": (with_receiver(), with_receiver(packets_per_ack=1)),
    "ack_delay_ms": (
        with_receiver(packets_per_ack=2),
        with_receiver(packets_per_ack=2, ack_delay_ms=40.001),
    ),
    "optimistic_mbps": (with_receiver(), with_receiver(optimistic_mbps=2)),
    "ack_parts": (with_receiver(), with_receiver(ack_parts=2)),
    "duplicate_acks": (with_receiver(), with_receiver(duplicate_acks=1)),
    "hides_ecn": (
        with_receiver(window_bytes=9000),
        with_receiver(window_bytes=9000, hides_ecn=False),
    ),
}
OF_RADIO = {
    "bitrates_mbps": (with_radio(), with_radio(bitrates_mbps=(65, 13))),
    "step_s": (with_radio(), with_radio(step_s=1)),
    "max_frames": (with_radio(), with_radio(max_frames=16)),
    "overhead_ms": (with_radio(), with_radio(overhead_ms=(0.3, 1))),
    "stations": (with_radio(), with_radio(stations=2)),
}
OF_CHANGE = {
    "at_s": (with_change(), with_change(at_s=10.000001)),
    "when": (with_change(), with_change(at_s=None, when=WHEN)),
    "after_s": (
        with_change(at_s=None, when=WHEN),
        with_change(at_s=None, when=WHEN, after_s=0.000001),
    ),
    "every_s": (with_change(), with_change(every_s=20)),
    "rtt_ms": (with_change(), with_change(rtt_ms=51)),
    "forward_delay_ms": (with_change(), with_change(forward_delay_ms=1)),
    "wifi_jitter_ms": (with_change(), with_change(wifi_jitter_ms=0)),
    "overtakes": (with_change(rtt_ms=9), with_change(rtt_ms=9, overtakes=True)),
    "bottleneck": (with_change(), with_change(bottleneck=1)),
    "bandwidth_mbps": (with_change(), with_change(bandwidth_mbps=9)),
    "outage_s": (with_change(), with_change(outage_s=1)),
    "loss": (with_change(), with_change(loss=0)),
    "queue_packets": (with_change(), with_change(queue_packets=9)),
    "qdisc_options": (
        with_change(qdisc_options={"target_ms": 9}),
        with_change(qdisc_options={"target_ms": 8}),
    ),
    "flow": (
        with_change(flow=0, app_rate_mbps=1),
        with_change(flow=1, app_rate_mbps=1),
    ),
    "app_rate_mbps": (
        with_change(flow=0, app_rate_mbps=0),
        with_change(flow=0, app_rate_mbps=0.001),
    ),
    "window_bytes": (
        with_change(flow=0, window_bytes=9000),
        with_change(flow=0, window_bytes=9001),
    ),
}
OF_WHEN = {
    "flow": (with_event(), with_event(flow=1)),
    "packet": (with_event(When(flow=0, packet=1)), with_event(When(flow=0, packet=2))),
    "info": (with_event(), with_event(When(flow=0, packet=1))),
    "equals": (with_event(), with_event(equals="loss")),
    "above": (with_value(above=1), with_value(above=2)),
    "below": (with_value(below=1), with_value(below=2)),
    "occurrence": (with_event(), with_event(occurrence=2)),
}
OF_NOISE = {
    field.name: (scenario(), scenario(noise=Noise(**{field.name: 0.1}))) for field in fields(Noise)
}
#: By class: the pairs, and the fields that are labels.
PAIRS: dict[type[Any], tuple[dict[str, tuple[Scenario, Scenario]], set[str]]] = {
    Scenario: (OF_SCENARIO, {"name"}),
    Flow: (OF_FLOW, {"label"}),
    Subflow: (OF_SUBFLOW, set()),
    Bottleneck: (OF_LINK, set()),
    Wifi: (OF_RADIO, set()),
    Change: (OF_CHANGE, set()),
    When: (OF_WHEN, set()),
    RttTrace: ({"points": OF_SCENARIO["rtt_trace"]}, {"name"}),
    BurstLoss: (OF_BURSTS, set()),
    Policer: (OF_POLICER, set()),
    Receiver: (OF_RECEIVER, set()),
    Reordering: (OF_REORDERING, set()),
    Jitter: (OF_JITTER, set()),
    LossTrace: (OF_LOSSES, {"name"}),
    Noise: (OF_NOISE, set()),
    Trace: ({"opportunities_ms": OF_LINK["trace"]}, {"name"}),
}


#: Every pair, with the name of its field.
ALL_PAIRS = [
    pytest.param(*pair, id=f"{cls.__name__}.{name}")
    for cls, (of_class, _) in PAIRS.items()
    for name, pair in of_class.items()
]


class TestScenarios:
    @pytest.mark.parametrize("cls", PAIRS)
    def test_all_fields(self, cls: type[Any]) -> None:
        """Every field of a scenario's classes is covered here."""
        pairs, for_people = PAIRS[cls]
        assert {*settings(cls)} == {*pairs, *for_people}

    @pytest.mark.parametrize(("one", "other"), ALL_PAIRS)
    def test_differences(self, one: Scenario, other: Scenario) -> None:
        """Whatever reaches the guest changes the identity."""
        assert identity(one) != identity(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (scenario(), scenario(name="mine", flows=(Flow(label="my flow"),))),
            (
                with_link(trace=TRACE, queue_packets=50),
                with_link(trace=replace(TRACE, name="other"), queue_packets=50),
            ),
            (with_link(bandwidth_mbps=12, queue_bdp=1), scenario()),
            (scenario(flows=(Flow(count=2),)), scenario(flows=(Flow(), Flow()))),
            (scenario(ecn=True), scenario(sysctls={"net.ipv4.tcp_ecn": 1})),
            (scenario(rtt_ms=50), scenario(rtt_ms=50 + 1e-9)),
            (with_flow(), with_flow(stop_s=60, last_bottleneck=1)),
        ],
    )
    def test_same_input(self, one: Scenario, other: Scenario) -> None:
        """Two scenarios with the same guest input share one run."""
        assert identity(one) == identity(other)

    def test_kernel_parameters(self) -> None:
        """The kernel's command line counts, as do parameters of loaded modules."""
        for name in ("tcp_cubic.beta", "tcp_rapid.tolerance"):
            first, second = ({name: value} for value in (64, 65))
            assert identity(scenario(module_parameters=first)) != identity(
                scenario(module_parameters=second)
            )


class TestEngine:
    @pytest.mark.parametrize("change", ["identity", "ccbench_link", "tcp_base", "sch_two"])
    def test_software(self, change: str) -> None:
        """Another kernel or module that a run loads changes the identity."""
        other = replace(KERNEL, identity="0" * 16)
        if change != "identity":
            module = replace(KERNEL.modules[change], digest="f" * 16)
            other = replace(KERNEL, modules={**KERNEL.modules, change: module})
        link = replace(LINK, qdisc="codel")
        loading = scenario(flows=(Flow(cca="bbr"),), bottlenecks=(link,))
        assert identity(loading) != KernelEngine(other).identity(loading)

    def test_other_modules(self) -> None:
        """A build with other modules that a run does not load, in any order, is the same to it."""
        modules = {name: KERNEL.modules[name] for name in ("ccbench_link", "ccbench_flows")}
        mine = Module(name="tcp_mine", digest="f" * 16, ccas=("mine",), is_own=True)
        for others in ({}, {"tcp_mine": mine}, {"tcp_rapid": replace(mine, name="tcp_rapid")}):
            other = replace(KERNEL, modules=others | modules, version="0" * 16)
            assert identity(scenario()) == KernelEngine(other).identity(scenario())

    def test_place(self) -> None:
        """The kernel's folder does not matter."""
        elsewhere = replace(KERNEL, path=Path("/elsewhere"))
        assert identity(scenario()) == KernelEngine(elsewhere).identity(scenario())

    def test_trapping(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The way of trapping programs changes no byte, and so not the identity."""
        before = identity(scenario())
        monkeypatch.setenv(TRAPPING, "ptrace")
        assert before == identity(scenario())

    def test_boot_input(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The guest receives exactly the input that the identity digests, in an empty folder."""

        class BootedError(Exception):
            pass

        def boot(_: KernelBuild, folder: Path, *, given: GuestInput, **_others: object) -> None:
            assert not list(folder.iterdir())
            assert given.digest() == KernelEngine(KERNEL).guest_input(RICH).digest()
            raise BootedError

        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(boot_module, "boot", boot)
        monkeypatch.setattr(locks, "hold", lambda _: None)
        monkeypatch.setattr(KernelEngine, "check", lambda *_: None)
        with pytest.raises(BootedError):
            KernelEngine(KERNEL).run(RICH)

    def test_readers(self) -> None:
        """Readers learn the properties of the scenario from the guest's input."""
        given = KernelEngine(KERNEL).guest_input(RICH)
        table = RICH.flow_table()
        assert table["cca"].tolist() == given.ccas.tolist()
        assert (4, 60 * 10**9, False) == (given.bottlenecks, given.duration_ns, given.queue_log)
        for log in (True, False, "summary"):
            logged = KernelEngine(KERNEL).guest_input(scenario(queue_log=log))
            assert logged.queue_log is log or logged.queue_log == log == "summary"

    def test_starts(self) -> None:
        """Each single flow has the start time of the scenario's table, including noise."""
        noisy = replace(RICH, path=replace(RICH.path, noise=Noise(start_spread_ms=40)))
        header, spec = (shared.structure(name).itemsize for name in ("flows_header", "flow_spec"))
        for item in (RICH, noisy):
            content = KernelEngine(KERNEL).guest_input(item).files["flows.bin"]
            starts_ns = [
                int.from_bytes(content[at : at + 8], "little")
                for at in range(header, header + item.flow_count * spec, spec)
            ]
            assert (item.flow_table()["start_s"] * 1e9).round().tolist() == starts_ns
        assert shared.constant("LADDER_MAX") == MAX_BITRATES

    @pytest.mark.parametrize(
        ("used", "modules"),
        [
            (scenario(), []),
            (with_flow(kind="cbr", rate_mbps=1), []),
            (with_flow(cca="rapid"), ["tcp_rapid"]),
            (with_flow(subflows=(Subflow(cca="rapid"),)), ["tcp_rapid"]),
            (with_flow(cca="bbr"), ["tcp_base", "tcp_two", "tcp_one"]),
            (with_link(bandwidth_mbps=12, queue_packets=50, qdisc="codel"), ["sch_two"]),
            (scenario(module_parameters={"tcp_rapid.tolerance": 64}), ["tcp_rapid"]),
            (scenario(sysctls={"net.ipv4.tcp_rapid_limit": 64}), ["tcp_rapid"]),
            (scenario(sysctls={"net.ipv4.tcp_congestion_control": "rapid"}), ["tcp_rapid"]),
        ],
    )
    def test_modules(self, used: Scenario, modules: list[str]) -> None:
        """Only modules whose CCAs, qdiscs or settings a run uses are loaded, after their needs."""
        given = KernelEngine(KERNEL).guest_input(used)
        steps = map(str.split, given.files["plan"].decode().splitlines())
        loaded = ["ccbench_link", "ccbench_flows", *modules]
        assert loaded == list(given.modules)
        files = [words[1] for words in steps if words[0] == "module"]
        assert [f"/modules/{name}.ko" for name in loaded] == files

    @pytest.mark.parametrize("cca", ["mine", "cubic"])
    def test_own_module(self, cca: str) -> None:
        """What a user's module holds is released at the end of runs that load it, and no others."""
        mine = Module(name="tcp_mine", digest="f" * 16, ccas=("mine",), is_own=True)
        kernel = replace(KERNEL, modules={**KERNEL.modules, "tcp_mine": mine})
        given = KernelEngine(kernel).guest_input(with_flow(cca=cca)).files["plan"].decode()
        assert (cca == "mine") == ("close_all=1" in given) == ("bottleneck0-end" in given)

    def test_old_runs(self, tmp_path: Path) -> None:
        """Runs stored under other keys are not found and have no effect."""
        store = Store(tmp_path)
        old = store.path_for(scenario().key())
        old.mkdir(parents=True)
        (old / "run.json").write_text("{}")
        assert store.get(scenario(), KernelEngine(KERNEL)) is None
        assert old.is_dir()
        assert 1 == store.usage().runs


class TestCode:
    @pytest.mark.parametrize(
        "module",
        [
            "ccbench.run.tables",
            "ccbench.run.cca_info",
            "ccbench.emulate.kernel.boot.shared",
            "ccbench.emulate.kernel.boot.results",
            "ccbench.run.queue_summary",
        ],
    )
    def test_reader(self, change: Callable[[str, str], None], module: str) -> None:
        """A change of code between the guest's records and a run's tables changes the identity."""
        before = identity(scenario()), KernelEngine(KERNEL).version()
        change(module, "\n# a comment\n")
        assert before == (identity(scenario()), KernelEngine(KERNEL).version())
        change(module, "\nADDED = 1\n")
        assert before[0] != identity(scenario())
        assert before[1] != KernelEngine(KERNEL).version()

    @pytest.mark.parametrize(
        "module",
        [
            "ccbench.run.run",
            "ccbench.experiment.scenario",
            "ccbench.harm",
            "ccbench.emulate.kernel.boot.boot",
        ],
    )
    def test_others(self, change: Callable[[str, str], None], module: str) -> None:
        """Code that only forms the guest's input, or uses runs, does not change the identity."""
        before = identity(scenario())
        change(module, "\nADDED = 1\n")
        assert before == identity(scenario())

    def test_writer(self, change: Callable[[str, str], None]) -> None:
        """A change of code between a scenario and the guest changes the engine's version."""
        before = identity(scenario()), KernelEngine(KERNEL).version()
        change("ccbench.emulate.kernel.boot.plan", "\nADDED = 1\n")
        assert before[0] == identity(scenario())
        assert before[1] != KernelEngine(KERNEL).version()


class TestPrograms:
    @pytest.fixture(autouse=True)
    def _installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Pretend that the programs are installed; only their digest is needed."""
        monkeypatch.setattr(web, "find", lambda name: f"/usr/bin/{name}")
        monkeypatch.setattr(web, "programs_digest", lambda: "0123456789abcdef")

    def served(self) -> str:
        """Return the identity of a run whose flow is a web server's."""
        return HttpKernelEngine(KERNEL).identity(scenario())

    def test_engine(self) -> None:
        """A run with a web server differs from the run without."""
        assert self.served() != identity(scenario())

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("SETTINGS", web.SETTINGS.replace("sendfile on", "sendfile off")),
            ("CLIENT_OPTIONS", (*web.CLIENT_OPTIONS, "--verbose")),
            ("programs_digest", lambda: "0" * 16),
            ("find", lambda name: f"/opt/{name}"),
            ("_CLIENT_MB", 32),
        ],
    )
    def test_differences(self, monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
        """Other programs, or other settings of them, change the identity."""
        before = self.served()
        monkeypatch.setattr(web, name, value)
        assert before != self.served()


class TestGuestInput:
    GIVEN = GuestInput(files={"plan": b"netns\n"}, memory_mb=256, seed=1, parameters=("a.b=1",))

    @pytest.mark.parametrize(
        "change",
        [
            {"files": {"plan": b"netns"}},
            {"files": {"plans": b"netns\n"}},
            {"files": {"plan": b"netns\n", "link.bin": b""}},
            {"memory_mb": 512},
            {"seed": 2},
            {"parameters": ()},
            {"parameters": ("a.b=1", "a.c=1")},
        ],
    )
    def test_digest(self, change: dict[str, Any]) -> None:
        """The digest covers every part of the input."""
        assert self.GIVEN.digest() != replace(self.GIVEN, **change).digest()

    def test_command_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The command-line words common to all runs are part of the digest."""
        before = self.GIVEN.digest()
        words = (*self.GIVEN.command_line, "threadirqs")
        monkeypatch.setattr(GuestInput, "command_line", words)
        assert before != self.GIVEN.digest()

    def test_files(self, tmp_path: Path) -> None:
        """Files are written with one fixed date, because programs could read it."""
        given = replace(self.GIVEN, files={"plan": b"netns\n", "pages/1": b"\0"})
        given.write(tmp_path)
        written = {str(p.relative_to(tmp_path)): p for p in tmp_path.rglob("*") if p.is_file()}
        assert given.files == {name: path.read_bytes() for name, path in written.items()}
        assert {1_577_836_800} == {path.stat().st_mtime for path in written.values()}
