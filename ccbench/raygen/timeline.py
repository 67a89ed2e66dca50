# SPDX-License-Identifier: Apache-2.0
"""Throughput over time of an experiment, as the figures of a search draw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.harm import HarmResult

if TYPE_CHECKING:
    from ccbench.raygen.objective import Case, Objective
    from ccbench.run.run import Run

__all__ = ["Timeline"]

#: Decimals of rates: bits per second.
_DECIMALS = 6


@dataclass(frozen=True, kw_only=True, eq=False)
class Timeline:
    """Throughput over time of both runs of an experiment, and the harm.

    Attributes
    ----------
    harm : HarmResult
        The harm, of which `relative` is the objective of the search.
    alpha, beta : DataFrame
        Throughput in competition in Mbit/s: a row per second, a column per flow. `beta` has no
        column if alpha is alone.
    alone : DataFrame
        The same of the beta flows alone.
    """

    harm: HarmResult
    alpha: pd.DataFrame
    beta: pd.DataFrame
    alone: pd.DataFrame

    @classmethod
    def of(cls, objective: Objective, case: Case, solo: Run, competing: Run) -> Timeline:
        """Return the timeline of an experiment's runs.

        Raises
        ------
        InputError
            As :meth:`~ccbench.raygen.objective.Objective.measured`.
        """
        harm = objective.measured(case, solo, competing)
        rates = objective.throughputs(solo, competing)
        alpha, beta, alone = (table.round(_DECIMALS) for table in rates)
        return cls(harm=harm, alpha=alpha, beta=beta, alone=alone)

    def to_dict(self) -> dict[str, Any]:
        """Return the timeline as a dictionary of JSON-able values."""
        tables = {name: getattr(self, name) for name in ("alpha", "beta", "alone")}
        return {
            "harm": self.harm.to_dict(),
            **{name: table.T.to_numpy().tolist() for name, table in tables.items()},
            "time_s": self.alone.index.tolist(),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Timeline:
        """Return the timeline of :meth:`to_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not one.
        """
        alpha, beta, alone = (
            pd.DataFrame(dict(enumerate(document[name])), index=document["time_s"])
            for name in ("alpha", "beta", "alone")
        )
        harm = HarmResult(**document["harm"])
        return cls(harm=harm, alpha=alpha, beta=beta, alone=alone)
