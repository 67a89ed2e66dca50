# SPDX-License-Identifier: Apache-2.0
"""Distributions of flow sizes that were measured in data centres.

============= =======================================================================
``google``    all applications of a Google data centre: workload W3 of Homa's paper
``facebook``  a Hadoop cluster of Facebook: W4 there; Roy et al., SIGCOMM 2015
``websearch`` web search at Microsoft; Alizadeh et al. (DCTCP), SIGCOMM 2010
============= =======================================================================

The points of ``google`` and ``facebook`` are those that Homa's authors published with their
simulator (PlatformLab/HomaSimulation); those of ``websearch`` are the ones in use since DCTCP, here
from HPCC's simulator. Between two points sizes are equally likely.

References
----------
B. Montazeri et al., "Homa", SIGCOMM 2018, figure 1.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from ccbench import _validate
from ccbench.flow_sizes import FlowSizes, Points

__all__ = ["NAMES", "get"]

#: Names of the distributions.
NAMES = ("google", "facebook", "websearch")


@cache
def get(name: str) -> FlowSizes:
    """Return a distribution by its name in :data:`NAMES`.

    Raises
    ------
    InputError
        If there is none of that name.

    Examples
    --------
    >>> round(get("websearch").mean_bytes), get("websearch").at([0.0, 0.15, 0.4]).tolist()
    (1711250, [1, 10000, 50000])
    """
    _validate.one_of("sizes", name, NAMES)
    text = (resources.files("ccbench.bfc") / "data" / f"{name}.csv").read_text(encoding="utf-8")
    points = (line.split(",") for line in text.splitlines()[1:])
    return FlowSizes(((1.0, Points(tuple((float(size), float(up_to)) for size, up_to in points))),))
