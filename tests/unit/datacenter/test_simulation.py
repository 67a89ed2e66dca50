# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from ccbench.base.errors import DamagedRun, InputError
from ccbench.datacenter.scheme import Scheme
from ccbench.datacenter.schemes import scheme
from ccbench.datacenter.simulation import Simulation, simulate
from ccbench.datacenter.topology import Link, Topology, clos, star
from ccbench.datacenter.workload import Incast, Workload
from tests.unit.datacenter.conftest import BURSTY, SMALL, long_flows

if TYPE_CHECKING:
    from pathlib import Path


class TestInput:
    def test_unknown_server(self) -> None:
        """A flow to an unknown server is named."""
        with pytest.raises(InputError, match="server of a flow is 9"):
            simulate(star(servers=2), long_flows((0, 9)), scheme("bfc"), 1e-4)

    def test_unconnected(self) -> None:
        """Servers without a path between them are refused."""
        network = Topology(
            servers=2,
            switches=2,
            links=(Link(0, 2, 100, 1), Link(1, 3, 100, 1)),
            capacity_gbps=100,
        )
        with pytest.raises(InputError, match="no way"):
            simulate(network, long_flows((0, 1)), scheme("bfc"), 1e-4)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: scheme("bcf"), "did you mean 'bfc'"),
            (lambda: Workload(load=-1), "load is -1"),
            (lambda: Workload(senders=(-1,)), "senders is -1"),
            (lambda: Incast(degree=0, total_mb=20), "degree is 0"),
            (lambda: clos(racks=0), "racks is 0"),
            (lambda: Scheme(name="x", sampling=0), "sampling is 0"),
            (lambda: star(servers=2, gbps=-1), "gbps is -1"),
        ],
    )
    def test_bad_values(self, make: object, message: str) -> None:
        """Values out of range are reported with the allowed range."""
        assert callable(make)
        with pytest.raises(InputError, match=message):
            make()


class TestProgress:
    def test_time_advances(self) -> None:
        """The callback gets increasing times."""
        seen: list[float] = []
        simulate(star(servers=2), long_flows((0, 1)), scheme("bfc"), 5e-3, progress=seen.append)
        assert len(seen) > 1
        assert seen == sorted(seen)

    def test_interrupt(self) -> None:
        """An exception in the callback, such as Ctrl-C, ends the simulation."""

        def stop(_time_s: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            simulate(star(servers=2), long_flows((0, 1)), scheme("bfc"), 1.0, progress=stop)


class TestSaving:
    def test_round_trip(self, tmp_path: Path) -> None:
        """A saved result is loaded equal."""
        result = simulate(SMALL, BURSTY, scheme("bfc"), 5e-5, queue_delays=True)
        result.save(tmp_path / "result")
        again = Simulation.load(tmp_path / "result")
        for name in ("flows", "samples", "buffers", "ports", "active_flows", "queue_delays"):
            pd.testing.assert_frame_equal(getattr(result, name), getattr(again, name))
        assert result.summary == again.summary

    def test_damage(self, tmp_path: Path) -> None:
        """A changed file is detected."""
        simulate(star(servers=2), long_flows((0, 1)), scheme("bfc"), 1e-5).save(tmp_path / "result")
        (tmp_path / "result" / "flows.parquet").write_bytes(b"x")
        with pytest.raises(DamagedRun, match="was changed"):
            Simulation.load(tmp_path / "result")
