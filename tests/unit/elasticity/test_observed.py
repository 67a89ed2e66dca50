# SPDX-License-Identifier: Apache-2.0
"""Cross traffic observed in runs whose queue is arithmetic, and the command."""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ccbench import Bottleneck, Flow, Scenario
from ccbench.base.errors import InputError
from ccbench.cli import main as cli
from ccbench.cli._status import ExitStatus
from ccbench.elasticity import observed
from ccbench.elasticity.detector import Detector
from ccbench.elasticity.observed import elastic_flows, observe
from ccbench.elasticity.pulse import fundamental_mbps, pulse_mbps
from ccbench.run.tables import category
from tests.scenarios import flat

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from ccbench.run.run import Run
    from tests.unit.conftest import MakeRun

LINK_MBPS = 12.0
PACKET_NS = 1_000_000
DURATION_S = 8


def scenario(*flows: Flow, link: Bottleneck | None = None, **settings: Any) -> Scenario:
    """Return a scenario of a pulser and others."""
    return flat(
        flows=flows or (Flow(), Flow(kind="poisson", rate_mbps=6)),
        bottlenecks=(link or Bottleneck(bandwidth_mbps=LINK_MBPS, queue_packets=60),),
        rtt_ms=40,
        duration_s=DURATION_S,
        **settings,
    )


def arrivals(mean_mbps: float = 6.0, pulse: float = 0.25, cross_mbps: float = 6.5) -> pd.DataFrame:
    """Return the arrivals of packets of 1500 bytes: flow 0 pulses, flow 1 is Poisson."""
    rate = np.full(DURATION_S * 1000, mean_mbps)
    if pulse:
        rate += pulse_mbps(np.arange(len(rate)) / 1000, LINK_MBPS, size=pulse)
    sent = np.cumsum(rate) * 1e3 / 12_000
    own = np.interp(np.arange(1, int(sent[-1])), sent, np.arange(1, len(sent) + 1) * 1e6)
    random = np.random.default_rng(2)
    others = np.cumsum(random.exponential(12e6 / cross_mbps, int(cross_mbps / 10e-3 * DURATION_S)))
    others = np.concatenate([np.zeros(55), others[others < DURATION_S * 1e9]])
    table = pd.DataFrame(
        {
            "time_ns": np.concatenate([own, others]).astype(np.int64),
            "flow": np.repeat([0, 1], [len(own), len(others)]),
        }
    )
    return table.sort_values("time_ns", kind="stable", ignore_index=True)


def log_of(packets: pd.DataFrame, *, room: int = 60, stale_ms: float = math.inf) -> pd.DataFrame:
    """Pass packets through a queue; those that wait longer than `stale_ms` drop at its head."""
    rows: list[tuple[int, str, int, int]] = []
    waiting: deque[tuple[int, int]] = deque()
    free_ns = 0

    def serve(until_ns: int) -> None:
        nonlocal free_ns
        while waiting and max(free_ns, waiting[0][0]) <= until_ns:
            came_ns, flow = waiting.popleft()
            start_ns = max(free_ns, came_ns)
            event = "drop" if start_ns - came_ns > stale_ms * 1e6 else "dequeue"
            rows.append((start_ns, event, flow, len(waiting)))
            if event == "dequeue":
                free_ns = start_ns + PACKET_NS

    for now_ns, flow in packets.itertuples(index=False):
        serve(now_ns)
        if len(waiting) < room:
            waiting.append((now_ns, flow))
            rows.append((now_ns, "enqueue", flow, len(waiting)))
        else:
            rows.append((now_ns, "enqueue", flow, len(waiting)))
            rows.append((now_ns, "drop", flow, len(waiting)))
    serve(DURATION_S * 1_000_000_000)
    table = pd.DataFrame(rows, columns=["time_ns", "event", "flow", "backlog_packets"])
    return table.assign(
        event=table["event"].astype(category("event")),
        bottleneck=0,
        bytes=1500,
        backlog_bytes=table["backlog_packets"] * 1500,
    )


def run_of(make_run: MakeRun, log: pd.DataFrame, made: Scenario | None = None) -> Run:
    """Return a run with this log of its queue, and no RTT samples."""
    return replace(make_run(made or scenario(), 6.0), queue=log)


@pytest.fixture
def pulsing(make_run: MakeRun) -> Run:
    """Give a run in which flow 0 pulses beside Poisson traffic."""
    return run_of(make_run, log_of(arrivals()))


class TestObserve:
    def test_exact_on_a_busy_link(self, pulsing: Run) -> None:
        """The estimate is the others' accepted traffic while the queue is not empty."""
        seen = observe(pulsing)
        assert seen.busy > 0.999
        table = seen.rates
        np.testing.assert_allclose(table["estimate_mbps"], table["true_mbps"], rtol=1e-6)

    @pytest.mark.parametrize("settings", [{"room": 12}, {"stale_ms": 20}])
    def test_drops(self, make_run: MakeRun, settings: dict[str, Any]) -> None:
        """Packets that the queue refuses, or drops later, do not disturb the matching."""
        log = log_of(arrivals(cross_mbps=7), **settings)
        drops = log[log["event"] == "drop"]["flow"].value_counts()
        assert drops.min() > 50
        seen = observe(run_of(make_run, log), rate_window_s=0.2)
        assert seen.busy > 0.99
        error = seen.errors.median()
        # Packets dropped at the head were accepted and are never served: the error is their share.
        late = 0.0 if "room" in settings else drops.sum() / (log["event"] == "enqueue").sum()
        assert error <= 1e-6 + 2 * late

    @pytest.mark.parametrize("settings", [{"room": 12}, {"stale_ms": 20}])
    def test_waiting(self, settings: dict[str, Any]) -> None:
        """With drops at either end of the queue, no waiting time is overestimated."""
        log = log_of(arrivals(cross_mbps=7), **settings)
        _, packets = observed._packets(log, (0,))
        waited_ms = (packets["dequeued_ns"] - packets["enqueued_ns"]) / 1e6
        assert waited_ms.min() >= 0
        assert waited_ms.max() <= settings.get("stale_ms", 12)
        left = log[(log["event"] == "dequeue") & (log["flow"] == 0)]
        assert left["time_ns"].tolist() == packets["dequeued_ns"].tolist()

    def test_full_link(self, pulsing: Run) -> None:
        """On a full link the sender's rate and that of the others add up to the link's."""
        mean = observe(pulsing).rates.mean()
        assert LINK_MBPS == pytest.approx(mean["send_mbps"] + mean["estimate_mbps"], rel=0.01)

    def test_idle_link(self, make_run: MakeRun) -> None:
        """On a half-idle link all free capacity is estimated as cross traffic."""
        log = log_of(arrivals(mean_mbps=3, cross_mbps=3, pulse=0))
        table = observe(run_of(make_run, log)).rates
        mean = table["estimate_mbps"].loc[2:].mean()
        assert 9 == pytest.approx(mean, rel=0.03)
        assert 3 == pytest.approx(table["true_mbps"].loc[2:].mean(), rel=0.1)

    def test_link_rate(self, pulsing: Run) -> None:
        """A given μ is used: a wrong one mixes S into the estimate, as in (7)."""
        right, wrong = observe(pulsing).rates, observe(pulsing, link_mbps=18).rates
        expected = 1.5 * right["estimate_mbps"] + 0.5 * right["send_mbps"]
        np.testing.assert_allclose(wrong["estimate_mbps"], expected)

    def test_pulses_are_seen(self, pulsing: Run, make_run: MakeRun) -> None:
        """S has the pulses' sine, somewhat averaged; a steady sender has none."""
        seen = observe(pulsing)
        averaging = np.sinc(5 * seen.rate_window_s)
        assert seen.send_peak_mbps == pytest.approx(fundamental_mbps(12) * averaging, rel=0.2)
        assert seen.is_pulsing
        assert not observe(run_of(make_run, log_of(arrivals(pulse=0)))).is_pulsing

    def test_rate_window(self, pulsing: Run) -> None:
        """Rates are measured over the given window, else the median RTT, else the base RTT."""
        assert 0.04 == observe(pulsing).rate_window_s
        sampled = replace(pulsing, flows=pulsing.flows.assign(srtt_us=90_000))
        assert 0.09 == observe(sampled).rate_window_s
        assert 0.06 == observe(sampled, rate_window_s=0.06).rate_window_s

    def test_several_flows(self, make_run: MakeRun) -> None:
        """Several flows of a sender count as one."""
        packets = arrivals()
        own = packets["flow"] == 0
        split = packets.assign(flow=np.where(own, np.cumsum(own) % 2, 2))
        flows = Flow(count=2), Flow(kind="poisson", rate_mbps=6)
        one = observe(run_of(make_run, log_of(packets)))
        two = observe(run_of(make_run, log_of(split), scenario(*flows)), flows=[0, 1])
        pd.testing.assert_frame_equal(one.rates, two.rates)

    def test_truth(self, make_run: MakeRun) -> None:
        """Verdicts are compared with the kinds of the other flows."""
        log = log_of(arrivals())
        inelastic = observe(run_of(make_run, log))
        assert (inelastic.elasticity["elastic_share"] == 0).all()
        elastic = observe(run_of(make_run, log, scenario(Flow(), Flow())))
        assert (elastic.elasticity["elastic_share"] == 1).all()
        assert 1 == pytest.approx(inelastic.accuracy + elastic.accuracy)
        assert inelastic.accuracy > 0.9

    def test_windows(self, pulsing: Run) -> None:
        """η of a window is that of the rates before its time."""
        seen = observe(pulsing)
        at = seen.elasticity.index[7]
        window = seen.rates["estimate_mbps"].loc[:at].iloc[-500:]
        expected = Detector().elasticity(window.to_numpy())
        assert expected == pytest.approx(seen.elasticity["elasticity"].loc[at])

    def test_too_short(self, make_run: MakeRun) -> None:
        """A run that is shorter than the FFT has rates and no η."""
        packets = arrivals()
        seen = observe(run_of(make_run, log_of(packets[packets["time_ns"] < 4e9])))
        assert len(seen.rates) > 300
        assert 0 == len(seen.elasticity)
        assert math.isnan(seen.accuracy)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"flows": [2]}, "flows is 2; it must be a whole number at least 0 and at most 1"),
            ({"flows": []}, r"flows is \[\]; it must be one flow or more"),
            ({"bottleneck": 1}, "bottleneck is 1"),
            ({"link_mbps": 0}, "link_mbps is 0"),
            ({"rate_window_s": -1}, "rate_window_s is -1"),
        ],
    )
    def test_bad_input(self, pulsing: Run, wrong: dict[str, Any], message: str) -> None:
        """Flows missing from the run, and impossible links, are refused."""
        with pytest.raises(InputError, match=f"^{message}"):
            observe(pulsing, **wrong)

    def test_no_log(self, make_run: MakeRun) -> None:
        """A missing queue log and a flow that sent nothing are refused."""
        with pytest.raises(InputError, match=r"^queue_log is False"):
            observe(make_run(scenario(queue_log=False), 6.0))
        with pytest.raises(InputError, match=r"^flows is \[0\]; it must be flows with 2 packets"):
            observe(make_run(scenario(), 6.0))


class TestElasticFlows:
    def test_kinds(self) -> None:
        """Elastic flows always have data, or more than an initial window."""
        flows = (
            *(Flow(), Flow(cca="vegas"), Flow(kind="onoff", on_s=1, off_s=1)),
            *(Flow(kind="bytes", size_bytes=15_001), Flow(kind="bytes", size_bytes=15_000)),
            *(Flow(kind="rate", rate_mbps=3), Flow(kind="cbr", rate_mbps=3)),
            Flow(kind="poisson", rate_mbps=3),
            Flow(kind="bytes", arrivals=((0, 9_000), (1, 90_000))),
        )
        actual = elastic_flows(scenario(*flows)).tolist()
        assert [True] * 4 + [False] * 4 + [False, True] == actual


class TestCommand:
    @staticmethod
    def elasticity(*args: object) -> Result:
        """Run the command in this process."""
        return CliRunner().invoke(cli.program, ["elasticity", *map(str, args)])

    @pytest.fixture
    def folder(self, pulsing: Run, tmp_path: Path) -> Path:
        """Give the folder of a run."""
        pulsing.save(tmp_path / "run")
        return tmp_path / "run"

    def test_text(self, folder: Path) -> None:
        """Text output contains rates, η and the truth."""
        result = self.elasticity(folder)
        assert (ExitStatus.OK, "") == (result.exit_code, result.stderr)
        for words in ("S ", "μ 12 Mbit/s", "estimated", "true", "η", "classified correctly"):
            assert words in result.stdout
        assert "remark" not in result.stdout

    def test_json(self, folder: Path, pulsing: Run) -> None:
        """The document has the results of the library."""
        document = json.loads(self.elasticity(folder, "--json").stdout)
        seen = observe(pulsing)
        assert seen.elasticity["elasticity"].tolist() == document["over_time"]["elasticity"]
        assert seen.accuracy == document["accuracy"]
        assert len(document["spectrum"]["mean_mbps"]) == len(document["spectrum"]["frequency_hz"])

    def test_options(self, folder: Path) -> None:
        """Every setting of sender and detector is an option."""
        options = (
            *("--flow", "0-1", "--bandwidth", 13, "--rate-window", 60, "--frequency", 6),
            *("--margin", 0.6, "--window", 2.5, "--threshold", 3, "--json"),
        )
        document = json.loads(self.elasticity(folder, *options).stdout)
        assert ([0, 1], 13, 0.06) == tuple(
            document[name] for name in ("flows", "link_mbps", "rate_window_s")
        )
        expected = {"pulse_hz": 6, "margin_hz": 0.6, "window_s": 2.5, "threshold": 3}
        assert {**expected, "step_s": 0.01} == document["detector"]

    def test_plot(self, folder: Path, tmp_path: Path) -> None:
        """Plots are drawn, even for runs too short for a spectrum."""
        for name, options in {"long.svg": (), "short.svg": ("--window", 7.8)}.items():
            result = self.elasticity(folder, "--plot", tmp_path / name, *options)
            assert ExitStatus.OK == result.exit_code, result.output
            assert "ẑ" in (tmp_path / name).read_text()

    def test_remarks(self, folder: Path) -> None:
        """Remarks state violated assumptions."""
        assert "does not pulse" in self.elasticity(folder, "--flow", 1, "--rate-window", 20).stdout
        assert "hardly show pulses" in self.elasticity(folder, "--rate-window", 190).stdout
        assert "there is no η" in self.elasticity(folder, "--window", 10).stdout

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--flow", "7"), "flows is 7"),
            (("--flow", "3-1"), "'3-1' is not the number of a flow"),
            (("--window", "5.1"), "whole number of pulses"),
            (("--threshold", "0.5"), "threshold is 0.5"),
            (("--plot", "x.gif"), ".png"),
        ],
    )
    def test_bad_input(self, folder: Path, options: tuple[str, ...], words: str) -> None:
        """Invalid options end with one line and status 2."""
        result = self.elasticity(folder, *options)
        assert (ExitStatus.BAD_INPUT, "") == (result.exit_code, result.stdout)
        assert words in result.stderr
        assert 1 == len(result.stderr.splitlines())

    def test_no_run(self, tmp_path: Path) -> None:
        """A folder without a run ends with one line."""
        result = self.elasticity(tmp_path)
        assert ExitStatus.OK != result.exit_code
        assert 1 == len(result.stderr.splitlines())
