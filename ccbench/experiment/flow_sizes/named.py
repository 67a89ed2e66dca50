# SPDX-License-Identifier: Apache-2.0
"""Named distributions of flow sizes, with their sources.

The papers do not define their distributions completely. These are the assumptions made here:

- **"caida"** is Nimbus's cross traffic (Goyal et al. 2022, section 7.1): flows of a backbone router
  (CAIDA, 21 January 2016), given as six points of their distribution function. The paper's first
  author published these points with a traffic generator (file ``CAIDA_CDF`` of
  github.com/akshayknarayan/empirical-traffic-gen, 3 September 2017; the same in
  github.com/bundler-project/evaluation), together with the setting of the paper's experiment:
  100,000 flows, 48 Mbit/s, a link of 96 Mbit/s and 50 ms with room for 800 packets. That generator
  interpolates linearly between the points. The mean is 21.0 KB instead of the 22 KB in the text;
  the mean of 100,000 draws varies by 2.6 KB. The points explain "from 10 KB to 100 MB": 97.6 % of
  flows are up to 10 KB and have 23 % of the bytes; flows above 5 MB have half of the bytes.
- **"heavy-tailed"** follows the text alone: sizes from 10 KB to 100 MB with a mean of 22 KB,
  100,000 flows in an experiment, and short flows up to the initial window of ten packets, 15 KB.
  Here short flows are uniform from 10 to 15 KB, and longer flows follow one power law up to 100 MB;
  without that bound, one flow of 100,000 would exceed it. This determines both parameters: 9.0 % of
  flows are above 15 KB, with the tail index 1.034, and they carry 48 % of all bytes.
- **"pareto"** is the simplest distribution with the same mean and bounds: a single bounded Pareto
  distribution of index 1.833. The largest of 100,000 flows is about 6 MB, and elastic flows are
  always present. This differs from the paper's traffic and serves as a comparison.
- **"web"** replaces RAPID's transfers (Konda and Kaur, section IV-B), which came from an empirical
  generator whose data the paper does not give. It is the fit of Barford and Crovella ("Generating
  representative web workloads for network and server performance evaluation", SIGMETRICS 1998) to
  the sizes of files on web servers: 93 % lognormal, and above 133 KB a Pareto tail of index 1.1,
  here bounded at 100 MB.
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
#:
#: :meta hide-value:
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
    """Return the distribution of a name, or of a single size in bytes.

    Raises
    ------
    InputError
        If the name is unknown.

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
