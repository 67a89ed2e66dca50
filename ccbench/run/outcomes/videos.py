# SPDX-License-Identifier: Apache-2.0
"""Playback of videos: flows of kind ``"video"``.

Playback starts when the first segment has arrived. It stalls when the buffer is empty, until the
next segment has arrived or the flow stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.run.intervals import NS
from ccbench.run.outcomes._outcome import OutcomeColumn, OutcomeTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from ccbench.run.record import RunRecord

__all__ = ["VIDEOS", "stalls_s"]


def stalls_s(arrivals_s: Sequence[float], *, segment_s: float, stop_s: float) -> list[float]:
    """Return the length of each stall of a playback in seconds.

    Parameters
    ----------
    arrivals_s : sequence of float
        Times at which segments have arrived, in order.
    segment_s : float
        Playing time of a segment.
    stop_s : float
        End of the playback.

    Examples
    --------
    The third segment arrives half a second after the second has been played, and the fourth never:

    >>> stalls_s([1, 2, 5.5], segment_s=2, stop_s=9)
    [0.5, 1.5]
    """
    stalls = []
    played_out_s = arrivals_s[0] if arrivals_s else stop_s
    for arrival_s in [*arrivals_s, stop_s]:
        if arrival_s > played_out_s:
            stalls.append(arrival_s - played_out_s)
        played_out_s = max(played_out_s, arrival_s) + segment_s
    return stalls


def _of_group(run: RunRecord, flows: pd.DataFrame) -> dict[str, float]:
    segment_s = run.scenario.flows[int(flows["group"].iloc[0])].segment_s
    assert segment_s is not None  # of every video
    segments = run.messages[run.messages["flow"].isin(flows.index)]
    firsts = segments.groupby("flow")["end_ns"].min()
    starts = run.completions["start_ns"].reindex(firsts.index)
    stalls = [
        stall_s
        for flow, stop_s in flows["stop_s"].items()
        for stall_s in stalls_s(
            (segments.loc[segments["flow"] == flow, "end_ns"] / NS).tolist(),
            segment_s=segment_s,
            stop_s=stop_s,
        )
    ]
    return {
        "videos": len(flows),
        "started": len(firsts),
        "segments": len(segments),
        "bitrate_mbps": (segments["size_bytes"] * 8e-6 / segment_s).mean(),
        "startup_s": ((firsts - starts) / NS).mean(),
        "stalls": len(stalls),
        "stalled_s": float(sum(stalls)),
    }


def _remarks(tables: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Yield a sentence for each group of which a playback did not start."""
    for i, flows in enumerate(tables[0].index):
        rows = [table.iloc[i] for table in tables]
        count = int(rows[0]["videos"])
        missing = [count - int(row["started"]) for row in rows]
        if not any(missing):
            continue
        name = f"flow{'' if count == 1 else 's'} {flows}"
        if len(rows) > 1:
            failed = sum(n > 0 for n in missing)
            yield f"{name}: playback did not start in {failed} of {len(rows)} runs"
        else:
            part = "" if count == 1 else f" of {missing[0]} of {count}"
            yield f"{name}: playback{part} did not start"


VIDEOS = OutcomeTable(
    name="videos",
    kind="video",
    columns=(
        OutcomeColumn("videos", "videos", ".0f"),
        OutcomeColumn("started", "started", ".4g"),
        OutcomeColumn("segments", "segments", ".4g"),
        OutcomeColumn("bitrate_mbps", "mean bitrate\nMbit/s", ".2f"),
        OutcomeColumn("startup_s", "start-up\ns", ".2f"),
        OutcomeColumn("stalls", "stalls", ".4g"),
        OutcomeColumn("stalled_s", "stalled\ns", ".2f"),
    ),
    of_group=_of_group,
    remarks=_remarks,
)
