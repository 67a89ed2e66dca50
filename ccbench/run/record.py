# SPDX-License-Identifier: Apache-2.0
"""The data of a run: its scenario, its tables and its provenance."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.experiment import dynamics
from ccbench.run import tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.queue_summary import QueueSummary

__all__ = ["RunRecord"]

_NO_LINKS = tables.empty(tables.LINK_COLUMNS)
_NO_BATCHES = tables.empty(tables.BATCH_COLUMNS)
_NO_MESSAGES = tables.empty(tables.MESSAGE_COLUMNS)
_NO_CHANGES = tables.empty(tables.CHANGE_COLUMNS)
_NO_STATISTICS = tables.empty(tables.QDISC_COLUMNS)
_NO_CONNECTIONS = tables.empty(tables.CONNECTION_COLUMNS)
_NO_ECN = tables.empty(tables.ECN_COLUMNS)


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRecord:
    """The data of a :class:`~ccbench.run.run.Run`, which describes the attributes."""

    scenario: Scenario
    queue: pd.DataFrame = field(repr=False)
    flows: pd.DataFrame = field(repr=False)
    completions: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]
    links: pd.DataFrame = field(default_factory=lambda: _NO_LINKS, repr=False)
    batches: pd.DataFrame = field(default_factory=lambda: _NO_BATCHES, repr=False)
    messages: pd.DataFrame = field(default_factory=lambda: _NO_MESSAGES, repr=False)
    changes: pd.DataFrame = field(default_factory=lambda: _NO_CHANGES, repr=False)
    connections: pd.DataFrame = field(default_factory=lambda: _NO_CONNECTIONS, repr=False)
    qdiscs: pd.DataFrame = field(default_factory=lambda: _NO_STATISTICS, repr=False)
    ecn: pd.DataFrame = field(default_factory=lambda: _NO_ECN, repr=False)
    queue_summary: QueueSummary | None = None

    def __post_init__(self) -> None:
        for name, required in tables.RUN_TABLES.items():
            optional = tables.CCA_COLUMNS if name == "flows" else None
            columns = tables.with_queue(required, self.queue) if name == "queue" else required
            table = tables.normalised(name, getattr(self, name), columns, optional)
            object.__setattr__(self, name, table)
        completions = self.completions
        if len(completions) != self.scenario.flow_count:
            message = f"completions has {len(completions)} rows, not {self.scenario.flow_count}"
            raise ValueError(message)
        if len(self.ecn) not in {0, self.scenario.flow_count}:
            message = f"ecn has {len(self.ecn)} rows, not {self.scenario.flow_count}"
            raise ValueError(message)
        numbered = completions.set_axis(pd.RangeIndex(len(completions), name="flow"))
        object.__setattr__(self, "completions", numbered)
        if (self.queue_summary is None) == (self.scenario.queue_log == "summary"):
            message = f"queue_summary does not belong to queue_log = {self.scenario.queue_log!r}"
            raise ValueError(message)

    @cached_property
    def actual_scenario(self) -> Scenario:
        """The scenario, with changes after events at the times at which they occurred."""
        if all(change.when is None for change in self.scenario.path.changes):
            return self.scenario
        events = zip(self.changes["change"], self.changes["time_ns"] / 1e9, strict=True)
        return dynamics.with_events(self.scenario, events)
