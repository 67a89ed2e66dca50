# SPDX-License-Identifier: Apache-2.0
"""CCAs observed and classified in the virtual kernel."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.files import judge_files
from ccbench.classify.filters import Filters, pauses
from ccbench.classify.implementation import CCAS as LINUX_CCAS
from ccbench.classify.occupancy import occupancy
from ccbench.classify.pcap_pair import queue_between
from ccbench.classify.relabel import ObservedTrace, Server, unknown_servers
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training import VARIATIONS, Sample, Variation, collect, scenario
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge
from ccbench.classify.vote import UNKNOWN, vote
from ccbench.cli import main
from ccbench.emulate import run
from ccbench.experiment.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

pytestmark = pytest.mark.kernel

CCAS = ("bbr", "cubic", "htcp", "reno", "vegas", "westwood")
PLAIN = VARIATIONS[0]
#: Half of the variations on clean paths without own clocks, whose client sends no requests.
KINDS = [
    item
    for item in VARIATIONS
    if not (item.cross_share or item.jitter_ms > 1 or item.in_milliseconds or item.delayed_acks)
][::2]
REMEMBERS = next(item for item in VARIATIONS if item.remembers)


@pytest.fixture(scope="module")
def training() -> list[Sample]:
    """Give samples of six CCAs."""
    return list(collect([(kind, 1) for kind in KINDS], CCAS))


def test_samples(training: list[Sample]) -> None:
    """There is one sample for each combination, within the limit of its queue."""
    seen = {(sample.cca, sample.setting, sample.variation.name) for sample in training}
    assert len(CCAS) * len(SETTINGS) * len(KINDS) == len(training) == len(seen)
    for sample in training:
        assert (1000,) == sample.points.shape
        assert sample.points.max() <= sample.setting.queue_packets + 1


@pytest.mark.parametrize("extra_rtt_ms", [-3.0, 2.0, 7.0])
def test_vote(training: list[Sample], extra_rtt_ms: float) -> None:
    """At round trips that no training sample has, the vote of a server's traces is its CCA."""
    variation = Variation(name="elsewhere", extra_rtt_ms=extra_rtt_ms)
    tested = list(collect([(variation, 11)], CCAS))
    labels: dict[str, list[str]] = {cca: [] for cca in CCAS}
    distances: dict[str, list[float]] = {cca: [] for cca in CCAS}
    for setting in SETTINGS:
        references = [sample for sample in training if sample.setting == setting]
        classifier = CCAClassifier().fit(
            [sample.points for sample in references], [sample.cca for sample in references]
        )
        own = [item for item in tested if item.setting == setting]
        traces = [sample.points for sample in own]
        nearest, _ = classifier.kneighbors(traces)
        for sample, label, distance in zip(own, classifier.predict(traces), nearest, strict=True):
            labels[sample.cca].append(label)
            distances[sample.cca].append(float(distance[0]))
    assert {cca: cca for cca in CCAS} == {cca: vote(labels[cca], distances[cca]) for cca in CCAS}


def test_remembers() -> None:
    """A connection that remembers an earlier threshold leaves slow start before it drops."""
    setting = SETTINGS[0]
    drops, thresholds = {}, {}
    for variation in (PLAIN, REMEMBERS):
        result = run(scenario(setting, "reno", variation, seed=1))
        start_ns = result.completions["start_ns"].iloc[0]
        events = result.queue_events()
        first = events[events["time_ns"].between(start_ns, start_ns + 3e9)]
        drops[variation.name] = int((first["event"] == "drop").sum())
        samples = result.flows[(result.flows["flow"] == 0) & (result.flows["time_ns"] > start_ns)]
        thresholds[variation.name] = samples["ssthresh_packets"].iloc[0]
    assert drops["remembers"] == 0 < drops["plain"]
    assert thresholds["remembers"] < 1000
    assert math.isnan(thresholds["plain"])  # none yet


def test_lossy() -> None:
    """Lossy variations lose packets before the queue, shared ones have other packets in it."""
    lossy = Variation(name="lossy", loss=0.01)
    shared = Variation(name="shared", cross_share=0.05)
    events = run(scenario(SETTINGS[0], "reno", lossy, seed=1)).queue["event"].value_counts()
    assert 0.005 < events["loss"] / events["enqueue"] < 0.02
    sent = run(scenario(SETTINGS[0], "reno", shared, seed=1)).completions["sent_bytes"]
    assert 0.02 < sent.iloc[1] / sent.sum() < 0.08


def test_seeds() -> None:
    """Another seed gives another trace."""
    first, second = (
        next(iter(collect([(PLAIN, seed)], ["reno"], SETTINGS[:1]))) for seed in (1, 2)
    )
    assert not np.array_equal(first.points, second.points)


def test_clocks() -> None:
    """BBR is recognised on a path with millisecond clocks in both directions."""
    variation = Variation(name="clocks", in_milliseconds=True, jitter_ms=2.0, extra_rtt_ms=1.5)
    tested = list(collect([(variation, 31)], ["bbr"]))
    verdict = judge(tested, TrainingSet.load(PACKAGED))
    assert verdict.label == "bbr"
    assert ["bbr"] * 4 == [trace.nearest for trace in verdict.traces]


@pytest.mark.parametrize(("jitter_ms", "is_known"), [(1, True), (7, False)])
def test_wifi_jitter(tmp_path: Path, jitter_ms: float, is_known: object) -> None:
    """CCAs are recognised at a little jitter of Wi-Fi, and unknown, not wrong, at much of it."""
    for cca in ("reno", "vegas"):
        folders = []
        for setting in SETTINGS:
            plain = scenario(setting, cca, PLAIN, seed=31)
            folders.append(tmp_path / cca / setting.name)
            run(
                replace(plain, path=replace(plain.path, noise=Noise(wifi_jitter_ms=jitter_ms)))
            ).save(folders[-1])
        assert judge_files(folders).label == (cca if is_known else "unknown")


@pytest.mark.parametrize("cca", ["bbr", "bbr3", "vegas"])
def test_command(tmp_path: Path, program: Callable[..., str], cca: str) -> None:
    """`ccbench classify` identifies the CCA of a run by the packaged set."""
    variation = Variation(name="elsewhere", extra_rtt_ms=3.0)
    folders = []
    for setting in SETTINGS:
        folders.append(tmp_path / setting.name)
        run(scenario(setting, cca, variation, seed=31)).save(folders[-1])
    assert program("classify", *folders).splitlines()[-1] == f"congestion control: {cca}"


def test_unknown_name(tmp_path: Path) -> None:
    """A CCA that the kernel does not have is refused before the first run."""
    done = CliRunner().invoke(
        main.program, ["classify-train", "--cca", "venoo", "-o", str(tmp_path / "x.parquet")]
    )
    assert 2 == done.exit_code
    assert "--cca is 'venoo'; it must be one of" in done.stderr
    assert "veno" in done.stderr


def test_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[..., str]
) -> None:
    """A CCA outside the training set is unknown, and recognised after `classify-train`."""
    monkeypatch.setattr("ccbench.classify.implementation.IMPLEMENTATIONS", ("bbr", "cubic"))
    setting = SETTINGS[1]
    folder = tmp_path / "copa"
    variation = Variation(name="elsewhere", extra_rtt_ms=3.0)
    run(scenario(setting, "copa", variation, seed=31)).save(folder)
    before = program("classify", folder)
    assert before.splitlines()[-1] == "congestion control: unknown"
    file = tmp_path / "own.parquet"
    words = ("--cca", "copa", "--noisy", "5", "--setting", setting.name, "-o", file)
    assert "saved to" in program("classify-train", *words)
    actual = program("classify", folder, "--training", file)
    assert actual.splitlines()[-1] == "congestion control: copa"


def test_novel() -> None:
    """CCAs outside the training set are unknown, and form one cluster each.

    BBR's traces differ so much that its cluster needs a larger cut than the usual one.
    """
    training_set = TrainingSet.load(PACKAGED)
    novel = ("bbr", "copa", "scalable")
    reduced = training_set.without(*novel)
    offsets = [Variation(name=f"{ms:+} ms", extra_rtt_ms=ms) for ms in (-3.0, 0.5, 3.0)]
    observed: dict[tuple[str, str], list[Sample]] = {}
    for sample in collect([(offset, 21) for offset in offsets], novel):
        observed.setdefault((sample.cca, sample.variation.name), []).append(sample)
    servers = []
    for (cca, _), samples in sorted(observed.items()):
        verdict = judge(samples, reduced)
        servers.append(
            Server(
                target=cca,
                group="all",
                label=verdict.label,
                traces=tuple(
                    ObservedTrace(setting=sample.setting, points=sample.points, label=trace.label)
                    for sample, trace in zip(samples, verdict.traces, strict=True)
                ),
            )
        )
    assert {"unknown"} == {server.label for server in servers}
    cuts = {setting: 3 * limit.typical for setting, limit in training_set.thresholds.items()}
    actual = unknown_servers(servers, cuts)
    assert actual is not None
    clusters = [{servers[i].target for i in group.members} for group in actual.clustering.clusters]
    assert [{"bbr"}, {"copa"}, {"scalable"}] == sorted(clusters, key=str)


def test_bridged() -> None:
    """A CUBIC server whose application pauses twice is recognised with its pauses bridged.

    After a pause Linux restarts with slow start, so that the trace differs from
    the trace of a server without pauses.
    """
    training_set = TrainingSet.load(PACKAGED)
    for setting in SETTINGS:
        whole = scenario(setting, "cubic", PLAIN, seed=5)
        (flow,) = whole.flows
        bursts = replace(flow, kind="onoff", on_s=7.0, off_s=1.5)
        paused = replace(whole, flows=(bursts,), seed=5)  # a seed with two pauses
        events = run(paused).queue_events()
        assert 2 == len(pauses(events, 0.5))
        (raw,), (straight,) = (
            judge([filters.trace(events, setting)], training_set).traces
            for filters in (Filters(), Filters(bridge_s=0.5))
        )
        assert ("cubic", "unknown") == (straight.nearest, raw.label)
        assert straight.distance < raw.distance / 3


def as_captures(
    events: pd.DataFrame, tcp_headers: Callable[..., bytes], *, mbps: float, way_ns: int
) -> tuple[list[tuple[int, bytes, int]], list[tuple[int, bytes, int]]]:
    """Return the packets before a queue and behind its link."""
    before: list[tuple[int, bytes, int]] = []
    after: list[tuple[int, bytes, int]] = []
    waiting: deque[tuple[bytes, int]] = deque()
    columns = (events[name].tolist() for name in ("time_ns", "event", "bytes"))
    for time_ns, event, size in zip(*columns, strict=True):
        if event == "enqueue":
            packet = tcp_headers(len(before), size), size
            before.append((time_ns, *packet))
            waiting.append(packet)
        elif event == "drop":
            waiting.pop()
        elif event == "dequeue":
            headers, length = waiting.popleft()
            after.append((time_ns + round(length * 8e3 / mbps) + way_ns, headers, length))
    return before, after


#: Congestion controls with the answer to their captures.
ANSWERS = {"bbr": "bbr, Linux 4.16 or newer", "cubic": "cubic"}


@pytest.mark.parametrize("cca", ANSWERS)
def test_captures(
    tmp_path: Path,
    program: Callable[..., str],
    tcp_headers: Callable[..., bytes],
    write_pcap: Callable[..., Path],
    cca: str,
) -> None:
    """Captures from before and after a queue reveal the occupancy that the queue has logged.

    They are generated from the log, with the transmission time of the link and a longer wire.
    """
    setting = SETTINGS[0]
    result = run(scenario(setting, cca, PLAIN, seed=31))
    result.save(tmp_path / "run")
    events = result.queue_events()
    captures = as_captures(events, tcp_headers, mbps=setting.bandwidth_mbps, way_ns=20_000_000)
    files = [
        write_pcap(tmp_path / name, packets)
        for name, packets in zip(("before.pcap", "after.pcap"), captures, strict=True)
    ]
    actual = queue_between(*files)
    np.testing.assert_array_equal(occupancy(events), occupancy(actual))
    dropped = (events["event"] == "drop").sum()
    assert dropped == (actual["event"] == "drop").sum() > 0
    of_captures = program("classify", *files, "--setting", setting.name).splitlines()[-1]
    assert f"congestion control: {ANSWERS[cca]}" == of_captures


def averages(events: pd.DataFrame, rtt_ms: float, path: Path) -> Path:
    """Write the mean queue of each round-trip time of a connection's first 30 s, from its start."""
    times_ns, packets = events["time_ns"].to_numpy(), events["backlog_packets"].to_numpy()
    per_row = round(rtt_ms)  # points of a millisecond
    rows = 30_000 // per_row
    points_ns = times_ns[0] + 1_000_000 * np.arange(rows * per_row)
    queue = packets[np.searchsorted(times_ns, points_ns, side="right") - 1]
    means = queue.reshape(rows, per_row).mean(axis=1)
    lines = (f"{i * per_row / 1e3:.3f},{mean:.4f}" for i, mean in enumerate(means))
    path.write_text("\n".join(["time_s,occupancy_packets", *lines]))
    return path


def test_averages(tmp_path: Path) -> None:
    """Of four files of averages per round trip, four in five answers are right, and none wrong."""
    elsewhere = Variation(name="elsewhere", extra_rtt_ms=2.0)
    labels = {}
    for cca in LINUX_CCAS:
        files = []
        for i, setting in enumerate(SETTINGS):
            observed = run(scenario(setting, cca, elsewhere, seed=70 + i))
            path = tmp_path / f"{cca}-{setting.name}.csv"
            files.append(averages(observed.queue_events(), setting.rtt_ms, path))
        labels[cca] = judge_files(files).label
    assert not {cca: label for cca, label in labels.items() if label not in {cca, UNKNOWN}}
    assert sum(cca == label for cca, label in labels.items()) >= 0.8 * len(labels), labels
