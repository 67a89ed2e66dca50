# SPDX-License-Identifier: Apache-2.0
"""The table of what traces tell of congestion controls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ccbench.cli._console import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["print_traces"]


def print_traces(traces: Sequence[Mapping[str, Any]], *, first: str = "") -> None:
    """Print what traces tell, a row each; those that tell nothing only have a setting.

    Parameters
    ----------
    traces : sequence of mapping
        As of :meth:`ccbench.classify.verdict.TraceVerdict.to_dict`, and what `first` names.
    first : str
        What to begin with.
    """

    def packets(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    columns = [
        *("setting", "vote", "nearest\npackets", "", "second\npackets", "", "limit\npackets"),
    ]
    print_table(
        [*([first] if first else []), *columns],
        [
            [
                *([str(one[first])] if first else []),
                one["setting"],
                one["label"] or "-",
                packets(one["distance"]),
                one["nearest"] or "",
                packets(one["second_distance"]),
                one["second"] or "",
                packets(one["threshold"]),
            ]
            for one in traces
        ],
    )
