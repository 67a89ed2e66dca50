# SPDX-License-Identifier: Apache-2.0
"""TCP flows that alternate between unlimited data and silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.experiment.kinds._descriptor import PHASE, Kind, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KIND"]


def _guest_fields(*, on_s: float, off_s: float) -> Mapping[str, object]:
    return {"on_ns": nanoseconds(on_s), "off_ns": nanoseconds(off_s)}


KIND = Kind(
    name="onoff",
    summary="TCP, alternately bulk for on_s and silent for off_s",
    settings={"on_s": PHASE, "off_s": PHASE},
    has_subflows=True,
    guest_fields=_guest_fields,
)
