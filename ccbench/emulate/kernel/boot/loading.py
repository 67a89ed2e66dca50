# SPDX-License-Identifier: Apache-2.0
"""The modules that a run loads: those of the emulation, and the CCAs and qdiscs that it uses.

An additional module would change the exact times of a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.emulate.kernel.source.modules import Module
    from ccbench.experiment.scenario import Scenario

__all__ = ["EMULATION_MODULES", "loaded"]

#: Modules of every run: the path, and the flows, which use it.
EMULATION_MODULES = ("ccbench_link", "ccbench_flows")

#: Sysctl that names the congestion control of sockets that choose none.
_DEFAULT_CCA = "net.ipv4.tcp_congestion_control"


def loaded(scenario: Scenario, kernel: KernelBuild, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of the modules that a run loads, in this order.

    Besides those of the emulation, they are the modules whose congestion controls, qdiscs,
    parameters or sysctls (whose names start with that of the module) the scenario names, those in
    `also`, and before each the modules that it needs.
    """
    sysctls = dict(scenario.path.sysctls)
    named = {flow.cca for flow in scenario.split_flows if not flow.is_udp}
    named |= {kernel.queue(link.qdisc).kernel_name for link in scenario.path.links}
    named |= {sysctls.get(_DEFAULT_CCA, "")}
    settings = {name.partition(".")[0] for name, _ in scenario.path.module_parameters}

    def is_used(module: Module) -> bool:
        prefix = f"{module.name}_"
        return (
            not named.isdisjoint((*module.ccas, *module.qdiscs))
            or module.name in settings
            or module.name in also
            or any(name.rpartition(".")[2].startswith(prefix) for name in sysctls)
        )

    used = (name for name, module in sorted(kernel.modules.items()) if is_used(module))
    order: dict[str, None] = {}
    for name in (*EMULATION_MODULES, *used):
        _add(name, kernel, order)
    return tuple(order)


def _add(name: str, kernel: KernelBuild, order: dict[str, None]) -> None:
    """Append a module to those in `order`, after the modules that it needs."""
    if name not in order:
        for other in kernel.modules[name].needs:
            _add(other, kernel, order)
        order[name] = None
