# SPDX-License-Identifier: Apache-2.0
"""Playback of videos: flows of kind ``"video"``.

Playback starts when the first segment has arrived. It stalls when the buffer is empty, until the
next segment has arrived or the flow stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.run.intervals import NS
from ccbench.run.outcomes._outcome import Column, Outcome

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
        "segments": len(segments),
        "bitrate_mbps": (segments["size_bytes"] * 8e-6 / segment_s).mean(),
        "startup_s": ((firsts - starts) / NS).mean(),
        "stalls": len(stalls),
        "stalled_s": float(sum(stalls)),
    }


def _remarks(_: Sequence[pd.DataFrame]) -> Iterator[str]:
    yield from ()


VIDEOS = Outcome(
    name="videos",
    kind="video",
    columns=(
        Column("segments", "segments", ".4g"),
        Column("bitrate_mbps", "mean bitrate\nMbit/s", ".2f"),
        Column("startup_s", "start-up\ns", ".2f"),
        Column("stalls", "stalls", ".4g"),
        Column("stalled_s", "stalled\ns", ".2f"),
    ),
    of_group=_of_group,
    remarks=_remarks,
)
