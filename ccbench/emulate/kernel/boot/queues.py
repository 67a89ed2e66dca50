# SPDX-License-Identifier: Apache-2.0
"""Validation of a scenario's queues against the descriptors of the kernel's qdiscs and CCAs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.boot import rtnetlink
from ccbench.experiment.qdiscs import QDISCS

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.build import KernelBuild
    from ccbench.experiment.scenario import Scenario

__all__ = ["changed", "check", "drops"]


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Validate a scenario's queues.

    Raises
    ------
    InputError
        If the kernel lacks a qdisc or its options, or a congestion control requires other options.
    """
    for i, bottleneck in enumerate(scenario.links):
        with validation.within(f"{scenario.link_name(i)}."):
            kernel.queue(bottleneck.qdisc).check(dict(bottleneck.qdisc_options))
    for i, change in enumerate(scenario.changes):
        link = scenario.links[change.bottleneck]
        with validation.within(f"changes[{i}]."):
            if link.qdisc == "droptail" and change.qdisc_options:
                allowed = "left out for droptail, which has no options"
                given = dict(change.qdisc_options)
                raise validation.bad("qdisc_options", given, allowed, "remove it")
            options = {**dict(link.qdisc_options), **dict(change.qdisc_options)}
            kernel.queue(link.qdisc).check(options)
    for i, flow in enumerate(scenario.flows):
        if not flow.is_udp and (needed := kernel.cca(flow.cca).qdisc_option) is not None:
            _check_option(scenario, kernel, i, needed)


def changed(scenario: Scenario, kernel: KernelBuild) -> list[bytes]:
    """Return the netlink attribute with the qdisc's options of each change; empty without."""
    attributes = []
    for change in scenario.changes:
        link, attribute = scenario.links[change.bottleneck], b""
        if change.changes_queue:
            room = change.queue_packets or link.queue_packets or 0
            options = {**dict(link.qdisc_options), **dict(change.qdisc_options)}
            qdisc, mbps = kernel.queue(link.qdisc), change.bandwidth_mbps or link.mean_mbps
            attribute = rtnetlink.qdisc_attribute(qdisc, room, options, mbps)
        attributes.append(attribute)
    return attributes


def drops(scenario: Scenario, kernel: KernelBuild) -> dict[str, str]:
    """Return the packet that each qdisc of a module drops, by the qdisc's name.

    Runs store it, as :mod:`ccbench.run.packets` is independent of modules.
    """
    names = {bottleneck.qdisc for bottleneck in scenario.links} - QDISCS.keys()
    return {name: kernel.queue(name).drops.name.lower() for name in sorted(names)}


def _check_option(
    scenario: Scenario, kernel: KernelBuild, flow: int, needed: tuple[str, str, str]
) -> None:
    """Raise an InputError if a bottleneck's option is not the one that the flow's CCA requires."""
    qdisc, option, value = needed
    for i, bottleneck in enumerate(scenario.links):
        if bottleneck.qdisc != qdisc:
            continue
        default = kernel.queue(qdisc).options[option].default
        actual = dict(bottleneck.qdisc_options).get(option, default)
        if actual != value:
            cca = scenario.flows[flow].cca
            raise InputError(
                f"{scenario.link_name(i)}.qdisc_options.{option} is {actual!r}; it must be "
                f"{value!r} for cca = {cca!r} (flows[{flow}]): change it, or choose another "
                "congestion control"
            )
