# SPDX-License-Identifier: Apache-2.0
"""Recognition of tests that the machine has disturbed."""

from __future__ import annotations

import pytest

from tests.realtime.disturbance import is_busy, skip_if_busy, stalled_phase


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ([(0.0, 10.0)], (0.25, 10.0)),
        ([(0.0, 10.0), (10.0, 10.5)], (0.25, 10.0)),  # the second test may share the first's run
        ([(3.5, 10.0)], None),
        ([(0.0, 100.0)], None),
        ([(2.0, 2.05)], None),
    ],
)
def test_stalled_phase(
    phases: list[tuple[float, float]], expected: tuple[float, float] | None
) -> None:
    """Stalls of more than 1 % of a phase count for this test and later ones."""
    assert expected == stalled_phase("2.0 0.125\n3.0 0.125\n", phases)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("the machine is too busy: the link was not ready in time", True),
        ("the switch was late, as this machine is too busy (3 ms)", True),
        ("link has 5.8 Mbit/s instead of 6: leave core 1 of this machine to it", True),
        ("the run hangs: no report for 60 s", False),
        ("mm-link contradicts itself: a packet passed its full queue", False),
    ],
)
def test_is_busy(message: str, expected: object) -> None:
    """Errors that blame the machine are told from other failures, which remain failures."""
    assert is_busy(message) == expected


def test_skip() -> None:
    """A test is skipped with ccbench's reason."""
    with pytest.raises(pytest.skip.Exception, match="busy: the machine is too busy"):
        skip_if_busy("started\nthe machine is too busy\n")
    skip_if_busy("no such file\n")
