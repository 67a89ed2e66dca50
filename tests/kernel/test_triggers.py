# SPDX-License-Identifier: Apache-2.0
"""Changes after events of a flow take effect at the event, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, Run, Scenario, When
from ccbench.base.errors import InputError
from ccbench.run.tables import RUN_TABLES
from tests.kernel.conftest import run
from tests.scenarios import flat

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.kernel

LINK = Bottleneck(bandwidth_mbps=20, queue_bdp=1)
#: In units of 1/256, BBR's gain is below 1 while it drains the queue of its start.
DRAINS = When(flow=0, info="pacing_gain", below=100)


def path(*flows: Flow, changes: tuple[Change, ...] = (), **settings: Any) -> Scenario:
    """Return a scenario over a link of 20 Mbit/s and 40 ms."""
    values = {"rtt_ms": 40, "duration_s": 6, "sample_interval_ms": 1, **settings}
    return flat(flows=flows, bottlenecks=(LINK,), changes=changes, **values)


def times_s(result: Run, change: int = 0) -> list[float]:
    """Return the times at which a change took effect."""
    own = result.changes["change"] == change
    return [time_ns / 1e9 for time_ns in result.changes.loc[own, "time_ns"]]


def assert_equal_tables(result: Run, other: Run) -> None:
    """Check that all tables but that of the changes are equal."""
    for name in RUN_TABLES.keys() - {"changes"}:
        pd.testing.assert_frame_equal(getattr(result, name), getattr(other, name))


class TestPacket:
    def test_number(self) -> None:
        """The packet with this number is the first that meets the change."""
        change = Change(when=When(flow=1, packet=7), loss=1)
        result = run(path(Flow(cca="cubic"), Flow(cca="bbr"), changes=(change,), duration_s=2))
        log = result.queue_events()
        own = log.loc[(log["flow"] == 1) & log["event"].isin(["enqueue", "loss"]), "event"]
        assert [*own[:7]] == [*["enqueue"] * 6, "loss"]
        assert set(own[6:]) == {"loss"}

    def test_order(self) -> None:
        """Of two changes after one event, the last one counts."""
        event = When(flow=0, packet=500)
        changes = tuple(Change(when=event, bandwidth_mbps=mbps) for mbps in (5, 40))
        result = run(path(Flow(cca="cubic"), changes=changes))
        assert times_s(result, 0) == times_s(result, 1)
        assert result.throughput()[0].max() > 21

    def test_udp(self) -> None:
        """Packets of UDP flows are events as well, and packets of other flows are not."""
        change = Change(when=When(flow=0, packet=101), bandwidth_mbps=1)
        sender = Flow(kind="cbr", rate_mbps=12)  # a packet each ms, the first at 0
        result = run(path(sender, Flow(), changes=(change,)))
        assert times_s(result) == pytest.approx([0.1], abs=1e-6)

    @pytest.mark.parametrize("direction", ["forward", "reverse"])
    def test_same_as_at_its_time(self, direction: str) -> None:
        """A change some time after an event is the same change as one at that time."""
        flows = Flow(cca="bbr", direction=direction), Flow(cca="cubic", direction=direction)
        after: dict[str, Any] = {
            "rtt_ms": 70,
            "bandwidth_mbps": 10,
            "bottleneck": int(direction == "reverse"),
        }
        change = Change(when=When(flow=1, packet=500), after_s=0.05, **after)
        scenario = path(*flows, changes=(change,), reverse_bottlenecks=(LINK,))
        result = run(scenario)
        (at_s,) = times_s(result)
        same = run(
            replace(scenario, path=replace(scenario.path, changes=(Change(at_s=at_s, **after),)))
        )
        assert_equal_tables(result, same)
        assert result.bottleneck_summary().equals(same.bottleneck_summary())

    @pytest.mark.parametrize(
        ("setting", "later_s"), [({"queue_packets": 1}, 0.0005), ({"loss": 1}, 0)]
    )
    def test_queue(self, setting: dict[str, Any], later_s: float) -> None:
        """The packet meets all settings but those of the queue, which the next one meets."""
        change = Change(when=When(flow=0, packet=200), **setting)
        result = run(path(Flow(kind="cbr", rate_mbps=24), changes=(change,), duration_s=1))
        log = result.queue_events()
        lost = log.loc[log["event"].isin(["drop", "loss"]), "time_ns"].min() / 1e9
        (at_s,) = times_s(result)
        assert lost == pytest.approx(at_s + later_s, abs=1e-6)

    def test_before_state(self) -> None:
        """At a packet that is several events, changes for its number precede those for states."""
        second = When(flow=0, packet=2)  # ends the handshake
        changes = (
            Change(when=When(flow=0, info="state", equals="open"), loss=0),
            Change(when=second, loss=0),
        )
        result = run(path(Flow(), changes=changes, duration_s=1))
        assert result.changes["change"].tolist() == [1, 0]
        assert len(set(result.changes["time_ns"])) == 1


class TestState:
    def test_enters(self) -> None:
        """The change is between the last sample before the state and the first one in it."""
        result = run(path(Flow(cca="bbr"), changes=(Change(when=DRAINS, bandwidth_mbps=18),)))
        (at_s,) = times_s(result)
        gain = result.cca_info(0)["pacing_gain"]
        first = gain.index[(gain > 0) & (gain < 100)][0]
        assert first - 0.001 <= at_s <= first

    def test_rate(self) -> None:
        """The rate drops in the moment in which BBR drains its queue, as its draft asks."""
        result = run(path(Flow(cca="bbr"), changes=(Change(when=DRAINS, bandwidth_mbps=2),)))
        (at_s,) = times_s(result)
        log = result.queue_events()
        left_s = log.loc[log["event"] == "dequeue", "time_ns"].to_numpy() / 1e9
        gaps_ms = np.diff(left_s) * 1e3
        assert gaps_ms[left_s[1:] < at_s].min() < 0.7
        assert gaps_ms[left_s[:-1] > at_s].min() == pytest.approx(6, abs=0.001)
        capacity_bytes = (20 * at_s + 2 * (6 - at_s)) * 1e6 / 8
        sent_bytes = log.loc[log["event"] == "dequeue", "bytes"].sum()
        assert result.utilisation(0) == pytest.approx(sent_bytes / capacity_bytes, rel=1e-3)

    def test_occurrence(self) -> None:
        """Of several occurrences, the one with this number counts."""
        probes = When(flow=0, info="pacing_gain", equals=320)
        changes = [Change(when=replace(probes, occurrence=n), loss=0) for n in (1, 2, 3)]
        result = run(path(Flow(cca="bbr"), changes=tuple(changes)))
        gain = result.cca_info(0)["pacing_gain"] == 320
        starts = gain.index[gain & ~gain.shift(fill_value=False)][:3]
        found = [times_s(result, n)[0] for n in range(3)]
        assert found == pytest.approx(starts, abs=0.0011)

    def test_named(self) -> None:
        """A state can be given by its name."""
        named = When(flow=0, info="mode", equals="delay")
        link = {"sysctls": {"net.ipv4.tcp_nimbus_link_kbps": 20_000}}
        scenarios = [
            path(Flow(cca="nimbus"), changes=(Change(when=when, loss=0),), duration_s=20, **link)
            for when in (named, replace(named, equals=1))
        ]
        found, same = (times_s(run(scenario)) for scenario in scenarios)
        assert len(found) == 1
        assert found == same

    def test_recovery(self) -> None:
        """Any congestion control has the states of TCP."""
        recovery = When(flow=0, info="state", equals="recovery")
        result = run(path(Flow(cca="cubic"), changes=(Change(when=recovery, outage_s=0.3),)))
        (at_s,) = times_s(result)
        states = result.samples("state")[0]
        first = states.index[states == "recovery"][0]
        assert first - 0.001 <= at_s <= first
        log = result.queue_events()
        left_s = log.loc[log["event"] == "dequeue", "time_ns"] / 1e9
        assert left_s.diff().max() == pytest.approx(0.3, abs=0.002)
        assert left_s[left_s > at_s + 0.1].min() == pytest.approx(at_s + 0.3, abs=0.002)

    def test_scale(self) -> None:
        """A threshold is in the unit of the value, not in that of the kernel."""
        when = When(flow=0, info="send_mbps", above=8.5)
        result = run(path(Flow(cca="nimbus"), changes=(Change(when=when, loss=0),)))
        (at_s,) = times_s(result)
        rate = result.cca_info(0)["send_mbps"]
        first = rate.index[rate > 8.5][0]
        assert first - 0.001 <= at_s <= first

    def test_route(self) -> None:
        """A change of route in the moment in which an ACK arrives lets later ACKs overtake."""
        states = [When(flow=0, info="state", equals=name) for name in ("recovery", "open")]
        changes = tuple(
            Change(
                when=replace(states[n % 2], occurrence=1 + n // 2), rtt_ms=rtt_ms, overtakes=True
            )
            for n, rtt_ms in enumerate((80, 20, 60, 30))
        )
        result = run(path(Flow(cca="cubic"), Flow(cca="bbr"), changes=changes, duration_s=20))
        assert len(result.changes) == 4
        assert result.utilisation(0) > 0.8

    def test_periodic(self) -> None:
        """With every_s, the change repeats from the event on."""
        change = Change(when=DRAINS, every_s=1, outage_s=0.1)
        found = times_s(run(path(Flow(cca="bbr"), changes=(change,))))
        assert len(found) >= 4
        assert np.diff(found) == pytest.approx(1, abs=1e-8)

    def test_never(self) -> None:
        """A state that is never entered changes nothing."""
        never = Change(when=When(flow=0, info="pacing_gain", above=10_000), bandwidth_mbps=1)
        result = run(path(Flow(cca="bbr"), Flow(), changes=(never,)))
        assert result.changes.empty
        assert_equal_tables(result, run(path(Flow(cca="bbr"), Flow())))


@pytest.mark.parametrize(
    ("when", "message"),
    [
        (When(flow=0, info="mode", equals=1), "info is 'mode'.*state, rate_low.* for bbr"),
        (When(flow=0, info="pacing_gain", equals="high"), "equals is 'high'.*a whole number"),
        (When(flow=0, info="pacing_gain", equals=88.5), "equals is 88.5.*a whole number from 0"),
        (When(flow=0, info="state", below=2), "below is 2.0; .*named states: .* equals = 'loss'"),
        (When(flow=0, info="pacing_gain", equals=-1), "equals is -1.*a whole number from 0"),
        (
            When(flow=0, info="state", equals="fast"),
            "equals is 'fast'.*open, disorder.*from 0 to 4",
        ),
        (When(flow=0, info="state", equals=5), "equals is 5.*open, disorder"),
        (When(flow=0, info="state", equals=0.5), "equals is 0.5.*open, disorder"),
        (When(flow=2, info="mode", equals="fast"), "equals is 'fast'.*one of competitive, delay"),
        (When(flow=2, info="send_mbps", equals=-1), "equals is -1.*a number from 0"),
        (When(flow=1, info="state", equals="open"), "flow is 1.*UDP has no state"),
        (When(flow=3, packet=1), "flow is 3.*at most 2"),
    ],
)
def test_refused(when: When, message: str) -> None:
    """A state that the flow cannot have is refused with those that it has."""
    flows = Flow(cca="bbr"), Flow(kind="cbr", rate_mbps=1), Flow(cca="nimbus")
    with pytest.raises(InputError, match=r"changes\[0\]\.when\." + message):
        run(path(*flows, changes=(Change(when=when, loss=0),)))


def test_printed(tmp_path: Any, program: Callable[..., str]) -> None:
    """`ccbench run` prints when changes took effect, and those that never did."""
    changes = (
        Change(when=When(flow=0, packet=3), loss=0.001),
        Change(when=When(flow=0, packet=10_000_000), loss=0),
    )
    file = tmp_path / "scenario.toml"
    path(Flow(), changes=changes).save(file)
    printed = program("run", file)
    assert "changes[0]: at 0.040" in printed
    assert "changes[1]: never" in printed
