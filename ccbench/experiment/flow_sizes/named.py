# SPDX-License-Identifier: Apache-2.0
"""Named distributions of flow sizes, with their sources.

Where the papers leave room:

- **"caida"** is Nimbus's cross traffic (Goyal et al. 2022, section 7.1): flows of a backbone router
  (CAIDA, 21 January 2016), as six points of their distribution function. These are the ones that
  the paper's first author published with a traffic generator (file ``CAIDA_CDF`` of
  github.com/akshayknarayan/empirical-traffic-gen, 3 September 2017; the same in
  github.com/bundler-project/evaluation), together with what the paper states of the experiment:
  100,000 flows, 48 Mbit/s, a link of 96 Mbit/s and 50 ms with room for 800 packets. Between two
  points that generator spreads sizes evenly. The mean is 21.0 KB, where the text has 22 KB: what
  is drawn varies, that of 100,000 by 2.6 KB. "From 10 KB to 100 MB" are the points; 97.6 % of flows
  are up to 10 KB, which have 23 % of the bytes, and flows above 5 MB have a half.
- **"heavy-tailed"** is what the text alone says of it: sizes from 10 KB to 100 MB with a mean of 22
  KB, 100,000 in an experiment, and flows up to the initial window of ten packets, 15 KB, short.
  Here these are evenly spread from 10 to 15 KB, and those above follow one power law up to 100 MB,
  without that bound just one of 100,000 beyond it. These facts determine both of its parameters:
  9.0 % of flows are above 15 KB, with the tail index 1.034, and they carry 48 % of all bytes.
- **"pareto"** is the simplest one with that mean and those bounds: a single bounded Pareto
  distribution, of index 1.833. Its largest of 100,000 flows is about 6 MB, and elastic flows are
  always there: other traffic than the paper's, to compare with.
- **"web"** stands for RAPID's transfers (Konda and Kaur, section IV-B), which an empirical
  generator of those days made, from data that the paper does not give. These are the sizes of files
  on web servers as Barford and Crovella ("Generating representative web workloads for network and
  server performance evaluation", SIGMETRICS 1998) fitted them: 93 % lognormal, and above 133 KB a
  Pareto tail of index 1.1, here up to 100 MB.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.experiment.flow_sizes.distribution import FlowSizes
from ccbench.experiment.flow_sizes.pieces import BYTES, LogNormal, Points, PowerLaw

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SIZES", "find"]

#: Distributions by name.
SIZES: Mapping[str, FlowSizes] = {
    "heavy-tailed": FlowSizes(
        (
            (1 - 0.09008087978, PowerLaw(10e3, 15e3, -1)),
            (0.09008087978, PowerLaw(15e3, 100e6, 1.03418593041)),
        )
    ),
    "caida": FlowSizes(
        (
            (
                1.0,
                Points(
                    (
                        (0, 0),
                        (10e3, 0.976),
                        (100e3, 0.995),
                        (1e6, 0.999),
                        (5e6, 0.9998),
                        (100e6, 1),
                    )
                ),
            ),
        )
    ),
    "pareto": FlowSizes(((1.0, PowerLaw(10e3, 100e6, 1.83261987563)),)),
    "web": FlowSizes(
        (
            (0.93, LogNormal(1, 133e3, math.exp(9.357), 1.318)),
            (0.07, PowerLaw(133e3, 100e6, 1.1)),
        )
    ),
}


def find(name: str | float) -> FlowSizes:
    """Return a distribution by its name, or of one size in bytes.

    Raises
    ------
    InputError
        If there is none of this name.

    Examples
    --------
    >>> find("web") is SIZES["web"], find(1500).mean_bytes
    (True, 1500.0)
    """
    if not isinstance(name, str):
        return FlowSizes.fixed(validation.number("sizes", name, BYTES, example=20_000))
    if name not in SIZES:
        allowed = f"one of {', '.join(SIZES)}, or a number of bytes"
        raise validation.bad("sizes", name, allowed, validation.choice_hint(name, SIZES))
    return SIZES[name]
