# SPDX-License-Identifier: Apache-2.0
"""Addresses of hosts in the guest."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot import hosts
from ccbench.emulate.kernel.engine import KernelEngine
from ccbench.experiment.scenario import MAX_FLOWS_PER_HOST, MAX_HOSTS, Flow
from tests.unit.emulate.kernel.test_identity import KERNEL
from tests.unit.experiment.conftest import scenario

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario


def named(count: int) -> Scenario:
    """Return a scenario with flows of this number of hosts."""
    return scenario(flows=tuple(Flow(host=f"h{i}", ip_version=6) for i in range(count)))


def plan(one: Scenario) -> str:
    """Return the plan of a guest."""
    return KernelEngine(KERNEL).guest_input(one).files["plan"].decode()


class TestAddresses:
    @pytest.mark.parametrize("version", [4, 6])
    def test_networks(self, version: int) -> None:
        """Each pair of hosts has a network of its own, which no other overlaps."""
        one = named(600)
        sending, receiving = (hosts.addresses(one, version, sends=sends) for sends in (True, False))
        networks = [address.network for address in sending]
        assert networks == [address.network for address in receiving]
        assert len(set(networks)) == 601
        assert not any(a.overlaps(b) for a, b in combinations(networks[:300], 2))
        assert not {*sending} & {*receiving}

    def test_many_flows(self) -> None:
        """The receiving host has an address for every 25,000 flows without a host."""
        one = scenario(flows=(Flow(count=60_000),))
        receiving = hosts.addresses(one, 4, sends=False)
        assert [str(address.ip) for address in receiving] == ["10.0.0.2", "10.0.0.3", "10.0.0.4"]

    def test_last(self) -> None:
        """There are enough networks for the largest number of hosts."""
        one = named(MAX_HOSTS)
        assert str(hosts.addresses(one, 4, sends=True)[-1]) == "10.40.15.1/24"
        assert str(hosts.addresses(one, 6, sends=True)[-1]) == "fd00:0:0:280f::1/64"

    def test_too_many(self) -> None:
        """More hosts than that, or more flows of one host than ports, are an error."""
        with pytest.raises(InputError, match="at most 10000 different names"):
            named(MAX_HOSTS + 1)
        with pytest.raises(InputError, match="at most 25000 single flows with host = 'a'"):
            scenario(flows=(Flow(host="a"), Flow(host="a", count=MAX_FLOWS_PER_HOST)))


class TestPlan:
    def test_nothing(self) -> None:
        """Without IPv6 and hosts, the guest has neither, and the same command line as ever."""
        given = KernelEngine(KERNEL).guest_input(scenario())
        assert "ipv6" not in given.files["plan"].decode()
        assert "route" not in given.files["plan"].decode()
        assert not any("ipv6" in word for word in given.command_line)

    def test_order(self) -> None:
        """Before a device exists, it is forbidden to send packets of its own."""
        steps = plan(scenario(flows=(Flow(ip_version=6),))).splitlines()
        forbidden = [i for i, step in enumerate(steps) if "addr_gen_mode 1" in step]
        created = [i for i, step in enumerate(steps) if "ccbench/host" in step]
        assert [i + 1 for i in forbidden] == created
        (off,) = (i for i, step in enumerate(steps) if "disable_ipv6 1" in step)
        (link,) = (i for i, step in enumerate(steps) if "feed /proc/ccbench/link" in step)
        assert off < link

    def test_names(self) -> None:
        """The name of a host does not matter, only which flows have the same."""
        one, other = (
            scenario(flows=(Flow(host=first), Flow(), Flow(host=second), Flow(host=first)))
            for first, second in (("a", "b"), ("x", "y"))
        )
        engine = KernelEngine(KERNEL)
        assert engine.guest_input(one).digest() == engine.guest_input(other).digest()
        same = replace(one, flows=tuple(replace(flow, host="a") for flow in one.flows))
        assert engine.guest_input(one).digest() != engine.guest_input(same).digest()
