# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the results of a kind of flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["OutcomeColumn", "OutcomeTable"]


@dataclass(frozen=True)
class OutcomeColumn:
    """A column of numbers.

    Parameters
    ----------
    name : str
        Name in the table.
    heading : str
        Heading when it is printed, with the unit on a second line.
    form : str
        Format of its numbers.
    """

    name: str
    heading: str
    form: str


@dataclass(frozen=True, kw_only=True)
class OutcomeTable:
    """The results of flows of some kind, with a row for each group of flows.

    Parameters
    ----------
    name : str
        Name of the table.
    kind : str
        The kind of flow.
    columns : tuple of OutcomeColumn
        Columns after the label of the group.
    of_group : callable
        Returns the numbers of a group: its run and its rows of the scenario's flow table.
    remarks : callable
        Returns sentences about the tables of one or several repetitions.
    """

    name: str
    kind: str
    columns: tuple[OutcomeColumn, ...]
    of_group: Callable[[RunRecord, pd.DataFrame], dict[str, float]]
    remarks: Callable[[Sequence[pd.DataFrame]], Iterator[str]]

    def is_in(self, run: RunRecord) -> bool:
        """Return whether a run has such flows."""
        return any(flow.kind == self.kind for flow in run.scenario.split_flows)

    def table(self, run: RunRecord) -> pd.DataFrame:
        """Return the results of a run.

        Returns
        -------
        DataFrame
            Index ``flows``, the numbers of the group's flows, such as ``"0"`` or ``"1 to 4"``;
            columns ``label`` and those of `columns`.
        """
        import pandas as pd  # noqa: PLC0415 - not needed for runs without such flows

        flows = run.scenario.flow_table()
        own = flows[flows["kind"] == self.kind]
        rows = [
            {"flows": _numbers(rows.index), "label": rows["label"].iloc[0]}
            | self.of_group(run, rows)
            for _, rows in own.groupby("group")
        ]
        names = ["flows", "label", *(column.name for column in self.columns)]
        return pd.DataFrame(rows, columns=names).set_index("flows")


def _numbers(flows: pd.Index[int]) -> str:
    first, last = flows[0], flows[-1]
    return f"{first}" if first == last else f"{first} to {last}"
