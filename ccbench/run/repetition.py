# SPDX-License-Identifier: Apache-2.0
"""Repetitions of a scenario with several seeds; medians and confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import InputError
from ccbench.base.estimate import Estimate
from ccbench.base.random_streams import repetition_seeds
from ccbench.run import run_files

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "SETTINGS",
    "RepeatedRun",
    "Repetition",
    "check_folder",
    "estimates",
    "folders",
    "records",
    "repetitions",
]

#: Columns that contain settings of a scenario, not results.
SETTINGS = frozenset({"bandwidth_mbps", "queue_packets", "transfers", "size_bytes", "videos"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Repetition:
    """The results of one run, without its tables.

    Attributes
    ----------
    seed : int
    flows, bottlenecks, queues : DataFrame
        :meth:`Run.summary <ccbench.run.run.Run.summary>`,
        :meth:`Run.bottleneck_summary <ccbench.run.run.Run.bottleneck_summary>` and
        :meth:`Run.l4s_summary <ccbench.run.run.Run.l4s_summary>`.
    outcomes : dict of DataFrame
        :meth:`Run.outcomes <ccbench.run.run.Run.outcomes>`.
    is_exact : bool
        :attr:`Run.is_exact <ccbench.run.run.Run.is_exact>`
    provenance : mapping
    """

    seed: int
    flows: pd.DataFrame
    bottlenecks: pd.DataFrame
    queues: pd.DataFrame
    outcomes: dict[str, pd.DataFrame]
    is_exact: bool
    provenance: Mapping[str, Any]

    @classmethod
    def of(cls, run: Run) -> Repetition:
        """Return the results of a run."""
        return cls(
            seed=run.scenario.seed,
            flows=run.summary(),
            bottlenecks=run.bottleneck_summary(),
            queues=run.l4s_summary(),
            outcomes=run.outcomes(),
            is_exact=run.is_exact,
            provenance=run.provenance,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RepeatedRun:
    """Several runs of a scenario with different seeds.

    Attributes
    ----------
    scenario : Scenario
        The scenario with the seed of the first repetition.
    repetitions : tuple of Repetition
        In the order of :func:`repetitions`.
    """

    scenario: Scenario
    repetitions: tuple[Repetition, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every seed gives this result, so that there is no interval."""
        return all(run.is_exact for run in self.repetitions)

    def estimates(self, table: Callable[[Repetition], pd.DataFrame]) -> pd.DataFrame:
        """Return a table of Estimates over all repetitions; text and settings are unchanged.

        Parameters
        ----------
        table : callable
            Returns the table of a repetition.

        Examples
        --------
        >>> repeated = emulate.repeat(scenario, 2)  # doctest: +SKIP
        >>> repeated.estimates(lambda run: run.flows)["throughput_mbps"]  # doctest: +SKIP
        """
        distinct = self.repetitions[:1] if self.is_exact else self.repetitions
        return estimates(table(repetition) for repetition in distinct)

    def outcomes(self) -> dict[str, pd.DataFrame]:
        """Return Estimates of the tables of outcomes that have rows."""
        distinct = self.repetitions[:1] if self.is_exact else self.repetitions
        return {
            name: estimates(repetition.outcomes[name] for repetition in distinct)
            for name, table in self.repetitions[0].outcomes.items()
            if len(table)
        }

    @cached_property
    def doubts(self) -> dict[Hashable, str]:
        """Why the repetitions hardly support intervals of a flow's throughput, by flow."""
        if self.is_exact:
            return {}
        flows = self.estimates(lambda repetition: repetition.flows)["throughput_mbps"]
        return {flow: e.doubt for flow, e in flows.items() if e.doubt}

    def to_dict(self) -> dict[str, Any]:
        """Return medians, intervals and single values as a dictionary, JSON-able except for NaN."""
        return {
            "scenario": self.scenario.to_dict(),
            "repetitions": len(self.repetitions),
            "exact": self.is_exact,
            "doubts": [f"flow {flow}: {doubt}" for flow, doubt in self.doubts.items()],
            "flows": records(self.estimates(lambda repetition: repetition.flows)),
            "bottlenecks": records(self.estimates(lambda repetition: repetition.bottlenecks)),
            "queues": records(self.estimates(lambda repetition: repetition.queues)),
            **{name: records(table) for name, table in self.outcomes().items()},
            "runs": [
                {
                    "seed": repetition.seed,
                    "flows": repetition.flows.reset_index().to_dict("records"),
                    "bottlenecks": repetition.bottlenecks.reset_index().to_dict("records"),
                    "queues": repetition.queues.reset_index().to_dict("records"),
                    **{
                        name: table.reset_index().to_dict("records")
                        for name, table in repetition.outcomes.items()
                        if len(table)
                    },
                }
                for repetition in self.repetitions
            ],
            "provenance": dict(self.repetitions[0].provenance),
        }


def repetitions(scenario: Scenario, count: int) -> tuple[Scenario, ...]:
    """Return copies of a scenario with `count` seeds, the first of which is its own.

    Raises
    ------
    InputError
        If `count` is below 1.

    Examples
    --------
    >>> from ccbench import Scenario
    >>> scenario = Scenario.load("examples/bbr-vs-cubic.toml")
    >>> [repetition.seed for repetition in repetitions(scenario, 2)][0]
    1
    """
    return tuple(replace(scenario, seed=seed) for seed in repetition_seeds(scenario.seed, count))


def estimates(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return a table of Estimates over several tables of the same shape.

    Columns of text and of settings (:data:`SETTINGS`) are those of the first table.

    Examples
    --------
    >>> import pandas as pd
    >>> tables = [pd.DataFrame({"cca": ["bbr"], "mbps": [mbps]}) for mbps in (4.0, 5.0, 6.0)]
    >>> print(estimates(tables).loc[0, "mbps"])
    5.000 (2.516 to 7.484)
    """
    import pandas as pd  # noqa: PLC0415 - not needed for a single run

    tables = tuple(tables)
    table = tables[0].astype(object)
    for column in table:
        if column not in SETTINGS and pd.api.types.is_numeric_dtype(tables[0][column]):
            rows = zip(*(frame[column].astype(float) for frame in tables), strict=True)
            medians = [Estimate(row, of="median") for row in rows]
            table[column] = pd.Series(medians, index=table.index, dtype=object)
    return table


def folders(folder: Path, count: int) -> list[Path]:
    """Return the subfolder of each repetition."""
    return [folder / f"repetition-{i}" for i in range(1, count + 1)]


def check_folder(folder: Path, count: int) -> None:
    """Check that `count` repetitions can be saved in a folder: to be called before a long run.

    Raises
    ------
    InputError
        If the folder is a file, contains anything but such repetitions, or is not writable.
    """
    subfolders = folders(folder, count)
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if others := sorted(names - {path.name for path in subfolders}):
        message = f"{folder} contains {others[0]}, which {count} repetitions would not replace"
        raise InputError(f"{message}: name another folder")
    for path in subfolders:
        run_files.check_folder(path)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table of Estimates, with the median and interval of each number."""
    rows = []
    for row in table.reset_index().to_dict("records"):
        record: dict[str, Any] = {}
        for name, value in row.items():
            if isinstance(value, Estimate):
                ends = {f"{name}_low": value.low, f"{name}_high": value.high}
                record |= {str(name): value.value, **ends}
            else:
                record[str(name)] = value
        rows.append(record)
    return rows
