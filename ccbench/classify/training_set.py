# SPDX-License-Identifier: Apache-2.0
"""A training set: traces of known CCAs and thresholds, in one file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ccbench.base import durable, validation
from ccbench.base.errors import InputError
from ccbench.base.sealed import ChangedError, file_digest, sealed, unsealed
from ccbench.classify.classifier import CCAClassifier
from ccbench.classify.setting import Setting
from ccbench.classify.threshold import Threshold, choose_threshold, refit_threshold
from ccbench.classify.training import Sample, Variation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["PACKAGED", "TrainingSet", "extended", "train"]

#: Version of the file format; incremented by incompatible changes.
_FORMAT = 2
_KEY = b"ccbench training set"
_MAX_BACKLOG = 2**16 - 1

#: The training set that ccbench includes, created by `ccbench classify-train`.
PACKAGED = Path(__file__).with_name("training.parquet")


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingSet:
    """Traces of known CCAs, with which servers are compared.

    Parameters
    ----------
    samples : tuple of Sample
        The traces with their CCAs.
    thresholds : mapping of Setting to Threshold
        The threshold of each setting of the samples.
    provenance : mapping
        JSON-able values that describe the origin of the samples.

    Examples
    --------
    >>> training_set = TrainingSet.load(PACKAGED)
    >>> training_set.classifier(training_set.settings[0]).predict([[0.0] * 1000]).tolist()
    ['unknown']
    """

    samples: tuple[Sample, ...] = field(repr=False)
    thresholds: Mapping[Setting, Threshold]
    provenance: Mapping[str, Any]

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Settings of the samples, in the order of the samples."""
        return tuple(dict.fromkeys(sample.setting for sample in self.samples))

    @cached_property
    def ccas(self) -> tuple[str, ...]:
        """CCAs of the samples, in alphabetical order."""
        return tuple(sorted({sample.cca for sample in self.samples}))

    @cached_property
    def digest(self) -> str:
        """Digest of the traces, their labels and the limits: 16 hexadecimal digits."""
        parts = hashlib.sha256()
        for sample in self.samples:
            parts.update(f"{sample.cca} {sample.setting.name} ".encode())
            parts.update(sample.trace.tobytes())
        limits = [
            (setting.name, dict(threshold.limits)) for setting, threshold in self.thresholds.items()
        ]
        parts.update(repr(limits).encode())
        return parts.hexdigest()[:16]

    def samples_of(self, setting: Setting) -> list[Sample]:
        """Return the samples of a setting.

        Raises
        ------
        InputError
            If there are no samples of the setting.
        """
        own = [sample for sample in self.samples if sample.setting == setting]
        if not own:
            names = ", ".join(available.name for available in self.settings)
            step = "choose one of these, or run `ccbench classify-train --setting`"
            raise validation.bad("setting", setting.name, f"one of {names}", step)
        return own

    def classifier(self, setting: Setting) -> CCAClassifier:
        """Return the classifier of a setting.

        Raises
        ------
        InputError
            If there are no samples of the setting.
        """
        own = self.samples_of(setting)
        classifier = CCAClassifier(thresholds=self.thresholds[setting].limits)
        return classifier.fit([sample.trace for sample in own], [sample.cca for sample in own])

    def save(self, path: Path) -> None:
        """Write the training set to a Parquet file with a row for each sample."""
        rows = [
            {
                "cca": sample.cca,
                **asdict(sample.setting),
                "variation": asdict(sample.variation),
                "seed": sample.seed,
                "trace": _counts(sample),
            }
            for sample in self.samples
        ]
        about = {
            "format": _FORMAT,
            "thresholds": [
                {"setting": asdict(setting), "threshold": asdict(threshold)}
                for setting, threshold in self.thresholds.items()
            ],
            "provenance": dict(self.provenance),
        }
        table = pa.Table.from_pylist(rows)
        traces = pa.array([row["trace"] for row in rows], pa.list_(pa.uint16()))
        table = table.set_column(table.column_names.index("trace"), "trace", traces)
        about["samples"] = _digest(table)
        table = table.replace_schema_metadata({_KEY: json.dumps(sealed(about))})
        with durable.new_file(path) as temporary:
            pq.write_table(
                table, temporary, compression="zstd", compression_level=12, use_dictionary=["cca"]
            )

    @classmethod
    def load(cls, path: Path) -> TrainingSet:
        """Read a training set.

        Raises
        ------
        InputError
            If the file is not a training set, or is damaged.
        """
        try:
            table = pq.read_table(path, use_threads=False, pre_buffer=False)
            about = unsealed((table.schema.metadata or {})[_KEY])
            if about["format"] != _FORMAT:
                message = f"a file of format {_FORMAT}"
                raise validation.bad(str(path), about["format"], message, "create it again")
            if _digest(table) != about["samples"]:
                raise ChangedError("its samples have changed")
            with validation.within(f"training set {path}: "):
                return cls(
                    samples=_samples(table),
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
    samples: Iterable[Sample], tested: Iterable[Sample], provenance: Mapping[str, Any]
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
    """
    # Sorted, as the samples are created in any order.
    samples = tuple(sorted(samples, key=_order))
    others = sorted(tested, key=_order)
    training_set = TrainingSet(samples=samples, thresholds={}, provenance=provenance)
    thresholds = {}
    for setting in training_set.settings:
        own, test = ([x for x in some if x.setting == setting] for some in (samples, others))
        thresholds[setting] = choose_threshold(
            [x.trace for x in own],
            [x.cca for x in own],
            [x.trace for x in test],
            [x.cca for x in test],
        )
    return replace(training_set, thresholds=thresholds)


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
            thresholds[setting], [sample.trace for sample in own], [sample.cca for sample in own]
        )
    before = training_set.provenance
    names = [*before.get("added", ()), *sorted({sample.cca for sample in added})]
    provenance = {**before, "added": names, "extends": training_set.digest}
    return replace(training_set, samples=both, thresholds=thresholds, provenance=provenance)


def _order(sample: Sample) -> tuple[Any, ...]:
    setting = (sample.setting.bandwidth_mbps, sample.setting.rtt_ms, sample.setting.queue_packets)
    return (*setting, sample.cca, sample.variation.name, sample.seed)


def _counts(sample: Sample) -> list[int]:
    counts: list[int] = np.rint(sample.trace).astype(np.int64).tolist()
    if not 0 <= min(counts) <= max(counts) <= _MAX_BACKLOG:
        allowed = f"whole numbers of packets from 0 to {_MAX_BACKLOG}"
        raise validation.bad("trace", max(counts), allowed, "leave this sample out")
    return counts


def _digest(table: pa.Table) -> str:
    """Return the SHA-256 of the samples in a table, independent of the encoding of its file."""
    traces = table["trace"].combine_chunks()
    parts = [
        repr(table.drop_columns("trace").to_pylist()).encode(),
        repr(traces.value_lengths().to_pylist()).encode(),
        traces.flatten().to_numpy(zero_copy_only=False).tobytes(),
    ]
    return file_digest(b"".join(parts))


def _samples(table: pa.Table) -> tuple[Sample, ...]:
    lists = table["trace"].combine_chunks()
    points = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    ends = np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False))
    names = ("bandwidth_mbps", "rtt_ms", "queue_packets")
    return tuple(
        Sample(
            cca=row["cca"],
            setting=Setting(**{name: row[name] for name in names}),
            variation=Variation(**row["variation"]),
            seed=row["seed"],
            trace=trace,
        )
        for row, trace in zip(
            table.drop_columns("trace").to_pylist(), np.split(points, ends[:-1]), strict=True
        )
    )
