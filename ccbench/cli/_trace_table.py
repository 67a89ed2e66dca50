# SPDX-License-Identifier: Apache-2.0
"""Table of the verdicts of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.cli._console import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["print_traces"]


def print_traces(traces: Sequence[Mapping[str, Any]], *, first: str = "") -> None:
    """Print a row for each trace; a trace without a verdict only shows its setting.

    Parameters
    ----------
    traces : sequence of mapping
        Fields of :meth:`ccbench.classify.verdict.TraceVerdict.to_dict`, and the field `first`.
    first : str
        Name of an additional first column.
    """

    def packets(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    distance = "distance\npackets"
    columns = ("setting", "vote", "nearest", distance, "second", distance, "limit\npackets")
    print_table(
        [*([first] if first else []), *columns],
        [
            [
                *([str(trace[first])] if first else []),
                trace["setting"],
                trace["label"] or "-",
                trace["nearest"] or "-",
                packets(trace["distance"]),
                trace["second"] or "-",
                packets(trace["second_distance"]),
                packets(trace["threshold"]),
            ]
            for trace in traces
        ],
    )
