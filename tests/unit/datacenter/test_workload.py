# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from ccbench.datacenter import flow_sizes
from ccbench.datacenter.topology import clos, star
from ccbench.datacenter.workload import Incast, Workload, payload_share
from tests.unit.datacenter.conftest import FULL_BYTES


class TestWorkload:
    @pytest.mark.parametrize("sizes", flow_sizes.NAMES)
    def test_mean_size(self, sizes: str) -> None:
        """Sizes drawn have the distribution's mean."""
        distribution = flow_sizes.get(sizes)
        drawn = distribution.at((np.arange(1_000_000) + 0.5) / 1_000_000)
        assert drawn.mean() == pytest.approx(distribution.mean_bytes, rel=0.001)

    @pytest.mark.parametrize("arrivals", ["poisson", "lognormal"])
    def test_load(self, arrivals: str) -> None:
        """Flows offer the requested share of the capacity of the core's links."""
        workload = Workload(sizes="google", load=0.6, arrivals=arrivals)
        flows = workload.flows(clos(), duration_s=4e-3, seed=1)
        assert flows["bytes"].sum() * 8 / 4e-3 / 6.4e12 == pytest.approx(0.6, rel=0.1)

    def test_lognormal_is_bursty(self) -> None:
        """The logarithm of the gaps has the deviation sigma; Poisson gaps vary as their mean."""
        gaps = {
            arrivals: np.diff(
                Workload(sizes="facebook", arrivals=arrivals).flows(clos(), 1e-2, 1)["start_ps"]
            ).astype(float)
            for arrivals in ("poisson", "lognormal")
        }
        assert np.log(gaps["lognormal"] + 1).std() == pytest.approx(2, rel=0.05)
        assert gaps["poisson"].std() == pytest.approx(gaps["poisson"].mean(), rel=0.05)

    def test_incast(self) -> None:
        """Each event has `degree` flows to one server, which together have its size."""
        workload = Workload(load=0, incast=Incast(degree=100, total_mb=20))
        flows = workload.flows(clos(), duration_s=1.9e-3, seed=1)
        assert 400 == len(flows)
        assert [0, 500_000_000, 1_000_000_000, 1_500_000_000] == sorted(set(flows["start_ps"]))
        for _, event in flows.groupby("start_ps"):
            assert 1 == event["destination"].nunique()
            assert 100 == event["source"].nunique()
            assert 20_000_000 == event["bytes"].sum()

    def test_senders(self) -> None:
        """Flows come from the named senders, about equally often, to the receiver."""
        workload = Workload(load=0.1, receiver=3, senders=(1, 5, 6))
        flows = workload.flows(clos(), duration_s=1e-3, seed=1)
        assert {3} == set(flows["destination"])
        counts = flows["source"].value_counts()
        assert {1, 5, 6} == set(counts.index)
        assert counts.to_numpy() == pytest.approx(len(flows) / 3, rel=0.1)

    def test_transfers(self) -> None:
        """Flows of given sizes all start at once."""
        transfers = ((0, 1, 1500), (2, 1, 700))
        flows = Workload(load=0, transfers=transfers).flows(star(servers=3), 1e-3, 1)
        rows = flows[["source", "destination", "bytes"]].itertuples(index=False, name=None)
        assert transfers == tuple(rows)
        assert [0, 0] == flows["start_ps"].tolist()

    def test_payload_share(self) -> None:
        """Small flows have a larger share of headers."""
        shares = [payload_share(flow_sizes.get(name)) for name in ("google", "websearch")]
        assert shares[0] < shares[1] < 1000 / FULL_BYTES

    def test_half_of_googles_bytes(self) -> None:
        """Flows up to 100 KB have nearly half of Google's bytes (thesis, section 3.2)."""
        sizes = flow_sizes.get("google").at((np.arange(1_000_000) + 0.5) / 1_000_000)
        assert 0.35 < sizes[sizes <= 100_000].sum() / sizes.sum() < 0.5
