# SPDX-License-Identifier: Apache-2.0
"""How much of a connection a recording shows, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ccbench.classify.occupancy import DURATION_S, STEP_S

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.classify.setting import Setting

__all__ = ["N_CONTEXT", "PER_OCTAVE", "STANDARD", "View", "context"]


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of a connection in a trace, its sampling, and its source.

    Parameters
    ----------
    from_start : bool
        Whether the trace begins with the connection.
    length_s : float
        Length of the trace in seconds.
    step_s : float
        Time between two points in seconds.
    average_s : float
        Time in seconds over which each point is an average; 0 if it is a sample.
    is_estimated : bool
        Whether the recording has the sender's window instead of the queue, so that rate, queue and
        occupancy are estimates.
    """

    from_start: bool = True
    length_s: float = DURATION_S
    step_s: float = STEP_S
    average_s: float = 0.0
    is_estimated: bool = False

    @property
    def is_coarse(self) -> bool:
        """Whether changes within a round-trip time cannot be measured."""
        return self.step_s > STEP_S or self.average_s > 0 or self.is_estimated


#: The view of the first stage, and of servers: all of the first 20 s at the queue.
STANDARD = View()

#: Number of properties of :func:`context`, of which the first is the bandwidth-delay product.
N_CONTEXT = 7
#: Factors by which values are stored in a byte.
PER_OCTAVE = 8.0
_OF_STEP, _OF_AVERAGE = 100.0, 20.0


@cache
def context(setting: Setting, view: View) -> npt.NDArray[np.uint8]:
    """Return the properties of network and view on which measurements depend.

    A network counts by its round-trip time, and by the bandwidth-delay product and the queue in
    packets.

    Returns
    -------
    ndarray of uint8, shape (7,)

    Examples
    --------
    >>> from ccbench.classify.setting import SETTINGS
    >>> context(SETTINGS[0], STANDARD).tolist()
    [41, 135, 51, 20, 2, 0, 1]
    """
    in_path = setting.capacity_packets - setting.queue_packets
    values = (
        PER_OCTAVE * np.log2(max(in_path, 1)),
        128 + PER_OCTAVE * np.log2(setting.queue_packets / max(in_path, 1e-9)),
        PER_OCTAVE * np.log2(max(setting.rtt_ms, 1)),
        view.length_s,
        _OF_STEP * view.step_s,
        _OF_AVERAGE * view.average_s / (setting.rtt_ms / 1e3),
        float(view.from_start) + 2 * float(view.is_estimated),
    )
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
