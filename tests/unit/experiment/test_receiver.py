# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any, cast

import pytest

from ccbench.base.errors import InputError
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import Flow


class TestReceiver:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "nothing is set: write for example receiver = {window_bytes"),
            ({"hides_ecn": 1}, "hides_ecn is 1; it must be true or false"),
            ({"window_bytes": 1499}, "window_bytes is 1499; it must be a whole number at least"),
            ({"read_mbps": 0}, "read_mbps is 0; it must be a number at least 0.001"),
            (
                {"window_bytes": 9000, "read_interval_ms": 5},
                "read_interval_ms is 5.0; it must be left out without read_mbps",
            ),
            (
                {"window_bytes": 9000, "ack_delay_ms": 5},
                "ack_delay_ms is 5.0; it must be left out without packets_per_ack",
            ),
            ({"packets_per_ack": 2, "ack_delay_ms": 501}, "ack_delay_ms is 501; it must be"),
            ({"ack_parts": 0}, "ack_parts is 0; it must be a whole number at least 1"),
            (
                {"ack_parts": 2, "duplicate_acks": 3},
                "duplicate_acks is 3; it must be left out with ack_parts",
            ),
            (
                {"optimistic_mbps": 2, "ack_parts": 3},
                "ack_parts is 3; it must be left out with optimistic_mbps",
            ),
            (
                {"optimistic_mbps": 2, "packets_per_ack": 3},
                "packets_per_ack is 3; it must be left out with optimistic_mbps",
            ),
        ],
    )
    def test_bad(self, settings: dict[str, Any], message: str) -> None:
        """A setting that is out of range, or excludes another one, is named with its value."""
        with pytest.raises(InputError) as caught:
            Receiver(**settings)
        assert str(caught.value).startswith(message)

    def test_whole_numbers(self) -> None:
        """A whole number may be written with an exponent, which makes it a float in TOML."""
        assert Receiver(window_bytes=cast("int", 1.5e5)) == Receiver(window_bytes=150_000)

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            (3, "receiver is 3; it must be a table"),
            ({"window": 9000}, "receiver.window is not a setting; did you mean window_bytes?"),
            ({"window_bytes": 1}, "receiver.window_bytes is 1; it must be"),
            ({}, "receiver: nothing is set: write for example receiver"),
        ],
    )
    def test_documents(self, table: object, message: str) -> None:
        """In a document a receiver is a table, whose errors name it."""
        with pytest.raises(InputError) as caught:
            Flow.from_dict({"receiver": table})
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize("off", [{"ack_parts": 1}, {"duplicate_acks": 0}, {"hides_ecn": False}])
    def test_off(self, off: dict[str, Any]) -> None:
        """The value that turns a setting off gives Linux's receiver, or that of the others."""
        assert Flow.from_dict({"receiver": off}) == Flow()
        assert Receiver(window_bytes=9000, **off) == Receiver(window_bytes=9000)

    def test_round_trip(self) -> None:
        """A flow mentions its receiver only if it differs from Linux's."""
        flow = Flow(receiver=Receiver(packets_per_ack=8, hides_ecn=True))
        assert flow.to_dict()["receiver"] == {"packets_per_ack": 8, "hides_ecn": True}
        assert flow == Flow.from_dict(flow.to_dict())
        assert "receiver" not in Flow().to_dict()

    @pytest.mark.parametrize(("read_mbps", "interval_ms"), [(100, 1), (0.1448, 80)])
    def test_reads(self, read_mbps: float, interval_ms: float) -> None:
        """An application reads every millisecond or, at low rates, a packet at a time."""
        assert Receiver(read_mbps=read_mbps).interval_ms(1448) == pytest.approx(interval_ms)
        assert Receiver(read_mbps=read_mbps, read_interval_ms=7).interval_ms(1448) == 7
