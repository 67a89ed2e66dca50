# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pytest

from ccbench.studies.ware.gordon import Probe, measured, next_probe
from ccbench.studies.ware.gordon_rules import UNKNOWN, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.run.run import Run

START = [10, 20, 40, 84]


def sender_of(probe: Probe, sent: Sequence[tuple[float, str]]) -> Run:
    """Return a run whose packets have these times in seconds and these fates."""
    queue = pd.DataFrame(sent, columns=["time_ns", "event"])
    queue["time_ns"] = (queue["time_ns"] * 1e9).astype(np.int64)
    queue["bytes"] = 100
    return cast("Run", SimpleNamespace(scenario=probe.scenario, queue=queue))


def packets(count: int, at_s: float, event: str) -> list[tuple[float, str]]:
    """Return packets every 2 ms."""
    return [(at_s + 0.002 * i, event) for i in range(count)]


def cubic(most: float, round_trips: int) -> list[int]:
    """Return windows of RFC 9438, with 0.2 s per round trip, after a loss at `most` packets."""
    back_s = (most * 0.3 / 0.4) ** (1 / 3)
    return [round(0.4 * (0.2 * i - back_s) ** 3 + most) for i in range(round_trips)]


class TestRules:
    @pytest.mark.parametrize(
        ("windows", "expected"),
        [
            ([*START, *range(42, 88)], "reno"),
            ([*START, *cubic(84, 40)], "cubic"),
            ([10, 20, 40, 96, *(round(84 * 1.01**i) for i in range(45))], "scalable"),
            ([*START, *[42] * 20, *[43] * 20], "vegas"),
            ([*START, *[104] * 20, *[70] * 20], "bbr"),
        ],
    )
    def test_labels(self, windows: list[int], expected: str) -> None:
        """Windows that a congestion control has by its definition get its label."""
        assert expected == label(windows)

    @pytest.mark.parametrize("windows", [[10, 20, 40, *[50] * 20], [10, 20, 40, 84, 0], []])
    def test_no_loss(self, windows: list[int]) -> None:
        """Windows without a loss above 80 packets, or nothing after it, are unknown."""
        assert UNKNOWN == label(windows)

    def test_slower_link(self) -> None:
        """Twice the first link's product before it becomes slower is BBR, whatever follows."""
        windows = [*START, *[96, 97, 98, 97, 96], *[45, 120] * 8]
        assert "bbr" == label(windows, slower_at=9)


class TestProbes:
    def test_first(self) -> None:
        """The window is the packets that are lost until a silence, which ends the connection."""
        probe = Probe(cca="reno", seed=1)
        run = sender_of(
            probe,
            [(0.0, "enqueue"), (0.1, "enqueue"), *packets(10, 0.1, "loss"), (0.6, "loss")],
        )
        window = measured(run)
        assert (10, 2) == (window.packets, window.passed)
        assert pytest.approx(0.6) == window.seconds
        assert pytest.approx(13 * 100 / 1e6) == window.megabytes
        following = next_probe(run)
        assert following is not None
        assert (2, 12, 0) == (following.round_trip, following.passing, following.lost)

    def test_loss(self) -> None:
        """The first packet of the first window above 80 is lost in all later connections."""
        probe = Probe(cca="reno", seed=1, round_trip=4, passing=72)
        sent = [*packets(72, 0, "enqueue"), *packets(84, 0.2, "loss"), (1.0, "loss")]
        reacting = next_probe(sender_of(probe, sent))
        assert reacting is not None
        assert (73, 156, True) == (reacting.lost, reacting.passing, reacting.reacts)
        sent = [
            *packets(72, 0, "enqueue"),
            (0.2, "loss"),
            *packets(86, 0.202, "enqueue"),
            *packets(42, 0.4, "loss"),
            (1.5, "loss"),
        ]
        after = next_probe(sender_of(reacting, sent))
        assert after is not None
        assert (42, 159) == (measured(sender_of(reacting, sent)).packets, after.passing - 42)
        assert (73, False) == (after.lost, after.reacts)

    def test_end(self) -> None:
        """A trace ends with its last round trip, and when nothing is lost."""
        last = Probe(cca="reno", seed=1, last=1)
        sent = [*packets(2, 0, "enqueue"), *packets(10, 0.1, "loss")]
        assert next_probe(sender_of(last, sent)) is None
        assert next_probe(sender_of(Probe(cca="reno", seed=1), sent[:2])) is None

    @pytest.mark.parametrize("changes", [{}, {"lost": 73, "passing": 156, "reacts": True}])
    def test_scenario(self, changes: dict[str, Any]) -> None:
        """A scenario tells its probe."""
        probe = Probe(cca="cubic", seed=3, round_trip=5, **changes)
        assert probe == Probe.of(probe.scenario)
