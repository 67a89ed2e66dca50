# SPDX-License-Identifier: Apache-2.0
"""A damaged file of a program is refused, or equals the original.

As in test_broken_input.py, valid files are damaged at random.
"""

from __future__ import annotations

import json
import shutil
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccbench.base.errors import CcbenchError
from ccbench.base.sealed import sealed, unsealed
from ccbench.classify.pcap_pair import queue_between
from ccbench.classify.recording import read
from ccbench.classify.setting import SETTINGS
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.web.target import read_list
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import Simulation, simulate
from ccbench.datacenter.topology import clos
from ccbench.datacenter.workload import Workload
from ccbench.emulate.recording import CommandRecording
from ccbench.experiment import arrivals
from ccbench.experiment.scenario import Scenario
from ccbench.harm.circumstances import load_networks, load_workloads
from ccbench.raygen import SearchConfig, search
from ccbench.raygen.html import report
from ccbench.raygen.result import SearchResult
from ccbench.run.captures.reader import read_capture
from ccbench.run.queue_summary import QueueSummary
from ccbench.run.run import Run
from tests.damage import damages, refused_or_read
from tests.unit.conftest import ArithmeticEngine, run_with_rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import WritePcap

pytestmark = pytest.mark.slow

_EXAMPLES = Path(__file__).parents[2] / "examples"


def write_pcapng(path: Path, frames: list[bytes]) -> Path:
    """Write a pcapng file of Ethernet frames, a microsecond apart, with options as programs do."""

    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + size + body + size

    resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)
    parts = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", 1, 0, 96) + resolution),
    ]
    for number, frame in enumerate(frames):
        padded = frame + bytes(-len(frame) % 4)
        head = struct.pack("<5I", 0, 0, number * 1000, len(frame), len(frame) + 1400)
        parts.append(block(6, head + padded))
    path.write_bytes(b"".join(parts))
    return path


def damaged_copy(whole: Path, folder: Path, name: str, damage: Callable[[bytes], bytes]) -> bool:
    """Copy a folder and damage a file of the copy; return whether it changed."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(whole, folder)
    before = (folder / name).read_bytes()
    (folder / name).write_bytes(damage(before))
    return (folder / name).read_bytes() != before


class TestCaptures:
    """Captures, and pairs of them."""

    @given(damage=damages(), number=st.integers(0, 5))
    def test_pcapng(
        self,
        tmp_path: Path,
        damage: Callable[[bytes], bytes],
        number: int,
        tcp_headers: Callable[..., bytes],
    ) -> None:
        """A damaged pcapng file is refused, or has at most as many packets as fit."""
        link = bytes(12) + b"\x08\x00"
        frames = [link + tcp_headers(i + number) for i in range(6)]
        path = write_pcapng(tmp_path / "capture.pcapng", frames)
        assert len(list(read_capture(path))) == len(frames)
        path.write_bytes(damage(path.read_bytes()))

        def check(file: Path) -> None:
            assert len(list(read_capture(file))) <= file.stat().st_size // 32

        refused_or_read(check, path)

    @given(damage=damages(), which=st.integers(0, 1))
    def test_pair(
        self,
        tmp_path: Path,
        damage: Callable[[bytes], bytes],
        which: int,
        write_pcap: WritePcap,
        tcp_headers: Callable[..., bytes],
    ) -> None:
        """The queue between two captures, one of them damaged, is refused or plausible."""
        packets = [(i * 1_000_000, tcp_headers(i), 1500) for i in range(8)]
        before = write_pcap(tmp_path / "before.pcap", packets)
        later = [(at + 5_000_000, headers, length) for at, headers, length in packets]
        after = write_pcap(tmp_path / "after.pcap", later)
        broken = (before, after)[which]
        broken.write_bytes(damage(broken.read_bytes()))

        def check(_: Path) -> None:
            queue = queue_between(before, after)
            assert queue["time_ns"].is_monotonic_increasing
            assert queue["time_ns"].iloc[0] >= 0
            arrived, left = ((queue["event"] == kind).sum() for kind in ("enqueue", "dequeue"))
            assert 0 < left <= arrived <= broken.stat().st_size // 16
            assert queue["backlog_packets"].max() <= arrived

        refused_or_read(check, broken)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a run with all tables, none of them empty."""
    scenario = Scenario.from_dict(
        {
            "flows": [{"cca": "cubic"}],
            "bottlenecks": [{"bandwidth_mbps": 10, "queue_packets": 50}],
            "rtt_ms": 20,
            "duration_s": 3,
            "queue_log": "summary",
        }
    )
    plain = run_with_rates(Scenario.from_dict({**scenario.to_dict(), "queue_log": True}), [5])
    rows = pd.DataFrame(
        {
            "start_ns": [1, 5],
            "acked_ns": [4, 9],
            "bottleneck": 0,
            "station": 0,
            "frames": 3,
            "bytes": 4500,
            "bitrate_bps": 13_000_000,
            "estimate_bps": 12_000_000,
        }
    )
    times = np.arange(1, 4) * 1_000_000_000
    summary = QueueSummary(
        occupancy=pd.DataFrame(
            {"bottleneck": 0, "packets": [0, 1], "time_ns": [2, 1], "arrivals": [1, 1]}
        ),
        waits=pd.DataFrame({"bottleneck": 0, "from_ns": [0], "to_ns": [9], "packets": [2]}),
        counts=pd.DataFrame(
            {
                "bottleneck": 0,
                "flow": 0,
                "event": ["enqueue"],
                "packets": [2],
                "bytes": [3000],
                "waited_ns": [0],
            }
        ),
        samples=pd.DataFrame(
            {"time_ns": times, "bottleneck": 0, "backlog_packets": 1, "backlog_bytes": 1500}
        ),
    )
    run = Run(
        scenario=scenario,
        queue=plain.queue,
        flows=plain.flows,
        completions=plain.completions,
        links=plain.links,
        provenance=plain.provenance,
        batches=rows,
        queue_summary=summary,
    )
    folder = tmp_path_factory.mktemp("stored") / "run"
    run.save(folder)
    return folder


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a search."""
    folder = tmp_path_factory.mktemp("searched") / "found"
    config = SearchConfig(
        alpha="greedy",
        beta="even",
        budget=8,
        population=4,
        duration_s=10,
        repeat=1,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CCBENCH_CACHE", str(folder.parent / "cache"))
        search(config, engine=ArithmeticEngine(), output_dir=folder)
    return folder


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a simulated data centre."""
    network = clos(racks=2, servers_per_rack=2, spines=1)
    result = simulate(network, Workload(sizes="google", load=0.3), scheme("bfc"), 1e-4)
    folder = tmp_path_factory.mktemp("simulated") / "bfc"
    result.save(folder)
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of a recorded queue of 21 s."""
    setting = SETTINGS[0]
    times_ns = np.arange(0, 21_000) * 1_000_000
    count = len(times_ns)
    queue = pd.DataFrame(
        {
            "time_ns": times_ns,
            "bottleneck": np.zeros(count, dtype="uint8"),
            "event": pd.Categorical(
                ["enqueue", "dequeue"] * (count // 2),
                categories=["enqueue", "dequeue", "drop", "mark", "loss"],
            ),
            "flow": np.zeros(count, dtype="uint32"),
            "bytes": np.full(count, 1500, dtype="uint16"),
            "backlog_packets": np.tile([1, 0], count // 2).astype("uint32"),
            "backlog_bytes": np.tile([1500, 0], count // 2).astype("uint32"),
        }
    )
    link = {"bandwidth_mbps": setting.bandwidth_mbps, "queue_packets": setting.queue_packets}
    folder = tmp_path_factory.mktemp("recorded")
    CommandRecording(
        status=0,
        duration_s=21.0,
        queue=queue,
        provenance={"engine": "made up", "bottleneck": link, "rtt_ms": setting.rtt_ms},
    ).save(folder)
    return folder


class TestFolders:
    """Folders of results: changes of any file are detected."""

    @given(damage=damages(), share=st.floats(0, 1, exclude_max=True))
    def test_run(
        self, tmp_path: Path, stored: Path, damage: Callable[[bytes], bytes], share: float
    ) -> None:
        """A run with a changed file is refused, whichever file it is."""
        names = sorted({path.name for path in stored.iterdir()} - {"scenario.toml"})  # not read
        assert len(names) == 10  # all that a run can have, but one needs no damage: run.json below
        name = names[int(share * len(names))]
        changed = damaged_copy(stored, tmp_path / "run", name, damage)

        def check(folder: Path) -> None:
            run = Run.load(folder)
            assert not changed or name == "run.json"  # its white space may change
            assert run.scenario == Run.load(stored).scenario
            assert run.provenance == Run.load(stored).provenance

        refused_or_read(check, tmp_path / "run")

    @given(damage=damages(), share=st.floats(0, 1, exclude_max=True))
    def test_simulation(
        self, tmp_path: Path, simulated: Path, damage: Callable[[bytes], bytes], share: float
    ) -> None:
        """A simulation with a changed file is refused, including its description."""
        names = sorted(path.name for path in simulated.iterdir())
        name = names[int(share * len(names))]
        changed = damaged_copy(simulated, tmp_path / "bfc", name, damage)

        def check(folder: Path) -> None:
            result, whole = Simulation.load(folder), Simulation.load(simulated)
            assert not changed or name.endswith(".json")
            assert result.summary == whole.summary
            assert result.provenance == whole.provenance
            assert result.flows.equals(whole.flows)

        refused_or_read(check, tmp_path / "bfc")

    @given(damage=damages(), name=st.sampled_from(["queue.parquet", "shell.json"]))
    def test_recording(
        self, tmp_path: Path, recorded: Path, damage: Callable[[bytes], bytes], name: str
    ) -> None:
        """A recording with a changed file is refused."""
        damaged_copy(recorded, tmp_path / "recorded", name, damage)

        def check(folder: Path) -> None:
            assert CommandRecording.load(folder).queue.equals(CommandRecording.load(recorded).queue)
            assert (
                CommandRecording.load(folder).provenance
                == CommandRecording.load(recorded).provenance
            )
            assert read(folder, None, SETTINGS).setting == SETTINGS[0]

        refused_or_read(check, tmp_path / "recorded")

    @given(
        damage=damages(),
        name=st.sampled_from(["search.json", "results.csv", "claims.csv"]),
        is_complete=st.booleans(),
    )
    def test_search(
        self,
        tmp_path: Path,
        searched: Path,
        damage: Callable[[bytes], bytes],
        name: str,
        *,
        is_complete: bool,
    ) -> None:
        """A changed search is refused; an incomplete one has possible rows, and none is missing."""
        is_changed = damaged_copy(searched, tmp_path / "found", name, damage)
        if is_complete:
            whole = SearchResult.load(searched)
        else:
            description = tmp_path / "found" / "search.json"
            with suppress(ValueError):
                state = unsealed(description.read_bytes())
                del state["files"]
                description.write_text(json.dumps(sealed(state)))

        def check(folder: Path) -> None:
            result = SearchResult.load(folder)
            rows = result.experiments
            if is_complete:
                assert not is_changed or name == "search.json"  # its white space may change
                assert rows.equals(whole.experiments)
                assert result.claims.equals(whole.claims)
                assert result.provenance == whole.provenance
                assert result.config == whole.config
            assert len(rows) == 8
            assert rows["number"].is_monotonic_increasing
            fine = rows[rows["error"] == ""]
            parts = fine["absolute_harm"] - fine["expected_harm"]
            assert np.allclose(fine["relative_harm"], parts)
            assert (fine["relative_harm"] <= 1).all()
            assert len(result.claims) <= len(rows)

        refused_or_read(check, tmp_path / "found")

    @given(damage=damages())
    def test_training_set(
        self, tmp_path: Path, small_set: Path, damage: Callable[[bytes], bytes]
    ) -> None:
        """A damaged training set is refused, or equals the original."""
        path = tmp_path / "training.parquet"
        path.write_bytes(damage(small_set.read_bytes()))

        def check(file: Path) -> None:
            actual, whole = TrainingSet.load(file), TrainingSet.load(small_set)
            assert actual.digest == whole.digest
            assert actual.provenance == whole.provenance

        refused_or_read(check, path)


@pytest.fixture(scope="module")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a file with a few samples of one setting of the packaged training set."""
    packaged = TrainingSet.load(PACKAGED)
    setting = packaged.settings[0]
    samples = tuple(sample for sample in packaged.samples if sample.setting == setting)[::40]
    path = tmp_path_factory.mktemp("training") / "small.parquet"
    thresholds = {setting: packaged.thresholds[setting]}
    TrainingSet(samples=samples, thresholds=thresholds, provenance={"made": "up"}).save(path)
    return path


def test_report(searched: Path, tmp_path: Path) -> None:
    """The report of a search without its last rows, as after a full disk, is refused."""
    shutil.copytree(searched, tmp_path / "found")
    path = tmp_path / "found" / "results.csv"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: int(len(text) * 0.7)], encoding="utf-8")
    with pytest.raises(CcbenchError, match=r"results\.csv"):
        report(tmp_path / "found")


def test_number_too_large(searched: Path, tmp_path: Path) -> None:
    """A search with an impossibly large number is refused."""
    shutil.copytree(searched, tmp_path / "found")
    description = tmp_path / "found" / "search.json"
    state = unsealed(description.read_bytes())
    del state["files"]
    description.write_text(json.dumps(sealed(state)))
    path = tmp_path / "found" / "results.csv"
    head, first, rest = path.read_text(encoding="utf-8").split("\n", 2)
    path.write_text(f"{head}\n{'9' * 20},{first.partition(',')[2]}\n{rest}", encoding="utf-8")
    with pytest.raises(CcbenchError, match=r"results\.csv"):
        report(tmp_path / "found")


class TestTables:
    """Tables that people write."""

    @given(damage=damages())
    def test_flow_sizes(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged list of short flows is in order, with bytes and finite times, or refused."""
        path = tmp_path / "flows.csv"
        path.write_bytes(damage((_EXAMPLES / "web-traffic.csv").read_bytes()[:1500]))

        def check(file: Path) -> None:
            pairs = arrivals.checked(arrivals.from_file(file))
            text = file.read_text(encoding="utf-8-sig")
            assert len(pairs) == len(text.splitlines()) - 1
            assert all(0 <= start_s <= 1e6 and size >= 1 for start_s, size in pairs)
            assert "_" not in text.partition("\n")[2]  # no syntax that only Python accepts

        refused_or_read(check, path)

    @given(damage=damages(), name=st.sampled_from(["networks", "workloads"]))
    def test_circumstances(
        self, tmp_path: Path, damage: Callable[[bytes], bytes], name: str
    ) -> None:
        """Damaged networks and workloads of `ccbench deployable` are read or refused."""
        path = tmp_path / f"{name}.toml"
        path.write_bytes(damage((_EXAMPLES / "deployable" / path.name).read_bytes()))
        shutil.copy(_EXAMPLES / "varying-link.trace", tmp_path)
        load = load_networks if name == "networks" else load_workloads
        refused_or_read(load, path)

    @given(damage=damages())
    def test_occupancy(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged CSV file of a queue's occupancy is plausible or refused."""
        path = tmp_path / "queue.csv"
        rows = "".join(f"{i * 0.5},{i % 7}\n" for i in range(50))
        path.write_bytes(damage(f"time_s,occupancy_packets\n{rows}".encode()))

        def check(file: Path) -> None:
            events = read(file, SETTINGS[0], SETTINGS).events
            assert (np.diff(events["time_ns"]) >= 0).all()
            assert np.isfinite(events["backlog_packets"]).all()
            assert (events["backlog_packets"] >= 0).all()
            assert (events["time_ns"] >= 0).all()

        refused_or_read(check, path)

    @given(damage=damages())
    def test_servers(self, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
        """A damaged list of servers is read or refused."""
        path = tmp_path / "hosts"
        path.write_bytes(damage(b"example.com\nhttps://example.org:8443/a?b # why\n10.0.0.1,g\n"))
        refused_or_read(read_list, path)
