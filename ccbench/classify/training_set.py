# SPDX-License-Identifier: Apache-2.0
"""A training set: traces of known CCAs and thresholds, in one file."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ccbench.base import durable, validation
from ccbench.base.errors import InputError
from ccbench.base.sealed import ChangedError, sealed, unsealed
from ccbench.classify.calibration import calibrated, cross_validated
from ccbench.classify.columns import TEXTS, Samples, table
from ccbench.classify.evidence import Calibration
from ccbench.classify.occupancy import STEP_S
from ccbench.classify.reaction_limits import choose_limits
from ccbench.classify.reactions import Limits, Reactions
from ccbench.classify.setting import Setting
from ccbench.classify.threshold import Threshold, choose_threshold, refit_threshold
from ccbench.classify.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ccbench.classify.classifier import CCAClassifier
    from ccbench.classify.training import Sample

__all__ = ["PACKAGED", "TrainingSet", "extended", "train", "train_on_recordings"]

#: Version of the file format; incremented by incompatible changes.
_FORMAT = 7
_KEY = b"ccbench training set"
#: The quantile of three of the thesis's settings is between 0.9 and 0.95 (Table 2.3).
_PUBLISHED = Threshold(
    distance=0.0, limits={}, quantile=0.95, false_unknown=math.nan, false_known=math.nan
)

#: The training set that ccbench includes, created by `ccbench classify-train`.
PACKAGED = Path(__file__).with_name("training.parquet")


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingSet:
    """Traces of known CCAs, with which servers are compared.

    Parameters
    ----------
    samples : sequence of Sample
        The traces with their CCAs.
    thresholds : mapping of Setting to Threshold
        The threshold of each setting of the samples.
    noisy : sequence of Sample
        Measurements on paths with noise, for the second stage (:mod:`.reactions`).
    limits : Limits, optional
        The limits of the second stage; without them, there is none.
    windows : sequence of Sample
        Measurements of parts of connections on random networks, in any view (:mod:`.windows`).
    calibration : Calibration, optional
        The confidence in labels of recordings in any view.
    trees : mapping of str to Trees
        The trees of the second stage that are grown already, by the key of their rows.
    provenance : mapping
        JSON-able values that describe the origin of the samples.

    Examples
    --------
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> training_set.classifier(training_set.settings[0]).predict([[0.0] * 1000]).tolist()
    ['unknown']
    """

    samples: Sequence[Sample] = field(repr=False)
    thresholds: Mapping[Setting, Threshold]
    provenance: Mapping[str, Any]
    noisy: Sequence[Sample] = field(default=(), repr=False)
    limits: Limits | None = None
    windows: Sequence[Sample] = field(default=(), repr=False)
    calibration: Calibration | None = None
    trees: Mapping[str, Trees] = field(default_factory=dict, repr=False)

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the samples, in the order of the samples."""
        return tuple(Samples.of(self.samples).distinct("setting"))

    @cached_property
    def ccas(self) -> tuple[str, ...]:
        """CCAs of the samples, in alphabetical order."""
        return tuple(sorted(Samples.of(self.samples).distinct("cca")))

    @cached_property
    def duration_s(self) -> float:
        """Length of the longest trace in seconds."""
        return round(int(Samples.of(self.samples).points.lengths.max()) * STEP_S, 6)

    @cached_property
    def digest(self) -> str:
        """Digest of the traces, their labels and the limits: 16 hexadecimal digits."""
        parts = hashlib.sha256()

        def add_measured(samples: Iterable[Sample]) -> None:
            for sample in samples:
                parts.update(f"{sample.cca} {sample.setting.name} ".encode())
                parts.update(sample.measured.tobytes())

        for sample in self.samples:
            parts.update(f"{sample.cca} {sample.variant} {sample.setting.name} ".encode())
            parts.update(sample.points.tobytes())
        add_measured(self._measured)
        limits = [
            (setting.name, dict(threshold.limits)) for setting, threshold in self.thresholds.items()
        ]
        parts.update(repr((limits, self.limits)).encode())
        if self.windows:
            add_measured(self.windows)
            parts.update(repr(self.calibration).encode())
        return parts.hexdigest()[:16]

    def without(self, *ccas: str) -> TrainingSet:
        """Return the training set without some CCAs, and with its limits."""
        samples, noisy, windows = (
            tuple(sample for sample in part if sample.cca not in ccas)
            for part in (self.samples, self.noisy, self.windows)
        )
        return replace(self, samples=samples, noisy=noisy, windows=windows)

    def samples_of(self, setting: Setting) -> Sequence[Sample]:
        """Return the samples of a setting.

        Raises
        ------
        InputError
            If there are no samples of the setting.
        """
        if setting not in self._samples_of:
            names = ", ".join(available.name for available in self.settings)
            step = "choose one of these, or run `ccbench classify-train --setting`"
            raise validation.bad("setting", setting.name, f"one of {names}", step)
        return self._samples_of[setting]

    def classifier(self, setting: Setting) -> CCAClassifier:
        """Return the classifier of a setting.

        Raises
        ------
        InputError
            If there are no samples of the setting.
        """
        from ccbench.classify.classifier import CCAClassifier  # noqa: PLC0415 - scikit-learn

        if setting not in self._classifiers:
            own = self.samples_of(setting)
            classifier = CCAClassifier(thresholds=self.thresholds[setting].limits)
            classifier.fit([sample.points for sample in own], [sample.cca for sample in own])
            self._classifiers[setting] = classifier
        return self._classifiers[setting]

    def reactions(self, setting: Setting) -> Reactions | None:
        """Return the second stage of a setting; None if the training set has none, or one CCA."""
        if self.limits is None or len(self.ccas) == 1 or setting not in self._measured_of:
            return None
        if setting not in self._reactions:
            self._reactions[setting] = Reactions(
                self._measured_of[setting], self.ccas, known=self.trees
            )
        return self._reactions[setting]

    @property
    def has_windows(self) -> bool:
        """Whether the training set has a second stage of any view."""
        return self.calibration is not None and bool(self.windows)

    @cached_property
    def reactions_in_context(self) -> Reactions:
        """The second stage of any view."""
        return Reactions(self.windows, self.ccas, in_context=True, known=self.trees)

    @cached_property
    def _measured(self) -> Samples:
        """Samples with measurements."""
        both = Samples.of(self.samples) + Samples.of(self.noisy)
        return both.where(both.measured.lengths > 0)

    @cached_property
    def _samples_of(self) -> dict[Setting, Samples]:
        return Samples.of(self.samples).by("setting")

    @cached_property
    def _measured_of(self) -> dict[Setting, Samples]:
        return self._measured.by("setting")

    @cached_property
    def _classifiers(self) -> dict[Setting, CCAClassifier]:
        return {}

    @cached_property
    def _reactions(self) -> dict[Setting, Reactions]:
        return {}

    def save(self, path: Path) -> None:
        """Write the training set to a Parquet file with a row for each sample, and its trees."""
        stages = [self.reactions(setting) for setting in self.settings]
        stages += [self.reactions_in_context] if self.has_windows else []
        about = {
            "format": _FORMAT,
            "thresholds": [
                {"setting": asdict(setting), "threshold": asdict(threshold)}
                for setting, threshold in self.thresholds.items()
            ],
            "n_windows": len(self.windows),
            "limits": None if self.limits is None else asdict(self.limits),
            "calibration": None if self.calibration is None else asdict(self.calibration),
            "trees": {stage.key: stage.trees.to_dict() for stage in stages if stage is not None},
            "provenance": dict(self.provenance),
        }
        rows = table((*self.samples, *self.noisy, *self.windows))
        _, about["samples"] = Samples.read(rows)
        with (
            durable.new_file(path) as temporary,
            pq.ParquetWriter(
                temporary,
                rows.schema,
                compression="zstd",
                compression_level=19,
                use_dictionary=list(TEXTS),
                use_byte_stream_split=["trace.list.element"],
                store_schema=False,
            ) as writer,
        ):
            writer.write_table(rows)
            # Not as metadata of the schema, which a file contains twice.
            writer.add_key_value_metadata({_KEY.decode(): json.dumps(sealed(about))})

    @classmethod
    def load(cls, path: Path) -> TrainingSet:
        """Read a training set.

        Raises
        ------
        InputError
            If the file is not a training set, or is damaged.
        """
        try:
            file = pq.ParquetFile(path, read_dictionary=list(TEXTS), pre_buffer=False)
            rows = file.read(use_threads=False)
            about = unsealed((file.metadata.metadata or {})[_KEY])
            if about["format"] != _FORMAT:
                message = f"a file of format {_FORMAT}"
                raise validation.bad(str(path), about["format"], message, "create it again")
            with validation.within(f"training set {path}: "):
                stored, digest = Samples.read(rows)
                if digest != about["samples"]:
                    raise ChangedError("its samples have changed")
                first = len(stored) - about["n_windows"]
                is_window = np.arange(len(stored)) >= first
                is_trace = ~is_window & (stored.points.lengths > 0)
                return cls(
                    samples=stored.where(is_trace),
                    noisy=stored.where(~is_window & ~is_trace),
                    windows=stored.where(is_window),
                    limits=_limits(about["limits"]),
                    calibration=_calibration(about["calibration"]),
                    trees={name: Trees.from_dict(own) for name, own in about["trees"].items()},
                    thresholds={
                        Setting(**entry["setting"]): Threshold(**entry["threshold"])
                        for entry in about["thresholds"]
                    },
                    provenance=about["provenance"],
                )
        except InputError:
            raise
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            step = f"name a file written by `ccbench classify-train` ({error})"
            raise validation.bad("training set", str(path), "a training set", step) from error


def train(
    samples: Iterable[Sample],
    tested: Iterable[Sample],
    provenance: Mapping[str, Any],
    noisy: Iterable[Sample] = (),
    windows: Iterable[Sample] = (),
) -> TrainingSet:
    """Create a training set and choose its thresholds.

    Parameters
    ----------
    samples : iterable of Sample
        The samples of the training set.
    tested : iterable of Sample
        Other samples of the same CCAs and settings, for choosing the thresholds.
    provenance : mapping
        Origin of the samples.
    noisy : iterable of Sample
        Samples of noisy paths, for the second stage; without them, there is none.
    windows : iterable of Sample
        Samples of random networks in any view; without them, only the views of the first stage can
        be judged.
    """
    # Sorted, as the samples are created in any order.
    samples = tuple(sorted(samples, key=_order))
    others = sorted(tested, key=_order)
    training_set = TrainingSet(samples=samples, thresholds={}, provenance=provenance)
    thresholds = {}
    for setting in training_set.settings:
        own, test = ([x for x in some if x.setting == setting] for some in (samples, others))
        thresholds[setting] = choose_threshold(
            [x.points for x in own],
            [x.cca for x in own],
            [x.points for x in test],
            [x.cca for x in test],
        )
    measured = tuple(
        replace(sample, points=np.zeros(0, dtype=np.float32))
        for sample in sorted(noisy, key=_order)
    )
    rows = [sample for sample in (*measured, *samples) if len(sample.measured)]
    parts = tuple(sorted(windows, key=_order))
    return replace(
        training_set,
        thresholds=thresholds,
        noisy=measured,
        limits=choose_limits(rows) if measured and rows else None,
        windows=parts,
        calibration=calibrated(cross_validated(parts)) if parts else None,
    )


def extended(training_set: TrainingSet, samples: Iterable[Sample]) -> TrainingSet:
    """Return a training set with additional samples of new or existing CCAs.

    The quantiles do not change; the limits of settings with new samples are recalculated. The
    provenance lists the ``added`` CCAs and the digest of the training set that this ``extends``.

    Parameters
    ----------
    training_set : TrainingSet
    samples : iterable of Sample
        Additional samples, of settings of the training set.

    Raises
    ------
    InputError
        If the training set has no samples of a setting.

    Examples
    --------
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> sample = replace(training_set.samples[0], cca="aimd")
    >>> "aimd" in extended(training_set, [sample]).ccas
    True
    """
    added = tuple(samples)
    for setting in {sample.setting for sample in added}:
        training_set.samples_of(setting)
    both = tuple(sorted((*training_set.samples, *added), key=_order))
    thresholds = dict(training_set.thresholds)
    for setting in {sample.setting for sample in added}:
        own = [sample for sample in both if sample.setting == setting]
        thresholds[setting] = refit_threshold(
            thresholds[setting], [sample.points for sample in own], [sample.cca for sample in own]
        )
    before = training_set.provenance
    names = [*before.get("added", ()), *sorted({sample.cca for sample in added})]
    provenance = {**before, "added": names, "extends": training_set.digest}
    return replace(training_set, samples=both, thresholds=thresholds, provenance=provenance)


def train_on_recordings(samples: Iterable[Sample]) -> TrainingSet:
    """Create a training set of recordings alone, without a second stage.

    The limit of a CCA is the quantile of the distances within it that the thesis uses.

    Parameters
    ----------
    samples : iterable of Sample

    Raises
    ------
    InputError
        If a setting has no CCA with two recordings.
    """
    every = tuple(sorted(samples, key=_order))
    thresholds: dict[Setting, Threshold] = {}
    for setting in {sample.setting: None for sample in every}:
        own = [sample for sample in every if sample.setting == setting]
        labels = [sample.cca for sample in own]
        if len(set(labels)) == len(labels):
            allowed, step = "two or more of a CCA", f"add recordings of {', '.join(labels)}"
            raise validation.bad(f"recordings of {setting.name}", len(labels), allowed, step)
        thresholds[setting] = refit_threshold(_PUBLISHED, [sample.points for sample in own], labels)
    if not every:
        raise validation.bad("recordings", [], "one or more", "name them with --recorded CCA=FILE")
    return TrainingSet(samples=every, thresholds=thresholds, provenance={"recorded": len(every)})


def _order(sample: Sample) -> tuple[Any, ...]:
    setting = (sample.setting.bandwidth_mbps, sample.setting.rtt_ms, sample.setting.queue_packets)
    view = astuple(sample.view)
    return (*setting, sample.cca, sample.variant, sample.variation.name, sample.seed, *view)


def _limits(stored: Mapping[str, Any] | None) -> Limits | None:
    if stored is None:
        return None
    return Limits(**{name: _tuples(value) for name, value in stored.items()})


def _calibration(stored: Mapping[str, Any] | None) -> Calibration | None:
    if stored is None:
        return None
    return Calibration(**{name: _tuples(value) for name, value in stored.items()})


def _tuples(value: Any) -> Any:
    """Return a value of JSON with tuples instead of lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
