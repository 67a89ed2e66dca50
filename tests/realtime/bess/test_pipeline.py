# SPDX-License-Identifier: Apache-2.0
"""Calls to BESS: their order, and their values for a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ccbench import Bottleneck, Trace
from ccbench.base.errors import InputError
from ccbench.emulate.bess import pipeline

PORTS = {"sender": "a", "receiver": "b"}


def calls(**changes: Any) -> list[pipeline.Call]:
    """Return the calls for a link."""
    delay_ms = changes.pop("delay_ms", None)
    link = Bottleneck(**{"bandwidth_mbps": 10, "queue_packets": 63, **changes})
    return pipeline.path(link, core=1, ports=PORTS, delay_ms=delay_ms)


def module(requests: list[pipeline.Call], name: str) -> dict[str, Any]:
    """Return the arguments of a created module."""
    (arguments,) = [r["arg"] for rpc, r in requests if rpc == "CreateModule" and r["name"] == name]
    return dict(arguments)


def way(requests: list[pipeline.Call], start: str) -> list[str]:
    """Return the modules that a packet passes, from a first one."""
    following = {r["m1"]: r["m2"] for rpc, r in requests if rpc == "ConnectModules"}
    names = [start]
    while names[-1] in following:
        names.append(following[names[-1]])
    return names


class TestOrder:
    def test_calls(self) -> None:
        """Everything is created while BESS pauses, and each object after its parts."""
        actual = calls(loss=0.01)
        order = list(dict.fromkeys(rpc for rpc, _ in actual))
        assert order == [
            *("PauseAll", "ResetAll", "AddWorker", "CreatePort", "CreateModule", "ModuleCommand"),
            *("ConnectModules", "AddTc", "UpdateTcParent", "CheckSchedulingConstraints"),
            "ResumeAll",
        ]

    def test_way(self) -> None:
        """Packets pass random losses, then the queue; answers pass nothing."""
        actual = calls(loss=0.01)
        assert way(actual, "from_sender") == ["from_sender", "loss", "queue", "to_receiver"]
        assert way(actual, "from_receiver") == ["from_receiver", "to_sender"]

    def test_delay(self) -> None:
        """If BESS can delay, answers are stamped and delayed by the round-trip time."""
        actual = calls(delay_ms=40)
        assert way(actual, "from_receiver") == ["from_receiver", "timestamp", "delay", "to_sender"]
        assert module(actual, "delay")["delay"] == 40


class TestNumbers:
    def test_queue(self) -> None:
        """A queue of 63 packets has 64 places, of which BESS leaves one free."""
        assert module(calls(queue_packets=63), "queue")["size"] == 64

    @pytest.mark.parametrize("mbps", [0.3, 5, 10, 12.5, 100])
    def test_rate(self, mbps: float) -> None:
        """The limit passes as many full packets per second as the rate in IP bytes.

        BESS counts 24 bytes more than the frame, which has 14 more than the packet.
        """
        packets_per_s = pipeline.limit_bps(mbps) / 8 / (1500 + 14 + 24)
        assert packets_per_s == pytest.approx(mbps * 1e6 / 8 / 1500, rel=1e-6)

    def test_tap(self) -> None:
        """A tap names a gate of a module, and the same gate to end it."""
        begin, end = (
            pipeline.tap("queue", "igate", Path("/tmp/a"), on=on)[1]  # noqa: S108 - only a name
            for on in (True, False)
        )
        assert begin["hook"] == end["hook"]
        assert (begin["enable"], end["enable"]) == (True, False)
        assert begin["hook"]["igate"] == 0


class TestBadInput:
    @pytest.mark.parametrize(
        ("link", "message"),
        [
            (
                {"queue_packets": 64},
                "queue_packets is 64; it must be .* write for example queue_packets = 63",
            ),
            (
                {"queue_packets": 100},
                "queue_packets is 100; .* write for example queue_packets = 127",
            ),
            ({"queue_packets": 2}, "queue_packets is 2; .* write for example queue_packets = 3"),
            ({"qdisc": "codel"}, "qdisc is 'codel'; it must be 'droptail'"),
        ],
    )
    def test_refused(self, link: dict[str, Any], message: str) -> None:
        """Links that BESS cannot emulate are refused with the valid values."""
        bottleneck = Bottleneck(**{"bandwidth_mbps": 10, "queue_packets": 63, **link})
        with pytest.raises(InputError, match=message):
            pipeline.check_bottleneck(bottleneck)

    def test_trace(self) -> None:
        """A link of varying rate is refused."""
        trace = Trace(name="uneven", opportunities_ms=(1, 5))
        with pytest.raises(InputError, match="trace is 'uneven'"):
            pipeline.check_bottleneck(Bottleneck(trace=trace, queue_packets=63))

    @pytest.mark.parametrize("power", range(2, 15))
    def test_allowed(self, power: int) -> None:
        """Every power of two less one is allowed, from 3 to 16,383."""
        pipeline.check_bottleneck(Bottleneck(bandwidth_mbps=10, queue_packets=2**power - 1))
