# SPDX-License-Identifier: Apache-2.0
"""Barycentres: averages of traces under dynamic time warping.

The mean of traces that are shifted in time shows none of their features. DTW barycentre averaging
(DBA) aligns all traces with the average before it takes the mean of each point, repeatedly. Its
distance is the sum of the squares of differences along the warping path, whose minimum the mean is;
that of :mod:`.dtw` is the sum of absolute differences. The computation is tslearn's.

References
----------
F. Petitjean, A. Ketterlin and P. Gançarski, "A global averaging method for dynamic time warping,
with applications to clustering", Pattern Recognition 44(3), 2011.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base.cores import cores
from ccbench.base.errors import MissingRequirement
from ccbench.classify import dtw
from ccbench.classify.occupancy import STEP_S

if TYPE_CHECKING:
    import numpy.typing as npt

    from ccbench.classify.dtw import Many

__all__ = ["barycentre"]

#: Number of alignments. Further ones change the summed distance by less than 1 %.
_ROUNDS = 10
#: Maximum time between two matched points, in points: a second.
_WINDOW = round(1 / STEP_S)


def barycentre(traces: Many) -> npt.NDArray[np.float64]:
    """Return the barycentre of traces.

    The iteration starts from the medoid and never increases the sum of the squared distances, so
    that the barycentre is at most as far from the traces as the medoid.

    Parameters
    ----------
    traces : sequence of array_like of shape (n_points,), or one array of rows
        The traces, in packets at equal intervals; lengths may differ. Points are matched if at most
        50 points, a second of a queue's trace, are between them.

    Returns
    -------
    ndarray, shape (n_points,)
        As long as the medoid.

    Raises
    ------
    InputError
        If there are no traces, or one is empty.
    MissingRequirement
        If tslearn is not installed.

    Examples
    --------
    >>> barycentre([[0, 4, 0, 0, 0], [0, 0, 4, 0, 0], [0, 0, 0, 4, 0]]).tolist()
    [0.0, 4.0, 0.0, 0.0, 0.0]
    """
    medoid = int(dtw.pairwise(traces).sum(axis=1).argmin())
    points = [np.asarray(trace, dtype=np.float64)[:, None] for trace in traces]
    with warnings.catch_warnings():
        # At import, of a library for files; and that rounding may increase the sum at its minimum.
        warnings.filterwarnings("ignore", message="h5py not installed|DBA loss is increasing")
        try:
            from tslearn.barycenters import (  # noqa: PLC0415 - slow extra
                dtw_barycenter_averaging_petitjean,  # takes a tenth of the memory
            )
        except ImportError:
            message = "barycentres need tslearn, which is not installed"
            raise MissingRequirement(f"{message}: pip install 'ccbench[barycentres]'") from None
        result = dtw_barycenter_averaging_petitjean(
            points,
            init_barycenter=points[medoid],
            max_iter=_ROUNDS,
            metric_params={"sakoe_chiba_radius": _WINDOW},
            n_jobs=cores(),
        )
    return np.asarray(result)[:, 0]
