# SPDX-License-Identifier: Apache-2.0
"""Training for settings that a training set lacks, with a training of no runs in its place.

`tests/kernel/test_classify.py` has the real one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ccbench.classify import on_demand, samples
from ccbench.classify.setting import LOW_RATE, SETTINGS, Setting
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.emulate.registry import get_engine

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = Setting(bandwidth_mbps=20, rtt_ms=50, queue_packets=90)


@pytest.fixture(scope="module")
def packaged() -> TrainingSet:
    """Give the packaged training set."""
    return TrainingSet.load(PACKAGED)


@pytest.fixture
def trained(
    packaged: TrainingSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Setting]:
    """Train by copying samples; give the trained settings."""
    settings: list[Setting] = []

    def copied(_ccas: Any, wanted: list[Setting], **_options: Any) -> TrainingSet:
        (setting,) = wanted
        settings.append(setting)
        own = packaged.samples_of(LOW_RATE)
        return replace(
            packaged,
            samples=tuple(replace(sample, setting=setting) for sample in own),
            noisy=(),
            thresholds={setting: packaged.thresholds[LOW_RATE]},
        )

    class Engine:
        def provenance(self) -> dict[str, str]:
            return {"kernel": "6.12"}

    monkeypatch.setattr(samples, "train_on_runs", copied)
    monkeypatch.setattr(on_demand, "resolve", lambda _engine: Engine())
    monkeypatch.setattr(on_demand, "cache_dir", lambda: tmp_path)
    return settings


def test_packaged(packaged: TrainingSet, trained: list[Setting]) -> None:
    """Nothing is trained for settings that the training set has."""
    assert on_demand.with_settings(packaged, SETTINGS) is packaged
    assert [] == trained


def test_kept(packaged: TrainingSet, trained: list[Setting], tmp_path: Path) -> None:
    """A missing setting is trained once, and then read from the cache."""
    for _ in range(2):
        extended = on_demand.with_settings(packaged, [*SETTINGS, ELSEWHERE])
        assert {*packaged.settings, ELSEWHERE} == {*extended.settings}
        assert len(extended.samples_of(ELSEWHERE)) == len(packaged.samples_of(LOW_RATE))
    assert [ELSEWHERE] == trained
    (file,) = (tmp_path / "training").iterdir()
    assert file.name.startswith("20bw-50rtt-90q-")


def test_other_variations(
    packaged: TrainingSet, trained: list[Setting], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting is trained again when the variations change, or its rate by any amount."""
    on_demand.with_settings(packaged, [ELSEWHERE])
    monkeypatch.setattr(samples, "N_NOISY", 3)
    on_demand.with_settings(packaged, [ELSEWHERE])
    assert [ELSEWHERE, ELSEWHERE] == trained
    near = replace(ELSEWHERE, bandwidth_mbps=20.000001)
    assert near in on_demand.with_settings(packaged, [near]).settings
    assert near == trained[-1]


def test_damaged(packaged: TrainingSet, trained: list[Setting], tmp_path: Path) -> None:
    """A damaged file in the cache is replaced."""
    on_demand.with_settings(packaged, [ELSEWHERE])
    (file,) = (tmp_path / "training").iterdir()
    file.write_bytes(file.read_bytes()[:1000])
    on_demand.with_settings(packaged, [ELSEWHERE])
    assert ELSEWHERE in on_demand.with_settings(packaged, [ELSEWHERE]).settings
    assert [ELSEWHERE, ELSEWHERE] == trained


def test_engine(packaged: TrainingSet, trained: list[Setting]) -> None:
    """With an engine, settings are trained on it, also those that the training set has."""
    own = on_demand.with_settings(packaged, [LOW_RATE], engine=get_engine("kernel"))
    assert [LOW_RATE] == trained
    assert (LOW_RATE,) == own.settings
    assert packaged.limits == own.limits
