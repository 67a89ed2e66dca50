# SPDX-License-Identifier: Apache-2.0
"""DualPI2 (RFC 9332): its two queues, its marks and drops, and their record in runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench import Bottleneck, Flow, Run, Scenario
from ccbench.base.errors import InputError
from ccbench.experiment.advice import advice
from ccbench.experiment.noise import Noise
from ccbench.run.packets import delivered, waits_ns
from tests.kernel.conftest import dumbbell, kernel_with, run, run_with

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.kernel


def dualpi2(
    *flows: Flow, mbps: float = 10, queue_packets: int = 2000, options: Any = (), **settings: Any
) -> Scenario:
    """Return a scenario with one bottleneck with DualPI2."""
    link = Bottleneck(
        bandwidth_mbps=mbps,
        queue_packets=queue_packets,
        qdisc="dualpi2",
        qdisc_options=tuple(dict(options).items()),
    )
    return replace(
        dumbbell(*flows, **settings),
        path=replace(dumbbell(*flows, **settings).path, bottlenecks=(link,)),
    )


def totals(result: Run, queue: str) -> dict[str, float]:
    """Return the row of a queue in the run's summary of both queues."""
    rows = result.l4s_summary().xs(queue, level="queue")
    return {str(name): float(value) for name, value in rows.iloc[0].items()}


#: Flows in both queues: CUBIC sends data with ECT(0), but handshakes and retransmissions without.
MIXED = dualpi2(
    Flow(cca="cubic", count=3),
    Flow(kind="poisson", rate_mbps=2, packet_bytes=700, ecn="ect1"),
    Flow(kind="poisson", rate_mbps=8, packet_bytes=500),
    mbps=20,
    queue_packets=60,
    options={"ecn_mask": "any", "step_ms": 10},
    sample_interval_ms=10,
    ecn=True,
)


def test_advice() -> None:
    """Prague loses where a packet takes the time of the step, and not with the advised step.

    With random starts of 12 seeds, its rate is 0.55 to 0.67 and 1.14 to 1.49 times CUBIC's.
    """
    flows = Flow(cca="prague"), Flow(cca="cubic")
    starving = dualpi2(*flows, mbps=12, rtt_ms=20, duration_s=30, ecn="accecn")
    (line,) = advice(starving)
    name, _, value = line.rpartition("set ")[2].partition(" = ")
    (link,) = starving.path.bottlenecks
    advised = replace(link, qdisc_options=((name, float(value)),))
    mended = replace(starving, path=replace(starving.path, bottlenecks=(advised,)))
    assert advice(mended) == ()
    for seed in range(1, 4):
        ratios = []
        for scenario in (starving, mended):
            path = replace(scenario.path, noise=Noise(start_spread_ms=20))
            result = run_with("prague", replace(scenario, path=path, seed=seed))
            prague, cubic = result.summary()["throughput_mbps"]
            ratios.append(prague / cubic)
        assert ratios[0] < 0.8
        assert ratios[1] > 1


class TestQueues:
    @pytest.mark.parametrize(
        ("mask", "fields"),
        [("ect1", {"ect1", "ce"}), ("ect0", {"ect0", "ce"}), ("any", {"ect1", "ect0", "ce"})],
    )
    def test_classification(self, mask: str, fields: set[str]) -> None:
        """Packets are in the L4S queue by their ECN field, as the kernel's counters state."""
        names = ("", "ect0", "ect1", "ce")
        flows = (Flow(kind="cbr", rate_mbps=1 + i, ecn=name) for i, name in enumerate(names))
        result = run(dualpi2(*flows, mbps=20, duration_s=2.0005, options={"ecn_mask": mask}))
        arrived = result.queue[result.queue["event"] == "enqueue"]
        of_flow = arrived.groupby("flow")["queue"].unique()
        assert [list(queues) for queues in of_flow] == [
            ["l4s" if name in fields else "classic"] for name in names
        ]
        last = result.qdisc_statistics().iloc[-1]
        for queue in ("classic", "l4s"):
            assert (arrived["queue"] == queue).sum() == last[f"{queue}_arrivals_packets"]

    def test_order(self) -> None:
        """Packets of a flow overtake each other only between the queues, not within one."""
        result = run(MIXED)
        packets = delivered(result).assign(queue=self.queue_of_departures(result))
        assert set(packets.loc[packets["flow"] == 0, "queue"]) == {"classic", "l4s"}
        in_order = packets.groupby("flow")["arrival_s"].apply(lambda s: s.is_monotonic_increasing)
        assert not in_order.all()
        by_queue = packets.groupby(["flow", "queue"], observed=True)["arrival_s"]
        assert by_queue.apply(lambda s: s.is_monotonic_increasing).all()

    def queue_of_departures(self, result: Run) -> list[str]:
        """Return the queue of each packet that left for the link."""
        return result.queue.loc[result.queue["event"] == "dequeue", "queue"].tolist()

    def test_identity(self) -> None:
        """Each departing packet has the flow, size and queue of the arrival that it matches."""
        result = run(MIXED)
        came = result.queue[result.queue["event"] == "enqueue"]
        packets = delivered(result)
        arrival_ns = (packets["arrival_s"] * 1e9).round().astype("int64")
        queues = self.queue_of_departures(result)
        left = zip(packets["flow"], arrival_ns, packets["bytes"], queues, strict=True)
        columns = (came[name] for name in ("flow", "time_ns", "bytes", "queue"))
        assert set(left) <= set(zip(*columns, strict=True))

    @pytest.mark.parametrize("queue", ["classic", "l4s"])
    def test_conservation(self, queue: str) -> None:
        """In each queue, packets that arrived have left, been dropped, or wait at the end."""
        events = run(MIXED).queue_events(queue=queue)
        counts = events["event"].value_counts()
        assert counts["dequeue"] > 1000
        waiting = counts["enqueue"] - counts["dequeue"] - counts["drop"]
        assert waiting == events["backlog_packets"].iloc[-1]
        assert events["backlog_packets"].max() <= 61

    def test_sum(self) -> None:
        """At any time, the backlogs of both queues add up to that of the qdisc."""
        result = run(MIXED)
        both = result.occupancy(0.001, queue="classic") + result.occupancy(0.001, queue="l4s")
        pd.testing.assert_series_equal(both, result.occupancy(0.001), check_dtype=False)

    @pytest.mark.parametrize("queue", ["classic", "l4s"])
    def test_little(self, queue: str) -> None:
        """The mean length of each queue is the rate of its packets times their mean wait."""
        result = run(MIXED)
        shares = result.occupancy_distribution(queue=queue)
        packet_seconds = float((shares * shares.index).sum()) * MIXED.duration_s
        waited_s = waits_ns(result, 0, queue) / 1e9
        events = result.queue_events(queue=queue)
        other = (events["event"] == "drop").sum() + events["backlog_packets"].iloc[-1]
        assert 0 <= packet_seconds - waited_s.sum() + 1e-6 <= other * waited_s.max() + 2e-6

    def test_no_such_queue(self) -> None:
        """A queue is one of both, and other qdiscs have no queue for L4S."""
        with pytest.raises(InputError, match=r"queue is 'low'; it must be 'classic' or 'l4s'"):
            run(MIXED).queueing_delay_ms(queue="low")
        with pytest.raises(InputError, match=r"the qdisc droptail of bottleneck 0 has no queue"):
            run(dumbbell(duration_s=1)).queueing_delay_ms(queue="l4s")


class TestRecords:
    def test_summary(self) -> None:
        """A summary of both queues agrees with the log of their events."""
        whole, short = run(MIXED), run(replace(MIXED, queue_log="summary"))
        for queue in (None, "classic", "l4s"):
            pd.testing.assert_series_equal(
                short.occupancy_distribution(queue=queue),
                whole.occupancy_distribution(queue=queue),
                check_index_type=False,
            )
            sampled, exactly = (each.occupancy(0.05, queue=queue) for each in (short, whole))
            pd.testing.assert_series_equal(sampled, exactly, check_dtype=False)
            assert short.queueing_delay_ms(queue=queue) == whole.queueing_delay_ms(queue=queue)
            exact = whole.queueing_delay_percentiles_ms((1, 50, 99, 100), queue=queue)
            rounded = short.queueing_delay_percentiles_ms((1, 50, 99, 100), queue=queue)
            assert (rounded >= exact).all()
            assert (rounded <= exact * 65 / 64).all()
        counts = ["carried_packets", "marks", "drops"]
        assert short.l4s_summary()[counts].equals(whole.l4s_summary()[counts])

    def test_percentiles(self) -> None:
        """A percentile is the shortest wait that this share of the packets did not exceed."""
        result = run(MIXED)
        waited_ms = waits_ns(result, 0, "l4s") / 1e6
        p99 = result.queueing_delay_percentiles_ms((99,), queue="l4s")[99]
        assert (waited_ms <= p99).mean() >= 0.99
        assert (waited_ms < p99).mean() < 0.99

    def test_changes_nothing(self) -> None:
        """The kind of record changes nothing in the run, and without one there is no summary."""
        runs = [run(replace(MIXED, queue_log=log)) for log in (True, "summary", False)]
        for other in runs[1:]:
            pd.testing.assert_frame_equal(other.flows, runs[0].flows)
            pd.testing.assert_frame_equal(other.qdiscs, runs[0].qdiscs)
        assert runs[2].l4s_summary().empty

    @pytest.mark.parametrize("log", [True, "summary"])
    def test_saved(self, log: Any, tmp_path: Path) -> None:
        """The packets' queue and the qdisc's statistics are part of a saved run."""
        result = run(replace(MIXED, queue_log=log))
        result.save(tmp_path / "run")
        loaded = Run.load(tmp_path / "run")
        assert loaded.digest() == result.digest()
        pd.testing.assert_frame_equal(loaded.l4s_summary(), result.l4s_summary())
        pd.testing.assert_frame_equal(loaded.qdisc_statistics(), result.qdisc_statistics())

    def test_several_bottlenecks(self) -> None:
        """At other bottlenecks, packets have no queue, and statistics are those of each qdisc."""
        plain = Bottleneck(bandwidth_mbps=15, queue_packets=60)
        scenario = replace(
            MIXED,
            path=replace(
                MIXED.path, bottlenecks=(*MIXED.path.bottlenecks, plain, *MIXED.path.bottlenecks)
            ),
        )
        result = run(scenario)
        assert result.queue_events(1)["queue"].isna().all()
        assert list(result.l4s_summary().index.get_level_values("bottleneck")) == [0, 0, 2, 2]
        assert result.qdisc_statistics(1).empty
        for number in (0, 2):
            arrived = result.qdisc_statistics(number)["classic_arrivals_packets"].iloc[-1]
            events = result.queue_events(number, "classic")
            assert (events["event"] == "enqueue").sum() - arrived in range(-1, 200)
        crossed = delivered(result)  # through both, in the order of the links
        assert (crossed["queueing_ms"] >= 0).all()


class TestCommand:
    @pytest.mark.usefixtures("own_store")
    def test_run(self, program: Callable[..., str], tmp_path: Path) -> None:
        """The program prints a row for each queue, also of repetitions, and the same as JSON."""
        release = kernel_with("dualpi2").release
        (tmp_path / "l4s.toml").write_text(replace(MIXED, duration_s=2).to_toml())
        command = ["run", tmp_path / "l4s.toml", "--kernel", release]
        shown = json.loads(program(*command, "--json"))["queues"]
        assert [row["queue"] for row in shown] == ["classic", "l4s"]
        for output in (program(*command), program(*command, "--repeat", 2)):
            rows = [line.split() for line in output.splitlines() if "classic" in line]
            assert [row[:2] for row in rows] == [["0", "classic"]]
        p99_ms = f"{shown[0]['queueing_delay_p99_ms']:.2f}"
        assert p99_ms in program(*command)


class TestStatistics:
    def test_counters(self) -> None:
        """Marks in the log are at most the qdisc's, which counts a packet marked twice as two."""
        result = run(MIXED)
        last = result.qdisc_statistics().iloc[-1]
        logged = (result.queue["event"] == "mark").sum()
        assert logged <= last["marks"] <= logged + last["step_marks"]
        assert last["step_marks"] > 0

    def test_delays(self) -> None:
        """The delay of a queue is the time since the arrival of the packet at its head."""
        result = run(MIXED)
        statistics = result.qdisc_statistics()
        for queue in ("classic", "l4s"):
            ends = self.heads(result, queue)
            at = np.searchsorted(ends.index, statistics.index.to_numpy() * 1e9, side="right") - 1
            head_ns = ends.to_numpy()[at]
            expected = np.where(head_ns < 0, 0, statistics.index.to_numpy() * 1e3 - head_ns / 1e6)
            same = np.isclose(statistics[f"{queue}_delay_ms"], expected, atol=2e-3)
            assert same.mean() > 0.98  # all but events at the instant of a sample

    def heads(self, result: Run, queue: str) -> pd.Series[int]:
        """Return the arrival of the packet at the head after each event of a queue; -1: empty."""
        heads, waiting = [], []
        events = result.queue_events(queue=queue)
        for time_ns, event in zip(events["time_ns"], events["event"], strict=True):
            if event == "enqueue":
                waiting.append(time_ns)
            elif event == "drop" and waiting[-1] == time_ns:
                waiting.pop()
            elif event in {"dequeue", "drop"}:
                waiting.pop(0)
            heads.append(waiting[0] if waiting else -1)
        return pd.Series(heads, index=events["time_ns"].to_numpy())

    def test_memory(self) -> None:
        """By default, the memory limit is two full packets for each packet of the limit."""
        statistics = run(MIXED).qdisc_statistics()
        assert set(statistics["memory_limit_bytes"]) == {60 * 2 * 1500}
        assert (statistics["memory_bytes"] <= statistics["max_memory_bytes"]).all()


#: Gains so small that the coupled probability stays near 0 while the step is tested.
NO_PI = {"alpha": 1 / 256, "beta": 1 / 256}


class TestStep:
    """Marks of the L4S queue above its threshold (RFC 9332, section 2.4, and appendix A)."""

    def marked(self, options: dict[str, Any]) -> pd.DataFrame:
        """Return wait, length of the queue at arrival and departure, and mark of each packet."""
        sender = Flow(kind="poisson", rate_mbps=7, ecn="ect1")
        result = run(dualpi2(sender, options={**NO_PI, **options}, duration_s=20))
        events = result.queue_events(queue="l4s").reset_index(drop=True)
        arrivals, departures = (events[events["event"] == e] for e in ("enqueue", "dequeue"))
        came = arrivals.iloc[: len(departures)]  # no packet is dropped
        return pd.DataFrame(
            {
                "waited_ns": departures["time_ns"].to_numpy() - came["time_ns"].to_numpy(),
                "before": came["backlog_packets"].to_numpy() - 1,
                "after": departures["backlog_packets"].to_numpy(),
                "marked": (events["event"].shift() == "mark")[departures.index].to_numpy(),
            }
        )

    def test_time(self) -> None:
        """By default, exactly the packets that have waited for more than 1 ms are marked."""
        packets = self.marked({})
        assert 0.2 < packets["marked"].mean() < 0.8
        assert (packets["marked"] == (packets["waited_ns"] > 1_000_000)).all()

    def test_packets(self) -> None:
        """With a threshold in packets, those that leave more packets behind them are marked."""
        packets = self.marked({"step_packets": 2})
        assert 0.1 < packets["marked"].mean() < 0.8
        assert (packets["marked"] == (packets["after"] > 2)).all()

    def test_short_queue(self) -> None:
        """Packets that find fewer packets than min_qlen_step are not marked by the step."""
        packets = self.marked({"min_qlen_step": 3})
        expected = (packets["waited_ns"] > 1_000_000) & (packets["before"] >= 3)
        assert (packets["marked"] == expected).all()
        assert expected.sum() > 100


class TestCoupling:
    @pytest.mark.parametrize("k", [1, 2, 4])
    def test_probabilities(self, k: int) -> None:
        """L4S packets are marked with probability k p', classic ones dropped with p' squared."""
        scenario = dualpi2(
            Flow(cca="cubic", count=4),
            Flow(kind="poisson", rate_mbps=8, ecn="ect1"),
            mbps=40,
            duration_s=60,
            sample_interval_ms=2,
            options={"coupling": k, "step_ms": 1000},
        )
        result = run(scenario)
        p = result.qdisc_statistics()["probability"].to_numpy()
        ends = np.arange(len(p)) * 2_000_000 + 2_000_000
        expected = {}
        for queue, probability in (("l4s", np.minimum(k * p, 1)), ("classic", p**2)):
            events = result.queue_events(queue=queue)
            gone = events.loc[events["event"].isin(["dequeue", "drop"]), "time_ns"]
            # A probability is that of the interval before its sample, or of a part of it.
            at = np.searchsorted(ends, gone, side="left")
            expected[queue] = probability[np.minimum(at, len(p) - 1)].sum()
        counts = {queue: totals(result, queue) for queue in ("classic", "l4s")}
        assert counts["l4s"]["drops"] == counts["classic"]["marks"] == 0
        assert p.max() * k < 1
        for queue, column in (("l4s", "marks"), ("classic", "drops")):
            # Four standard deviations of the count, and 3 % for probabilities between samples.
            tolerance = 4 * math.sqrt(expected[queue]) + 0.03 * expected[queue]
            assert counts[queue][column] == pytest.approx(expected[queue], abs=tolerance)
        assert counts["l4s"]["marks"] > 300

    @pytest.mark.parametrize("k", [1, 2, 4])
    def test_windows(self, k: int) -> None:
        """DCTCP's and Reno's windows are as 2 / p and sqrt(3 / 2p) with p = k p' and p' squared."""
        result = run(
            dualpi2(
                Flow(cca="dctcp", count=4),
                Flow(cca="reno", count=4),
                mbps=40,
                rtt_ms=20,
                duration_s=60,
                options={"ecn_mask": "any", "coupling": k},
            )
        )
        mbps = result.throughput().loc[20:].mean().to_numpy()
        l4s = mbps[:4].sum() * (20 + totals(result, "l4s")["queueing_delay_ms"])
        classic = mbps[4:].sum() * (20 + totals(result, "classic")["queueing_delay_ms"])
        assert l4s / classic == pytest.approx(2 / k / math.sqrt(1.5), rel=0.15)
        assert result.queueing_delay_percentiles_ms((99,), queue="l4s")[99] < 2
        assert result.utilisation() > 0.99


class TestClassic:
    @pytest.mark.parametrize("target_ms", [5, 15, 30])
    def test_target(self, target_ms: float) -> None:
        """The controller holds the delay of the classic queue at its target, by default 15 ms."""
        options = {} if target_ms == 15 else {"target_ms": target_ms}
        flows = Flow(cca="reno", count=8)
        result = run(dualpi2(flows, mbps=40, rtt_ms=40, duration_s=40, options=options))
        packets = delivered(result)
        late = packets[packets["arrival_s"] > 10]
        assert late["queueing_ms"].mean() == pytest.approx(target_ms, rel=0.15)
        assert result.utilisation() > 0.9

    @pytest.mark.parametrize("cca", ["cubic", "reno"])
    def test_classic_ecn(self, cca: str) -> None:
        """Classic ECN flows are marked instead of dropped, and stay in the classic queue."""
        scenario = replace(
            dualpi2(Flow(cca=cca), mbps=20, duration_s=20),
            path=replace(dualpi2(Flow(cca=cca), mbps=20, duration_s=20).path, ecn=True),
        )
        result = run(scenario)
        assert totals(result, "classic")["marks"] > 5
        assert totals(result, "classic")["drops"] == 0
        assert totals(result, "l4s")["carried_packets"] == 0

    @pytest.mark.parametrize("early", [0, 1])
    def test_drop_early(self, early: int) -> None:
        """With drop_early, packets are dropped when they arrive, else when they would depart."""
        result = run(dualpi2(Flow(cca="cubic", count=4), options={"drop_early": early}))
        events = result.queue
        drops = events["event"] == "drop"
        follows = events["event"].shift().eq("enqueue") & events["time_ns"].diff().eq(0)
        assert drops.sum() > 50
        # A packet can also arrive at the instant of a departure.
        assert (follows & drops).sum() / drops.sum() == pytest.approx(early, abs=0.1)


class TestOverload:
    """Unresponsive L4S traffic of twice the link's rate."""

    SENDER = Flow(kind="cbr", rate_mbps=20, ecn="ect1")

    def test_drops(self) -> None:
        """At overload, half of the packets are dropped, the others marked, the delay the target."""
        result = run(dualpi2(self.SENDER, duration_s=40))
        events = result.queue_events(queue="l4s")
        counts = events.loc[events["time_ns"] > 20e9, "event"].value_counts()
        assert counts["drop"] / counts["enqueue"] == pytest.approx(0.5, rel=0.05)
        assert counts["mark"] / counts["dequeue"] > 0.99
        p = result.qdisc_statistics()["probability"].loc[20:].mean()
        assert p == pytest.approx(math.sqrt(0.5), rel=0.05)
        packets = delivered(result)
        waited_ms = packets.loc[packets["arrival_s"] > 20, "queueing_ms"]
        assert waited_ms.mean() == pytest.approx(15, rel=0.15)

    def test_overflow(self) -> None:
        """Without drop_overload, packets are only marked until the queue is full."""
        options = {"drop_overload": False}
        result = run(dualpi2(self.SENDER, queue_packets=200, duration_s=20, options=options))
        events = result.queue_events(queue="l4s").loc[lambda table: table["time_ns"] > 10e9]
        assert events["backlog_packets"].min() >= 198
        drops = events["event"] == "drop"
        assert (events["event"].shift()[drops].iloc[1:] == "enqueue").all()
        p = result.qdisc_statistics()["probability"]
        assert p.max() == pytest.approx(0.5)  # 1 / k

    @pytest.mark.parametrize("percent", [10, 30])
    def test_starvation(self, percent: int) -> None:
        """While packets wait in both queues, the classic one has its share, by default 10 %."""
        options: dict[str, float] = {} if percent == 10 else {"c_protection": percent}
        options["tupdate_ms"] = 4000  # no marks or drops before this time
        flows = [Flow(kind="cbr", rate_mbps=20, ecn=ecn) for ecn in ("ect1", "")]
        result = run(dualpi2(*flows, queue_packets=100_000, duration_s=3, options=options))
        assert result.l4s_summary()["drops"].sum() == 0
        carried = result.queue[result.queue["event"] == "dequeue"]
        share = carried.loc[carried["queue"] == "classic", "bytes"].sum() / carried["bytes"].sum()
        assert share == pytest.approx(percent / 100, rel=0.01)

    def test_others_suffer_little(self) -> None:
        """Below the link's rate, unresponsive L4S traffic leaves the rest to a classic flow."""
        flows = (Flow(kind="cbr", rate_mbps=5, ecn="ect1"), Flow(cca="cubic"))
        result = run(dualpi2(*flows, duration_s=30))
        mbps = result.throughput().loc[10:].mean()
        assert mbps[0] == pytest.approx(5, rel=0.01)
        assert mbps[1] == pytest.approx(5, rel=0.1)
        assert result.queueing_delay_percentiles_ms((99,), queue="l4s")[99] < 3
