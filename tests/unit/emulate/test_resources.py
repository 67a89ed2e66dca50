# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import logging
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.base.cache import cache_dir
from ccbench.base.errors import InputError
from ccbench.emulate import Machine, _speed, expected_s, run, run_many
from ccbench.emulate._load import packets, samples, work_mbit
from ccbench.emulate._machine import cgroup_room_bytes
from ccbench.emulate.kernel.boot.plan import data_packets, path_packets
from ccbench.emulate.kernel.needs import needs
from ccbench.emulate.resources import Room, check_room, size
from ccbench.experiment.impairments import Policer
from ccbench.experiment.noise import Noise
from ccbench.experiment.receiver import Receiver
from ccbench.experiment.scenario import Bottleneck, Change, Flow, NetworkPath, RttTrace, Scenario
from tests.scenarios import changed
from tests.unit.emulate.conftest import BASE, NEEDS, GuestEngine, seeds

if TYPE_CHECKING:
    from ccbench.emulate import Store

#: Two CUBIC flows at 10 Gbit/s.
FAST = Scenario(
    flows=(Flow(count=2),),
    path=NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10_000, queue_bdp=1),), rtt_ms=40),
    duration_s=600,
)
LAPTOP = Machine(memory_bytes=16e9, shared_bytes=8e9, scratch_bytes=100e9, scratch=Path("/scratch"))


def refusal(scenario: Scenario, machine: Machine) -> str:
    """Return why a machine refuses a run in the virtual kernel."""
    with pytest.raises(InputError) as caught:
        check_room(needs(scenario), machine)
    return str(caught.value)


class TestCheckRoom:
    def test_fits(self) -> None:
        """A run that fits is not refused."""
        check_room(needs(replace(FAST, duration_s=10)), LAPTOP)

    def test_memory(self) -> None:
        """A queue log beyond memory is refused, with a remedy that works."""
        small = replace(LAPTOP, memory_bytes=4e9)
        message = refusal(FAST, small)
        needed = size(needs(FAST).reading_bytes)
        assert f"about {needed} of memory, and 4 GB are available" in message
        assert 'set queue_log = "summary"' in message
        assert "\n" not in message
        check_room(needs(replace(FAST, queue_log="summary")), small)

    def test_background(self) -> None:
        """Background traffic counts at every bottleneck."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        flow = Flow(kind="cbr", rate_mbps=1.2)
        noise = Noise(background_share=0.1)
        scenario = Scenario(
            flows=(flow,),
            path=NetworkPath(bottlenecks=(link, link), rtt_ms=50, noise=noise),
            duration_s=10,
        )
        assert packets(scenario) == pytest.approx((2000, 2000))

    def test_samples(self) -> None:
        """Samples beyond memory are refused; longer intervals are a remedy."""
        sampled = replace(FAST, queue_log=False, flows=(Flow(count=100),), sample_interval_ms=1)
        assert "raise sample_interval_ms" in refusal(sampled, LAPTOP)
        check_room(needs(replace(sampled, sample_interval_ms=100)), LAPTOP)

    def test_short_intervals(self) -> None:
        """The shortest interval is refused by number of samples, of flows, queues and qdiscs."""
        short: dict[str, Any] = {"queue_log": False, "sample_interval_ms": 0.01}
        sampled = changed(FAST, flows=(Flow(),), duration_s=10, **short)
        check_room(needs(sampled), LAPTOP)
        assert "raise sample_interval_ms" in refusal(replace(sampled, duration_s=1000), LAPTOP)
        link = replace(FAST.path.bottlenecks[0], qdisc="dualpi2", queue_packets=100)
        sizes = [
            needs(
                replace(
                    sampled, path=replace(sampled.path, bottlenecks=(link,) * count), queue_log=log
                )
            ).scratch_bytes
            for count, log in ((1, False), (2, False), (1, "summary"))
        ]
        assert sizes[1] - sizes[0] >= 72 * 1e6
        assert sizes[2] - sizes[0] >= 3 * 24 * 1e6

    def test_scratch(self) -> None:
        """Records beyond the folder of temporary files are refused; TMPDIR is named."""
        message = refusal(FAST, replace(LAPTOP, memory_bytes=math.inf, scratch_bytes=1e9))
        assert "in /scratch, where 1 GB are free" in message
        assert "set TMPDIR" in message

    def test_scratch_in_memory(self) -> None:
        """Records in a tmpfs count as memory, and a folder on a disk is a remedy."""
        long = replace(FAST, duration_s=60)
        tight = replace(LAPTOP, memory_bytes=needs(long).reading_bytes + 1e6)
        check_room(needs(long), tight)
        message = refusal(long, replace(tight, scratch_in_memory=True))
        assert "set TMPDIR to a folder on a disk, as /scratch is in memory" in message

    def test_shared_memory(self) -> None:
        """A guest beyond /dev/shm, as in a container, is refused before it crashes there."""
        message = refusal(replace(FAST, queue_log=False), replace(LAPTOP, shared_bytes=64e6))
        assert "in /dev/shm, where 64 MB are free" in message
        assert "--shm-size" in message
        assert "shorten the queues" in message

    def test_guest(self) -> None:
        """A guest beyond memory is refused, with its own remedy."""
        wide = replace(FAST, queue_log=False, flows=(Flow(count=200_000),), duration_s=0.001)
        assert "start fewer flows" in refusal(wide, replace(LAPTOP, memory_bytes=1e9))


class TestRun:
    def test_refused(self, engine: GuestEngine, store: Store) -> None:
        """A run that does not fit is not started; a stored run needs no room."""
        small = Machine(memory_bytes=1.9e6)
        with pytest.raises(InputError, match="2 MB of memory"):
            run(BASE, engine=engine, store=store, machine=small)
        assert engine.started() == 0
        run(BASE, engine=engine, store=store, machine=Machine(memory_bytes=2e6))
        run(BASE, engine=engine, store=store, machine=small)
        assert engine.started() == 1


class TestRunMany:
    def test_refused(self, engine: GuestEngine) -> None:
        """If one scenario does not fit by itself, none is started."""
        with pytest.raises(InputError, match=r"scenarios\[0\]: this run records about 3 MB"):
            run_many(seeds(3), engine=engine, store=None, machine=Machine(scratch_bytes=2e6))
        assert engine.started() == 0

    @pytest.mark.parametrize(
        "machine",
        [
            Machine(memory_bytes=2 * 2e6 + 0.5e6),
            Machine(shared_bytes=0.6e6),
            Machine(scratch_bytes=6e6),
        ],
        ids=["memory", "shared", "scratch"],
    )
    def test_fewer(
        self, engine: GuestEngine, machine: Machine, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Fewer runs than jobs run side by side if memory is short; one warning says so."""
        with caplog.at_level(logging.WARNING, "ccbench"):
            results = dict(run_many(seeds(6), engine=engine, store=None, jobs=4, machine=machine))
        assert sorted(results) == list(range(6))
        (output,) = [record.getMessage() for record in caplog.records]
        assert "2 of 4 runs in parallel" in output

    def test_enough(self, engine: GuestEngine, caplog: pytest.LogCaptureFixture) -> None:
        """With room for all jobs nothing is logged."""
        machine = Machine(memory_bytes=4 * 2e6)
        with caplog.at_level(logging.WARNING, "ccbench"):
            assert list(run_many(seeds(6), engine=engine, store=None, jobs=2, machine=machine))
        assert not caplog.records


class TestRoom:
    def test_results(self) -> None:
        """A result takes room until the caller has it."""
        room = Room(Machine(memory_bytes=2.4e6), makes_runs=True)
        assert room.has(NEEDS)
        room.start(NEEDS)
        assert not room.has(NEEDS)
        room.end(NEEDS)
        assert not room.has(NEEDS)
        room.give(NEEDS)
        assert room.has(NEEDS)

    def test_failed(self) -> None:
        """A failed run releases its room."""
        room = Room(Machine(memory_bytes=2e6), makes_runs=True)
        room.start(NEEDS)
        room.end(NEEDS, failed=True)
        assert room.has(NEEDS)

    def test_elsewhere(self) -> None:
        """Results of runs on other machines take room here."""
        room = Room(Machine(memory_bytes=1e6), makes_runs=False)
        room.start(NEEDS)
        room.start(NEEDS)
        assert not room.has(NEEDS)


class TestPackets:
    @pytest.mark.parametrize(
        ("flow", "expected"),
        [
            (Flow(), 10_000),
            (Flow(start_s=5), 5_000),
            (Flow(kind="bytes", size_bytes=1_448_000), 1_000),
            (Flow(kind="bytes", arrivals=((0, 144_800), (1, 144_800))), 200),
            (Flow(kind="onoff", on_s=1, off_s=4), 2_000),
            (Flow(kind="rate", rate_mbps=1.448), 1_250),
            (Flow(kind="cbr", rate_mbps=24), 20_000),
            (Flow(kind="cbr", rate_mbps=1.2, packet_bytes=150, count=2), 20_000),
        ],
    )
    def test_of_flow(self, flow: Flow, expected: int) -> None:
        """TCP flows send the smaller of offer and link capacity (120 Mbit), UDP flows the offer."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        scenario = Scenario(
            flows=(flow,), path=NetworkPath(bottlenecks=(link,), rtt_ms=50), duration_s=10
        )
        (arrive,) = packets(scenario)
        assert expected <= arrive <= 1.2 * expected + 10

    def test_path(self) -> None:
        """A flow's packets count at the bottlenecks on its path."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        cross = Flow(kind="cbr", rate_mbps=1.2, first_bottleneck=1, last_bottleneck=1)
        scenario = Scenario(
            flows=(cross,), path=NetworkPath(bottlenecks=(link,) * 3, rtt_ms=50), duration_s=10
        )
        assert packets(scenario) == pytest.approx((0, 1000, 0))

    def test_slowest_link(self) -> None:
        """Flows send to each link what the slowest link of their own path lets through."""
        fast, slow = (Bottleneck(bandwidth_mbps=rate, queue_packets=100) for rate in (1200, 12))
        scenario = Scenario(
            flows=(Flow(), Flow(last_bottleneck=0)),
            path=NetworkPath(bottlenecks=(fast, slow, fast), rtt_ms=50),
            duration_s=10,
        )
        alone = replace(scenario, flows=scenario.flows[:1])
        assert packets(alone) == pytest.approx((12_000,) * 3, abs=10)
        assert packets(scenario) == pytest.approx((1_200_000, 12_000, 12_000), abs=10)
        (reverse,) = (replace(alone.flows[0], direction="reverse"),)
        back = replace(
            alone,
            flows=(reverse,),
            path=replace(alone.path, reverse_bottlenecks=alone.path.bottlenecks),
        )
        assert packets(back)[3:] == pytest.approx((12_000,) * 3, abs=10)

    def test_dumbbell(self) -> None:
        """Ten minutes through a slow link between fast ones need less than 300 MB, not 28 GB."""
        links = tuple(
            Bottleneck(bandwidth_mbps=rate, queue_packets=rate) for rate in (1000, 10, 1000)
        )
        scenario = Scenario(
            flows=(Flow(),), path=NetworkPath(bottlenecks=links, rtt_ms=50), duration_s=600
        )
        check_room(needs(scenario), replace(LAPTOP, memory_bytes=300e6, scratch_bytes=100e6))

    def test_work(self) -> None:
        """Further links cost less than hosts: three links take less than twice the time of one."""
        links = [Bottleneck(bandwidth_mbps=rate, queue_packets=100) for rate in (1000, 10, 1000)]
        long = replace(BASE, duration_s=600)
        one, three = (
            replace(long, path=replace(long.path, bottlenecks=tuple(some)))
            for some in (links[1:2], links)
        )
        assert work_mbit(one) < work_mbit(three) < 2 * work_mbit(one)

    def test_policer(self) -> None:
        """TCP flows send no more than a policer lets through, as they react to its losses."""
        link = Bottleneck(
            bandwidth_mbps=120,
            queue_packets=100,
            policer=Policer(rate_mbps=12, burst_bytes=15_000),
        )
        scenario = Scenario(
            flows=(Flow(),), path=NetworkPath(bottlenecks=(link,), rtt_ms=50), duration_s=10
        )
        assert packets(scenario) == pytest.approx((12_000,), abs=20)

    def test_acks(self) -> None:
        """A receiver that acknowledges every second packet sends fewer ACKs than packets arrive."""
        link = Bottleneck(bandwidth_mbps=120, queue_packets=100)
        scenario = Scenario(
            flows=(Flow(),),
            path=NetworkPath(bottlenecks=(link,), reverse_bottlenecks=(link,), rtt_ms=50),
            duration_s=10,
        )
        each = replace(scenario, flows=(Flow(acks="every"),))
        assert packets(each)[1] == packets(each)[0]
        assert packets(each)[1] / 2 < packets(scenario)[1] < packets(each)[1] * 0.7

    def test_extra_acks(self) -> None:
        """Only the flows whose receivers send more ACKs cause them, of the data that fit."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        short = Flow(kind="bytes", size_bytes=1_448_000, receiver=Receiver(duplicate_acks=200))
        scenario = Scenario(
            flows=(Flow(), short),
            path=NetworkPath(bottlenecks=(link,), reverse_bottlenecks=(link,), rtt_ms=50),
            duration_s=10,
        )
        _, of_both = packets(scenario)
        assert 10_000 + 201 * 1_000 <= of_both <= 1.2 * (10_000 + 201 * 1_000) + 1000
        _, of_one = packets(replace(scenario, flows=(short,)))
        assert 201 * 1_000 <= of_one < of_both

    def test_path_data(self) -> None:
        """Additional ACKs are packets of the path, but not of its data."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        plain = Scenario(
            flows=(Flow(),), path=NetworkPath(bottlenecks=(link,), rtt_ms=50), duration_s=10
        )
        more = replace(plain, flows=(Flow(receiver=Receiver(duplicate_acks=9)),))
        assert path_packets(plain) == data_packets(plain) == data_packets(more)
        assert path_packets(more) == path_packets(plain) + 9 * 50

    def test_duplicates(self) -> None:
        """Packets that links duplicate arrive there and at later links."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        twice = replace(link, duplicates=0.5)
        flow = Flow(kind="cbr", rate_mbps=1.2)
        scenario = Scenario(
            flows=(flow,),
            path=NetworkPath(bottlenecks=(link, twice, link), rtt_ms=50),
            duration_s=10,
        )
        assert packets(scenario) == pytest.approx((1000, 1500, 1500))

    @pytest.mark.parametrize(
        "longer",
        [
            {"rtt_ms": 500},
            {"changes": (Change(at_s=3, rtt_ms=500),)},
            {"rtt_trace": RttTrace(points=((0, 20), (9, 500)))},
        ],
        ids=["constant", "change", "trace"],
    )
    def test_longest_rtt(self, longer: dict[str, Any]) -> None:
        """Estimates use the longest RTT, whether it is constant, changes or follows a trace."""
        link = Bottleneck(bandwidth_mbps=12, queue_packets=100)
        flow = Flow(kind="bytes", size_bytes=10_000)
        base = Scenario(
            flows=(flow,), path=NetworkPath(bottlenecks=(link,), rtt_ms=20), duration_s=60
        )
        constant, long = changed(base, rtt_ms=500), changed(base, **longer)
        assert samples(long) == samples(constant) > samples(base)
        assert path_packets(long) == path_packets(constant) > path_packets(base)

    def test_samples(self) -> None:
        """A hundred thousand short flows are sampled only while they last."""
        arrivals = tuple((i / 1000, 10_000) for i in range(100_000))
        link = Bottleneck(bandwidth_mbps=100, queue_packets=100)
        short = Flow(kind="bytes", arrivals=arrivals)
        scenario = Scenario(
            flows=(short,), path=NetworkPath(bottlenecks=(link,), rtt_ms=50), duration_s=200
        )
        assert 2 * len(arrivals) < samples(scenario) < 50 * len(arrivals)
        assert samples(replace(scenario, flows=(Flow(count=2),))) == pytest.approx(4000, rel=0.01)


class TestCgroups:
    def test_version_2(self, tmp_path: Path) -> None:
        """The tightest limit of the group and its parents counts; page cache counts as free."""
        (tmp_path / "groups").write_text("0::/job/step\n")
        write_group(tmp_path / "root/job", "memory.max", 1000, "memory.current", 700)
        write_group(tmp_path / "root/job/step", "memory.max", "max", "memory.current", 600)
        assert cgroup_room_bytes(tmp_path / "groups", tmp_path / "root") == 1000 - 700 + 50 + 30

    def test_version_1(self, tmp_path: Path) -> None:
        """The controller's own tree counts; in a container, its root is the container's group."""
        (tmp_path / "groups").write_text("4:memory:/docker/not-visible\n1:cpu:/\n0::/\n")
        write_group(
            tmp_path / "root/memory",
            *("memory.limit_in_bytes", 5000, "memory.usage_in_bytes", 1080, "total_"),
        )
        assert cgroup_room_bytes(tmp_path / "groups", tmp_path / "root") == 4000

    def test_no_limit(self, tmp_path: Path) -> None:
        """Without a limit, or without cgroups, room is unlimited."""
        (tmp_path / "groups").write_text("4:memory:/\n")
        write_group(
            tmp_path / "root/memory",
            *("memory.limit_in_bytes", 2**63 - 4096, "memory.usage_in_bytes", 1000, "total_"),
        )
        assert cgroup_room_bytes(tmp_path / "groups", tmp_path / "root") == math.inf
        assert cgroup_room_bytes(tmp_path / "none", tmp_path / "root") == math.inf


def write_group(  # noqa: PLR0917 - the files of a group
    folder: Path, limit: str, limit_bytes: object, use: str, used_bytes: int, prefix: str = ""
) -> None:
    """Write the files of a cgroup, with 80 bytes of page cache."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / limit).write_text(f"{limit_bytes}\n")
    (folder / use).write_text(f"{used_bytes}\n")
    statistics = f"anon 500\n{prefix}inactive_file 50\n{prefix}active_file 30\n"
    (folder / "memory.stat").write_text(statistics)


class TestSpeed:
    def test_no_runs(self, engine: GuestEngine) -> None:
        """A machine without earlier runs has no expectation."""
        assert expected_s([BASE], engine) is None

    def test_learned(self) -> None:
        """Time is proportional to work; recent runs count more than earlier ones."""
        for _ in range(3):
            _speed.learn("some", 100, 10)
        assert _speed.expected_s("some", 50) == pytest.approx(5)
        for _ in range(60):
            _speed.learn("some", 100, 20)
        assert _speed.expected_s("some", 50) == pytest.approx(10, rel=0.01)
        assert _speed.expected_s("other", 50) is None

    def test_by_runs(self, engine: GuestEngine) -> None:
        """Every run updates the machine's speed, stored or not."""
        run(BASE, engine=engine, store=None)
        one = expected_s([BASE], engine)
        assert one is not None
        assert expected_s([BASE, BASE], engine) == pytest.approx(2 * one)

    def test_damaged(self) -> None:
        """A damaged file is ignored, and the next run replaces it."""
        _speed.learn("some", 1, 1)
        (file,) = (cache_dir() / "speed").iterdir()
        for damaged in ("", "[]", "{}", json.dumps({"work": None, "seconds": 1})):
            file.write_text(damaged)
            assert _speed.expected_s("some", 1) is None
        _speed.learn("some", 1, 3)
        assert _speed.expected_s("some", 1) == pytest.approx(3)

    def test_unwritable(self) -> None:
        """An unwritable cache is no error."""
        cache_dir().mkdir(exist_ok=True)
        (cache_dir() / "speed").write_text("a file")
        _speed.learn("some", 1, 1)
        assert _speed.expected_s("some", 1) is None
