# SPDX-License-Identifier: Apache-2.0
"""TCP flows of a given size, single ones and lists of short flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.checked_fields import whole
from ccbench.base.validation import Range
from ccbench.experiment.kinds._descriptor import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KIND"]


def _guest_fields(*, size_bytes: int | None) -> Mapping[str, object]:
    return {"size_bytes": size_bytes or 0}  # a list of flows has other sizes


KIND = Kind(
    name="bytes",
    summary="TCP, size_bytes of data",
    settings={"size_bytes": whole(Range(1, 2**53), example=100_000)},
    has_size=True,
    has_subflows=True,
    unreceived={"optimistic_mbps": "for kind 'bytes', as lost data are not sent again"},
    guest_fields=_guest_fields,
)
