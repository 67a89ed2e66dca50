# SPDX-License-Identifier: Apache-2.0
"""Validation of a scenario's queues against the descriptors of the kernel's qdiscs and CCAs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.experiment.qdiscs import NO_LIMIT, QDISCS, QueuedLink

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.experiment.change import Change
    from ccbench.experiment.scenario import Scenario

__all__ = ["changed", "check", "drops", "longest_bytes", "unlimited"]


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Validate a scenario's queues.

    Raises
    ------
    InputError
        If the kernel lacks a qdisc or its options, or a congestion control requires other options.
    """
    for i, bottleneck in enumerate(scenario.path.links):
        with validation.within(f"{scenario.path.link_name(i)}."):
            kernel.queue(bottleneck.qdisc).check(dict(bottleneck.qdisc_options))
    for i, change in enumerate(scenario.path.changes):
        if change.changes_queue:
            qdisc = kernel.queue(scenario.path.links[change.bottleneck].qdisc)
            with validation.within(f"changes[{i}]."):
                qdisc.check_change(_link(scenario, change), dict(change.qdisc_options))
    for where, flow in scenario.named_split_flows():
        if not flow.is_udp and (needed := kernel.cca(flow.cca).qdisc_option) is not None:
            _check_option(scenario, kernel, f"{flow.cca!r} ({where})", needed)


def changed(scenario: Scenario, kernel: KernelBuild) -> list[bytes]:
    """Return the netlink attribute with the qdisc's options of each change; empty without."""
    attributes = []
    for change in scenario.path.changes:
        attribute = b""
        if change.changes_queue:
            qdisc = kernel.queue(scenario.path.links[change.bottleneck].qdisc)
            encoded = qdisc.encode_change(_link(scenario, change), dict(change.qdisc_options))
            attribute = rtnetlink.qdisc_attribute(qdisc, encoded)
        attributes.append(attribute)
    return attributes


def _link(scenario: Scenario, change: Change) -> QueuedLink | None:
    """Return the link of a change with its new limit of the queue, or None if that remains."""
    if change.queue_packets is None:
        return None
    mbps = scenario.path.links[change.bottleneck].mean_mbps
    return QueuedLink(change.queue_packets, mbps, scenario.path.mtu_bytes)


def drops(scenario: Scenario, kernel: KernelBuild) -> dict[str, str]:
    """Return the packet that each qdisc of a module drops, by the qdisc's name.

    Runs store it, as :mod:`ccbench.run.packets` is independent of modules.
    """
    names = {bottleneck.qdisc for bottleneck in scenario.path.links} - QDISCS.keys()
    return {name: kernel.queue(name).drops.name.lower() for name in sorted(names)}


def unlimited(scenario: Scenario, kernel: KernelBuild) -> list[str]:
    """Return the qdiscs whose queues have no limit; runs store them, too."""
    names = sorted({bottleneck.qdisc for bottleneck in scenario.path.links} - QDISCS.keys())
    return [name for name in names if kernel.queue(name).limit == NO_LIMIT]


def longest_bytes(scenario: Scenario, kernel: KernelBuild) -> list[int]:
    """Return the bytes in the longest queue of each bottleneck with a user's qdisc, else 0.

    An arriving packet, which the qdisc may drop, is one more.
    """
    path = scenario.path
    own = {*kernel.own.qdiscs}.difference(unlimited(scenario, kernel))
    return [
        (path.longest_queue(i) + 1) * path.mtu_bytes if link.qdisc in own else 0
        for i, link in enumerate(path.links)
    ]


def _check_option(
    scenario: Scenario, kernel: KernelBuild, cca: str, needed: tuple[str, str, str]
) -> None:
    """Raise an InputError if a bottleneck's option is not the one that a flow's CCA requires."""
    qdisc, option, value = needed
    for i, bottleneck in enumerate(scenario.path.links):
        if bottleneck.qdisc != qdisc:
            continue
        default = kernel.queue(qdisc).options[option].default
        actual = {scenario.path.link_name(i): dict(bottleneck.qdisc_options).get(option, default)}
        for j, change in enumerate(scenario.path.changes):
            options = dict(change.qdisc_options)
            if change.bottleneck == i and option in options:
                actual[f"changes[{j}]"] = options[option]
        for where, given in actual.items():
            if given != value:
                raise InputError(
                    f"{where}.qdisc_options.{option} is {given!r}; it must be {value!r} for "
                    f"cca = {cca}: change it, or choose another congestion control"
                )
