# SPDX-License-Identifier: Apache-2.0
"""Random streams of simulated data centres: independent, and unaffected by additions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import simulate
from ccbench.datacenter.topology import clos
from ccbench.datacenter.workload import Incast, Mice, Workload, flow_table
from tests.unit.base.test_random_streams import MISS
from tests.unit.datacenter.conftest import SMALL

_RACKS = 64

#: One packet from the server of each rack to that of the next.
_ROUND = [(i * 1e-9, i, (i + 1) % _RACKS, 1000, "background") for i in range(_RACKS)]


def spines_taken(
    seed: int, *, racks: int = _RACKS, others: tuple[tuple[float, int, int, int, str], ...] = ()
) -> np.ndarray:
    """Return the spine, of two, that the packet of each rack takes."""
    topology = clos(racks=racks, servers_per_rack=1, spines=2)
    flows = flow_table([*_ROUND, *others])
    ports = simulate(topology, flows, scheme("dctcp"), 1e-6, seed).ports
    up = ports.set_index(["node", "to"])["data_packets"]
    return np.array([up[racks + rack, 2 * racks + 1] for rack in range(_RACKS)])


def background(flows: pd.DataFrame) -> pd.DataFrame:
    """Return the flows of the distribution."""
    return flows[flows["kind"] == "background"].reset_index(drop=True)


class TestPaths:
    def test_consecutive_seeds(self) -> None:
        """With consecutive seeds, flows take the same path as often as by chance.

        Of 64 flows with two paths each the number is binomial; there are 496 pairs of seeds.
        """
        taken = np.array([spines_taken(seed) for seed in range(32)])
        assert {0, 1} == set(taken.ravel())
        equal = (taken[:, None] == taken[None]).sum(axis=-1)[np.triu_indices(32, k=1)]
        miss = MISS / 2 / len(equal)
        assert binom.ppf(miss, _RACKS, 0.5) <= equal.min()
        assert equal.max() <= binom.isf(miss, _RACKS, 0.5)
        ones = taken.sum()
        assert binom.ppf(MISS, taken.size, 0.5) < ones < binom.isf(MISS, taken.size, 0.5)

    def test_another_rack(self) -> None:
        """An added rack, with its server and switch, changes no path."""
        assert np.array_equal(spines_taken(1), spines_taken(1, racks=_RACKS + 1))

    def test_another_flow(self) -> None:
        """An added flow between other racks that starts before all others changes no path."""
        first = (0.0, _RACKS, _RACKS + 1, 1000, "background")
        alone = spines_taken(1, racks=_RACKS + 2)
        assert np.array_equal(alone, spines_taken(1, racks=_RACKS + 2, others=(first,)))

    def test_flows_alike(self) -> None:
        """Flows with the same ends and start take independent paths: 100 of them use both."""
        flows = flow_table([(0.0, 0, 1, 1000, "background")] * 100)
        topology = clos(racks=2, servers_per_rack=1, spines=2)
        ports = simulate(topology, flows, scheme("dctcp"), 1e-4).ports.set_index(["node", "to"])
        assert binom.ppf(MISS, 100, 0.5) < ports["data_packets"][2, 4] < binom.isf(MISS, 100, 0.5)


class TestSwitches:
    @pytest.mark.parametrize("name", ["dctcp", "bfc-sampling"])
    def test_traffic_elsewhere(self, name: str) -> None:
        """Traffic in one rack changes nothing in another, though both draw marks or samples."""
        one_queue = replace(scheme(name), queues=3)
        here = [(i * 1e-7, source, 0, 200_000, "background") for i, source in enumerate((1, 2, 3))]
        there = [(i * 1e-7, source, 4, 200_000, "background") for i, source in enumerate((5, 6, 7))]
        alone, beside = (
            simulate(SMALL, flow_table(flows), one_queue, 1e-4) for flows in (here, here + there)
        )
        mine = beside.flows[beside.flows["destination"] == 0].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone.flows, mine)
        rack = alone.ports["node"].isin([0, 1, 2, 3, 16])
        pd.testing.assert_frame_equal(alone.ports[rack], beside.ports[rack])
        assert alone.ports["marked_packets"].sum() > 0 or name != "dctcp"


class TestWorkloads:
    def test_longer(self) -> None:
        """A longer duration appends flows, and changes none."""
        workload = Workload(load=0.6, incast=Incast(degree=20, total_mb=1))
        short, long = (workload.flows(SMALL, duration_s, 1) for duration_s in (1e-3, 2e-3))
        pd.testing.assert_frame_equal(short, long[: len(short)])

    def test_more_traffic(self) -> None:
        """Added incast and small flows leave the other flows unchanged."""
        alone = Workload(load=0.6)
        beside = replace(alone, incast=Incast(degree=5, total_mb=1))
        pd.testing.assert_frame_equal(
            alone.flows(SMALL, 1e-3, 1), background(beside.flows(SMALL, 1e-3, 1))
        )
        with_mice = replace(beside, mice=(Mice(receiver=0, gbps=0.1, bytes=7),))
        flows = with_mice.flows(SMALL, 1e-3, 1)
        others = flows[flows["bytes"] != 7].reset_index(drop=True)
        pd.testing.assert_frame_equal(beside.flows(SMALL, 1e-3, 1), others)

    def test_starts_ends_and_sizes_are_uncorrelated(self) -> None:
        """The random properties of a flow are uncorrelated."""
        flows = Workload(load=0.9, arrivals="poisson").flows(SMALL, 2e-2, 1)
        offset = (flows["source"] - flows["destination"]) % SMALL.servers
        table = pd.DataFrame(
            {
                "gap": flows["start_ps"].diff().fillna(0),
                "destination": flows["destination"],
                "offset": offset,
                "size": flows["bytes"].rank(),
            }
        )
        coefficients = table.corr("spearman").to_numpy()
        assert np.abs(coefficients - np.eye(4)).max() < 5 / np.sqrt(len(table))
