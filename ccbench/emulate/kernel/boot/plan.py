# SPDX-License-Identifier: Apache-2.0
"""Plan of a scenario: the steps of the guest's init, one per line."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import TYPE_CHECKING

from ccbench.emulate._hosts import HOST_SYSCTLS, TCP_ECN
from ccbench.emulate.kernel.boot import hosts, rtnetlink
from ccbench.emulate.kernel.boot.programs import Programs
from ccbench.experiment.qdiscs import QueuedLink
from ccbench.experiment.scenario import MTU_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ccbench.emulate.kernel.boot.programs import Program
    from ccbench.experiment.bottleneck import Bottleneck
    from ccbench.experiment.qdiscs import Qdisc
    from ccbench.experiment.scenario import Scenario

__all__ = [
    "HERE",
    "data_packets",
    "guest_memory_mb",
    "in_flight_packets",
    "path_packets",
    "plan",
    "removal",
    "unread_packets",
]

#: Folder of the run as seen by the guest's own process, and by its programs.
HERE = "/proc/self/cwd"
_RUN = "/run"

#: Indices of the loopback and of the path's device in a host's namespace.
_LOOPBACK = 1
_HOST_INTERFACE = 2

#: Addresses of the subflows of Multipath TCP from each host, all of which are addresses of its
#: loopback device, and an address of the other host in the same network, for its route to them; as
#: in ``kernel_modules/flows/multipath.c``.
_SUBFLOW_ADDRESSES = {
    "sender": (IPv4Interface("10.128.0.1/10"), IPv4Interface("10.255.255.254/10")),
    "receiver": (IPv4Interface("10.192.0.1/10"), IPv4Interface("10.191.255.254/10")),
}
_MULTIPATH_SYSCTLS = {"net.mptcp.pm_type": "1"}

#: Sysctls of both hosts; those of the scenario take precedence.
_HOST_SYSCTLS = {
    **HOST_SYSCTLS,
    # Packets are marked with the number of their flow in both directions.
    "net.ipv4.tcp_fwmark_accept": "1",
    "net.ipv4.fwmark_reflect": "1",
    # A hundred thousand short flows may start within a minute, each from its own port.
    "net.ipv4.ip_local_port_range": "1024 65535",
    "net.ipv4.tcp_tw_reuse": "1",
}

#: Sysctl that is written last, as the kernel validates it against others.
_LAST_SYSCTL = "net.ipv4.tcp_nimbus_elect"

#: Memory limits of all sockets together in pages of 4 KB, high enough not to limit any flow.
_TCP_MEM = "4000000 4000000 4000000"

#: Longer jitter in both directions of a Wi-Fi channel is very improbable.
_LONG_WIFI_JITTER_MS = 600.0


def plan(
    scenario: Scenario,
    modules: Mapping[str, str],
    qdiscs: Sequence[Qdisc],
    programs: Programs = Programs(),  # noqa: B008 - a constant
) -> str:
    """Return the plan of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    modules : mapping of str to str
        The modules to load in this order, with their parameters.
    qdiscs : sequence of Qdisc
        The qdisc of each bottleneck.
    programs : Programs, optional
        The programs; by default none.
    """
    steps = _steps(scenario, modules, qdiscs, programs)
    return "".join(f"{step}\n" for step in steps)


def removal(scenario: Scenario) -> str:
    """Return the steps that remove the qdiscs after the experiment."""
    requests = (
        _netlink(f"bottleneck{index}-end", rtnetlink.remove_qdisc(_HOST_INTERFACE + index))
        for index in range(len(scenario.path.links))
    )
    return "".join(f"{step}\n" for step in ("first-netns", *requests))


def _steps(
    scenario: Scenario,
    modules: Mapping[str, str],
    qdiscs: Sequence[Qdisc],
    programs: Programs,
) -> Iterator[str]:
    # Call traces of crashes (crash.py) are printed at the level KERN_INFO.
    yield _sysctl("kernel.printk", "8")
    for module, parameters in modules.items():
        yield f"module /modules/{module}.ko {parameters}".rstrip()
    yield _sysctl("net.ipv4.tcp_mem", _TCP_MEM)
    # Memory is reclaimed only when it runs out, which ends the run with an error.
    yield _sysctl("vm.watermark_boost_factor", "0")

    if hosts.uses_ipv6(scenario):
        yield _sysctl("net.ipv6.conf.default.disable_ipv6", "1")  # of the bottlenecks' devices
    yield f"feed /proc/ccbench/link {_RUN}/link.bin"
    for index, (bottleneck, qdisc) in enumerate(zip(scenario.path.links, qdiscs, strict=True)):
        interface = _HOST_INTERFACE + index
        assert bottleneck.queue_packets is not None  # a scenario has resolved queue_bdp
        link = QueuedLink(bottleneck.queue_packets, bottleneck.mean_mbps, scenario.path.mtu_bytes)
        given = dict(bottleneck.qdisc_options)
        request = rtnetlink.set_qdisc(interface, qdisc, link, given)
        yield _netlink(f"bottleneck{index}-up", rtnetlink.set_up(interface))
        for _ in range(qdisc.requests):
            yield _netlink(f"bottleneck{index}-{qdisc.name}", request)
    sender_ecn, receiver_ecn = scenario.path.hosts_ecn
    ends: tuple[tuple[str, bool | str, Sequence[Program]], ...] = (
        ("sender", sender_ecn, programs.sender),
        ("receiver", receiver_ecn, programs.receiver),
    )
    is_multipath = any(flow.subflows for flow in scenario.flows)
    yield from programs.setup()
    for host, ecn, own_programs in ends:
        yield from _network(scenario, host)
        own = {"net.ipv4.tcp_ecn": TCP_ECN[ecn], **hosts.sysctls(scenario)}
        if is_multipath:
            yield from _subflow_addresses(host)
            own |= _MULTIPATH_SYSCTLS
        sysctls = {**_HOST_SYSCTLS, **own, **dict(scenario.path.sysctls)}
        for name in sorted(sysctls, key=_LAST_SYSCTL.__eq__):
            yield _sysctl(name, sysctls[name])
        if programs.all and not is_multipath:
            yield _netlink(f"{host}-loopback-up", rtnetlink.set_up(_LOOPBACK))
        yield from (program.step for program in own_programs)

    yield from programs.before()
    yield f"feed /proc/ccbench/flows {_RUN}/flows.bin"
    yield from programs.start()
    yield "wait /proc/ccbench/flows"
    yield from programs.end()


def _network(scenario: Scenario, host: str) -> Iterator[str]:
    """Yield the steps that create a host's device, addresses and routes."""
    ipv6 = hosts.uses_ipv6(scenario)
    yield "netns"
    if ipv6:
        # A link-local address would send router solicitations and multicast reports.
        yield _sysctl("net.ipv6.conf.default.addr_gen_mode", "1")
    yield f"write /proc/ccbench/host {host}"
    yield from _addresses(scenario, host, 4)
    yield _netlink(f"{host}-up", rtnetlink.set_up(_HOST_INTERFACE))
    if ipv6:
        yield from _addresses(scenario, host, 6)  # their routes need a device that is up
    for address, initcwnd, forgets in hosts.routes(scenario, sends=host == "sender"):
        request = rtnetlink.set_metrics(_HOST_INTERFACE, address, initcwnd, forgets=forgets)
        yield _netlink(f"{host}-route", request)


def _subflow_addresses(host: str) -> Iterator[str]:
    own, of_other = _SUBFLOW_ADDRESSES[host]
    yield _netlink(f"{host}-subflows", rtnetlink.add_address(_LOOPBACK, own))
    yield _netlink(f"{host}-loopback-up", rtnetlink.set_up(_LOOPBACK))
    yield _netlink(f"{host}-other-subflows", rtnetlink.add_address(_HOST_INTERFACE, of_other))


def _addresses(scenario: Scenario, host: str, version: int) -> Iterator[str]:
    for address in hosts.addresses(scenario, version, sends=host == "sender"):
        yield _netlink(f"{host}-address", rtnetlink.add_address(_HOST_INTERFACE, address))


def _sysctl(name: str, value: str) -> str:
    return f"write /proc/sys/{name.replace('.', '/')} {value}"


def _netlink(name: str, request: bytes) -> str:
    return f"netlink {name} {request.hex()}"


def guest_memory_mb(scenario: Scenario) -> int:
    """Return the size of the guest's memory in MB; the host provides only the pages in use.

    The guest needs at most 2 KB per packet of up to 1500 bytes in transit, queued, unacknowledged
    or unread, about 8 KB per flow, and 64 MB for the kernel itself.
    """
    packets = 4 * path_packets(scenario) + unread_packets(scenario)
    packet_kb = 2 * max(1, scenario.path.mtu_bytes / MTU_BYTES)
    needed_mb = 64 + (packets * packet_kb + scenario.flow_count * 8) / 1024
    # A power of two, so that similar scenarios run with the same amount of memory.
    return max(256, 1 << int(needed_mb - 1).bit_length())


def path_packets(scenario: Scenario) -> float:
    """Return the maximum number of packets on the path and in its queues, with extra ACKs."""
    extra_acks = max(flow.receiver.extra_acks if flow.receiver else 0 for flow in scenario.flows)
    return data_packets(scenario) + extra_acks * _in_flight(scenario)


def data_packets(scenario: Scenario) -> float:
    """Return the maximum number of packets of data on the path and in its queues."""
    twice = 1 + max(link.duplicates or 0 for link in scenario.path.links)
    queued = sum(map(scenario.path.longest_queue, range(len(scenario.path.links))))
    return twice * _in_flight(scenario) + queued


def in_flight_packets(scenario: Scenario, mbps: float) -> float:
    """Return the maximum number of packets at a rate within the longest round trip."""
    noise = scenario.path.noise
    jitter_ms = noise.forward_jitter_ms + noise.reverse_jitter_ms + noise.sender_jitter_ms
    if noise.wifi_jitter_ms or any(change.wifi_jitter_ms for change in scenario.path.changes):
        jitter_ms += _LONG_WIFI_JITTER_MS
    extra_ms = max(flow.extra_rtt_ms for flow in scenario.split_flows)
    late_ms = sum(map(_late_ms, scenario.path.links))
    longest_rtt_ms = scenario.path.longest_rtt_ms + extra_ms + jitter_ms + late_ms
    return mbps * 1e3 * longest_rtt_ms / (8 * scenario.path.mtu_bytes)


def _in_flight(scenario: Scenario) -> float:
    """Return the maximum number of packets of the fastest link within the longest round trip."""
    fastest_mbps = max(map(scenario.path.highest_mbps, range(len(scenario.path.links))))
    return in_flight_packets(scenario, fastest_mbps)


def unread_packets(scenario: Scenario) -> float:
    """Return the maximum number of packets that wait for receivers that read slowly."""
    slow = ((flow, flow.receiver) for flow in scenario.flows)
    return sum(
        flow.flow_count * 2 * receiver.largest_window_bytes / scenario.path.mss_bytes
        for flow, receiver in slow
        if receiver is not None and receiver.read_mbps is not None
    )


def _late_ms(link: Bottleneck) -> float:
    """Return the longest additional delay after a link, a second without later packets."""
    if link.jitter is not None:
        return link.jitter.longest_ms
    if link.reordering is None:
        return 0.0
    return 1000.0 if link.reordering.delay_ms is None else link.reordering.delay_ms
