# SPDX-License-Identifier: Apache-2.0
"""A training set: traces whose CCAs are known, and thresholds, in one file."""

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
from ccbench.classify.threshold import Threshold, choose_threshold, chosen_before
from ccbench.classify.training import Sample, Variation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["PACKAGED", "TrainingSet", "extended", "train"]

#: Changes when older ccbenchs could not read the file, or would misread it.
_FORMAT = 2
_KEY = b"ccbench training set"
_LARGEST_BACKLOG = 2**16 - 1

#: The training set that comes with ccbench: `ccbench classify-train` has made it.
PACKAGED = Path(__file__).with_name("training.parquet")


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingSet:
    """What servers are compared with.

    Parameters
    ----------
    samples : tuple of Sample
        The traces.
    thresholds : mapping of Setting to Threshold
        For each setting that there are samples of.
    provenance : mapping
        JSON-able values that say what made it.

    Examples
    --------
    >>> known = TrainingSet.load(PACKAGED)
    >>> known.classifier(known.settings[0]).predict([[0.0] * 1000]).tolist()
    ['unknown']
    """

    samples: tuple[Sample, ...] = field(repr=False)
    thresholds: Mapping[Setting, Threshold]
    provenance: Mapping[str, Any]

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that there are samples of, in the order of the samples."""
        return tuple(dict.fromkeys(sample.setting for sample in self.samples))

    @cached_property
    def ccas(self) -> tuple[str, ...]:
        """The CCAs that it knows, in the order of the alphabet."""
        return tuple(sorted({sample.cca for sample in self.samples}))

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits for the traces, their labels and the limits."""
        parts = hashlib.sha256()
        for sample in self.samples:
            parts.update(f"{sample.cca} {sample.setting.name} ".encode())
            parts.update(sample.trace.tobytes())
        limits = [(one.name, dict(limit.limits)) for one, limit in self.thresholds.items()]
        parts.update(repr(limits).encode())
        return parts.hexdigest()[:16]

    def samples_of(self, setting: Setting) -> list[Sample]:
        """Return the samples of a setting.

        Raises
        ------
        InputError
            If there are no samples of it.
        """
        own = [sample for sample in self.samples if sample.setting == setting]
        if not own:
            names = ", ".join(known.name for known in self.settings)
            step = "choose one of these, or train for it"
            raise validation.bad("setting", setting.name, f"one of {names}", step)
        return own

    def classifier(self, setting: Setting) -> CCAClassifier:
        """Return the classifier of a setting.

        Raises
        ------
        InputError
            If there are no samples of it.
        """
        own = self.samples_of(setting)
        classifier = CCAClassifier(thresholds=self.thresholds[setting].limits)
        return classifier.fit([one.trace for one in own], [one.cca for one in own])

    def save(self, path: Path) -> None:
        """Write it, to one Parquet file with a row for each sample."""
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
                table, temporary, compression="zstd", compression_level=19, use_dictionary=["cca"]
            )

    @classmethod
    def load(cls, path: Path) -> TrainingSet:
        """Read one.

        Raises
        ------
        InputError
            If the file is none.
        """
        try:
            table = pq.read_table(path, use_threads=False, pre_buffer=False)
            about = unsealed((table.schema.metadata or {})[_KEY])
            if about["format"] != _FORMAT:
                message = f"a file of format {_FORMAT}"
                raise validation.bad(str(path), about["format"], message, "make it again")
            if _digest(table) != about["samples"]:
                raise ChangedError("its samples were changed")
            with validation.within(f"training set {path}: "):
                return cls(
                    samples=tuple(_sample(row) for row in table.to_pylist()),
                    thresholds={
                        Setting(**one["setting"]): Threshold(**one["threshold"])
                        for one in about["thresholds"]
                    },
                    provenance=about["provenance"],
                )
        except InputError:
            raise
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            step = f"name a file that a training set was saved to ({error})"
            raise validation.bad("training set", str(path), "one of ccbench", step) from error


def train(
    samples: Iterable[Sample], tested: Iterable[Sample], provenance: Mapping[str, Any]
) -> TrainingSet:
    """Make a training set: choose the thresholds.

    Parameters
    ----------
    samples : iterable of Sample
        What is to be known.
    tested : iterable of Sample
        Others of the same CCAs and settings, by which the thresholds are chosen.
    provenance : mapping
        What made the samples.
    """
    # In one order, whatever the order is in which they were made.
    samples = tuple(sorted(samples, key=_order))
    others = sorted(tested, key=_order)
    known = TrainingSet(samples=samples, thresholds={}, provenance=provenance)
    thresholds = {}
    for setting in known.settings:
        own, apart = ([x for x in some if x.setting == setting] for some in (samples, others))
        thresholds[setting] = choose_threshold(
            [x.trace for x in own],
            [x.cca for x in own],
            [x.trace for x in apart],
            [x.cca for x in apart],
        )
    return replace(known, thresholds=thresholds)


def extended(known: TrainingSet, samples: Iterable[Sample]) -> TrainingSet:
    """Return a training set that knows more: other CCAs, or more of those that it has.

    The quantiles stay; the limits are found again where there are new samples. The provenance says
    what was ``added``, and the digest of the set that this ``extends``.

    Parameters
    ----------
    known : TrainingSet
        What is known.
    samples : iterable of Sample
        What is to be known besides, of settings that it has.

    Raises
    ------
    InputError
        If it has no samples of a setting.

    Examples
    --------
    >>> known = TrainingSet.load(PACKAGED)
    >>> one = replace(known.samples[0], cca="mine")
    >>> "mine" in extended(known, [one]).ccas
    True
    """
    added = tuple(samples)
    for setting in {sample.setting for sample in added}:
        known.samples_of(setting)
    both = tuple(sorted((*known.samples, *added), key=_order))
    thresholds = dict(known.thresholds)
    for setting in {sample.setting for sample in added}:
        own = [one for one in both if one.setting == setting]
        thresholds[setting] = chosen_before(
            thresholds[setting], [one.trace for one in own], [one.cca for one in own]
        )
    named = [*known.provenance.get("added", ()), *sorted({sample.cca for sample in added})]
    provenance = {**known.provenance, "added": named, "extends": known.digest}
    return replace(known, samples=both, thresholds=thresholds, provenance=provenance)


def _order(sample: Sample) -> tuple[Any, ...]:
    where = (sample.setting.bandwidth_mbps, sample.setting.rtt_ms, sample.setting.queue_packets)
    return (*where, sample.cca, sample.variation.name, sample.seed)


def _counts(sample: Sample) -> list[int]:
    counts: list[int] = np.rint(sample.trace).astype(np.int64).tolist()
    if not 0 <= min(counts) <= max(counts) <= _LARGEST_BACKLOG:
        allowed = f"whole numbers of packets from 0 to {_LARGEST_BACKLOG}"
        raise validation.bad("trace", max(counts), allowed, "leave this sample out")
    return counts


def _digest(table: pa.Table) -> str:
    """Return the SHA-256 of the samples in a table, however its file has them."""
    traces = table["trace"].combine_chunks()
    parts = [
        repr(table.drop_columns("trace").to_pylist()).encode(),
        repr(traces.value_lengths().to_pylist()).encode(),
        traces.flatten().to_numpy(zero_copy_only=False).tobytes(),
    ]
    return file_digest(b"".join(parts))


def _sample(row: dict[str, Any]) -> Sample:
    names = ("bandwidth_mbps", "rtt_ms", "queue_packets")
    return Sample(
        cca=row["cca"],
        setting=Setting(**{name: row[name] for name in names}),
        variation=Variation(**row["variation"]),
        seed=row["seed"],
        trace=np.asarray(row["trace"], dtype=np.float32),
    )
