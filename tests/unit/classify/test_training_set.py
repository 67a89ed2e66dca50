# SPDX-License-Identifier: Apache-2.0
"""Training sets in files."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from ccbench import Bottleneck
from ccbench.base.errors import InputError
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.training import Sample, Variation
from ccbench.classify.training_set import PACKAGED, TrainingSet, train, train_on_recordings
from ccbench.classify.verdict import judge
from ccbench.cli.main import program
from ccbench.emulate.recording import CommandRecording
from ccbench.run import tables

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

LEVELS = {"low": 5, "middle": 20, "high": 45}


def sample(cca: str, setting: Setting, seed: int) -> Sample:
    """Return a sample whose queue stays about a level."""
    rng = np.random.default_rng([seed, LEVELS[cca]])
    trace = LEVELS[cca] + rng.integers(0, 3, 50)
    variation = Variation(name="plain", extra_rtt_ms=float(seed))
    return Sample(
        cca=cca,
        setting=setting,
        variation=variation,
        seed=seed,
        points=trace.astype(np.float32),
    )


def samples(*seeds: int) -> list[Sample]:
    """Return a sample for each label and two settings."""
    return [sample(cca, setting, s) for s in seeds for setting in SETTINGS[:2] for cca in LEVELS]


def part_of_packaged_set() -> TrainingSet:
    """Return every sixth sample of the packaged training set, which extends it faster."""
    packaged = TrainingSet.load(PACKAGED)
    return replace(packaged, samples=packaged.samples[::6])


@pytest.fixture
def small_set() -> TrainingSet:
    """Give a training set."""
    return train(samples(1, 2, 3), samples(4), {"ccbench": "1.2.3"})


class TestTrain:
    def test_classifies(self, small_set: TrainingSet) -> None:
        """The set distinguishes its CCAs, and a trace unlike all of them is unknown."""
        classifier = small_set.classifier(SETTINGS[0])
        traces = [sample(cca, SETTINGS[0], 9).points for cca in LEVELS]
        assert [*LEVELS, "unknown"] == classifier.predict([*traces, [300.0] * 50]).tolist()

    def test_contents(self, small_set: TrainingSet) -> None:
        """The set has a threshold for each setting, and lists its CCAs."""
        assert set(SETTINGS[:2]) == set(small_set.thresholds) == set(small_set.settings)
        assert ("high", "low", "middle") == small_set.ccas

    def test_order(self, small_set: TrainingSet) -> None:
        """The order of samples does not matter."""
        other = train(samples(3, 1, 2)[::-1], samples(4), {})
        assert small_set.thresholds == other.thresholds
        for one, two in zip(small_set.samples, other.samples, strict=True):
            assert (one.cca, one.setting, one.seed) == (two.cca, two.setting, two.seed)

    def test_setting(self, small_set: TrainingSet) -> None:
        """A setting without samples is an input error that lists the available ones."""
        with pytest.raises(InputError, match=r"setting is .*10bw.*; it must be one of 5bw"):
            small_set.classifier(SETTINGS[2])


class TestFile:
    def test_round_trip(self, small_set: TrainingSet, tmp_path: Path) -> None:
        """A saved set is loaded exactly."""
        small_set.save(tmp_path / "training.parquet")
        loaded = TrainingSet.load(tmp_path / "training.parquet")
        assert small_set.thresholds == loaded.thresholds
        assert small_set.provenance == loaded.provenance
        for one, two in zip(small_set.samples, loaded.samples, strict=True):
            assert (one.cca, one.setting, one.variation, one.seed) == (
                *(two.cca, two.setting, two.variation, two.seed),
            )
            np.testing.assert_array_equal(one.points, two.points)

    def test_same_bytes(self, small_set: TrainingSet, tmp_path: Path) -> None:
        """The same training set is the same file."""
        for name in ("one", "other"):
            small_set.save(tmp_path / name)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()

    def test_equal_settings(self, tmp_path: Path) -> None:
        """Training sets of equal settings are the same file, if 85 ms are a float or an integer."""
        named = Setting.named("5bw-85rtt-64q")
        given = Setting(bandwidth_mbps=5, rtt_ms=85, queue_packets=64)
        for setting, name in ((named, "named"), (given, "given")):
            own, others = (
                [sample(cca, setting, s) for cca in LEVELS for s in seeds]
                for seeds in ((1, 2), (3, 4))
            )
            train(own, others, {}).save(tmp_path / name)
        assert (tmp_path / "named").read_bytes() == (tmp_path / "given").read_bytes()

    @pytest.mark.parametrize("content", [b"", b"something else"])
    def test_damaged(self, tmp_path: Path, content: bytes) -> None:
        """A file of another kind is an input error that names it."""
        (tmp_path / "broken").write_bytes(content)
        with pytest.raises(InputError, match=r"training set is '.*broken'"):
            TrainingSet.load(tmp_path / "broken")

    @pytest.mark.parametrize(
        "description",
        [
            b"{",
            b"[" * 100_000,
            b'{"format": 2, "thresholds": 5}',
            b'{"format": 2, "thresholds": [{"setting": {"rtt_ms": "x"}}], "provenance": {}}',
        ],
    )
    def test_damaged_description(
        self, small_set: TrainingSet, tmp_path: Path, description: bytes
    ) -> None:
        """A damaged description, at any position, is an input error that names the file."""
        path = tmp_path / "broken"
        small_set.save(path)
        table = pq.read_table(path).replace_schema_metadata({b"ccbench training set": description})
        pq.write_table(table, path)
        with pytest.raises(InputError, match=r"training set .*broken"):
            TrainingSet.load(path)

    def test_missing(self, tmp_path: Path) -> None:
        """A missing file and a folder are input errors."""
        for path in (tmp_path / "nowhere", tmp_path):
            with pytest.raises(InputError, match="training set is"):
                TrainingSet.load(path)


class TestExtended:
    """Recordings of servers are added to the training set."""

    @staticmethod
    def train(*words: object) -> Result:
        """Run the command."""
        return CliRunner().invoke(program, ["classify-train", *map(str, words)])

    @pytest.fixture
    def server(self, tmp_path: Path) -> Path:
        """Give the folder of a server whose queue alternates as no CCA's does."""
        server = tmp_path / "servers" / "example.com"
        for setting in SETTINGS:
            folder = server / setting.name
            folder.mkdir(parents=True)
            link = Bottleneck(
                bandwidth_mbps=setting.bandwidth_mbps, queue_packets=setting.queue_packets
            )
            times_ns = np.arange(0, 21e9, 12e6 / setting.bandwidth_mbps).astype("int64")
            queue = pd.DataFrame(
                {
                    "time_ns": times_ns,
                    "event": "dequeue",
                    "bytes": 1500,
                    "backlog_packets": np.where(times_ns // 20_000_000 % 2, 3, 60),
                }
            ).reindex(columns=list(tables.QUEUE_COLUMNS), fill_value=0)
            answers = {"protocol": "h2", "connections": 1, "pages": 9, "others": 0, "broken": 0}
            CommandRecording(
                status=0,
                duration_s=22.0,
                queue=queue.astype(tables.dtypes(tables.QUEUE_COLUMNS)),
                provenance={
                    "bottleneck": link.to_dict(),
                    "setting": setting.name,
                    "answers": answers,
                },
            ).save(folder)
        return server

    def test_recorded(self, tmp_path: Path, server: Path) -> None:
        """An unknown server is recognised once its recordings are added; others stay known."""
        file, base = tmp_path / "mine.parquet", tmp_path / "base.parquet"
        packaged = part_of_packaged_set()
        packaged.save(base)
        before = CliRunner().invoke(program, ["classify", str(server), "--training", str(base)])
        assert "congestion control: unknown" in before.stdout
        words = ("--training", base, "--recorded", f"zigzag={server}")
        shown = self.train("-o", file, *words)
        assert not shown.exit_code, shown.stderr
        after = CliRunner().invoke(program, ["classify", str(server), "--training", str(file)])
        assert "congestion control: zigzag" in after.stdout
        small_set = TrainingSet.load(file)
        assert {*small_set.ccas} == {*packaged.ccas, "zigzag"}
        assert len(small_set.samples) == len(packaged.samples) + len(SETTINGS)
        assert small_set.provenance["added"] == ["zigzag"]
        assert small_set.digest != packaged.digest == small_set.provenance["extends"]
        one = packaged.samples[0]
        assert judge([one], small_set).label == one.cca

    def second(self, server: Path) -> tuple[str, str]:
        """Return the option of a second recording, a copy of the first."""
        copy = server.with_name("example.org")
        shutil.copytree(server, copy)
        return "--recorded", f"zigzag={copy}"

    def test_only_recorded(self, tmp_path: Path, server: Path) -> None:
        """A training set of recordings alone has their CCAs, and needs two of one of them."""
        file = tmp_path / "mine.parquet"
        words = ("--recorded", f"zigzag={server}")
        alone = self.train("-o", file, "--only-recorded", *words)
        assert 2 == alone.exit_code
        assert "must be two or more of a CCA" in alone.stderr
        again = self.train("-o", file, "--only-recorded", *words, *words)
        assert 2 == again.exit_code
        assert "must be another file each time" in again.stderr
        shown = self.train("-o", file, "--only-recorded", *words, *self.second(server))
        assert not shown.exit_code, shown.stderr
        small_set = TrainingSet.load(file)
        assert ("zigzag",) == small_set.ccas
        assert 2 * len(SETTINGS) == len(small_set.samples)
        after = CliRunner().invoke(program, ["classify", str(server), "--training", str(file)])
        assert "congestion control: zigzag" in after.stdout

    def test_length(self, tmp_path: Path, server: Path) -> None:
        """Traces of a training set may have another length, which those of a server then have."""
        file = tmp_path / "mine.parquet"
        words = ("--recorded", f"zigzag={server}", *self.second(server))
        shown = self.train("-o", file, "--only-recorded", "--length", "12", *words)
        assert not shown.exit_code, shown.stderr
        assert 12 == TrainingSet.load(file).duration_s
        after = CliRunner().invoke(program, ["classify", str(server), "--training", str(file)])
        assert "congestion control: zigzag" in after.stdout

    def test_fractions(self, tmp_path: Path) -> None:
        """Stored traces keep fractions of packets."""
        points = np.linspace(0, 60, 1000, dtype=np.float32)
        some = [
            replace(sample(next(iter(LEVELS)), SETTINGS[0], seed), points=points) for seed in (1, 2)
        ]
        train_on_recordings(some).save(tmp_path / "set.parquet")
        loaded = TrainingSet.load(tmp_path / "set.parquet")
        np.testing.assert_array_equal(points, loaded.samples[0].points)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--cca", "=x"), "cca is '=x'"),
            (("--only-recorded",), "recordings is []"),
            (("--only-recorded", "--cca", "reno"), "--cca is"),
            (("--recorded", "x=y", "--length", "30"), "--length is 30.0"),
            (("--recorded", "x"), "--recorded is 'x'"),
            (("--recorded", "=x"), "--recorded is '=x'"),
            (("--recorded", "unknown=x"), "cca is 'unknown'; it must be the name of a"),
            (("-o", "nowhere/x.parquet"), "mkdir -p nowhere"),
            (("--training", "x"), "--training is 'x'"),
            (("--recorded", "x=nowhere"), "nowhere"),
            (("--recorded", "x=y", "--setting", "a", "--setting", "b"), "setting is 'a'"),
        ],
    )
    def test_refused(self, tmp_path: Path, words: tuple[str, ...], message: str) -> None:
        """Invalid additions are refused in one line."""
        result = self.train("-o", tmp_path / "mine.parquet", *words)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1
