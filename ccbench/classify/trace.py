# SPDX-License-Identifier: Apache-2.0
"""A trace of a bottleneck's queue, by which the CCA of its sender is identified."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ccbench.classify.view import STANDARD, View

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.classify.setting import Setting

__all__ = ["QueueTrace"]


def _none() -> npt.NDArray[np.uint8]:
    return np.zeros(0, dtype=np.uint8)


@dataclass(frozen=True, kw_only=True, eq=False)
class QueueTrace:
    """The occupancy of a queue over time, and the reactions of its sender.

    Parameters
    ----------
    setting : Setting
        The bottleneck.
    points : ndarray, shape (n_points,)
        Packets in the queue, of :func:`~ccbench.classify.occupancy.occupancy`.
    measured : ndarray of uint8, shape (n_measurements,)
        The measurements of :func:`~ccbench.classify.measurements.measured_events`; empty if there
        are none.
    view : View
        How the recording shows the connection.
    later : tuple of ndarray
        The measurements of later parts of the same connection, in the same view.
    """

    setting: Setting
    points: npt.NDArray[np.float32]
    measured: npt.NDArray[np.uint8] = field(default_factory=_none)
    view: View = STANDARD
    later: tuple[npt.NDArray[np.uint8], ...] = ()
