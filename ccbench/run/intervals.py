# SPDX-License-Identifier: Apache-2.0
"""Durations of a run in nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from ccbench.experiment.scenario import Scenario

__all__ = ["NS", "check_multiple", "duration_ns", "interval_ns", "sample_ns", "time_index"]

#: Nanoseconds per second.
NS = 1_000_000_000


def duration_ns(scenario: Scenario) -> int:
    """Return the duration of a run."""
    return round(scenario.duration_s * NS)


def sample_ns(scenario: Scenario) -> int:
    """Return the time between two samples."""
    return round(scenario.sample_interval_ms * 1e6)


def interval_ns(interval_s: float) -> int:
    """Return the length of a user's interval.

    Raises
    ------
    InputError
        If `interval_s` is not a number from 1e-9 to 1e6.
    """
    allowed = validation.Range(1e-9, 1e6)
    return round(validation.number("interval_s", interval_s, allowed, example=1) * NS)


def check_multiple(interval_ns: int, scenario: Scenario) -> None:
    """Check that an interval is a multiple of the time between two samples.

    Raises
    ------
    InputError
        If it is not.
    """
    step_ns = sample_ns(scenario)
    if interval_ns % step_ns:
        allowed = f"a multiple of the scenario's sample_interval_ms = {step_ns / 1e6:g}"
        nearest = max(1, round(interval_ns / step_ns)) * step_ns / NS
        step = f"for example {nearest:g}"
        raise validation.bad("interval_s", interval_ns / NS, allowed, step)


def time_index(time_ns: npt.NDArray[np.int64] | pd.Series[int] | pd.Index[int]) -> pd.Index[float]:
    """Return an index ``time_s`` in seconds."""
    import pandas as pd  # noqa: PLC0415 - not needed for a summary

    return pd.Index(time_ns / NS, name="time_s")
