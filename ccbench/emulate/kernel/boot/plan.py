# SPDX-License-Identifier: Apache-2.0
"""The plan: the steps of the guest's init for a scenario, one a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.emulate._hosts import HOST_SYSCTLS
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.emulate.kernel.boot.parameters import module_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ccbench.experiment.qdiscs import Qdisc
    from ccbench.experiment.scenario import Scenario

__all__ = ["HERE", "LEAD_NS", "SENDER", "Programs", "guest_memory_mb", "plan", "under_way"]

#: The hosts' addresses: the twins of those in ``kernel_modules/flows/flows.h``.
SENDER = "10.0.0.1"
_RECEIVER = "10.0.0.{}"
_FIRST_RECEIVER = 2

#: As many flows go to one address of the receiver, since each takes a port of the sender's; the
#: twin of the number in ``kernel_modules/flows/tcp.c``.
_FLOWS_PER_ADDRESS = 25_000

#: The directory of the run as the guest's own process sees it, and as its programs do.
HERE = "/proc/self/cwd"
_RUN = "/run"

#: Index of the path's device in a host's namespace: the loopback device is the first.
_HOST_INTERFACE = 2

#: Settings of both hosts. The scenario's own come after them.
_HOST_SYSCTLS = {
    **HOST_SYSCTLS,
    # Packets carry the number of their flow as their mark, in both directions.
    "net.ipv4.tcp_fwmark_accept": "1",
    "net.ipv4.fwmark_reflect": "1",
    # A hundred thousand short flows may start within a minute, each from a port of its own.
    "net.ipv4.ip_local_port_range": "1024 65535",
    "net.ipv4.tcp_tw_reuse": "1",
}

#: A switch that looks at other settings when it is set, and so has to come after them.
_CHECKS_OTHERS = "net.ipv4.tcp_nimbus_elect"

#: Memory for all sockets together must not be what limits a flow either: pages of 4 KB.
_TCP_MEM = "4000000 4000000 4000000"

#: From the end of the plan's preparations to the start of the experiment, in ns; the twin of the
#: number in ``kernel_modules/flows/main.c``.
LEAD_NS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Steps and files by which programs of the host run on the guest's hosts.

    Parameters
    ----------
    sender, receiver : tuple of str
        Steps of the plan, taken on that host when it is set up.
    files : mapping of str to bytes
        Files that they read, by their paths in the run's folder.
    memory_mb : int
        Memory that they need, in MB.
    """

    sender: tuple[str, ...] = ()
    receiver: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    memory_mb: int = 0


def plan(
    scenario: Scenario,
    modules: Iterable[str],
    qdiscs: Sequence[Qdisc],
    programs: Programs | None = None,
) -> str:
    """Return the plan for a scenario.

    Parameters
    ----------
    scenario : Scenario
    modules : iterable of str
        Names of the modules to load besides ccbench's own.
    qdiscs : sequence of Qdisc
        That of each bottleneck.
    programs : Programs, optional
        Steps for programs besides the init; left out, there are none.
    """
    return "".join(f"{step}\n" for step in _steps(scenario, modules, qdiscs, programs))


def _steps(
    scenario: Scenario,
    modules: Iterable[str],
    qdiscs: Sequence[Qdisc],
    programs: Programs | None,
) -> Iterator[str]:
    # Where a crash happened is said at the level of information (crash.py).
    yield _sysctl("kernel.printk", "8")
    yield f"module /modules/ccbench_link.ko out={HERE}"
    for module in ("ccbench_flows", *modules):
        options = module_options(scenario, module)
        yield f"module /modules/{module}.ko {options}".rstrip()
    yield _sysctl("net.ipv4.tcp_mem", _TCP_MEM)
    # Memory is reclaimed only where it is short, which ends the run as an error.
    yield _sysctl("vm.watermark_boost_factor", "0")

    yield f"feed /proc/ccbench/link {_RUN}/link.bin"
    for index, (bottleneck, qdisc) in enumerate(zip(scenario.bottlenecks, qdiscs, strict=True)):
        interface = _HOST_INTERFACE + index
        assert bottleneck.queue_packets is not None  # a scenario has resolved queue_bdp
        request = rtnetlink.set_qdisc(
            interface,
            qdisc,
            bottleneck.queue_packets,
            dict(bottleneck.qdisc_options),
            bottleneck.mean_mbps,
        )
        yield _netlink(f"bottleneck{index}-up", rtnetlink.set_up(interface))
        for _ in range(qdisc.requests):
            yield _netlink(f"bottleneck{index}-{qdisc.name}", request)
    last_receiver = _FIRST_RECEIVER + (scenario.flow_count - 1) // _FLOWS_PER_ADDRESS
    receivers = [_RECEIVER.format(i) for i in range(_FIRST_RECEIVER, last_receiver + 1)]
    hosts: tuple[tuple[str, list[str], Sequence[str]], ...] = (
        ("sender", [SENDER], programs.sender if programs else ()),
        ("receiver", receivers, programs.receiver if programs else ()),
    )
    for host, addresses, further in hosts:
        yield "netns"
        yield f"write /proc/ccbench/host {host}"
        for address in addresses:
            yield _netlink(f"{host}-address", rtnetlink.add_address(_HOST_INTERFACE, address, 24))
        yield _netlink(f"{host}-up", rtnetlink.set_up(_HOST_INTERFACE))
        own = {"net.ipv4.tcp_ecn": "1"} if scenario.ecn else {"net.ipv4.tcp_ecn": "0"}
        sysctls = {**_HOST_SYSCTLS, **own, **dict(scenario.sysctls)}
        for name in sorted(sysctls, key=_CHECKS_OTHERS.__eq__):
            yield _sysctl(name, sysctls[name])
        yield from further

    yield f"feed /proc/ccbench/flows {_RUN}/flows.bin"
    yield "wait /proc/ccbench/flows"
    if programs:
        yield "alive"


def _sysctl(name: str, value: str) -> str:
    return f"write /proc/sys/{name.replace('.', '/')} {value}"


def _netlink(name: str, request: bytes) -> str:
    return f"netlink {name} {request.hex()}"


def guest_memory_mb(scenario: Scenario) -> int:
    """Return the memory that the guest may use, in MB; it takes from the host only what it touches.

    Every packet on its way, waiting or unacknowledged, costs at most two kilobytes of the guest's
    bookkeeping, every flow about eight; the rest is the kernel itself.
    """
    packets = 4 * under_way(scenario)
    needed_mb = 64 + (packets * 2 + scenario.flow_count * 8) / 1024
    # In powers of two, so that neighbouring scenarios run in the same machine.
    return max(256, 1 << int(needed_mb - 1).bit_length())


def under_way(scenario: Scenario) -> float:
    """Return how many packets are on the path and in its queues at most."""
    noise = scenario.noise
    jitter_ms = noise.forward_jitter_ms + noise.reverse_jitter_ms + noise.sender_jitter_ms
    extra_ms = max(flow.extra_rtt_ms for flow in scenario.flows)
    longest_rtt_ms = scenario.rtt_ms + extra_ms + jitter_ms
    fastest_mbps = max(bottleneck.mean_mbps for bottleneck in scenario.bottlenecks)
    in_flight = fastest_mbps * 1e3 * longest_rtt_ms / (8 * 1500)
    return in_flight + sum(bottleneck.queue_packets or 0 for bottleneck in scenario.bottlenecks)
