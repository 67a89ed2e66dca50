# SPDX-License-Identifier: Apache-2.0
"""QUIC stacks as congestion controls, on the virtual kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ccbench import Flow, Run, harm, packets
from ccbench.base.errors import InputError
from ccbench.cli._status import ExitStatus
from ccbench.emulate.kernel.boot import stacks as installation
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.http import HttpKernelEngine
from ccbench.experiment import stacks
from tests.kernel.conftest import dumbbell
from tests.unit.cli.conftest import ccbench

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.kernel


def needs(title: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs a stack."""
    stack = stacks.stacks()[title]
    return pytest.mark.skipif(
        bool(installation.lacking(stack)), reason=f"not installed: {stack.install}"
    )


ngtcp2, aioquic = needs("quic:ngtcp2"), needs("quic:aioquic")


@pytest.fixture(scope="module")
def alone(engine: KernelEngine) -> Run:
    """Give a run of ngtcp2's Reno alone, in a queue of 1 BDP."""
    return engine.run(dumbbell(Flow(cca="quic:ngtcp2/reno"), queue_packets=33, duration_s=8))


@ngtcp2
class TestNgtcp2:
    def test_fills_the_link(self, alone: Run) -> None:
        """A stack alone fills the link, and its goodput is less by the headers of IP and UDP."""
        (row,) = alone.summary().to_dict("records")
        assert row["label"] == "quic:ngtcp2/reno"
        assert row["throughput_mbps"] == pytest.approx(10, rel=0.05)
        sizes = alone.queue.query("event == 'dequeue'")["bytes"]
        assert row["goodput_mbps"] / row["throughput_mbps"] == pytest.approx(
            1 - 28 / sizes.mean(), rel=0.002
        )

    def test_conservation(self, alone: Run) -> None:
        """Each packet that enters the queue leaves it, is dropped or is still there."""
        counts = alone.queue["event"].value_counts()
        left = counts["enqueue"] - counts["dequeue"] - counts["drop"]
        assert 0 <= left <= 33
        assert alone.flows["drops"].iloc[-1] == counts["drop"]

    def test_rtt(self, alone: Run) -> None:
        """The RTT is that of the path and the queue: 40 ms and up to 33 packets at 10 Mbit/s."""
        samples = alone.flows.query("time_ns > 2e9")
        assert samples["srtt_us"].between(40_000, 82_000).all()
        assert samples["min_rtt_us"].between(40_000, 43_000).all()

    def test_flight(self, alone: Run) -> None:
        """Data in flight fill the window, and are the packets on the path and in the queue."""
        samples = alone.flows.query("time_ns > 2e9").set_index("time_ns")
        excess = samples["inflight_packets"] - samples["cwnd_packets"].astype(float)
        assert excess.abs().median() <= 1
        events = alone.queue.query("event != 'loss'")
        times_ns = events["time_ns"].to_numpy()
        sent = (events["event"] == "enqueue").cumsum().to_numpy()
        gone = (events["event"] != "enqueue").cumsum().to_numpy()

        def seen(counts: np.ndarray, at_ns: np.ndarray) -> np.ndarray:
            return counts[np.searchsorted(times_ns, at_ns, side="right") - 1]

        # A packet that left is acknowledged after the delay of the path, or a packet later.
        at_ns = samples.index.to_numpy()
        flight = seen(sent, at_ns) - seen(gone, at_ns - 40_000_000)
        difference = samples["inflight_packets"].to_numpy() - flight
        assert np.median(np.abs(difference)) <= 2

    def test_window(self, alone: Run) -> None:
        """Reno's window grows by a packet per RTT, and halves after a loss: RFC 9002."""
        window = alone.flows.query("time_ns > 2e9")["cwnd_packets"].to_numpy().astype(float)
        steps = np.diff(window)
        falls = np.flatnonzero(steps < -5)
        assert len(falls) >= 2
        assert (window[falls + 1] / window[falls]) == pytest.approx(0.5, abs=0.05)
        # In 100 ms of a RTT that is 40 ms to 80 ms.
        assert np.isin(steps[steps >= -5], [0, 1, 2, 3]).all()

    def test_same_bytes(self, engine: KernelEngine) -> None:
        """The same seed gives the same bytes, also of BBR, which draws random numbers."""
        flows = (Flow(cca="quic:ngtcp2/bbr"), Flow(cca="cubic"))
        scenario = dumbbell(*flows, bandwidth_mbps=5, queue_packets=20, duration_s=2)
        assert len({engine.run(scenario).digest() for _ in range(4)}) == 1

    def test_no_qlog(self, alone: Run) -> None:
        """A run does not keep the qlog, which its samples summarise."""
        assert set(alone.files) == {"programs/0-sender/output", "programs/0-receiver/output"}

    def test_symmetry(self, engine: KernelEngine) -> None:
        """A stack against itself shares the link about equally."""
        flows = Flow(cca="quic:ngtcp2/cubic", count=2)
        scenario = dumbbell(flows, bandwidth_mbps=3, queue_packets=20, duration_s=25)
        rates = engine.run(scenario).throughput(1.0).loc[5:].mean()
        assert rates.sum() == pytest.approx(3, rel=0.03)
        assert rates[0] / rates.sum() == pytest.approx(0.5, abs=0.15)

    def test_directions(self, engine: KernelEngine) -> None:
        """A stack's flow runs in the reverse direction and over IPv6, and starts and stops."""
        settings: dict[str, Any] = {"start_s": 1, "stop_s": 4}
        scenario = dumbbell(
            Flow(cca="quic:ngtcp2/cubic", direction="reverse", **settings),
            Flow(cca="quic:ngtcp2/cubic", ip_version=6, **settings),
            bandwidth_mbps=4,
            duration_s=5,
            reverse_bottlenecks=dumbbell().path.bottlenecks,
        )
        run = engine.run(scenario)
        rates = run.throughput(1.0)
        assert (rates.loc[3:4] > 2.5).to_numpy().all()
        assert (rates.loc[5:] < 1).to_numpy().all()
        known = run.flows[run.flows["srtt_us"].notna()]
        assert set(known["flow"]) == {0, 1}
        assert known["time_ns"].min() >= 1e9


class TestUse:
    @pytest.mark.parametrize("command", ["harm", "deployable"])
    def test_unknown(self, command: str) -> None:
        """A stack that does not exist is an error that names those that do."""
        network = ("--bandwidth", "10", "--rtt", "40", "--queue", "1") if command == "harm" else ()
        result = ccbench(command, "--alpha", "quic:ngtcp/bbr", "--beta", "cubic", *network)
        assert ExitStatus.BAD_INPUT == result.exit_code
        assert "did you mean 'quic:ngtcp2'?" in result.stderr

    def test_not_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A stack that is not installed is an error that says what to install, in one line."""
        (tmp_path / "mine.toml").write_text(OWN)
        monkeypatch.setenv(stacks.OWN_STACKS, str(tmp_path))
        with pytest.raises(InputError, match="no-such-server is missing: make install"):
            KernelEngine().check(dumbbell(Flow(cca="quic:mine/bbr")))
        checks = {check.name: check for check in KernelEngine().stack_checks()}
        assert not checks["quic:mine"].ok
        assert checks["quic:mine"].remedy == "make install"

    def test_web_server(self) -> None:
        """The engine with a web server refuses stacks, and says which engine runs them."""
        with pytest.raises(InputError, match="use the engine kernel"):
            HttpKernelEngine().check(dumbbell(Flow(cca="quic:ngtcp2/bbr")))

    @ngtcp2
    def test_estimate(self, engine: KernelEngine) -> None:
        """The estimate of the time knows that programs take longer than flows of the kernel."""
        stack, kernel = (
            engine.needs(dumbbell(Flow(cca=cca))).work for cca in ("quic:ngtcp2/reno", "reno")
        )
        assert stack > 50 * kernel

    @ngtcp2
    def test_harm(self, engine: KernelEngine) -> None:
        """Harm takes the name of a stack."""
        experiment = harm.long_flows(
            alpha="quic:ngtcp2/reno",
            beta="reno",
            path=dumbbell(bandwidth_mbps=4).path,
            duration_s=8,
        )
        result = harm.repeat(experiment, repetitions=1, engine=engine)
        assert -0.05 < result.table()["absolute"].iloc[0] < 1

    @ngtcp2
    @pytest.mark.usefixtures("own_store")
    def test_sweep(self, tmp_path: Path) -> None:
        """A sweep varies a CCA between those of Linux and of stacks, and their shares add up."""
        file = tmp_path / "two.toml"
        file.write_text(
            dumbbell(Flow(cca="cubic"), Flow(), bandwidth_mbps=4, duration_s=3).to_toml()
        )
        varied = "flows.1.cca=reno,quic:ngtcp2/reno"
        result = ccbench("sweep", str(file), "--vary", varied, "--metric", "share", "--json")
        assert ExitStatus.OK == result.exit_code, result.stderr
        rows = json.loads(result.stdout)["estimates"]
        names = {row["settings"]["flows.1.cca"] for row in rows}
        assert names == {"reno", "quic:ngtcp2/reno"}
        for name in names:
            own = [row["median"] for row in rows if row["settings"]["flows.1.cca"] == name]
            assert sum(own) == pytest.approx(1)

    @ngtcp2
    def test_classify(self, engine: KernelEngine, tmp_path: Path) -> None:
        """The queue of a stack's flow is classified as any, and never as a CCA of another kind."""
        scenario = dumbbell(
            Flow(cca="quic:ngtcp2/reno"), bandwidth_mbps=5, rtt_ms=85, duration_s=13
        )
        engine.run(scenario).save(tmp_path / "5bw-85rtt-64q")
        result = ccbench("classify", str(tmp_path / "5bw-85rtt-64q"), "--length", "11", "--json")
        assert ExitStatus.OK == result.exit_code
        assert json.loads(result.stdout)["label"] in {"unknown", "reno"}


@aioquic
class TestAioquic:
    def test_against_cubic(self, engine: KernelEngine) -> None:
        """The flow of a stack in Python has samples from the times of the day of its qlog."""
        scenario = dumbbell(Flow(cca="quic:aioquic/reno"), Flow(cca="reno"), duration_s=5)
        run = engine.run(scenario)
        assert run.digest() == engine.run(scenario).digest()
        rates = run.throughput(1.0).loc[2:].mean()
        assert rates.sum() == pytest.approx(10, rel=0.05)
        samples = run.flows.query("flow == 0")
        waited_ms = packets.delivered(run).query("flow == 0")["queueing_ms"].min()
        assert samples["min_rtt_us"].min() / 1e3 == pytest.approx(41 + waited_ms, abs=1.5)
        first_ns = run.queue.query("flow == 0")["time_ns"].iloc[0]
        known_ns = samples["time_ns"][samples["srtt_us"].notna()].iloc[0]
        assert 0 <= known_ns - first_ns < 250_000_000


def shared(engine: KernelEngine, cca: str) -> Run:
    """Return a run of a stack that shares a link with CUBIC, twice the same."""
    scenario = dumbbell(Flow(cca=cca), Flow(cca="cubic"), bandwidth_mbps=5, duration_s=3)
    run = engine.run(scenario)
    assert run.digest() == engine.run(scenario).digest()
    rates = run.throughput(1.0).loc[2:].mean()
    assert rates.sum() == pytest.approx(5, rel=0.05)
    assert (rates > 0.2).all()
    return run


@pytest.mark.parametrize(
    "cca",
    [
        pytest.param(cca, marks=needs(cca.partition("/")[0]))
        for cca in (
            "quic:quic-go/reno",
            "quic:quiche/cubic",
            "quic:quiche/bbr2",
            "quic:quinn/cubic",
            "quic:s2n-quic/cubic",
            "quic:s2n-quic/bbr",
        )
    ],
)
def test_built(engine: KernelEngine, cca: str) -> None:
    """A stack that the user builds shares a link with CUBIC, twice the same, and has samples."""
    samples = shared(engine, cca).flows.query("flow == 0 and time_ns > 1e9")
    assert (samples["cwnd_packets"] > 0).all()
    assert samples["srtt_us"].between(40_000, 250_000).all()


@needs("quic:picoquic")
@pytest.mark.parametrize("cca", ["bbr", "cubic", "prague", "reno"])
def test_picoquic(engine: KernelEngine, cca: str) -> None:
    """A stack whose qlog is not read shares a link with CUBIC, twice the same, without samples."""
    samples = shared(engine, f"quic:picoquic/{cca}").flows.query("flow == 0")
    assert (samples["cwnd_packets"] == 0).all()


OWN = """
protocol = "quic"
summary = "mine"
install = "make install"
ccas = ["bbr"]
sender = "no-such-server {address} {port}"
receiver = "cat"
"""
