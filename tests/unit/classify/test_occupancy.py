# SPDX-License-Identifier: Apache-2.0
"""Traces of occupancy from events at a queue."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ccbench.base.errors import InputError
from ccbench.classify.occupancy import STEP_S, occupancy


def events(*rows: tuple[float, int]) -> pd.DataFrame:
    """Return a queue's record from times in seconds and backlogs."""
    frame = pd.DataFrame(rows, columns=["time_s", "backlog_packets"])
    return frame.assign(time_ns=(frame["time_s"] * 1e9).round().astype("int64"))


class TestOccupancy:
    def test_points(self) -> None:
        """A point is the backlog at that instant: after the last event before it, or at it."""
        actual = occupancy(events((1.0, 1), (1.019, 2), (1.04, 3), (1.08, 0)), duration_s=0.08)
        assert [1, 2, 3, 3] == actual.tolist()

    def test_length(self) -> None:
        """A trace has a point for each step of its length, whatever the events."""
        actual = occupancy(events((0.0, 1), (30.0, 0)), duration_s=20.0)
        assert (round(20 / STEP_S),) == actual.shape

    def test_beginning(self) -> None:
        """A trace begins at `from_s`, by default at the first packet; before it, nothing waits."""
        record = events((1.0, 5), (1.06, 6), (2.0, 7))
        assert 5 == occupancy(record, duration_s=0.02)[0]
        assert [0, 0, 5] == occupancy(record, from_s=0.97, duration_s=0.06).tolist()
        assert [6] == occupancy(record, from_s=1.5, duration_s=0.02).tolist()

    def test_repeated(self) -> None:
        """Of several events at one instant the last counts."""
        assert [2] == occupancy(events((0.0, 1), (0.0, 2), (1.0, 0)), duration_s=0.02).tolist()

    @pytest.mark.parametrize("record", [events(), events((0.0, 1)), events((0.0, 1), (9.9, 1))])
    def test_too_short(self, record: pd.DataFrame) -> None:
        """Events that end before the trace are an input error that states their duration."""
        with pytest.raises(InputError, match=r"trace is '.* s'; it must be at least 20 s"):
            occupancy(record, duration_s=20.0)

    def test_type(self) -> None:
        """Large counts of packets are exact."""
        actual = occupancy(events((0.0, 2**24), (1.0, 0)), duration_s=0.02)
        assert actual.dtype == np.float32
        assert 2**24 == actual[0]
