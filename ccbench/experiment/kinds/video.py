# SPDX-License-Identifier: Apache-2.0
"""Video over TCP in segments, each at one of several bitrates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.checked_fields import checked
from ccbench.base.validation import RATE_MBPS
from ccbench.experiment.kinds._descriptor import PHASE, Kind, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KIND", "MAX_BITRATES"]

#: Maximum number of bitrates.
MAX_BITRATES = 16


def _bitrates(name: str, value: object) -> tuple[float, ...]:
    rates: tuple[float, ...] = ()
    if isinstance(value, tuple | list):
        rates = tuple(
            validation.number(f"{name}[{i}]", rate, RATE_MBPS, example=5)
            for i, rate in enumerate(value)
        )
    if not 1 <= len(rates) <= MAX_BITRATES or sorted(set(rates)) != list(rates):
        allowed = f"a list of 1 to {MAX_BITRATES} rates in ascending order"
        raise validation.bad(name, value, allowed, "write for example [1, 2.5, 5]")
    return rates


def _check(*, segment_s: float, buffer_s: float, **_: object) -> None:
    if buffer_s < segment_s:
        allowed, step = f"at least segment_s = {segment_s:g}", "hold a whole segment"
        raise validation.bad("buffer_s", buffer_s, allowed, step)


def _guest_fields(
    *, bitrates_mbps: tuple[float, ...], segment_s: float, buffer_s: float
) -> Mapping[str, object]:
    ladder_kbps = [round(mbps * 1e3) for mbps in bitrates_mbps]
    return {
        "segment_ns": nanoseconds(segment_s),
        "buffer_ns": nanoseconds(buffer_s),
        "ladder_kbps": ladder_kbps + [0] * (MAX_BITRATES - len(ladder_kbps)),
    }


KIND = Kind(
    name="video",
    summary="TCP, a player requests segments",
    settings={"bitrates_mbps": checked(_bitrates), "segment_s": PHASE, "buffer_s": PHASE},
    in_real_time=False,
    unreceived={
        "read_mbps": "for kind 'video', whose player reads",
        "optimistic_mbps": "for kind 'video', as lost data are not sent again",
    },
    check=_check,
    guest_fields=_guest_fields,
)
