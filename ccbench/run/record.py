# SPDX-License-Identifier: Apache-2.0
"""The data of a run: its scenario, its tables and its provenance."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ccbench.experiment import dynamics
from ccbench.run import tables
from ccbench.run.stored_tables import Arrays, TableHolder

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from typing_extensions import Self

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.queue_summary import QueueSummary

__all__ = ["RunRecord"]


def _no_rows(table: str) -> Any:
    """Return a table without rows, in place of one that a run lacks."""
    return Arrays(tables.no_rows(tables.RUN_TABLES[table]))


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRecord(TableHolder):
    """The data of a :class:`~ccbench.run.run.Run`, which describes the attributes."""

    scenario: Scenario
    queue: pd.DataFrame = field(repr=False)
    flows: pd.DataFrame = field(repr=False)
    completions: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]
    links: pd.DataFrame = field(default_factory=partial(_no_rows, "links"), repr=False)
    batches: pd.DataFrame = field(default_factory=partial(_no_rows, "batches"), repr=False)
    messages: pd.DataFrame = field(default_factory=partial(_no_rows, "messages"), repr=False)
    changes: pd.DataFrame = field(default_factory=partial(_no_rows, "changes"), repr=False)
    connections: pd.DataFrame = field(default_factory=partial(_no_rows, "connections"), repr=False)
    qdiscs: pd.DataFrame = field(default_factory=partial(_no_rows, "qdiscs"), repr=False)
    ecn: pd.DataFrame = field(default_factory=partial(_no_rows, "ecn"), repr=False)
    programs: pd.DataFrame = field(default_factory=partial(_no_rows, "programs"), repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    queue_summary: QueueSummary | None = None

    def __post_init__(self) -> None:
        for name, required in tables.RUN_TABLES.items():
            given = self.__dict__[name]
            names = given.names() if hasattr(given, "frame") else given
            columns = tables.with_queue(required, names) if name == "queue" else required
            self._hold(name, columns, tables.CCA_COLUMNS if name == "flows" else None)
        if "completions" in self.__dict__:
            numbered = self.__dict__["completions"].reset_index(drop=True).rename_axis("flow")
            object.__setattr__(self, "completions", numbered)
        for name, counts in (("completions", ()), ("ecn", (0,))):
            count = len(self.stored(name))
            if count not in {*counts, self.scenario.flow_count}:
                message = f"{name} has {count} rows, not {self.scenario.flow_count}"
                raise ValueError(message)
        if (self.queue_summary is None) == (self.scenario.queue_log == "summary"):
            message = f"queue_summary does not belong to queue_log = {self.scenario.queue_log!r}"
            raise ValueError(message)

    def named_as(self, scenario: Scenario) -> Self:
        """Return this run with a scenario that differs from its own in names and labels only."""
        named = copy(self)
        object.__setattr__(named, "scenario", scenario)
        named.__dict__.pop("actual_scenario", None)
        return named

    def packed(self) -> Self:
        """Return this run with its tables encoded as in its folder, and no DataFrames.

        It is faster to send to another process and to store.
        """
        summary = self.queue_summary
        packed = self.packed_tables(tables.RUN_TABLES)
        if summary is not None:
            encoded = summary.packed_tables(tables.SUMMARY_TABLES)
            object.__setattr__(packed, "queue_summary", encoded)
        return packed

    @cached_property
    def actual_scenario(self) -> Scenario:
        """The scenario, with changes after events at the times at which they occurred."""
        if all(change.when is None for change in self.scenario.path.changes):
            return self.scenario
        times_ns, numbers = self.columns("changes", "time_ns", "change")
        events = zip(numbers, times_ns / 1e9, strict=True)
        return dynamics.with_events(self.scenario, events)

    def _framed(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        required = tables.RUN_TABLES[name]
        columns = tables.with_queue(required, frame) if name == "queue" else required
        optional = tables.CCA_COLUMNS if name == "flows" else None
        result = tables.normalised(name, frame, columns, optional)
        return result.rename_axis("flow") if name == "completions" else result
