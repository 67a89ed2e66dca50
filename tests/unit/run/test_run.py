# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import math
import pickle
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from ccbench.base import durable
from ccbench.base.errors import DamagedRun, InputError
from ccbench.base.tcp_states import STATES
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario, Trace
from ccbench.run import table_files
from ccbench.run.queue_summary import QueueSummary
from ccbench.run.run import Run
from ccbench.run.tables import (
    COMPLETION_COLUMNS,
    EVENTS,
    FLOW_COLUMNS,
    LINK_COLUMNS,
    QUEUE_COLUMNS,
    RUN_TABLES,
    SUMMARY_TABLES,
    Columns,
    category,
    dtypes,
)

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000
SCENARIO = Scenario(
    name="two flows",
    flows=(Flow(cca="bbr"), Flow(cca="reno", start_s=0.25)),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=12, queue_packets=50),) * 2, rtt_ms=40),
    duration_s=1,
    sample_interval_ms=50,
)


def table(columns: Columns, **values: Any) -> pd.DataFrame:
    """Return a table in which missing values are 0, or the first category."""
    rows = len(next(iter(values.values()), []))
    zeros = {
        name: [kind.categories[0] if isinstance(kind, pd.CategoricalDtype) else 0] * rows
        for name, kind in dtypes(columns).items()
    }
    return pd.DataFrame({**zeros, **values}).astype(dtypes(columns))


def make_run(scenario: Scenario = SCENARIO, **tables: Any) -> Run:
    """Return a run in which missing tables are empty or zero."""
    flows = scenario.flow_count
    settings: dict[str, Any] = {
        "queue": table(QUEUE_COLUMNS),
        "flows": table(FLOW_COLUMNS),
        "completions": table(COMPLETION_COLUMNS, end_ns=[-1] * flows),
        "provenance": {"engine": "test", "engine_version": "1", "kernel": "6.12", "hz": 1000},
    }
    return Run(scenario=scenario, **{**settings, **tables})


def random_run(rows: int = 5000) -> Run:
    """Return a run with random values in every column of every table."""
    rng = np.random.default_rng(1)

    def fill(columns: Columns, rows: int) -> pd.DataFrame:
        values: dict[str, Any] = {}
        for name, kind in dtypes(columns).items():
            if isinstance(kind, pd.CategoricalDtype):
                codes: Any = rng.integers(0, len(kind.categories), rows)
                values[name] = pd.Categorical.from_codes(codes, dtype=kind)
            else:
                if kind == "float64":
                    values[name] = rng.normal(size=rows)
                    continue
                high = np.iinfo(np.dtype(kind)).max
                values[name] = rng.integers(0, high, rows, dtype=kind, endpoint=True)
        return pd.DataFrame(values)

    short = {"completions", "ecn"}  # a row per flow
    filled = {
        name: fill(columns, SCENARIO.flow_count if name in short else rows)
        for name, columns in RUN_TABLES.items()
    }
    return make_run(SCENARIO, **filled)


def summarised_run() -> Run:
    """Return a run with a summary of its queues instead of a log."""
    summary = QueueSummary(
        **{name: table(columns, bottleneck=[0, 1]) for name, columns in SUMMARY_TABLES.items()}
    )
    return make_run(replace(SCENARIO, queue_log="summary"), queue_summary=summary)


def assert_same(first: Run, second: Run) -> None:
    """Fail unless two runs hold the same values of the same types."""
    assert first.scenario.to_dict() == second.scenario.to_dict()
    assert first.provenance == second.provenance
    for name in RUN_TABLES:
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name))


class TestRepr:
    def test_line(self) -> None:
        """The representation of a run is one line with its scenario and engine."""
        line = "<Run 'two flows': 2 flows (bbr, reno), 1 s, seed 1, engine test>"
        assert repr(make_run()) == line


class TestSamples:
    def test_by_flow(self) -> None:
        """A column has the values of each flow at each time, and none before it starts."""
        flows = table(FLOW_COLUMNS, time_ns=[0, MS, MS], flow=[0, 0, 1], cwnd_packets=[10, 20, 5])
        cwnd = make_run(flows=flows).samples("cwnd_packets")
        assert cwnd.index.tolist() == [0, 0.001]
        assert cwnd[0].tolist() == [10, 20]
        assert math.isnan(cwnd[1].iloc[0])
        assert cwnd[1].iloc[1] == 5

    def test_state_of_cca(self) -> None:
        """Reported values have the names and the states of the run's provenance.

        A value is missing if the congestion control has not reported, or if it has no name.
        """
        reported = {"cca_info_0": [1.0, np.nan, 2.0], "cca_info_1": [3.0, np.nan, 4.0]}
        flows = table(FLOW_COLUMNS, time_ns=[MS, 2 * MS, 3 * MS], flow=0).assign(**reported)
        names = {
            "cca_info": {"bbr": ["phase", "gain"]},
            "cca_states": {"bbr": {"phase": ["a", "b"]}},
        }
        run = make_run(flows=flows, provenance=names)
        state = run.cca_info(0)
        assert state["phase"].astype("string").fillna("-").tolist() == ["b", "-", "-"]
        assert state["gain"].iloc[[0, 2]].tolist() == [3.0, 4.0]
        assert run.cca_info(1).columns.empty

    def test_unknown(self) -> None:
        """An unknown column is refused with the list of columns."""
        with pytest.raises(InputError, match=r"column is 'cwnd'.*'cwnd_packets'"):
            make_run().samples("cwnd")


class TestTables:
    def test_categories(self) -> None:
        """The codes of events and states are their positions; states are numbered as in Linux."""
        assert tuple(category("event").categories) == EVENTS
        assert tuple(category("state").categories) == STATES
        assert STATES == ("open", "disorder", "cwr", "recovery", "loss")

    def test_types(self) -> None:
        """A run's tables have their columns and types in order, whatever the engine returned."""
        queue = table(QUEUE_COLUMNS, time_ns=[1, 2])
        given = queue[queue.columns[::-1]].astype({"flow": "int64", "event": object})
        pd.testing.assert_frame_equal(make_run(queue=given).queue, queue)

    def test_missing_column(self) -> None:
        """A table without one of the columns is a bug of the engine, and is named."""
        with pytest.raises(ValueError, match="queue has the columns"):
            make_run(queue=table(QUEUE_COLUMNS).drop(columns="bytes"))

    def test_missing_completion(self) -> None:
        """There is one completion for each flow."""
        with pytest.raises(ValueError, match="completions has 1 rows, not 2"):
            make_run(completions=table(COMPLETION_COLUMNS, end_ns=[0]))

    def test_pickle(self) -> None:
        """A run can be pickled."""
        run = random_run(100)
        assert_same(pickle.loads(pickle.dumps(run)), run)  # noqa: S301 - our own bytes


class TestThroughput:
    def test_constant(self) -> None:
        """A flow at a constant rate from the start has that throughput in every interval."""
        steps = np.arange(1, 21)
        samples = table(
            FLOW_COLUMNS,
            time_ns=steps * 50 * MS,
            throughput_bytes=steps * 50 * 750,
            delivered_bytes=steps * 50 * 700,
        )
        run = make_run(flows=samples)
        for interval_s in (0.05, 0.1, 0.25, 0.5, 1.0):
            throughput = run.throughput(interval_s)
            ends = np.arange(1, round(1 / interval_s) + 1) * interval_s
            assert throughput.index.to_numpy() == pytest.approx(ends)
            assert throughput[0].to_numpy() == pytest.approx(6.0)
            assert run.goodput(interval_s)[0].to_numpy() == pytest.approx(5.6)

    def test_sum(self) -> None:
        """Throughput adds up to the bytes that left, for any intervals."""
        rng = np.random.default_rng(2)
        counts = rng.integers(0, 10**6, (20, 2)).cumsum(axis=0)
        samples = table(
            FLOW_COLUMNS,
            time_ns=np.repeat(np.arange(1, 21) * 50 * MS, 2),
            flow=np.tile([0, 1], 20),
            throughput_bytes=counts.ravel(),
        )
        run = make_run(flows=samples)
        for interval_s in (0.05, 0.2, 1.0):
            total_bytes = run.throughput(interval_s).sum() * interval_s * 1e6 / 8
            assert total_bytes.to_numpy() == pytest.approx(counts[-1])

    def test_late_start(self) -> None:
        """A flow has no throughput before it starts, and none after its last sample."""
        samples = table(
            FLOW_COLUMNS,
            time_ns=np.array([250, 300, 350]) * MS,
            flow=[1, 1, 1],
            throughput_bytes=[0, 5000, 9000],
        )
        throughput = make_run(flows=samples).throughput(0.1)
        assert throughput.shape == (10, 2)
        assert (throughput[0] == 0).all()
        assert throughput[1].to_numpy() == pytest.approx([0, 0, 0.4, 0.32, 0, 0, 0, 0, 0, 0])

    def test_late_sample(self) -> None:
        """A sample taken slightly late belongs to the interval that it ends."""
        samples = table(
            FLOW_COLUMNS, time_ns=[100 * MS + 1000, 200 * MS + 1000], throughput_bytes=[10, 20]
        )
        throughput = make_run(flows=samples).throughput(0.1)
        assert list(throughput[0].iloc[:2] > 0) == [True, True]

    def test_partial_interval(self) -> None:
        """A partial final interval is dropped."""
        assert len(make_run().throughput(0.3)) == 3
        assert len(make_run().throughput(2.0)) == 0

    @pytest.mark.parametrize("interval_s", [0.01, 0.12, 0, -1, float("nan")])
    def test_bad_interval(self, interval_s: float) -> None:
        """An interval shorter than, or no multiple of, the sampling is refused."""
        with pytest.raises(InputError, match="interval_s is"):
            make_run().throughput(interval_s)


class TestOccupancy:
    def test_steps(self) -> None:
        """Occupancy is the backlog after the latest event, including one at that instant."""
        queue = table(
            QUEUE_COLUMNS,
            time_ns=np.array([100, 200, 200, 305]) * MS,
            backlog_packets=[1, 2, 3, 2],
        )
        occupancy = make_run(queue=queue).occupancy(0.1)
        assert list(occupancy) == [0, 1, 3, 3, 2, 2, 2, 2, 2, 2, 2]
        assert occupancy.index.to_numpy() == pytest.approx(np.arange(11) / 10)

    def test_random(self) -> None:
        """Occupancy agrees with single look-ups at each instant, at each bottleneck."""
        rng = np.random.default_rng(3)
        queue = table(
            QUEUE_COLUMNS,
            time_ns=np.sort(rng.integers(0, 1000 * MS, 500)),
            bottleneck=rng.integers(0, 2, 500),
            backlog_packets=rng.integers(0, 50, 500),
        )
        run = make_run(queue=queue)
        for bottleneck in (0, 1):
            events = queue[queue["bottleneck"] == bottleneck]
            for time_s, packets in run.occupancy(0.007, bottleneck).items():
                before = events[events["time_ns"] <= round(float(str(time_s)) * 1e9)]
                assert packets == (before["backlog_packets"].iloc[-1] if len(before) else 0)

    def test_no_log(self) -> None:
        """Occupancy requires a queue log, and the error says so."""
        with pytest.raises(InputError, match="queue_log is False"):
            make_run(replace(SCENARIO, queue_log=False)).occupancy()

    def test_no_bottleneck(self) -> None:
        """An unknown bottleneck is named."""
        with pytest.raises(InputError, match=r"bottleneck is 2; .* at most 1"):
            make_run().occupancy(bottleneck=2)


class TestUtilisation:
    @staticmethod
    def links(*carried_bytes: int) -> pd.DataFrame:
        """Return what the links of a run have carried."""
        return table(
            LINK_COLUMNS, bottleneck=range(len(carried_bytes)), carried_bytes=carried_bytes
        )

    def test_share(self) -> None:
        """The utilisation of a link is what it carried, relative to its 1.5 MB/s."""
        run = make_run(links=self.links(600_000, 750_000))
        assert [run.utilisation(0), run.utilisation(1)] == pytest.approx([0.4, 0.5])
        assert run.bottleneck_summary()["utilisation"].tolist() == pytest.approx([0.4, 0.5])
        with pytest.raises(InputError, match="bottleneck is 2"):
            run.utilisation(2)

    def test_trace(self) -> None:
        """The capacity of a trace is its opportunities in that time, not its mean rate."""
        trace = Trace(name="late", opportunities_ms=(1, 1, 1, 10_000))
        link = Bottleneck(trace=trace, queue_packets=10)
        run = make_run(
            replace(SCENARIO, path=replace(SCENARIO.path, bottlenecks=(link,))),
            links=self.links(3000),
        )
        assert run.utilisation() == pytest.approx(2 / 3)

    def test_no_capacity(self) -> None:
        """A link without capacity in that time has no utilisation."""
        link = Bottleneck(trace=Trace(name="late", opportunities_ms=(60_000,)), queue_packets=10)
        run = make_run(
            replace(SCENARIO, path=replace(SCENARIO.path, bottlenecks=(link,))), links=self.links(0)
        )
        assert math.isnan(run.utilisation())

    def test_not_counted(self) -> None:
        """An engine that does not count what links carry is named."""
        with pytest.raises(InputError, match="engine test does not count what links carry"):
            make_run().utilisation(0)
        assert make_run().bottleneck_summary()["utilisation"].isna().all()


class TestQueueingDelay:
    @staticmethod
    def links(**totals: int) -> pd.DataFrame:
        """Return the totals of a link."""
        return table(LINK_COLUMNS, bottleneck=[0], **totals)

    @pytest.mark.parametrize("queue_log", [True, False])
    def test_mean(self, *, queue_log: bool) -> None:
        """The delay is the mean wait of the packets that left for the link, with any record."""
        links = self.links(left_packets=2, waited_ns=35 * MS)
        run = make_run(replace(SCENARIO, queue_log=queue_log), links=links)
        assert run.queueing_delay_ms() == pytest.approx((10 + 25) / 2)

    def test_two_queues(self) -> None:
        """A qdisc for L4S has a mean for each of its queues; the classic one has the rest."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=9, qdisc="dualpi2")
        links = self.links(
            left_packets=5, waited_ns=40 * MS, l4s_left_packets=3, l4s_waited_ns=6 * MS
        )
        run = make_run(
            replace(SCENARIO, path=replace(SCENARIO.path, bottlenecks=(link,))), links=links
        )
        delays = [run.queueing_delay_ms(queue=queue) for queue in (None, "classic", "l4s")]
        assert delays == [8, 17, 2]

    def test_nothing_left(self) -> None:
        """If no packet left the queue, there is no mean."""
        assert np.isnan(make_run(links=self.links(carried_bytes=0)).queueing_delay_ms())

    def test_not_counted(self) -> None:
        """An engine that does not count what leaves its queues is named."""
        with pytest.raises(InputError, match="engine test does not count"):
            make_run().queueing_delay_ms()
        assert make_run().bottleneck_summary()["queueing_delay_ms"].isna().all()


class TestSummary:
    def test_rates(self) -> None:
        """Rates are means over the time in which a flow was active."""
        samples = table(
            FLOW_COLUMNS,
            time_ns=np.array([500, 500, 1000, 1000]) * MS,
            flow=[0, 1, 0, 1],
            throughput_bytes=[1000, 50_000, 125_000, 50_000],
            srtt_us=[np.nan, 40_000, 50_000, 60_000],
            drops=[1, 2, 3, 4],
        )
        completions = table(
            COMPLETION_COLUMNS,
            start_ns=[0, 250 * MS],
            end_ns=[-1, 500 * MS],
            delivered_bytes=[100_000, 25_000],
            retransmits=[5, 6],
        )
        summary = make_run(flows=samples, completions=completions).summary()
        assert list(summary["label"]) == ["bbr", "reno"]
        assert summary["throughput_mbps"].to_numpy() == pytest.approx([1.0, 1.6])
        assert summary["goodput_mbps"].to_numpy() == pytest.approx([0.8, 0.8])
        assert summary["srtt_ms"].to_numpy() == pytest.approx([50.0, 50.0])
        assert list(summary["retransmits"]) == [5, 6]
        assert list(summary["drops"]) == [3, 4]

    def test_no_samples(self) -> None:
        """A flow too short for a sample has a summary nevertheless."""
        summary = make_run().summary()
        assert list(summary["drops"]) == [0, 0]
        assert summary["srtt_ms"].isna().all()


class TestFolder:
    def test_round_trip(self, tmp_path: Path) -> None:
        """A run is the same after saving and loading: values, types, categories, provenance."""
        run = random_run()
        run.save(tmp_path / "deep" / "run")
        assert_same(Run.load(tmp_path / "deep" / "run"), run)

    @pytest.mark.parametrize(
        "run", [random_run(), make_run(), summarised_run()], ids=["full", "empty", "summary"]
    )
    def test_packed(self, run: Run, tmp_path: Path) -> None:
        """A run that a worker has packed and sent is the same, and is saved as the same bytes."""
        sent = pickle.loads(pickle.dumps(run.packed()))  # noqa: S301 - our own bytes
        run.save(tmp_path / "run")
        sent.save(tmp_path / "sent")
        for path in (tmp_path / "run").iterdir():
            assert (tmp_path / "sent" / path.name).read_bytes() == path.read_bytes()
        assert_same(sent, run)

    def test_empty(self, tmp_path: Path) -> None:
        """A run without a queue log keeps its columns."""
        make_run().save(tmp_path / "run")
        assert_same(Run.load(tmp_path / "run"), make_run())

    def test_standard_formats(self, tmp_path: Path) -> None:
        """Any program that reads Parquet and JSON can read the folder."""
        run = random_run()
        run.save(tmp_path / "run")
        queue = pd.read_parquet(tmp_path / "run" / "queue.parquet")
        assert list(queue["event"].astype(str)) == list(run.queue["event"].astype(str))
        document = json.loads((tmp_path / "run" / "run.json").read_text())
        assert document["provenance"]["kernel"] == "6.12"
        assert document["scenario"]["flows"][1]["cca"] == "reno"

    def test_reproducible(self, tmp_path: Path) -> None:
        """The same run is saved as the same bytes."""
        for name in ("a", "b"):
            random_run().save(tmp_path / name)
        for file in ("queue.parquet", "flows.parquet", "completions.parquet", "run.json"):
            assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()

    def test_replaces(self, tmp_path: Path) -> None:
        """Saving again replaces the existing run, or keeps it on request."""
        first, second = random_run(10), random_run(20)
        first.save(tmp_path / "run")
        second.save(tmp_path / "run", replace=False)
        assert_same(Run.load(tmp_path / "run"), first)
        second.save(tmp_path / "run")
        assert_same(Run.load(tmp_path / "run"), second)
        assert [path.name for path in tmp_path.iterdir()] == ["run"]

    def test_keeps_other_files(self, tmp_path: Path) -> None:
        """Saving never removes files of other kinds."""
        (tmp_path / "thesis.tex").write_text("years of work")
        with pytest.raises(InputError, match=r"contains thesis\.tex"):
            make_run().save(tmp_path)
        with pytest.raises(InputError, match="is a file"):
            make_run().save(tmp_path / "thesis.tex")
        assert (tmp_path / "thesis.tex").read_text() == "years of work"

    def test_all_or_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An interrupted save leaves no files, and keeps the previous run."""
        random_run().save(tmp_path / "run")

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(table_files, "content", interrupt)
        with pytest.raises(KeyboardInterrupt):
            make_run().save(tmp_path / "run")
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
        assert_same(Run.load(tmp_path / "run"), random_run())

    @pytest.mark.parametrize(
        "file", ["queue.parquet", "flows.parquet", "completions.parquet", "run.json"]
    )
    @pytest.mark.parametrize("damage", ["remove", "cut", "flip", "empty"])
    def test_damage(self, tmp_path: Path, file: str, damage: str) -> None:
        """A missing, truncated or changed file is detected and named."""
        random_run().save(tmp_path / "run")
        path = tmp_path / "run" / file
        data = bytearray(path.read_bytes())
        if damage == "remove":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "flip":
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        else:
            path.write_bytes(b"")
        with pytest.raises(DamagedRun, match=file):
            Run.load(tmp_path / "run")

    def test_missing_folder(self, tmp_path: Path) -> None:
        """A missing folder is an error that names it."""
        with pytest.raises(DamagedRun, match=r"nothing.run\.json cannot be read"):
            Run.load(tmp_path / "nothing")

    def test_nested_too_deeply(self, tmp_path: Path) -> None:
        """A description with endless nesting is an error."""
        (tmp_path / "run.json").write_text("[" * 100_000)
        with pytest.raises(DamagedRun, match="it is nested too deeply"):
            Run.load(tmp_path)

    def test_other_format(self, tmp_path: Path) -> None:
        """A run in another version's format is refused with both versions."""
        make_run().save(tmp_path / "run")
        path = tmp_path / "run" / "run.json"
        path.write_text(path.read_text().replace('"format": 2', '"format": 99'))
        with pytest.raises(DamagedRun, match="format 99; this ccbench reads 2"):
            Run.load(tmp_path / "run")


class TestNewFolder:
    def test_two_at_once(self, tmp_path: Path) -> None:
        """Of two concurrent writers of a folder the later replaces the earlier completely."""
        with durable.new_folder(tmp_path / "x", replace=True) as one:
            (one / "one").touch()
            with durable.new_folder(tmp_path / "x", replace=True) as other:
                (other / "other").touch()
        assert [path.name for path in (tmp_path / "x").iterdir()] == ["one"]
        assert [path.name for path in tmp_path.iterdir()] == ["x"]

    def test_removed_meanwhile(self, tmp_path: Path) -> None:
        """The folder to be replaced may disappear meanwhile."""
        (tmp_path / "x").mkdir()
        with durable.new_folder(tmp_path / "x", replace=True):
            shutil.rmtree(tmp_path / "x")
        durable.remove(tmp_path / "x")
        durable.remove(tmp_path / "x")
        assert list(tmp_path.iterdir()) == []
