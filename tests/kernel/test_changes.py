# SPDX-License-Identifier: Apache-2.0
"""Changes of the path during a run take effect at their time, and nothing else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Change, Flow, NetworkPath, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.experiment.noise import Noise
from ccbench.run.packets import delivered
from ccbench.run.tables import NO_FLOW
from tests.kernel.conftest import run

pytestmark = pytest.mark.kernel

#: More than the link carries.
UDP = Flow(kind="cbr", rate_mbps=30)


def path(
    *flows: Flow, changes: tuple[Change, ...] = (), duration_s: float = 10, **settings: Any
) -> Scenario:
    """Return a scenario over a link of 10 Mbit/s and 40 ms that changes."""
    link = Bottleneck(**{"bandwidth_mbps": 10, "queue_packets": 50, **settings})
    return Scenario(
        flows=flows or (Flow(),),
        path=NetworkPath(bottlenecks=(link,), rtt_ms=40, changes=changes),
        duration_s=duration_s,
    )


def of(result: Run, event: str) -> pd.DataFrame:
    """Return the events of a kind at the first bottleneck."""
    log = result.queue_events()
    return log[log["event"] == event]


def carried_mbps(result: Run, start_s: float, end_s: float) -> float:
    """Return the rate of the departures between two times."""
    left = of(result, "dequeue")
    inside = left["time_ns"].between(start_s * 1e9, end_s * 1e9)
    return float(left.loc[inside, "bytes"].sum() * 8e-6 / (end_s - start_s))


class TestRate:
    def test_at_its_time(self) -> None:
        """From its time on, each packet takes its size over the new rate."""
        changes = (Change(at_s=3, bandwidth_mbps=2), Change(at_s=6, bandwidth_mbps=20))
        left = of(run(path(UDP, changes=changes)), "dequeue")
        times_s = left["time_ns"].to_numpy() / 1e9
        gaps_ms = np.diff(times_s) * 1e3
        for start_s, end_s, mbps in ((0.1, 3, 10), (3, 6, 2), (6, 10, 20)):
            inside = (times_s[:-1] >= start_s) & (times_s[:-1] < end_s)
            assert gaps_ms[inside][1:] == pytest.approx(12 / mbps, abs=2e-6)

    def test_order(self) -> None:
        """Of changes at one time, the last one counts, also if an earlier one is periodic."""
        changes = (Change(at_s=1, every_s=1, bandwidth_mbps=2), Change(at_s=3, bandwidth_mbps=8))
        result = run(path(UDP, changes=changes))
        assert carried_mbps(result, 3.1, 4) == pytest.approx(8, rel=0.02)
        assert carried_mbps(result, 4.1, 5) == pytest.approx(2, rel=0.02)
        assert result.utilisation(0) == pytest.approx(1, abs=2e-3)

    def test_one_way_delay(self) -> None:
        """The time on the link is that at the new rate, and after an outage."""
        changes = (Change(at_s=5, bandwidth_mbps=1), Change(at_s=8, outage_s=1))
        packets = delivered(run(path(Flow(kind="cbr", rate_mbps=0.5), changes=changes)))
        for start_s, end_s, on_link_ms in ((0, 4.9, 1.2), (5, 7.9, 12)):
            own = packets[packets["arrival_s"].between(start_s, end_s)]["one_way_ms"]
            assert own.to_numpy() == pytest.approx(20 + on_link_ms, abs=1e-3)
        waited = packets[packets["arrival_s"].between(8, 8.5)].iloc[0]
        left_s = waited["arrival_s"] + (waited["one_way_ms"] - 20) / 1e3
        assert left_s == pytest.approx(9.012, abs=1e-4)

    def test_utilisation(self) -> None:
        """A link that is always busy has a utilisation of 1, whatever its rate."""
        changes = (Change(at_s=3, bandwidth_mbps=2), Change(at_s=6, outage_s=1.5))
        assert run(path(UDP, changes=changes)).utilisation(0) == pytest.approx(1, abs=2e-3)

    def test_tcp(self) -> None:
        """TCP fills the link before and after the change."""
        result = run(path(Flow(), changes=(Change(at_s=5, bandwidth_mbps=40),), queue_packets=150))
        assert carried_mbps(result, 2, 5) == pytest.approx(10, rel=0.02)
        assert result.throughput(1.0).iloc[-1].item() > 20

    def test_background(self) -> None:
        """Background traffic keeps its rate: its packets arrive as they do without a change."""
        plain = replace(path(UDP), path=replace(path(UDP).path, noise=Noise(background_share=0.2)))
        changed = replace(
            plain, path=replace(plain.path, changes=(Change(at_s=5, bandwidth_mbps=40),))
        )
        arrived = [of(run(scenario), "enqueue") for scenario in (plain, changed)]
        times_ns = [log.loc[log["flow"] == NO_FLOW, "time_ns"].tolist() for log in arrived]
        assert times_ns[0] == times_ns[1] != []


class TestOutage:
    def test_silence(self) -> None:
        """In an outage nothing leaves, the queue fills, and then all of it leaves."""
        result = run(path(UDP, changes=(Change(at_s=4, outage_s=2),)))
        times_s = of(result, "dequeue")["time_ns"].to_numpy() / 1e9
        longest = int(np.argmax(np.diff(times_s)))
        # The packet on the link leaves, the next one waits on the link.
        assert times_s[longest] == pytest.approx(4, abs=2 * 1.2e-3)
        assert np.diff(times_s)[longest] == pytest.approx(2, abs=2 * 1.2e-3)

    def test_periodic(self) -> None:
        """Outages repeat with their period."""
        changes = (Change(at_s=1, every_s=2, outage_s=0.5),)
        times_s = of(run(path(UDP, changes=changes)), "dequeue")["time_ns"].to_numpy() / 1e9
        starts_s = times_s[:-1][np.diff(times_s) > 0.4]
        assert starts_s == pytest.approx([1, 3, 5, 7, 9], abs=3e-3)

    def test_tcp_recovers(self) -> None:
        """After an outage of several RTOs, the flow fills the link again."""
        result = run(path(Flow(), changes=(Change(at_s=3, outage_s=2),)))
        assert carried_mbps(result, 3.1, 5) == 0
        assert carried_mbps(result, 8, 10) > 9


class TestLoss:
    def test_share(self) -> None:
        """The share of losses is the new one from then on; 1 loses all packets, 0 none."""
        changes = (Change(at_s=2, loss=0.3), Change(at_s=5, loss=1), Change(at_s=7, loss=0))
        result = run(path(Flow(kind="cbr", rate_mbps=8, packet_bytes=500), changes=changes))
        log = result.queue_events()
        arrived = log[log["event"].isin(["enqueue", "loss"])]
        is_lost, times_s = arrived["event"] == "loss", arrived["time_ns"] / 1e9
        for start_s, end_s, share in ((0, 2, 0), (2, 5, 0.3), (5, 7, 1), (7, 10, 0)):
            inside = is_lost[times_s.between(start_s, end_s, inclusive="neither")]
            noise = math.sqrt(share * (1 - share) / len(inside))
            assert inside.mean() == pytest.approx(share, abs=4 * noise)

    def test_same_draws(self) -> None:
        """A change to the same probability changes no draw."""
        scenario = path(UDP, loss=0.1)
        changed = replace(
            scenario, path=replace(scenario.path, changes=(Change(at_s=3, every_s=1, loss=0.1),))
        )
        pd.testing.assert_frame_equal(run(scenario).queue, run(changed).queue)

    @pytest.mark.parametrize("from_s", [0.99, 1.01], ids=["sender", "receiver"])
    def test_given_up(self, from_s: float) -> None:
        """A transfer does not finish if its sender gives up, or its receiver, which then resets it.

        With Linux's defaults, a sender repeats its first packet, which is sent at 1 s, for 127 s,
        and a receiver waits for the second one for 63 s.
        """
        changes = (Change(at_s=from_s, loss=1), Change(at_s=200, loss=0))
        lost, other = (Flow(kind="bytes", size_bytes=10_000, start_s=start) for start in (1, 250))
        result = run(path(lost, other, changes=changes, duration_s=300))
        finished = result.completions["end_ns"] >= 0
        assert finished.tolist() == [False, True]


class TestQueue:
    @pytest.mark.parametrize(("at_s", "packets"), [(2, 20), (5, 90)])
    def test_limit(self, at_s: float, packets: int) -> None:
        """The queue has the new limit from then on."""
        result = run(path(UDP, changes=(Change(at_s=at_s, queue_packets=packets),)))
        log = result.queue_events()
        full = log.loc[log["event"] == "enqueue", ["time_ns", "backlog_packets"]]
        after = full[full["time_ns"] > (at_s + 1) * 1e9]["backlog_packets"]
        assert after.max() == packets + 1  # and the packet that is refused
        assert full[full["time_ns"] < at_s * 1e9]["backlog_packets"].max() == 51

    @pytest.mark.parametrize(
        "qdisc", ["pfifo_head_drop", "bfifo", "codel", "pie", "fq", "fq_codel", "fq_pie", "cake"]
    )
    def test_every_qdisc(self, qdisc: str) -> None:
        """Qdiscs that can change do so during a run, and the others are refused before it."""
        changes = (Change(at_s=2, queue_packets=20),)
        options = (("flows", 16),) if qdisc in {"fq_codel", "fq_pie"} else ()
        scenario = path(UDP, changes=changes, qdisc=qdisc, qdisc_options=options)
        backlog = run(replace(scenario, duration_s=4)).occupancy(0.01)
        assert backlog.loc[3:].max() < 0.8 * backlog.loc[1:1.9].max()

    @pytest.mark.parametrize("qdisc", ["red", "sfb", "sfq"])
    def test_refused(self, qdisc: str) -> None:
        """A qdisc that Linux cannot change is refused before the run."""
        scenario = path(UDP, changes=(Change(at_s=2, queue_packets=20),), qdisc=qdisc)
        with pytest.raises(InputError, match=rf"changes\[0\].the qdisc {qdisc} cannot change"):
            run(scenario)

    def test_fixed_option(self) -> None:
        """An option that Linux cannot change is refused before the run."""
        changes = (Change(at_s=2, qdisc_options=(("flows", 16),)),)
        with pytest.raises(InputError, match="flows of fq_codel cannot change during a run"):
            run(path(UDP, changes=changes, qdisc="fq_codel"))

    def test_settings_remain(self) -> None:
        """A change of one setting leaves those of earlier changes."""
        changes = (
            Change(at_s=2, queue_packets=20),
            Change(at_s=4, qdisc_options=(("target_ms", 400),)),
        )
        result = run(path(UDP, changes=changes, qdisc="codel", queue_packets=100))
        assert result.occupancy(0.01).loc[5:].max() <= 20

    def test_summary(self) -> None:
        """A queue summary has the lengths of a queue that grows during the run."""
        scenario = path(UDP, changes=(Change(at_s=2, queue_packets=500),))
        whole, short = (run(replace(scenario, queue_log=log)) for log in (True, "summary"))
        shares = [result.occupancy_distribution() for result in (whole, short)]
        pd.testing.assert_series_equal(shares[0], shares[1], check_index_type=False)

    def test_option(self) -> None:
        """CoDel's target follows a change of the option: the queue of CUBIC does too."""
        changes = (Change(at_s=5, qdisc_options=(("target_ms", 40),)),)
        scenario = replace(
            path(Flow(), Flow(cca="reno"), changes=changes, queue_packets=500, qdisc="codel"),
            duration_s=20,
        )
        delays_ms = run(scenario).occupancy(0.01) * 1.2
        assert delays_ms.loc[1:5].mean() < 12
        assert delays_ms.loc[7:].mean() > 2 * delays_ms.loc[1:5].mean()


class TestDelay:
    @pytest.mark.parametrize("rtt_ms", [15, 90])
    def test_round_trip(self, rtt_ms: float) -> None:
        """Packets sent after the change have the new RTT."""
        result = run(path(Flow(kind="rate", rate_mbps=1), changes=(Change(at_s=5, rtt_ms=rtt_ms),)))
        srtt_ms = result.samples("srtt_us")[0] / 1e3
        assert srtt_ms.loc[4.5:4.9].mean() == pytest.approx(40, abs=3)
        assert srtt_ms.loc[8:].mean() == pytest.approx(rtt_ms, abs=3)

    def test_order(self) -> None:
        """A shorter delay keeps the order by default, and lets packets overtake on request.

        The queue is empty, so that reordered data alone cause duplicate ACKs and retransmissions.
        """
        states = []
        for overtakes in (False, True):
            change = Change(at_s=5, rtt_ms=41, forward_delay_ms=1, overtakes=overtakes)
            scenario = replace(
                path(Flow(kind="rate", rate_mbps=8), changes=(change,), queue_packets=500),
                path=replace(
                    path(Flow(kind="rate", rate_mbps=8), changes=(change,), queue_packets=500).path,
                    rtt_ms=80,
                    forward_delay_ms=40,
                ),
                sample_interval_ms=1,
            )
            result = run(scenario)
            samples = result.flows[result.flows["time_ns"].between(5e9, 5.2e9)]
            states.append(set(samples["state"]))
            assert result.summary()["drops"].iloc[0] == 0
        assert states[0] == {"open"}
        assert states[1] & {"disorder", "recovery"}

    def test_one_way_delay(self) -> None:
        """Delays of single packets follow the base delay of their time."""
        changes = (Change(at_s=5, rtt_ms=100),)
        packets = delivered(run(path(Flow(kind="cbr", rate_mbps=1), changes=changes)))
        early, late = (packets[packets["arrival_s"].between(*s)] for s in ((0, 4.9), (5, 10)))
        assert early["one_way_ms"].min() == pytest.approx(20 + 1.2, abs=0.01)
        assert late["one_way_ms"].min() == pytest.approx(50 + 1.2, abs=0.01)

    def test_handover(self) -> None:
        """Alternating delays, as of low-orbit satellites, give RTTs between the two."""
        changes = (Change(at_s=2, every_s=4, rtt_ms=80), Change(at_s=4, every_s=4, rtt_ms=40))
        result = run(path(Flow(kind="rate", rate_mbps=1), changes=changes))
        srtt_ms = result.samples("srtt_us")[0] / 1e3
        highs, lows = (
            (srtt_ms.loc[3.5:3.9].mean(), srtt_ms.loc[7.5:7.9].mean()),
            srtt_ms.loc[5.5:5.9],
        )
        assert min(highs) > 70
        assert lows.mean() < 50


def test_no_effect_before() -> None:
    """A change affects nothing before its time."""
    plain = run(path(Flow(cca="bbr"), Flow()))
    change = Change(at_s=6, bandwidth_mbps=5, rtt_ms=70, queue_packets=20, loss=0.01)
    changed = run(path(Flow(cca="bbr"), Flow(), changes=(change,)))
    before = [result.queue[result.queue["time_ns"] < 6e9] for result in (plain, changed)]
    pd.testing.assert_frame_equal(before[0], before[1])
    assert len(plain.queue) != len(changed.queue)


def test_reverse() -> None:
    """A bottleneck of the reverse path changes as well."""
    link = Bottleneck(bandwidth_mbps=10, queue_packets=50)
    scenario = Scenario(
        flows=(replace(UDP, direction="reverse"),),
        path=NetworkPath(
            bottlenecks=(link,),
            reverse_bottlenecks=(link,),
            rtt_ms=40,
            changes=(Change(at_s=5, bottleneck=1, bandwidth_mbps=4),),
        ),
        duration_s=10,
    )
    log = run(scenario).queue_events(1)
    left = log[log["event"] == "dequeue"]
    late = left.loc[left["time_ns"] > 5.01e9, "time_ns"]
    assert np.diff(late) / 1e6 == pytest.approx(3, abs=1e-5)
