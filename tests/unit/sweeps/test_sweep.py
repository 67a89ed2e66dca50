# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import ccbench
from ccbench import sweeps
from ccbench.base.errors import EngineError, InputError
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate import Store
from ccbench.experiment.setting_paths import changed, check_path
from ccbench.harm import measure
from tests.unit.raygen.conftest import Wrapped

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench.experiment.scenario import Scenario
    from tests.unit.conftest import ArithmeticEngine, NoisyEngine

DOCUMENT: dict[str, Any] = {
    "rtt_ms": 40,
    "duration_s": 10,
    "flows": [{"cca": "even"}, {"cca": "greedy", "count": 2, "label": "two"}],
    "bottlenecks": [{"bandwidth_mbps": 12, "queue_bdp": 1}],
}
QUEUE = "bottlenecks.0.queue_bdp"


def sweep_of(vary: Any, **settings: Any) -> sweeps.Sweep:
    """Return a sweep of `DOCUMENT`."""
    return sweeps.Sweep.of(DOCUMENT, vary=vary, **settings)


def _leaves(value: Any, path: str) -> list[str]:
    """Return the paths of all single values in a document."""
    if not isinstance(value, dict | list):
        return [path]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    where = f"{path}." if path else ""
    return [leaf for key, item in items for leaf in _leaves(item, f"{where}{key}")]


def _value(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document[int(key) if isinstance(document, list) else key]
    return document


class TestSettings:
    def test_paths(self) -> None:
        """Every setting of the scenario, its flows, bottlenecks and noise has a path."""
        actual = sweeps.paths(DOCUMENT)
        assert {"rtt_ms", "flows.1.count", QUEUE, "noise.start_spread_ms", "seed"} <= set(actual)
        assert not [path for path in actual if path.startswith("flows.2")]

    @pytest.mark.parametrize(
        ("path", "nearest"),
        [
            ("rtt", "rtt_ms"),
            ("bottlenecks.0.queue_bpd", QUEUE),
            ("bottleneck.0.queue_bdp", QUEUE),
            ("bottlenecks[0].queue_bdp", QUEUE),
            ("flows.1.ccca", "flows.1.cca"),
            ("noise.reverse_jitter", "noise.reverse_jitter_ms"),
        ],
    )
    def test_unknown_path(self, path: str, nearest: str) -> None:
        """An unknown path is refused with the nearest one."""
        with pytest.raises(InputError, match=f"did you mean {nearest}?"):
            sweep_of({path: [1]})

    def test_unknown_number(self) -> None:
        """The number of a flow or bottleneck that does not exist is refused with the last one."""
        for path in ("flows.2.cca", "flows[2].cca"):
            with pytest.raises(InputError, match=r"the last of flows is flows\.1"):
                sweep_of({path: ["bbr"]})
        with pytest.raises(InputError, match=r"reverse_bottlenecks is empty"):
            sweep_of({"reverse_bottlenecks.0.loss": [0.1]})

    def test_every_setting_of_a_file(self) -> None:
        """Every value in a file can vary by its path, and an unknown one beside it cannot."""
        document = {
            **DOCUMENT,
            "flows": [
                {"subflows": [{}, {"extra_rtt_ms": 5, "cca": "reno"}]},
                {"receiver": {"window_bytes": 100_000}, "initcwnd": 32},
                {"kind": "frames", "frames_per_s": 30, "frame_bytes": 9000},
                {"kind": "video", "bitrates_mbps": [1, 2], "segment_s": 2, "buffer_s": 9},
            ],
            "bottlenecks": [
                {
                    "bandwidth_mbps": 12,
                    "queue_bdp": 1,
                    "loss_packets": [3, 7],
                    "policer": {"rate_mbps": 10, "burst_bytes": 50_000},
                    "burst_loss": {"to_bad": 0.002, "to_good": 0.2},
                    "reordering": {"share": 0.01, "delay_ms": 5},
                },
                {
                    "bandwidth_mbps": 12,
                    "queue_bdp": 1,
                    "burst_loss": {"good_ms": 900, "bad_ms": 50},
                    "loss_trace": [[0, 0.1], [5, 0]],
                    "jitter": {"delay_ms": 10, "jitter_ms": 3, "correlation": 0.25},
                },
            ],
            "reverse_bottlenecks": [
                {
                    "bandwidth_mbps": 1,
                    "queue_packets": 60,
                    "qdisc": "cake",
                    "qdisc_options": {"ack_filter": 2},
                }
            ],
            "changes": [
                {"at_s": 1, "bandwidth_mbps": 3},
                {"when": {"flow": 0, "packet": 100}, "loss": 1},
                {"at_s": 2, "flow": 1, "window_bytes": 20_000},
            ],
            "rtt_trace": [[0, 40], [5, 60]],
            "mtu_bytes": 9000,
            "noise": {"reverse_jitter_ms": 0.1},
        }
        leaves = _leaves(document, "")
        assert {"changes.1.when.packet", "flows.0.subflows.1.cca", "rtt_trace.1.1"} <= {*leaves}
        for path in leaves:
            check_path(document, path)
            other = changed(document, {path: "other"})
            assert [leaf for leaf in leaves if _value(other, leaf) != _value(document, leaf)] == [
                path
            ]
            with pytest.raises(InputError, match="is not a setting"):
                check_path(document, path.replace("_", "-") + ".x.y")

    def test_nested_sysctls(self) -> None:
        """A sysctl varies by its dotted name, in whichever form the file has it."""
        path = "sysctls.net.ipv4.tcp_sack"
        for table in ({"net": {"ipv4": {"tcp_sack": 1}}}, {"net.ipv4.tcp_sack": 1}, {}):
            sweep = sweeps.Sweep.of({**DOCUMENT, "sysctls": table}, vary={path: [0]})
            assert (("net.ipv4.tcp_sack", "0"),) == sweep.cases[0].scenario.path.sysctls

    @pytest.mark.parametrize(
        ("path", "values"),
        [
            ("bottlenecks.0.jitter.jitter_ms", [0, 3]),
            ("bottlenecks.0.jitter.distribution", ["normal", "pareto"]),
            ("bottlenecks.0.burst_loss.bad_ms", [20, 80]),
            ("flows.1.frame_bytes", [3000, 9000]),
            ("flows.1.frames_per_s", [15, 60]),
            ("flows.0.initcwnd", [10, 32]),
            ("changes.0.window_bytes", [20_000, 100_000]),
            ("mtu_bytes", [1280, 9000]),
        ],
    )
    def test_described_in_reports(self, path: str, values: list[float | str]) -> None:
        """Jitter, fades, frames, windows and sizes of packets vary by their paths."""
        document = {
            **DOCUMENT,
            "flows": [
                {},
                {"kind": "frames", "frames_per_s": 30, "frame_bytes": 1, "packet_bytes": 900},
            ],
            "bottlenecks": [
                {
                    "bandwidth_mbps": 12,
                    "queue_bdp": 1,
                    "burst_loss": {"good_ms": 900, "bad_ms": 50},
                    "jitter": {"delay_ms": 10, "jitter_ms": 3},
                }
            ],
            "changes": [{"at_s": 2, "flow": 0, "window_bytes": 30_000}],
        }
        cases = sweeps.Sweep.of(document, vary={path: values}).cases
        keys = {case.scenario.key() for case in cases}
        assert len(keys) == len(values)
        queues = {case.scenario.path.bottlenecks[0].queue_packets for case in cases}
        assert len(queues) == (2 if path == "mtu_bytes" else 1)

    def test_whole_parts(self, engine: ArithmeticEngine) -> None:
        """In Python, whole parts and lists vary, and are words in the table."""
        bursts = [ccbench.BurstLoss.of(0.01, length) for length in (2, 20)]
        path = "bottlenecks.0.burst_loss"
        cases = sweep_of({path: bursts, "bottlenecks.0.loss_packets": [(3,), (3, 4)]}).cases
        links = [case.scenario.path.bottlenecks[0] for case in cases]
        assert bursts == [link.burst_loss for link in links[::2]]
        assert [(3,), (3, 4)] == [link.loss_packets for link in links[:2]]
        table = sweep_of({path: bursts}).run(engine=engine)
        assert [*map(str, bursts)] == list(dict.fromkeys(table[path]))
        assert json.loads(json.dumps(table.attrs["sweep"]))["vary"][path][0]["to_good"] == 0.5

    @pytest.mark.parametrize("path", ["name", "flows.0.label", "queue_log"])
    def test_fixed(self, path: str) -> None:
        """Settings without influence on results, or set by metrics, do not vary."""
        with pytest.raises(InputError, match=f"'{path}' cannot vary"):
            sweep_of({path: ["a"]})

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("noise.reverse_jitter_ms", 0.25),
            ("sysctls.net.ipv4.tcp_sack", 0),
            ("module_parameters.tcp_rapid.tolerance", 64),
            ("flows.1.extra_rtt_ms", 30),
        ],
    )
    def test_tables(self, path: str, value: float) -> None:
        """Settings in tables vary whether or not the file has the table, and it stays unchanged."""
        before = json.dumps(DOCUMENT)
        (case,) = sweep_of({path: [value]}).cases
        assert str(value) in json.dumps(case.scenario.to_dict())
        assert before == json.dumps(DOCUMENT)

    def test_qdisc_options(self) -> None:
        """Options of a qdisc vary by name; the engine checks them."""
        path = "bottlenecks.0.qdisc_options.target_ms"
        vary = {"bottlenecks.0.qdisc": ["codel", "pie"], path: [5, 15]}
        options = [dict(c.scenario.path.bottlenecks[0].qdisc_options) for c in sweep_of(vary).cases]
        assert [{"target_ms": 5}, {"target_ms": 15}] * 2 == options
        with pytest.raises(InputError, match="the last of bottlenecks is"):
            sweep_of({"bottlenecks.1.qdisc_options.target_ms": [5]})


class TestAll:
    def test_all_flows(self) -> None:
        """A star stands for all items of a list."""
        cases = sweep_of({"flows.*.cca": ["even", "greedy"], "rtt_ms": [10, 20]}).cases
        assert [{flow.cca for flow in case.scenario.flows} for case in cases] == [
            {"even"},
            {"even"},
            {"greedy"},
            {"greedy"},
        ]
        assert cases[0].values == {"flows.*.cca": "even", "rtt_ms": 10}

    def test_baseline(self) -> None:
        """A sweep of an impairment has a baseline without it."""
        late = {"bandwidth_mbps": 12, "queue_bdp": 1, "reordering": {"share": 0.1, "delay_ms": 5}}
        off, on = sweeps.Sweep.of(
            {**DOCUMENT, "bottlenecks": [late]},
            vary={"bottlenecks.*.reordering.share": [0, 0.01]},
        ).cases
        assert (
            off.scenario.path.bottlenecks
            == sweep_of({"rtt_ms": [40]}).cases[0].scenario.path.bottlenecks
        )
        assert on.scenario.path.bottlenecks[0].reordering is not None

    @pytest.mark.parametrize(
        ("vary", "words"),
        [
            ({"changes.*.at_s": [1]}, "stands for no items of a list; the scenario has "),
            ({"rtt_ms.*": [1]}, "stands for no items of a list"),
            ({"flows.*.colour": [1]}, "'flows.0.colour' is not a setting"),
            ({"flows.*.cca": ["a"], "flows.1.cca": ["b"]}, "left out with flows.*.cca"),
        ],
    )
    def test_refused(self, vary: Any, words: str) -> None:
        """A star needs a list with items that have the setting, which no other path sets."""
        with pytest.raises(InputError) as caught:
            sweep_of(vary)
        assert words in str(caught.value)


class TestSweep:
    def test_combinations(self) -> None:
        """All combinations are present, the last setting's values first."""
        cases = sweep_of({"rtt_ms": [10, 40, 160], "flows.0.cca": ["even", "greedy"]}).cases
        got = [(case.scenario.path.rtt_ms, case.scenario.flows[0].cca) for case in cases]
        assert [(r, c) for r in (10, 40, 160) for c in ("even", "greedy")] == got

    @pytest.mark.parametrize("other", ["rtt_ms", "bottlenecks.0.bandwidth_mbps"])
    def test_queue_follows_bdp(self, other: str) -> None:
        """A queue in BDPs follows the combination's own rate and round trip."""
        cases = sweep_of({QUEUE: [1, 3], other: [20, 80]}).cases
        for case in cases:
            link, packets = case.scenario.path.bottlenecks[0], case.scenario.path.bdp_packets()
            assert round(cast("float", case.values[QUEUE]) * packets) == link.queue_packets
        assert 4 == len({case.scenario.path.bottlenecks[0].queue_packets for case in cases})

    def test_trace_beside_file(self, tmp_path: Path) -> None:
        """Traces are found relative to the scenario's file."""
        for name, times in (("slow", "10\n"), ("fast", "1\n")):
            (tmp_path / f"{name}.trace").write_text(times)
        text = 'rtt_ms=40\nduration_s=2\n[[flows]]\n[[bottlenecks]]\ntrace="slow.trace"\n'
        (tmp_path / "s.toml").write_text(f"{text}queue_bdp=1\n")
        vary = {"bottlenecks.0.trace": ["slow.trace", "fast.trace"]}
        cases = sweeps.Sweep.of(tmp_path / "s.toml", vary=vary).cases
        assert [1.2, 12.0] == [case.scenario.path.bottlenecks[0].mean_mbps for case in cases]

    @pytest.mark.parametrize(
        ("vary", "settings", "words"),
        [
            ({QUEUE: [1, 0], "rtt_ms": [5]}, {}, f"{QUEUE} = 0, rtt_ms = 5: .*above 0"),
            ({"flows.1.cca": [5]}, {}, r"flows.1.cca = 5: flows\[1\].cca"),
            ({"bottlenecks.0.queue_packets": [5]}, {}, "exclude each other"),
            ({"rtt_ms": []}, {}, "one value or more"),
            ({"rtt_ms": [[1, 2]]}, {}, "one value or more"),
            ({"rtt_ms": 5}, {}, "one value or more"),
            ({"rtt_ms": [1, 2, 1.0]}, {}, "given once"),
            ({}, {}, "one setting or more"),
            ({"seed": [1, 2]}, {"repeat": 2}, "remove one of the two"),
            ({"rtt_ms": [1]}, {"repeat": 0}, "repeat is 0"),
            ({"rtt_ms": [1]}, {"metrics": ["shares"]}, "did you mean 'share'"),
            ({"rtt_ms": [1]}, {"metrics": []}, "one or more names"),
            ({"rtt_ms": [1]}, {"metrics": ["harm"], "beta": [2]}, "at most 1"),
            ({"rtt_ms": [1]}, {"metrics": ["harm"], "beta": [0, 1]}, "not all of them"),
            ({"rtt_ms": range(1, 9_000)}, {"repeat": 12}, "at most 100000"),
        ],
    )
    def test_refused(self, vary: Any, settings: Any, words: str) -> None:
        """Invalid settings are refused before anything runs, with their combination."""
        with pytest.raises(InputError, match=words):
            sweep_of(vary, **settings)

    def test_refused_scenario(self) -> None:
        """A Scenario, whose queue is in packets already, is refused with the alternative."""
        (case,) = sweep_of({"rtt_ms": [1]}).cases
        scenario: Any = case.scenario
        with pytest.raises(InputError, match="path of a TOML file, or a dictionary"):
            sweeps.Sweep.of(scenario, vary={"rtt_ms": [1]})

    def test_harm_of_one_group(self) -> None:
        """Harm requires another group."""
        alone = {**DOCUMENT, "flows": [{"cca": "even"}]}
        with pytest.raises(InputError, match="needs two groups"):
            sweeps.Sweep.of(alone, vary={"rtt_ms": [1]}, metrics=["harm"])

    def test_harm_with_triggers(self) -> None:
        """A change waits for, and affects, the same flow of the scenario in both runs of harm."""
        flows = [{"cca": "reno"}, {"cca": "bbr", "count": 2}, {"cca": "vegas", "count": 2}]
        change = {"when": {"flow": 4, "packet": 100}, "flow": 3, "app_rate_mbps": 1}
        scenario = ccbench.Scenario.from_dict({**DOCUMENT, "flows": flows, "changes": [change]})
        for run in sweeps.metrics.harm_scenarios(scenario, beta=(2,)):
            trigger = run.path.changes[0].when
            assert trigger is not None
            assert (1, 0) == (trigger.flow, run.path.changes[0].flow)
            assert "vegas" == run.flow_table()["cca"][1]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"when": {"flow": 1, "packet": 100}, "loss": 1}, r"when\.flow is 1; .*flow of beta"),
            ({"at_s": 5, "flow": 2, "app_rate_mbps": 1}, r"flow is 2; .*flow of beta"),
        ],
    )
    def test_harm_without_the_flow_of_a_change(self, change: dict[str, Any], words: str) -> None:
        """A change of, or after an event of, a flow that one of harm's runs lacks is refused."""
        document = {**DOCUMENT, "changes": [change]}
        with pytest.raises(InputError, match=rf"^changes\[0\]\.{words}"):
            sweeps.Sweep.of(document, vary={"rtt_ms": [1]}, metrics=["harm"], beta=[0])

    def test_harm_in_opposite_directions(self) -> None:
        """Harm between flows without a common bottleneck is refused, as they share no rate."""
        flows = [{"cca": "even"}, {"cca": "even", "direction": "reverse"}]
        links = DOCUMENT["bottlenecks"]
        document = {**DOCUMENT, "flows": flows, "reverse_bottlenecks": links}
        with pytest.raises(InputError, match="no bottleneck is on the path"):
            sweeps.Sweep.of(document, vary={"rtt_ms": [1]}, metrics=["harm"])

    def test_engine_refuses(self, engine: ArithmeticEngine) -> None:
        """A combination that the engine cannot run is named, and nothing is run."""
        with pytest.raises(InputError, match=r"flows.0.cca = 'cubic': .* even or greedy"):
            sweep_of({"flows.0.cca": ["even", "cubic"]}).run(engine=engine)
        assert [] == engine.ran


class TestTable:
    def test_groups(self, engine: ArithmeticEngine) -> None:
        """A metric of groups has a row for each group of each repetition of each combination."""
        table = sweep_of(
            {"rtt_ms": [10, 80], QUEUE: [1, 2]}, repeat=3, metrics=["share", "throughput"]
        ).run(engine=engine)
        assert 2 * 2 * 3 * 2 == len(table)
        names = ["rtt_ms", QUEUE, "repetition", "seed", "group", "label", "share"]
        assert [*names, "throughput_mbps"] == list(table.columns)
        assert ["even", "two"] * 12 == list(table["label"])
        runs = table.groupby(["rtt_ms", QUEUE, "repetition"])
        assert np.allclose(1, runs["share"].sum())
        assert np.allclose(12, runs["throughput_mbps"].sum())
        assert [repetition_seeds(1, 3)] == list(
            dict.fromkeys(runs["seed"].first().groupby(["rtt_ms", QUEUE]).agg(tuple))
        )

    def test_runs(self, engine: ArithmeticEngine) -> None:
        """Metrics of the whole run have one row for each; their values are the run's own."""
        table = sweep_of({"rtt_ms": [10, 80]}, metrics=["jain", "utilisation"]).run(engine=engine)
        assert ["rtt_ms", "repetition", "seed", "jain", "utilisation"] == list(table.columns)
        assert 2 == len(table)
        assert np.allclose(1, table["utilisation"])
        assert table["jain"].between(1 / 3, 1, inclusive="neither").all()

    @pytest.mark.parametrize("beta", [(0,), (1,), ()])
    def test_harm(self, engine: ArithmeticEngine, beta: tuple[int, ...]) -> None:
        """Harm is that of an experiment of the same flows, whichever group is harmed."""
        table = sweep_of({"rtt_ms": [320]}, metrics=["harm", "share"], beta=beta).run(engine=engine)
        (case,) = sweep_of({"rtt_ms": [320]}).cases
        solo, competing = sweeps.metrics.harm_scenarios(case.scenario, beta)
        expected = measure(engine.run(solo), engine.run(competing)).relative
        assert np.allclose(expected, table["harm"])
        assert (expected > 0) == (beta == (0,))
        assert table["share"].iloc[0] < 1 / 3  # groups keep the file's order

    def test_missing(self, engine: ArithmeticEngine) -> None:
        """A metric that no flow has is missing, never a number."""
        table = sweep_of({"rtt_ms": [10]}, metrics=["fct"]).run(engine=engine)
        assert table["fct_s"].isna().all()

    def test_files(self, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """A table is read back unchanged; Parquet contains its provenance."""
        table = sweep_of({"flows.0.cca": ["even", "greedy"]}, repeat=2).run(engine=engine)
        for name in ("t.csv", "t.parquet"):
            sweeps.save_table(table, tmp_path / name)
        pd.testing.assert_frame_equal(table, pd.read_csv(tmp_path / "t.csv"))
        pd.testing.assert_frame_equal(table, pd.read_parquet(tmp_path / "t.parquet"))
        metadata = json.loads(pq.read_schema(tmp_path / "t.parquet").metadata[b"ccbench"])
        assert 2 == metadata["sweep"]["repeat"]
        assert "arithmetic" == metadata["provenance"]["engine"]
        with pytest.raises(InputError, match=r"must end with .csv or .parquet"):
            sweeps.save_table(table, tmp_path / "t.xlsx")

    def test_function(self, engine: ArithmeticEngine) -> None:
        """`ccbench.sweep` is the sweep in one call."""
        table = ccbench.sweep(DOCUMENT, vary={"rtt_ms": [10, 40]}, repeat=2, engine=engine)
        same = sweep_of({"rtt_ms": [10, 40]}, repeat=2).run(engine=engine)
        pd.testing.assert_frame_equal(same, table)


class Fails(Wrapped):
    """An engine on which runs with one round-trip time fail."""

    def before(self, scenario: Scenario) -> None:
        """Raise an error at that round-trip time."""
        if scenario.path.rtt_ms == 40:
            raise EngineError("no luck", ["Oops"])


class TestRunning:
    def test_resumes(self, noisy_engine: NoisyEngine, tmp_path: Path) -> None:
        """Further values and repetitions run only missing runs."""
        store = Store(tmp_path)
        noisy_engine.draws = True
        sweep_of({"rtt_ms": [10, 40]}, repeat=2).run(engine=noisy_engine, store=store)
        assert 4 == len(noisy_engine.ran)
        more = sweep_of({"rtt_ms": [10, 40, 80]}, repeat=3)
        assert 4 == more.plan(engine=noisy_engine, store=store).stored
        noisy_engine.ran.clear()
        more.run(engine=noisy_engine, store=store)
        assert 5 == len(noisy_engine.ran)
        noisy_engine.ran.clear()
        more.run(engine=noisy_engine, store=store)
        assert [] == noisy_engine.ran

    def test_exact_repetitions(self, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """Where nothing is random, one run stands for all repetitions."""
        sweep, store = sweep_of({"rtt_ms": [10, 40]}, repeat=3), Store(tmp_path)
        table = sweep.run(engine=engine, store=store)
        assert 2 == len(engine.ran)
        assert 6 == len(table.groupby(["rtt_ms", "repetition"]))
        assert [True, True] == table.attrs["exact"]
        plan = sweep.plan(engine=engine, store=store)
        assert (2, 2) == (plan.runs, plan.stored)

    def test_plan(self, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """A plan counts each run once, including those of beta alone, and runs none."""
        store = Store(tmp_path)
        sweep = sweep_of({"flows.0.count": [1, 2, 3]}, repeat=2, metrics=["harm"])
        plan = sweep.plan(engine=engine, store=store)
        assert (3, 2 * (3 + 1), 0) == (plan.combinations, plan.runs, plan.stored)
        assert 8 * 10 / 3600 == pytest.approx(plan.virtual_hours)
        assert plan.core_hours > 0
        sweep.run(engine=engine, store=store)
        done = sweep.plan(engine=engine, store=store)
        assert (4, 0) == (done.stored, done.core_hours)

    def test_records(self, engine: ArithmeticEngine) -> None:
        """No metric needs a record of the queues."""
        metrics = ["share", "harm", "utilisation", "sojourn_time"]
        sweep_of({"rtt_ms": [1]}, metrics=metrics).run(engine=engine)
        assert {False} == {scenario.queue_log for scenario in engine.ran}

    def test_failure(self, engine: ArithmeticEngine, tmp_path: Path) -> None:
        """A failed run is an error with its combination, after all others are run and stored."""
        store = Store(tmp_path)
        sweep = sweep_of({"rtt_ms": [10, 40, 80]}, repeat=2)
        with pytest.raises(EngineError) as caught:
            sweep.run(engine=Fails(engine), store=store)
        assert "1 of 3" in str(caught.value)  # all are exact
        assert "rtt_ms = 40, repetition 0: no luck" in str(caught.value)
        assert ("Oops",) == caught.value.console
        assert 2 == store.usage().runs

    def test_no_measurement(self, engine: ArithmeticEngine) -> None:
        """Runs that lack a metric are an error with their combination."""
        late = [{"cca": "even", "start_s": 5}, {"cca": "even"}]
        document = {**DOCUMENT, "flows": late}
        sweep = sweeps.Sweep.of(document, vary={"duration_s": [5.5]}, metrics=["harm"])
        with pytest.raises(EngineError, match=r"duration_s = 5.5, repetition 0: "):
            sweep.run(engine=engine)


class TestEstimates:
    def test_values(self, engine: ArithmeticEngine) -> None:
        """Each combination's value is that of its own rows; exact ones have one repetition."""
        sweep = sweep_of({"rtt_ms": [10, 80], QUEUE: [1, 2]}, repeat=3, metrics=["share", "jain"])
        table = sweep.run(engine=engine)
        actual = sweeps.estimates(sweep, table)
        assert 4 * (2 + 1) == len(actual)
        for item in actual:
            rows = table[(table["rtt_ms"] == item.values["rtt_ms"])]
            rows = rows[rows[QUEUE] == item.values[QUEUE]]
            if item.of:
                rows = rows[rows["label"] == item.of]
            assert rows[item.metric.column].mean() == pytest.approx(item.estimate.mean)
            assert item.is_exact
            assert 1 == item.estimate.repetitions

    def test_names(self, engine: ArithmeticEngine) -> None:
        """A group with a varying label is named by its number."""
        sweep = sweep_of({"flows.0.cca": ["even", "greedy"]}, metrics=["share"])
        names = [estimate.of for estimate in sweeps.estimates(sweep, sweep.run(engine=engine))]
        assert ["group 0", "two"] * 2 == names
