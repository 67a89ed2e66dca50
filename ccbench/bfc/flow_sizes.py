# SPDX-License-Identifier: Apache-2.0
"""Distributions of flow sizes that were measured in data centres.

============= =======================================================================
``google``    all applications of a Google data centre: workload W3 of Homa's paper
``facebook``  a Hadoop cluster of Facebook: W4 there; Roy et al., SIGCOMM 2015
``websearch`` web search at Microsoft; Alizadeh et al. (DCTCP), SIGCOMM 2010
============= =======================================================================

``google`` is as BFC's authors have it (prateshg/BFC_NS3_NSDI2022): W3 with its smallest flows, a
third, taken for 101 to 110 bytes. Its points are known at powers of two; between these, the
reciprocal of the size is uniform. The file named Google_AllRPC in the simulator of Homa's authors
is another one: half of its flows have up to 4 bytes. The points of ``facebook`` are from that
simulator (PlatformLab/HomaSimulation); those of ``websearch`` are in use since DCTCP, here from
HPCC's. Between two points of a file sizes are equally likely.

References
----------
B. Montazeri et al., "Homa", SIGCOMM 2018, figure 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from ccbench import _validate

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["NAMES", "FlowSizes", "get"]

#: Names of the distributions.
NAMES = ("google", "facebook", "websearch")


@dataclass(frozen=True, eq=False)
class FlowSizes:
    """A distribution of flow sizes.

    Parameters
    ----------
    size_bytes : ndarray, shape (n,)
        Sizes in ascending order.
    cdf : ndarray, shape (n,)
        The share of flows up to each size; the last is 1.
    """

    size_bytes: npt.NDArray[np.float64]
    cdf: npt.NDArray[np.float64]

    def at(self, share: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the sizes up to which shares of the flows are, at least 1 byte.

        Examples
        --------
        >>> get("websearch").at(np.array([0.0, 0.15, 0.4])).tolist()
        [1, 10000, 50000]
        """
        sizes = np.interp(share, self.cdf, self.size_bytes)
        return np.maximum(np.rint(sizes), 1).astype(np.int64)

    @property
    def mean_bytes(self) -> float:
        """The mean size.

        Examples
        --------
        >>> round(get("websearch").mean_bytes)
        1711250
        """
        shares = np.diff(self.cdf, prepend=0.0)
        middles = np.append(self.size_bytes[0], (self.size_bytes[1:] + self.size_bytes[:-1]) / 2)
        return float(shares @ middles)


@cache
def get(name: str) -> FlowSizes:
    """Return a distribution by its name in :data:`NAMES`.

    Raises
    ------
    InputError
        If there is none of that name.
    """
    _validate.one_of("sizes", name, NAMES)
    text = (resources.files("ccbench.bfc") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    points = np.array([line.split(",") for line in text.splitlines()[1:]], dtype=float)
    return FlowSizes(points[:, 0], points[:, 1])
