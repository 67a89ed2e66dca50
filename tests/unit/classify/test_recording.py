# SPDX-License-Identifier: Apache-2.0
"""Records of queues in their various formats, and verdicts from them."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from ccbench import Bottleneck, Change, Flow, NetworkPath, RttTrace, Scenario
from ccbench.base.errors import InputError
from ccbench.classify.files import RecordedQueues, judge_files
from ccbench.classify.implementation import CCAS
from ccbench.classify.recording import Recording, read, read_all
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.trace import QueueTrace
from ccbench.classify.training import Sample, Variation
from ccbench.classify.training_set import PACKAGED, TrainingSet, train
from ccbench.classify.verdict import judge
from ccbench.cli.main import program
from ccbench.emulate.recording import CommandRecording
from ccbench.experiment.noise import Noise
from ccbench.run import tables
from tests.scenarios import flat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LEVELS = {"reno": 10, "cubic": 40}


def sample(cca: str, setting: Setting, seed: int) -> Sample:
    """Return a sample of 20 s with a queue of constant length."""
    trace = np.full(1000, LEVELS[cca] + seed)
    return Sample(
        cca=cca,
        setting=setting,
        variation=Variation(name="plain"),
        seed=seed,
        points=trace.astype(np.float32),
    )


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """Give the file of a small training set."""
    first, second = (
        [sample(cca, setting, seed) for setting in SETTINGS[:2] for cca in LEVELS for seed in seeds]
        for seeds in ((1, 2, 3), (4,))
    )
    train(first, second, {}).save(tmp_path / "training.parquet")
    return tmp_path / "training.parquet"


def csv(path: Path, level: float, *, seconds: float = 21.0, header: str = "") -> Path:
    """Write the record of a queue of constant length."""
    times = np.arange(0, seconds, 0.01)
    rows = [header or "time_s,occupancy_packets", *(f"{t:.2f},{level}" for t in times)]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def run_folder(folder: Path, make_run: Callable[..., Any], **changes: Any) -> Path:
    """Write a run without events."""
    link: dict[str, Any] = {"bandwidth_mbps": 5, "queue_packets": 64, **changes}
    settings: dict[str, Any] = {"rtt_ms": 86, "duration_s": 2}
    for name in ("rtt_ms", "flows", "reverse_bottlenecks", "changes", "rtt_trace", "noise"):
        if name in link:
            settings[name] = link.pop(name)
    settings.setdefault("flows", (Flow(cca="reno"),))
    scenario = flat(bottlenecks=(Bottleneck(**link),), **settings)
    make_run(scenario, 5.0).save(folder)
    return folder


FINE = {"protocol": "h2", "connections": 1, "pages": 50, "others": 0, "broken": 0}


def filled(recording: CommandRecording) -> CommandRecording:
    """Fill a record with the packets of a link that is always busy, for 21 s."""
    link = recording.bottleneck
    assert link.bandwidth_mbps is not None
    times_ns = np.arange(0, 21e9, 12e6 / link.bandwidth_mbps).astype("int64")
    queue = pd.DataFrame(
        {
            "time_ns": np.repeat(times_ns, 2),
            "event": ["enqueue", "dequeue"] * len(times_ns),
            "bytes": 1500,
            "backlog_packets": [5, 4] * len(times_ns),
        }
    ).reindex(columns=list(tables.QUEUE_COLUMNS), fill_value=0)
    return replace(recording, queue=queue.astype(tables.dtypes(tables.QUEUE_COLUMNS)))


def recorded(make_run: Callable[..., Any], link: Bottleneck, **about: Any) -> CommandRecording:
    """Return the recording of a command that sent nothing through a link."""
    scenario = Scenario(
        flows=(Flow(),), path=NetworkPath(bottlenecks=(link,), rtt_ms=40), duration_s=1
    )
    queue = tables.normalised("queue", make_run(scenario, 1.0).queue, tables.QUEUE_COLUMNS)
    provenance = {"bottleneck": link.to_dict(), **about}
    return CommandRecording(status=0, duration_s=1.0, queue=queue, provenance=provenance)


class TestRead:
    def test_run(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """A run states its own network: the setting that is close to it."""
        assert SETTINGS[0] == read(run_folder(tmp_path / "run", make_run)).setting

    @pytest.mark.parametrize(
        "changes",
        [
            {"changes": (Change(at_s=1, loss=0.1),)},
            {"rtt_trace": RttTrace(points=((0, 86), (1, 90)))},
            {
                "flows": (Flow(), Flow(direction="reverse")),
                "reverse_bottlenecks": (Bottleneck(bandwidth_mbps=5, queue_packets=64),),
            },
        ],
        ids=["changes", "trace", "reverse"],
    )
    def test_several_settings(
        self, tmp_path: Path, make_run: Callable[..., Any], changes: dict[str, Any]
    ) -> None:
        """Runs whose path has no one setting, or whose queue has other packets, are refused."""
        with pytest.raises(InputError, match="without changes of the path, rtt_trace and flows in"):
            read(run_folder(tmp_path / "run", make_run, **changes))

    def test_noise(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """Noise, jitter of Wi-Fi included, is not part of the setting."""
        noise = Noise(wifi_jitter_ms=7, reverse_jitter_ms=1)
        assert SETTINGS[0] == read(run_folder(tmp_path / "run", make_run, noise=noise)).setting

    def test_named(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """A named setting takes precedence."""
        folder = run_folder(tmp_path / "run", make_run)
        assert SETTINGS[1] == read(folder, SETTINGS[1]).setting

    @pytest.mark.parametrize(
        "changes", [{"bandwidth_mbps": 50}, {"rtt_ms": 20}, {"queue_packets": 200}]
    )
    def test_elsewhere(
        self, tmp_path: Path, make_run: Callable[..., Any], changes: dict[str, Any]
    ) -> None:
        """A run unlike all settings has its own."""
        setting = read(run_folder(tmp_path / "run", make_run, **changes)).setting
        assert setting not in SETTINGS
        assert set(changes.items()) <= set(asdict(setting).items())

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("run-5bw-85rtt-64q.csv", SETTINGS[0]),
            ("10bw-135rtt-120q-cubic.csv", SETTINGS[3]),
            ("2.5bw-40rtt-10q.csv", Setting(bandwidth_mbps=2.5, rtt_ms=40, queue_packets=10)),
        ],
    )
    def test_in_name(self, tmp_path: Path, name: str, expected: Setting) -> None:
        """The name of a file may contain its setting, or one that is close to it."""
        assert expected == read(csv(tmp_path / name, 7)).setting
        assert SETTINGS[1] == read(tmp_path / name, SETTINGS[1]).setting

    def test_of_each(self, tmp_path: Path) -> None:
        """Each file may have its own setting."""
        one, two = (csv(tmp_path / name, 7) for name in ("a.csv", "5bw-130rtt-64q.csv"))
        read_settings = [item.setting for item in read_all([one, two], {one: SETTINGS[2]})]
        assert [SETTINGS[2], SETTINGS[1]] == read_settings
        with pytest.raises(InputError, match=r"file of a setting is .*b.csv'; it must be one of"):
            read_all([one], {tmp_path / "b.csv": SETTINGS[0]})

    def test_shell(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """A recording of `ccbench shell` states its link too."""
        link = Bottleneck(bandwidth_mbps=10, queue_packets=128)
        recorded(make_run, link, rtt_ms=130.0).save(tmp_path)
        assert "10bw-130rtt-128q" == read(tmp_path).setting.name

    def test_server(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """For an observed server, the setting counts and not the delay added to its RTT."""
        link = Bottleneck(bandwidth_mbps=10, queue_packets=128)
        (tmp_path / "one").mkdir()
        metadata = {"rtt_ms": 20.0, "setting": "10bw-130rtt-128q", "answers": FINE}
        filled(recorded(make_run, link, **metadata)).save(tmp_path / "one")
        assert "10bw-130rtt-128q" == read(tmp_path / "one").setting.name
        with pytest.raises(InputError, match=r"10bw-130rtt-128q, the setting of .*one:"):
            read(tmp_path / "one", SETTINGS[0])

    def test_servers_folder(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """A server's folder has a download for each setting; only valid ones count.

        With a setting, only the download in that setting counts.
        """
        for setting, more in zip(SETTINGS[:3], ({}, {"pages": 20, "others": 20}, {}), strict=True):
            link = Bottleneck(
                bandwidth_mbps=setting.bandwidth_mbps, queue_packets=setting.queue_packets
            )
            metadata = {"rtt_ms": 9.0, "setting": setting.name, "answers": {**FINE, **more}}
            (tmp_path / setting.name).mkdir()
            filled(recorded(make_run, link, **metadata)).save(tmp_path / setting.name)
        assert {SETTINGS[0], SETTINGS[2]} == {
            recording.setting for recording in read_all([tmp_path])
        }
        assert [SETTINGS[2]] == [item.setting for item in read_all([tmp_path], SETTINGS[2])]
        with pytest.raises(InputError, match="20 of 40 responses are not pages"):
            read_all([tmp_path], SETTINGS[1])
        with pytest.raises(InputError, match="choose a setting of "):
            read_all([tmp_path], SETTINGS[3])

    def test_damaged(self, tmp_path: Path, make_run: Callable[..., Any]) -> None:
        """A damaged folder is refused in one line."""
        recorded(make_run, Bottleneck(bandwidth_mbps=10, queue_packets=9), rtt_ms=1).save(tmp_path)
        (tmp_path / "queue.parquet").write_bytes(b"PAR1")
        with pytest.raises(InputError, match="record it again"):
            read(tmp_path)

    def test_csv(self, tmp_path: Path) -> None:
        """A CSV file has times in seconds and packets."""
        actual = read(csv(tmp_path / "a.csv", 7), SETTINGS[0]).events
        assert 10_000_000 == np.asarray(actual["time_ns"])[1]
        assert (actual["backlog_packets"] == 7).all()

    def test_no_setting(self, tmp_path: Path) -> None:
        """A file without a setting is an input error unless a setting is named."""
        with pytest.raises(InputError, match=r"setting of .* is None; it must be that of"):
            read(csv(tmp_path / "a.csv", 7))

    @pytest.mark.parametrize(
        ("header", "level", "message"),
        [
            ("time,packets", 7, "the columns time_s and occupancy_packets"),
            ("", -1, "queues of 0 packets or more"),
            ("time_s,occupancy_packets\n-1,0", 7, "ascending finite times from 0,"),
        ],
    )
    def test_bad_csv(self, tmp_path: Path, header: str, level: int, message: str) -> None:
        """A CSV file in another format is an input error."""
        with pytest.raises(InputError, match=message):
            read(csv(tmp_path / "a.csv", level, header=header), SETTINGS[0])

    @pytest.mark.parametrize("row", ["inf,1", "1e300,1", "nan,1", "30,inf", "30,nan", "-1,1"])
    def test_bad_numbers(self, tmp_path: Path, row: str) -> None:
        """A CSV file with impossible times or queues is an input error."""
        (tmp_path / "a.csv").write_text(f"time_s,occupancy_packets\n0,1\n{row}\n")
        with pytest.raises(InputError, match="ascending finite times from 0"):
            read(tmp_path / "a.csv", SETTINGS[0])

    @pytest.mark.parametrize("name", ["a.pcap", "a.csv.gz", "a.log"])
    def test_compressed(self, tmp_path: Path, name: str) -> None:
        """A compressed file of any name is refused with the program that decompresses it."""
        (tmp_path / name).write_bytes(gzip.compress(b"time_s,occupancy_packets"))
        with pytest.raises(InputError, match=f"must be uncompressed: run `gunzip -k .*{name}`"):
            read_all([tmp_path / name])

    def test_folder(self, tmp_path: Path) -> None:
        """A folder that ccbench has not written is an input error."""
        with pytest.raises(InputError, match="folder is"):
            read(tmp_path, SETTINGS[0])


class TestJudgeFiles:
    def test_as_command(self, tmp_path: Path, training: Path) -> None:
        """Files are classified in one call, in the named setting, by the nearest of the set."""
        files = [csv(tmp_path / "a.csv", 41), csv(tmp_path / "b.csv", 12)]
        verdict = judge_files(files[:1], SETTINGS[0].name, training=training)
        assert verdict.label == "cubic"
        both = judge_files(map(str, files), SETTINGS[1], training=training)
        assert [trace.nearest for trace in both.traces] == ["cubic", "reno"]

    def test_one(self, tmp_path: Path) -> None:
        """A single path is refused: files are a list, as captures come in pairs."""
        with pytest.raises(InputError, match=r"^paths is .*; it must be a list: write \["):
            judge_files(str(tmp_path))

    def test_one_of_several(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A connection that cannot be compared is left out beside another one of its file."""
        packaged = TrainingSet.load(PACKAGED)
        events = pd.DataFrame({"time_ns": [0], "backlog_packets": [0]})
        both = [
            Recording(events=events, setting=SETTINGS[i], name=f"{i}", file="a.pcap")
            for i in (0, 1)
        ]
        known = {SETTINGS[1]: next(x for x in packaged.samples if x.setting == SETTINGS[1])}

        def observe(recording: Recording, *_: object, trains: bool) -> QueueTrace:
            assert not trains
            if recording.setting not in known:
                raise InputError("its queue is too small")
            return known[recording.setting]

        monkeypatch.setattr("ccbench.classify.files.read_all", lambda *_: both)
        monkeypatch.setattr("ccbench.classify.files.observed", observe)
        queues = RecordedQueues.read(["a.pcap"])
        assert queues.names == ("1",)
        assert queues.recordings[0].notes == ("another is left out: its queue is too small",)
        known.clear()
        with pytest.raises(InputError, match="too small"):
            RecordedQueues.read(["a.pcap"])

    def test_something_else(self, tmp_path: Path) -> None:
        """A file that is no record is an input error that lists the valid formats."""
        path = tmp_path / "scenario.toml"
        path.write_text("rtt_ms = 10\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"^file is .*; it must be a capture, a CSV file,"):
            judge_files([path], SETTINGS[0])


class TestJudge:
    def test_evidence(self, training: Path) -> None:
        """A verdict has the nearest CCA and the second nearest, with their distances."""
        reference_set = TrainingSet.load(training)
        traces = [
            QueueTrace(setting=setting, points=np.full(1000, packets, dtype=np.float32))
            for setting, packets in zip(SETTINGS, (11, 41), strict=False)
        ]
        verdict = judge(traces, reference_set)
        assert ["reno", "cubic"] == [trace.nearest for trace in verdict.traces]
        assert ["cubic", "reno"] == [item.second for item in verdict.traces]
        assert verdict.traces[0].second_distance == pytest.approx(29, abs=1)
        assert verdict.label in LEVELS

    def test_none(self, training: Path) -> None:
        """Without traces a verdict is an input error."""
        with pytest.raises(InputError, match="traces is"):
            judge([], TrainingSet.load(training))


class TestCommand:
    def classify(self, *words: object) -> Result:
        """Run the command."""
        return CliRunner().invoke(program, ["classify", *map(str, words)])

    def test_label(self, tmp_path: Path, training: Path) -> None:
        """The last line is the label; the JSON document has all votes."""
        file = csv(tmp_path / "a.csv", 41)
        options = ("--setting", "5bw-85rtt-64q", "--training", training)
        done = self.classify(file, *options)
        assert 0 == done.exit_code, done.output
        assert "congestion control: cubic" == done.stdout.splitlines()[-1]
        document = json.loads(self.classify(file, *options, "--json").stdout)
        assert "cubic" == document["label"] == document["traces"][0]["nearest"]

    def test_settings(self, tmp_path: Path, training: Path) -> None:
        """Files of different settings vote together, each with its own setting."""
        one, two = csv(tmp_path / "a.csv", 41), csv(tmp_path / "run-5bw-130rtt-64q.csv", 41)
        options = ("--setting", f"{one}=5bw-85rtt-64q", "--training", training, "--json")
        document = json.loads(self.classify(one, two, *options).stdout)
        assert ["5bw-85rtt-64q", "5bw-130rtt-64q"] == [
            trace["setting"] for trace in document["traces"]
        ]
        assert "cubic" == document["label"]

    def test_untrained(self, tmp_path: Path, training: Path) -> None:
        """A training set of the user's is not extended by other settings."""
        options = ("--setting", "9bw-9rtt-9q", "--training", training)
        done = self.classify(csv(tmp_path / "a.csv", 41), *options)
        assert 2 == done.exit_code
        assert "setting is '9bw-9rtt-9q'; it must be one of" in done.stderr

    def test_unknown(self, tmp_path: Path, training: Path) -> None:
        """A queue unlike all others is unknown, and the nearest CCA is shown nevertheless."""
        options = ("--setting", "5bw-85rtt-64q", "--training", training)
        done = self.classify(csv(tmp_path / "a.csv", 300), *options)
        assert "congestion control: unknown" == done.stdout.splitlines()[-1]
        assert "cubic" in done.stdout

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--setting", "fast"), "setting is 'fast'; it must be Mbit/s, ms and packets"),
            (("--setting", "b.csv=5bw-85rtt-64q"), "--setting is 'b.csv=5bw-85rtt-64q'; it must"),
            (("--setting", "5bw-85rtt-64q", "--setting", "5bw-130rtt-64q"), "one setting for all"),
            (("--setting", "5bw-85rtt-64q", "--skip", "-1"), "for '--skip'"),
            (("--setting", "5bw-85rtt-64q", "--length", "0.1"), "duration_s is 0.1"),
            (("--setting", "5bw-85rtt-64q", "--length", "21"), "duration_s is 21.0; it must be a"),
            (("--training", "nowhere"), "training set is 'nowhere'"),
        ],
    )
    def test_bad_input(self, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
        """Invalid input is one line and status 2."""
        done = self.classify(csv(tmp_path / "a.csv", 7), *words)
        assert 2 == done.exit_code
        assert message in done.stderr
        assert 1 == len(done.stderr.splitlines())

    def test_short(self, tmp_path: Path) -> None:
        """A record that is too short is refused."""
        done = self.classify(csv(tmp_path / "a.csv", 7, seconds=5), "--setting", "5bw-85rtt-64q")
        assert 2 == done.exit_code
        assert "trace of a.csv is '4.99 s'; it must be at least 10 s" in done.stderr

    def test_packaged(self) -> None:
        """The packaged training set contains Linux's CCAs and BBRv3 in the thesis's settings."""
        reference_set = TrainingSet.load(PACKAGED)
        assert {*CCAS, "bbr3"} == {*reference_set.ccas}
        assert 16 == len(reference_set.ccas)
        assert set(SETTINGS) <= set(reference_set.settings) == set(reference_set.thresholds)
        assert "kernel" == reference_set.provenance["engine"]
