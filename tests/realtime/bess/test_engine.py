# SPDX-License-Identifier: Apache-2.0
"""Scenarios on BESS: results, failures and leftovers.

A stand-in for bessd carries real packets and speaks the same protocol; the real BESS is used if
``CCBENCH_BESS_DIR`` names it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench import Bottleneck, Flow, Scenario
from ccbench.base.errors import CcbenchError, EngineError, InputError, MissingRequirement
from ccbench.emulate import run_many
from ccbench.emulate.bess import cores
from ccbench.emulate.bess.engine import BessEngine
from ccbench.experiment.noise import Noise
from tests.realtime.disturbance import in_time
from tests.scenarios import flat

if TYPE_CHECKING:
    from ccbench import Run
    from tests.realtime.bess.conftest import StandIn

HERE = Path(__file__).parent


@pytest.fixture(scope="session", params=["stand-in", "real"])
def result(request: pytest.FixtureRequest, bess: Path) -> Run:
    """Give a run of two flows, on the stand-in and on the real BESS."""
    if request.param == "stand-in":
        return BessEngine(bess).run(TWO)
    if "CCBENCH_BESS_DIR" not in os.environ:
        pytest.skip("CCBENCH_BESS_DIR names no BESS")
    return BessEngine().run(TWO)


def dumbbell(*flows: Flow, **changes: Any) -> Scenario:
    """Return a scenario of a few seconds with one bottleneck."""
    link: dict[str, Any] = {"bandwidth_mbps": 6, "queue_packets": 31}
    for name in ("bandwidth_mbps", "loss", "qdisc", "queue_packets"):
        if name in changes:
            link[name] = changes.pop(name)
    settings: dict[str, Any] = {"rtt_ms": 40, "duration_s": 4.0, **changes}
    return flat(
        flows=flows or (Flow(cca="reno"),),
        bottlenecks=(Bottleneck(**link),),
        **settings,
    )


TWO = dumbbell(Flow(cca="reno"), Flow(cca="cubic", start_s=0.5, stop_s=3.5))
SHORT = dumbbell(duration_s=0.5)


def ccbench(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    start = "from ccbench.cli.main import main; main()"
    command = [sys.executable, "-c", start, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class TestRun:
    def test_conservation(self, result: Run) -> None:
        """Packets of each flow that arrive at the queue leave it, are dropped, or wait."""
        for flow, rows in result.queue.groupby("flow"):
            count = rows["event"].value_counts()
            left = count["enqueue"] - count["dequeue"] - count.get("drop", 0)
            assert 0 <= left <= 31, flow
        assert {0, 1} == set(result.queue["flow"])

    def test_limit(self, result: Run) -> None:
        """The queue fills exactly to the scenario's limit: 31 wait in BESS's 32 places."""
        events = result.queue
        most = int(events.loc[events["event"] == "dequeue", "backlog_packets"].max()) + 1
        assert most == pytest.approx(31, abs=1)
        assert (events["event"] == "drop").any()

    def test_rate(self, result: Run) -> None:
        """Full packets pass at the scenario's rate of IP bytes, though BESS counts other bytes."""
        queue = in_time(result).queue
        left = queue[queue["event"] == "dequeue"]
        gaps_ms = left["time_ns"].diff().shift(-1) / 1e6
        busy = (left["backlog_packets"] > 0) & (left["bytes"] == 1500)
        assert gaps_ms[busy].mean() == pytest.approx(1500 * 8 / 6e3, rel=0.01)

    def test_delay(self, result: Run) -> None:
        """The shortest round trip is the base RTT, within mm-delay's milliseconds each way."""
        flows = in_time(result).flows
        least_ms = flows.loc[flows["min_rtt_us"] > 0, "min_rtt_us"].min() / 1e3
        assert 38 < least_ms < 46

    def test_retransmits(self, result: Run) -> None:
        """Every dropped packet is retransmitted, or was lost at the very end."""
        last = result.flows.groupby("flow")[["drops", "retransmits"]].max().sum()
        assert last["retransmits"] >= 0.7 * last["drops"] > 0

    def test_provenance(self, result: Run) -> None:
        """A run states its origin, the lateness of packets and the precision of the rate."""
        made_by = result.provenance
        assert made_by["engine"] == "bess"
        assert made_by["engine_version"].count("-") >= 2
        assert made_by["late_ms_median"] < made_by["late_ms_p99"]
        wrong = (abs(made_by["rate_error"]), made_by["switch_waited_share"])
        assert result.is_late == (made_by["late_ms_p99"] > 5 or max(wrong) > 0.005)

    def test_losses(self, bess: Path) -> None:
        """Random losses are recorded before the queue, with the scenario's probability."""
        flow = Flow(cca="", kind="cbr", rate_mbps=2.4, packet_bytes=500)
        result = BessEngine(bess).run(dumbbell(flow, loss=0.2, duration_s=2.5))
        events = result.queue["event"].value_counts()
        sent = events["enqueue"] + events["loss"]
        deviation = (0.2 * 0.8 / sent) ** 0.5
        assert events["loss"] / sent == pytest.approx(0.2, abs=5 * deviation)

    @pytest.mark.usefixtures("bess")
    def test_own_delay(self, stand_in: StandIn, tmp_path: Path) -> None:
        """A BESS that can delay packets does so, by any number of milliseconds."""
        folder = stand_in(tmp_path / "other")
        (folder / "protobuf").unlink()
        subprocess.run(["cp", "-r", HERE / "protobuf", folder / "protobuf"], check=True)
        with (folder / "protobuf" / "module_msg.proto").open("a", encoding="utf-8") as file:
            file.write("message TimestampArg {}\n")
            file.write("message QueueDelayArg { uint64 size = 1; uint64 delay = 4; }\n")
        flows = BessEngine(folder).run(dumbbell(rtt_ms=35, duration_s=1.5)).flows
        assert 35 <= flows.loc[flows["min_rtt_us"] > 0, "min_rtt_us"].min() / 1e3 < 40

    def test_side_by_side(self, bess: Path) -> None:
        """Two concurrent runs have separate paths."""
        scenarios = [dumbbell(duration_s=0.5, seed=seed) for seed in (1, 2)]
        actual = dict(run_many(scenarios, engine=BessEngine(bess), store=None, jobs=2))
        assert {0, 1} == set(actual)


class TestCores:
    @pytest.fixture(autouse=True)
    def own_locks(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Use locks other than the machine's."""
        monkeypatch.setattr(cores, "_LOCK", str(tmp_path / "core-{core}.lock"))

    @pytest.mark.parametrize("count", [2, 3, 4, 9])
    def test_apart(self, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        """Hosts of any run avoid all cores that a bessd may use; neither set is empty."""
        monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(count)))
        with cores.own_core() as core:
            assert core not in cores.host_cores()
        assert cores.host_cores()

    def test_in_turn(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run that finds no free core waits until another run releases one."""
        monkeypatch.setattr("os.sched_getaffinity", lambda _: {1001, 1002})
        held = threading.Event()

        def second() -> None:
            with cores.own_core():
                held.set()

        with cores.own_core() as core:
            assert core == 1002
            other = threading.Thread(target=second)
            other.start()
            assert not held.wait(0.5)
        assert held.wait(300)
        other.join()


class TestFailure:
    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ("refuse=AddTc", "BESS refuses AddTc 'link': the stand-in was told to refuse"),
            ("refuse=CreatePort", "BESS refuses CreatePort 'sender'"),
            ("refuse=ConfigureGateHook", "BESS refuses ConfigureGateHook 'queue igate'"),
            ("die=ConnectModules", "BESS does not respond to ConnectModules: .*told to die"),
            ("slow", r"link has 5\.[78]\d* Mbit/s instead of 6"),
            ("deaf", "0 of 0 packets passed the switch"),
            ("lossy", "packets are missing between the sender and the switch"),
            ("forgetful", "packets are missing from the record of departures"),
        ],
    )
    def test_reason(
        self, bess: Path, alone: Any, monkeypatch: pytest.MonkeyPatch, fault: str, message: str
    ) -> None:
        """Every failure is an error with its reason, and no process is left."""
        monkeypatch.setenv("STAND_IN", fault)
        own: set[str] = set()
        with pytest.raises(EngineError, match=message):
            BessEngine(bess).run(SHORT, on_progress=lambda _: own.update(alone.namespaces()))
        assert alone.has_ended(own)

    @pytest.mark.usefixtures("bess")
    def test_immediate_end(self, stand_in: StandIn, tmp_path: Path) -> None:
        """A bessd that ends at once is an error with its last output."""
        folder = stand_in(tmp_path / "other")
        (folder / "core" / "bessd").write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
        with pytest.raises(EngineError, match="bessd has ended with status 1: no memory"):
            BessEngine(folder).run(SHORT)

    @pytest.mark.usefixtures("bess")
    def test_protocol(self, stand_in: StandIn, tmp_path: Path) -> None:
        """A BESS whose protocol lacks a required call is an error."""
        folder = stand_in(tmp_path / "other")
        (folder / "protobuf").unlink()
        old = folder / "protobuf"
        subprocess.run(["cp", "-r", HERE / "protobuf", old], check=True)
        service = (old / "service.proto").read_text(encoding="utf-8")
        lines = [line for line in service.splitlines() if "AddWorker" not in line]
        (old / "service.proto").write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(EngineError, match="this BESS has no call AddWorker"):
            BessEngine(folder).run(SHORT)

    def test_interrupted(self, bess: Path, alone: Any) -> None:
        """After Ctrl-C nothing is left."""
        own: set[str] = set()

        def interrupt(done_s: float) -> None:
            if done_s > 0.2:
                own.update(alone.namespaces())
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            BessEngine(bess).run(dumbbell(duration_s=60), on_progress=interrupt)
        assert alone.has_ended(own)


class TestCommand:
    def test_run(self, bess: Path, tmp_path: Path) -> None:
        """`ccbench run --engine bess --bess-dir DIR` prints the flows and the engine."""
        SHORT.save(tmp_path / "short.toml")
        done = ccbench("run", tmp_path / "short.toml", "--engine", "bess", "--bess-dir", bess)
        assert (done.returncode, "engine bess" in done.stdout) == (0, True), done.stderr

    def test_doctor(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without a BESS, doctor says how to get it, and that PyPI's package is another."""
        monkeypatch.delenv("CCBENCH_BESS_DIR", raising=False)
        done = ccbench("doctor", "--engine", "bess")
        assert done.returncode == 1
        assert "BESS: not set" in done.stdout
        assert "--bess-dir" in done.stdout
        assert "PyPI" in done.stdout

    def test_no_bess(self, tmp_path: Path) -> None:
        """A folder without bessd is refused with the missing files."""
        with pytest.raises(MissingRequirement, match="has no core/bessd"):
            BessEngine(tmp_path).check(SHORT)

    @pytest.mark.parametrize(
        ("scenario", "message"),
        [
            (
                dumbbell(queue_packets=64),
                "queue_packets is 64; .* write for example queue_packets = 63",
            ),
            (dumbbell(rtt_ms=35), "rtt_ms is 35.0; it must be an even number"),
            (
                dumbbell(noise=Noise(reverse_jitter_ms=3)),
                "noise.reverse_jitter_ms is 3.0; it must be at most 1",
            ),
            (dumbbell(noise=Noise(background_share=0.1)), "noise.background_share is 0.1"),
            (dumbbell(Flow(cca="cubiq")), r"flows\[0\]\.cca is 'cubiq'"),
            (dumbbell(qdisc="codel"), r"bottlenecks\[0\]\.qdisc is 'codel'"),
        ],
    )
    def test_bad_input(self, bess: Path, scenario: Scenario, message: str) -> None:
        """A scenario that BESS cannot run is refused with the setting and the valid values."""
        with pytest.raises(InputError, match=message):
            BessEngine(bess).check(scenario)

    def test_other_version(self, bess: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A worker with another BESS is reported."""
        monkeypatch.setenv("CCBENCH_BESS_DIR", str(bess))
        with pytest.raises(CcbenchError, match="but 1-other is needed"):
            BessEngine.of_version("1-other")
