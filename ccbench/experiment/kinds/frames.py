# SPDX-License-Identifier: Apache-2.0
"""UDP flows of frames of a video or a call, whose packets leave at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import number_tables, validation
from ccbench.base.checked_fields import checked, document_form, number
from ccbench.base.validation import Range
from ccbench.experiment.kinds._descriptor import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["KIND"]

#: Maximum number of sizes of frames that repeat.
_MAX_FRAMES = 100_000
_FRAME = Range(1, 10_000_000)


def _sizes(name: str, value: object) -> tuple[int, ...]:
    """Check the sizes of successive frames, or the one size of all."""
    sizes = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(sizes) <= _MAX_FRAMES:
        step = f"write for example {name} = 12_000"
        raise validation.bad(name, len(sizes), f"a size, or 1 to {_MAX_FRAMES} sizes", step)
    if len(sizes) == 1:
        return (validation.whole(name, sizes[0], _FRAME, example=12_000),)
    return tuple(
        validation.whole(f"{name}[{i}]", size, _FRAME, example=12_000)
        for i, size in enumerate(sizes)
    )


def _read_sizes(name: str, value: object, base_dir: Path) -> object:
    return number_tables.column(value, base_dir, "frames", name, int)


def _written_sizes(sizes: tuple[int, ...]) -> int | list[int]:
    return list(sizes) if len(sizes) > 1 else sizes[0]


def _guest_fields(*, frames_per_s: float, frame_bytes: tuple[int, ...]) -> Mapping[str, object]:
    return {"frame_uhz": round(frames_per_s * 1e6), "frames": len(frame_bytes)}


KIND = Kind(
    name="frames",
    summary="UDP, all packets of a frame at once, frames_per_s",
    settings={
        "frames_per_s": number(Range(0.001, 100_000), example=30),
        "frame_bytes": {
            **checked(_sizes),
            **document_form(read=_read_sizes, write=_written_sizes),
        },
    },
    is_udp=True,
    in_real_time=False,
    guest_fields=_guest_fields,
)
