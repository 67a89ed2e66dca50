# SPDX-License-Identifier: Apache-2.0
"""A real web server in the virtual kernel, and its classification by `ccbench classify`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ccbench import Change, Flow, When
from ccbench.base.errors import EngineError, InputError, MissingRequirement
from ccbench.classify.training import Variation, collect
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge
from ccbench.emulate import Campaign, Store, get_engine, run_many
from ccbench.emulate.kernel import web as programs
from ccbench.emulate.kernel.boot import pinning
from ccbench.emulate.kernel.boot.programs import find
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.emulate.kernel.http import HttpKernelEngine
from ccbench.experiment.noise import Noise
from ccbench.experiment.receiver import Receiver
from tests.kernel.conftest import dumbbell, guests
from tests.kernel.test_determinism import content

if TYPE_CHECKING:
    from pathlib import Path

    from ccbench import Run

pytestmark = pytest.mark.kernel

CCAS = ("bbr", "cubic", "illinois", "reno", "vegas", "westwood")

needs_programs = pytest.mark.skipif(
    bool(programs.missing()),
    reason=f"not installed: sudo apt-get install -y {' '.join(programs.PACKAGES.values())}",
)


@pytest.fixture(scope="module")
def web() -> HttpKernelEngine:
    """Give the engine."""
    return HttpKernelEngine()


@pytest.fixture(scope="module")
def busy(web: HttpKernelEngine) -> Run:
    """Give a run in which the web server sends CUBIC, beside Poisson traffic."""
    cross = Flow(kind="poisson", rate_mbps=0.5)
    noise = Noise(reverse_jitter_ms=1)
    return web.run(dumbbell(Flow(cca="cubic"), cross, duration_s=20, loss=0.0005, noise=noise))


@needs_programs
class TestServer:
    def test_fills_the_link(self, busy: Run) -> None:
        """The server always has data to send: the link is never idle for long."""
        assert busy.utilisation() > 0.95
        assert busy.throughput(1.0).loc[2:].sum(axis=1).min() > 8

    def test_conservation(self, busy: Run) -> None:
        """Packets of the server's flow leave the queue, are dropped or are still queued."""
        events = busy.queue_events()
        own = events[events["flow"] == 0]["event"].value_counts()
        left = own["enqueue"] - own["dequeue"] - own["drop"]
        assert 0 <= left <= 64
        assert busy.flows[busy.flows["flow"] == 0]["drops"].iloc[-1] == own["drop"]

    def test_payload(self, busy: Run) -> None:
        """The client receives all that left the link except headers and duplicates."""
        done = busy.completions.loc[0]
        sent = busy.flows[busy.flows["flow"] == 0]["throughput_bytes"].iloc[-1]
        assert 0.94 < done["delivered_bytes"] / sent < 1448 / 1500
        assert done["delivered_bytes"] < done["sent_bytes"]
        assert done["retransmits"] > 0
        assert -1 == done["end_ns"]

    def test_round_trip(self, busy: Run) -> None:
        """The server's own RTT measurement is that of path and queue."""
        samples = busy.flows[(busy.flows["flow"] == 0) & (busy.flows["time_ns"] > 2e9)]
        assert 40 <= samples["min_rtt_us"].min() / 1e3 < 44
        queueing_ms = busy.queueing_delay_ms()
        assert samples["srtt_us"].mean() / 1e3 == pytest.approx(41.5 + queueing_ms, rel=0.1)

    def test_own_cca(self, web: HttpKernelEngine) -> None:
        """Each flow has its own congestion control, as if sent by the kernel itself."""
        flows = (Flow(cca="bbr"), Flow(cca="cubic", start_s=1))
        scenario = dumbbell(*flows, queue_packets=33, duration_s=60)
        served, made = (
            engine.run(scenario).throughput(1.0).loc[30:].mean() for engine in (web, KernelEngine())
        )
        assert served[0] / served.sum() > 0.65
        assert served[0] / served.sum() == pytest.approx(made[0] / made.sum(), abs=0.15)

    def test_single_packets(self, web: HttpKernelEngine) -> None:
        """Without segmentation offload, the server's packets leave one by one."""
        pairs = []
        for offload in (True, False):
            flow = Flow(cca="bbr", segmentation_offload=offload)
            events = web.run(dumbbell(flow, bandwidth_mbps=5, duration_s=20)).queue_events()
            sent_ns = events.query("event == 'enqueue' and time_ns > 10e9")["time_ns"]
            pairs.append(sent_ns.diff().eq(0).mean())
        assert pytest.approx([0.5, 0], abs=0.01) == pairs

    def test_times(self, web: HttpKernelEngine) -> None:
        """A flow begins at its start and ends a round trip after its stop."""
        result = web.run(dumbbell(Flow(start_s=3, stop_s=7)))
        sent_s = result.queue_events().query("event == 'enqueue'")["time_ns"] / 1e9
        assert 3 <= sent_s.min() < 3.05
        assert 6.9 < sent_s.max() < 7.2
        throughput = result.throughput(1.0)[0]
        assert throughput.loc[:3].sum() == 0 == throughput.loc[9:].sum()
        assert throughput.loc[5:7].mean() > 9

    def test_first_packet(self, web: HttpKernelEngine) -> None:
        """The first packet of the sending host is the SYN-ACK, as the client opens connections."""
        change = Change(when=When(flow=0, packet=1), loss=1)
        result = web.run(dumbbell(Flow(start_s=1), changes=(change,), duration_s=4))
        log = result.queue_events()
        (at_ns,) = result.changes["time_ns"]
        assert at_ns >= 1.04e9  # a round trip, because the path delays packets on the reverse path
        lost = log[log["time_ns"] == at_ns]
        # A SYN-ACK has no payload, and options that no later packet has.
        assert lost["event"].to_list() == ["loss"]
        assert lost["bytes"].to_list() == [60]
        assert result.completions["delivered_bytes"].to_list() == [0]

    def test_one_core(
        self, web: HttpKernelEngine, own_temporary: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The guest's kernel and its programs run on one of this process's cores."""
        for core in os.sched_getaffinity(0):  # claims that no other test makes
            (own_temporary / f"cpu{core}").mkdir()
        monkeypatch.setattr(pinning, "CORES", own_temporary)
        cores: dict[int, set[int]] = {}

        def look(_: float) -> None:
            for pid in guests(own_temporary):
                with suppress(ProcessLookupError):
                    cores[pid] = os.sched_getaffinity(pid)

        web.run(dumbbell(duration_s=5), on_progress=look)
        assert len(cores) >= 4  # kernel, init, server and client
        (shared,) = set(map(frozenset, cores.values()))
        assert 1 == len(shared)
        assert shared <= os.sched_getaffinity(0)

    def test_fast_path(self, web: HttpKernelEngine) -> None:
        """The client's requests and HTTP/2 windows fill a fast and long path too."""
        scenario = dumbbell(
            Flow(cca="bbr"), bandwidth_mbps=200, rtt_ms=200, queue_packets=3000, duration_s=5
        )
        assert web.run(scenario).throughput(1.0)[0].loc[4:].min() > 170


@needs_programs
class TestDeterminism:
    def test_same_bytes(self, web: HttpKernelEngine, busy: Run, tmp_path: Path) -> None:
        """The same scenario gives the same bytes, alone or beside others; another seed, others."""
        with ThreadPoolExecutor(3) as pool:
            again, beside, other = pool.map(
                web.run, [busy.scenario, busy.scenario, replace(busy.scenario, seed=2)]
            )
        expected = content(busy, tmp_path / "first")
        assert (
            expected == content(again, tmp_path / "again") == content(beside, tmp_path / "beside")
        )
        assert not other.queue.equals(busy.queue)

    def test_store(self, web: HttpKernelEngine, tmp_path: Path) -> None:
        """The store separates this engine's runs from those of the virtual kernel alone."""
        store = Store(tmp_path)
        scenario = dumbbell(duration_s=2)
        for engine in (web, KernelEngine()):
            list(run_many([scenario], engine=engine, store=store))
        served, made = (store.get(scenario, engine) for engine in (web, KernelEngine()))
        assert served is not None
        assert made is not None
        assert ("kernel-http", "kernel") == (
            served.provenance["engine"],
            made.provenance["engine"],
        )
        assert not served.queue.equals(made.queue)

    def test_version(self, web: HttpKernelEngine) -> None:
        """An engine of the same version is equal; other programs change the version."""
        assert web.version() == get_engine("kernel-http", web.version()).version()
        with pytest.raises(MissingRequirement, match="nginx and h2load here are"):
            get_engine("kernel-http", f"{web.version().rpartition('-')[0]}-0123")


@needs_programs
@pytest.mark.parametrize("cca", CCAS)
def test_classified(web: HttpKernelEngine, cca: str) -> None:
    """The vote over the four settings is the server's CCA, by the packaged training set."""
    packaged_set = TrainingSet.load(PACKAGED)
    variation = Variation(name="elsewhere", extra_rtt_ms=2.0)
    samples = list(collect([(variation, 41)], [cca], campaign=Campaign(engine=web)))
    assert judge(samples, packaged_set).label == cca


class TestRefusals:
    @needs_programs
    @pytest.mark.parametrize(
        ("flows", "message"),
        [
            ([Flow(kind="cbr", rate_mbps=1)], "flows of kind bulk is 0; it must be 1 to 64"),
            ([Flow(count=65)], "flows of kind bulk is 65; it must be 1 to 64"),
            ([Flow(extra_rtt_ms=5)], r"flows\[0\].extra_rtt_ms is 5.0; it must be 0"),
            ([Flow(cca="dctcp")], r"cca = 'dctcp' \(flows\[0\]\): it needs a receiver"),
            ([Flow(cca="cubix")], "did you mean 'cubic'"),
            (
                [Flow(kind="bytes", size_bytes=1, count=60_000), Flow()],
                "the last of kind bulk is 60000; it must be at most 57535",
            ),
        ],
    )
    def test_flows(self, web: HttpKernelEngine, flows: list[Flow], message: str) -> None:
        """Flows that the web server cannot send are refused before anything runs."""
        with pytest.raises(InputError, match=message):
            web.check(dumbbell(*flows))

    @needs_programs
    def test_more_acks(self, web: HttpKernelEngine) -> None:
        """ACKs that other flows' receivers add are no data, which the client would request."""
        other = Flow(kind="bytes", size_bytes=1, receiver=Receiver(duplicate_acks=1000))
        web.check(dumbbell(Flow(), other))

    @needs_programs
    def test_too_large_bdp(self, web: HttpKernelEngine) -> None:
        """A path that holds more than the client requests is refused."""
        with pytest.raises(InputError, match=r"queues is 125\.\d MB; it must be at most 13\.75 MB"):
            web.check(dumbbell(bandwidth_mbps=10_000, rtt_ms=100))

    @pytest.mark.parametrize("missing", programs.PACKAGES)
    def test_not_installed(self, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
        """Without a program the engine names it, and the command that installs it."""
        monkeypatch.setattr(programs, "find", lambda name: None if name == missing else find(name))
        engine = HttpKernelEngine()
        command = "sudo apt-get install -y nginx-light nghttp2-client"
        with pytest.raises(MissingRequirement, match=f"needs .*: {command}"):
            engine.check(dumbbell())
        checks = {check.name: check for check in engine.doctor()}
        assert not checks["web server and client"].ok
        assert missing in checks["web server and client"].detail

    @needs_programs
    def test_server_fails(self, web: HttpKernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that does not start ends the run at once, with its output."""
        monkeypatch.setattr(
            programs, "SETTINGS", programs.SETTINGS.replace("sendfile on", "sendfile of")
        )
        with pytest.raises(
            EngineError, match=r"the server, .*/nginx .*, ended with exit status 1"
        ) as error:
            web.run(dumbbell())
        assert any('invalid value "of"' in line for line in error.value.console)

    @needs_programs
    def test_client_fails(self, web: HttpKernelEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """A client that ends too early ends the run at once."""
        monkeypatch.setattr(programs, "CLIENT_OPTIONS", ("--requests=3",))
        with pytest.raises(
            EngineError, match=r"the client-0, .*/h2load .*, ended with exit status 0"
        ):
            web.run(dumbbell())
