# SPDX-License-Identifier: Apache-2.0
"""The abilities in docs/engines.md are those of the engines."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, RttTrace, Scenario, Trace, When
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.emulate.engine import CapturingEngine
from ccbench.emulate.registry import ENGINES, get_engine
from ccbench.experiment.impairments import BurstLoss, Jitter, Policer, Reordering
from ccbench.experiment.loss_trace import LossTrace
from ccbench.experiment.noise import Noise
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.stacks import OWN_STACKS
from ccbench.experiment.subflow import Subflow
from ccbench.experiment.wifi import Wifi
from tests.documentation import DOCS
from tests.scenarios import changed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kernel

_LINK = Bottleneck(bandwidth_mbps=10, queue_packets=63)
_PLAIN = Scenario(flows=(Flow(),), path=NetworkPath(bottlenecks=(_LINK,), rtt_ms=40), duration_s=20)


def also(*flows: Flow, **settings: Any) -> list[Scenario]:
    """Return the plain scenario with more flows and other settings."""
    return [changed(_PLAIN, flows=(*_PLAIN.flows, *flows), **settings)]


def over(**settings: Any) -> list[Scenario]:
    """Return the plain scenario over another bottleneck."""
    varying = {"trace", "wifi"} & set(settings)
    settings = {**settings, "bandwidth_mbps": None} if varying else settings
    return [replace(_PLAIN, path=replace(_PLAIN.path, bottlenecks=(replace(_LINK, **settings),)))]


#: The rows of the table, and their scenarios.
CASES: dict[str, list[Scenario]] = {
    "constant rate, drop-tail queue of 63 packets": [_PLAIN],
    "drop-tail queue of any length": over(queue_packets=64),
    "CoDel, PIE": over(qdisc="codel") + over(qdisc="pie"),
    "other queueing disciplines": over(qdisc="fq_codel") + over(qdisc="cake"),
    "several bottlenecks in a row": [
        replace(_PLAIN, path=replace(_PLAIN.path, bottlenecks=(_LINK, _LINK)))
    ],
    "a bottleneck of constant rate for ACKs": also(
        reverse_bottlenecks=(Bottleneck(bandwidth_mbps=1, queue_packets=63),)
    ),
    "other bottlenecks on the reverse path, flows in both directions": [
        *also(reverse_bottlenecks=(_LINK, _LINK)),
        *also(reverse_bottlenecks=(replace(_LINK, loss=0.01),)),
        *also(
            Flow(kind="cbr", rate_mbps=1, direction="reverse"),
            reverse_bottlenecks=(Bottleneck(bandwidth_mbps=1, queue_packets=63),),
        ),
        *also(forward_delay_ms=5),
    ],
    "Multipath TCP connections": also(Flow(subflows=(Subflow(), Subflow(cca="reno")))),
    "overhead of the link layer, ATM cells": over(overhead_bytes=38) + over(cells=True),
    "changes of the path, at times or after events": [
        *also(changes=(Change(at_s=0.5, rtt_ms=20),)),
        *also(changes=(Change(when=When(flow=0, packet=100), rtt_ms=20),)),
    ],
    "changes of the applications of bulk flows": [
        *also(changes=(Change(at_s=0.5, flow=0, app_rate_mbps=1),)),
        *also(changes=(Change(when=When(flow=0, packet=100), flow=0, app_rate_mbps=0),)),
    ],
    "changes of the applications of flows at a rate and CBR": [
        *also(Flow(kind="rate", rate_mbps=1), changes=(Change(at_s=1, flow=1, app_rate_mbps=2),)),
        *also(Flow(kind="cbr", rate_mbps=1), changes=(Change(at_s=1, flow=1, app_rate_mbps=0),)),
    ],
    "changes of the receive windows of bulk flows": also(
        changes=(Change(at_s=1, flow=0, window_bytes=20_000),)
    ),
    "changes of the receive windows of other flows": also(
        Flow(kind="rate", rate_mbps=1), changes=(Change(at_s=1, flow=1, window_bytes=20_000),)
    ),
    "RTTs that follow a trace, jitter of Wi-Fi": [
        *also(rtt_trace=RttTrace(points=((0, 40), (5, 80)))),
        *also(noise=Noise(wifi_jitter_ms=7)),
    ],
    "link of varying rate (trace)": over(trace=Trace(name="even", opportunities_ms=(1, 2))),
    "Wi-Fi": over(wifi=Wifi(bitrates_mbps=(13, 65))),
    "random loss": over(loss=0.01),
    "periodic, given and recorded losses, losses in bursts": [
        *over(loss_trace=LossTrace(points=((0, 0), (1, 0.5), (2, 0)))),
        *over(burst_loss=BurstLoss(good_ms=1000, bad_ms=50)),
        *over(loss_every_packets=1000),
        *over(loss_packets=(3,)),
        *over(burst_loss=BurstLoss.of(0.01, 3)),
    ],
    "policers, duplicates, reordering, jitter of single packets": [
        *over(jitter=Jitter(delay_ms=5, jitter_ms=2)),
        *over(policer=Policer(rate_mbps=5, burst_bytes=3000)),
        *over(duplicates=0.01),
        *over(reordering=Reordering(share=0.01, packets=3)),
    ],
    "routers that clear ECN, receivers that support ECN only in part": [
        *over(clears_ecn=True),
        *also(ecn=True, receiver_ecn=False),
    ],
    "round trip of any length": also(rtt_ms=40.5),
    "jitter of the path above 1 ms": [
        *also(noise=Noise(reverse_jitter_ms=2)),
        *also(noise=Noise(forward_jitter_ms=2)),
    ],
    "jitter of senders, background traffic": [
        *also(noise=Noise(sender_jitter_ms=1)),
        *also(noise=Noise(background_share=0.01)),
    ],
    "starts at random": also(noise=Noise(start_spread_ms=20)),
    "ACKs in batches": also(ack_batch_ms=1.0),
    "ACKs for every packet of bulk flows": also(Flow(acks="every")),
    "receivers of bulk flows that differ from Linux's": [
        *also(Flow(receiver=Receiver(window_bytes=9000))),
        *also(Flow(receiver=Receiver(optimistic_mbps=5))),
    ],
    "receivers of other flows that differ from Linux's": also(
        Flow(kind="rate", rate_mbps=1, receiver=Receiver(packets_per_ack=8)),
    ),
    "bulk flows without segmentation offload": also(Flow(segmentation_offload=False)),
    "initial windows of bulk flows": also(Flow(initcwnd=32)),
    "initial windows of other flows": also(Flow(kind="rate", rate_mbps=1, initcwnd=32)),
    "full-sized packets of other than 1500 bytes": also(mtu_bytes=9000),
    "bulk flows with an extra delay": also(Flow(extra_rtt_ms=20)),
    "other flows with an extra delay": also(Flow(kind="rate", rate_mbps=1, extra_rtt_ms=20)),
    "short flows, flows at a rate, on/off, UDP": also(
        Flow(kind="bytes", size_bytes=1000, count=20),
        Flow(kind="rate", rate_mbps=1),
        Flow(kind="onoff", on_s=1, off_s=1),
        Flow(kind="cbr", rate_mbps=1),
        Flow(kind="poisson", rate_mbps=1),
    ),
    "UDP in frames": also(Flow(kind="frames", frames_per_s=30, frame_bytes=(9000,))),
    "UDP with an ECN field": also(Flow(kind="cbr", rate_mbps=1, ecn="ect1")),
    "videos": also(Flow(kind="video", bitrates_mbps=(1, 2), segment_s=2, buffer_s=10)),
    "100 bulk flows": also(Flow(count=99)),
    "1500 UDP flows": also(Flow(kind="cbr", rate_mbps=0.001, count=1500)),
    "programs of the host": also(
        Flow(kind="program", sender="cat", receiver=Receiver(program="cat")),
    ),
    "QUIC stacks": also(Flow(cca="quic:own/any")),
    "congestion controls of ccbench's own": also(Flow(cca="rapid")),
    "parameters of modules": also(module_parameters=(("tcp_cubic.hystart", "0"),)),
    "IPv6 of bulk flows": also(Flow(ip_version=6)),
    "IPv6 of other flows": [
        *also(Flow(kind="rate", rate_mbps=1, ip_version=6)),
        *also(Flow(kind="cbr", rate_mbps=1, ip_version=6)),
    ],
    "hosts that remember earlier connections, of bulk flows": also(Flow(host="a")),
    "hosts that remember earlier connections, of other flows": also(
        Flow(kind="bytes", size_bytes=1000, host="a")
    ),
    "queue logs that are summarised": also(queue_log="summary"),
    "samples at less than 1 ms": also(sample_interval_ms=0.01),
}


#: The row about captures, which are no part of a scenario.
_CAPTURES = "captures of packets"


def table() -> dict[str, dict[str, str]]:
    """Return the cells of the page's second table by engine and row."""
    page = (DOCS / "engines.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (.*) \|$", page.partition("## Capabilities")[2], re.MULTILINE)
    _, *engines = (name.strip("` ") for name in lines[0].split("|"))
    rows = ([cell.strip() for cell in line.split("|")] for line in lines[2:])
    return {row[0]: dict(zip(engines, row[1:], strict=True)) for row in rows}


def can(engine: str, scenario: Scenario) -> str:
    """Return "yes" if an engine accepts a scenario, else "no"."""
    try:
        get_engine(engine).check(scenario)
    except InputError:
        return "no"
    except MissingRequirement:
        # The real-time engines check the scenario before their own installation.
        if engine == "kernel-http":
            pytest.skip("nginx or h2load is not installed")
    return "yes"


def test_rows() -> None:
    """The table has exactly the existing engines and the tested rows."""
    assert [*CASES, _CAPTURES] == list(table())
    assert all(row.keys() <= ENGINES.keys() for row in table().values())


#: A stack of programs that every machine has.
_STACK = """
protocol = "quic"
summary = "a stack"
install = "nothing to do"
ccas = ["any"]
sender = "cat"
receiver = "cat"
"""


@pytest.fixture
def own_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Describe the stack of the row about stacks."""
    (tmp_path / "own.toml").write_text(_STACK)
    monkeypatch.setenv(OWN_STACKS, str(tmp_path))


@pytest.mark.usefixtures("own_stack")
@pytest.mark.parametrize("engine", next(iter(table().values())))
def test_engine(engine: str) -> None:
    """An engine accepts the scenarios that the page lists, and refuses the others."""
    documented_cells = {
        what: row[engine] for what, row in table().items() if row[engine] != "with `QueueDelay`"
    }
    captures = isinstance(get_engine(engine), CapturingEngine)
    assert documented_cells.pop(_CAPTURES) == ("yes" if captures else "no")
    actual = {what: {can(engine, case) for case in CASES[what]} for what in documented_cells}
    assert {what: {word} for what, word in documented_cells.items()} == actual
