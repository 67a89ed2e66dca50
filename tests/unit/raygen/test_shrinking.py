# SPDX-License-Identifier: Apache-2.0
"""Reduction of scenarios with properties that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from ccbench.raygen.shrinking import DURATIONS_S, digits, shrunk

if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = st.fixed_dictionaries(
    {
        "bottlenecks.0.bandwidth_mbps": st.floats(5, 50).map(lambda x: round(x, 1)),
        "rtt_ms": st.floats(10, 200).map(lambda x: round(x, 1)),
        "bottlenecks.0.queue_packets": st.integers(1, 5000),
        "flows.0.count": st.integers(1, 5),
        "beta_flows": st.integers(1, 5),
        "flows.0.cca": st.sampled_from(["bbr", "cubic"]),
        "duration_s": st.sampled_from(DURATIONS_S),
    }
)


def region(start: Mapping[str, Any], width: float, flows: int) -> Any:
    """Return a property that holds around a start, with enough flows and time."""

    def shows(settings: Mapping[str, Any]) -> bool:
        near = (
            abs(settings[name] - start[name]) <= width * abs(start[name])
            for name in ("bottlenecks.0.bandwidth_mbps", "rtt_ms", "bottlenecks.0.queue_packets")
        )
        needed = min(flows, start["flows.0.count"])
        is_long = settings["duration_s"] >= min(20, start["duration_s"])
        return all(near) and settings["flows.0.count"] >= needed and is_long

    return shows


@given(SETTINGS, st.floats(0, 0.5), st.integers(1, 5))
def test_property(start: dict[str, Any], width: float, flows: int) -> None:
    """The result has the property, is nowhere more complex, and is a fixed point."""
    shows = region(start, width, flows)
    found = shrunk(start, shows)
    assert shows(found)
    assert [*start] == [*found]
    for name, value in found.items():
        if name.endswith(("count", "flows", "duration_s")):
            assert value <= start[name]
        elif name != "flows.0.cca":
            assert digits(value) <= digits(start[name])
    assert start["flows.0.cca"] == found["flows.0.cca"]
    assert found == shrunk(found, shows)


@given(SETTINGS)
def test_everything(start: dict[str, Any]) -> None:
    """If everything has the property, one flow of each, round numbers and the least time remain."""
    found = shrunk(start, lambda _settings: True)
    assert 1 == found["flows.0.count"] == found["beta_flows"]
    assert DURATIONS_S[0] == found["duration_s"]
    for name in ("bottlenecks.0.bandwidth_mbps", "rtt_ms", "bottlenecks.0.queue_packets"):
        assert 0 == digits(found[name])
        assert start[name] / 2 <= found[name] <= 2 * start[name]


@given(SETTINGS)
def test_nothing(start: dict[str, Any]) -> None:
    """If nothing else has the property, the settings stay."""
    assert start == shrunk(start, lambda settings: settings == start)


@given(SETTINGS, st.integers(1, 5))
def test_fewest(start: dict[str, Any], flows: int) -> None:
    """The fewest flows that have the property are found, and each question is asked once."""
    asked = []

    def shows(settings: Mapping[str, Any]) -> bool:
        asked.append(tuple(settings.values()))
        return bool(settings["flows.0.count"] >= min(flows, start["flows.0.count"]))

    assert min(flows, start["flows.0.count"]) == shrunk(start, shows)["flows.0.count"]
    assert len(asked) == len(set(asked))
