# SPDX-License-Identifier: Apache-2.0
"""Flow size distributions measured in data centres.

============= =======================================================================
``google``    all applications of a Google data centre: workload W3 of Homa's paper
``facebook``  a Hadoop cluster of Facebook: W4 there; Roy et al., SIGCOMM 2015
``websearch`` web search at Microsoft; Alizadeh et al. (DCTCP), SIGCOMM 2010
============= =======================================================================

``google`` follows BFC's authors (prateshg/BFC_NS3_NSDI2022): W3, with its smallest flows (a third
of all) set to 101 to 110 bytes. Its points are at powers of two; between them, the reciprocal of
the size is uniform. The file Google_AllRPC in the simulator of Homa's authors is a different
distribution: half of its flows have at most 4 bytes. The points of ``facebook`` come from that
simulator (PlatformLab/HomaSimulation); those of ``websearch`` have been in use since DCTCP and come
from HPCC's simulator. Sizes between two points of a file are equally likely.

References
----------
B. Montazeri et al., "Homa", SIGCOMM 2018, figure 1.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from ccbench.base import validation
from ccbench.experiment.flow_sizes import FlowSizes, Points

__all__ = ["NAMES", "get"]

#: Names of the distributions.
NAMES = ("google", "facebook", "websearch")


@cache
def get(name: str) -> FlowSizes:
    """Return the distribution called `name`, one of :data:`NAMES`.

    Raises
    ------
    InputError
        If there is no such distribution.

    Examples
    --------
    >>> round(get("websearch").mean_bytes), get("websearch").at([0.0, 0.15, 0.4]).tolist()
    (1711250, [1, 10000, 50000])
    """
    validation.one_of("sizes", name, NAMES)
    text = (resources.files("ccbench.datacenter") / "data" / f"{name}.csv").read_text(
        encoding="utf-8"
    )
    points = (line.split(",") for line in text.splitlines()[1:])
    return FlowSizes(((1.0, Points(tuple((float(size), float(up_to)) for size, up_to in points))),))
