# SPDX-License-Identifier: Apache-2.0
"""A small data centre and its traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ccbench.datacenter.p4 import bmv2
from ccbench.datacenter.topology import clos
from ccbench.datacenter.workload import HEADER_BYTES, Incast, Workload, flow_table

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.datacenter.simulation import Simulation

#: Marks of tests on BMv2, which forwards in real time.
NEEDS_BMV2 = [
    pytest.mark.skipif(bmv2.missing() is not None, reason=str(bmv2.missing())),
    pytest.mark.alone,
]

#: Picoseconds of a byte at 100 Gbit/s.
BYTE_PS = 80

#: Size of a full packet on the wire.
FULL_BYTES = 1000 + HEADER_BYTES
SMALL = clos(racks=4, servers_per_rack=4, spines=2)
BURSTY = Workload(sizes="facebook", load=0.8, incast=Incast(degree=12, total_mb=1, load=0.1))


def long_flows(*pairs: tuple[int, int]) -> pd.DataFrame:
    """Return endless flows, from one server to another."""
    return flow_table((0.0, *pair, 0, "long") for pair in pairs)


def rates_gbps(result: Simulation) -> np.ndarray:
    """Return the goodput of each flow."""
    delivered = result.flows["delivered_bytes"].to_numpy()
    return np.asarray(delivered * 8 / result.summary["end_s"] / 1e9)
