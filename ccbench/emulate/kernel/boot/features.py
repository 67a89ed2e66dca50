# SPDX-License-Identifier: Apache-2.0
"""Validation of a scenario against the kernel's features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.emulate.kernel.releases import NEWEST_TESTED
from ccbench.emulate.kernel.source.kernel_build import MissingFeature

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.experiment.scenario import Scenario

__all__ = ["check", "check_cca", "needing_accecn"]

_FULL_NAMES = {"accecn": "accurate ECN (RFC 9768)"}
_NEXT_STEP = (
    f"choose another Linux: ccbench kernel build {NEWEST_TESTED}, and --kernel {NEWEST_TESTED} "
    f'(in Python, engine=KernelEngine(kernel="{NEWEST_TESTED}"))'
)


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Raise an InputError if the kernel or a CCA does not support the scenario's ECN."""
    ends = {"ecn": scenario.path.ecn, "receiver_ecn": scenario.path.receiver_ecn}
    if "accecn" not in kernel.descriptions.features:
        for name, value in ends.items():
            if value == "accecn":
                allowed = f"true or false on Linux {kernel.release}, which lacks accurate ECN"
                error = validation.bad(name, value, allowed, _NEXT_STEP)
                raise error from MissingFeature(_FULL_NAMES["accecn"])
    _check_subflows(scenario, kernel)
    if scenario.path.hosts_ecn == ("accecn", "accecn"):
        for where, flow in scenario.named_split_flows():
            if not flow.is_udp and kernel.cca(flow.cca).excludes == "accecn":
                allowed = 'one whose feedback works with ecn = "accecn"'
                step = "choose another congestion control, or ecn = true"
                raise validation.bad(f"{where}.cca", flow.cca, allowed, step)


def _check_subflows(scenario: Scenario, kernel: KernelBuild) -> None:
    """Check that a connection does not mix congestion controls that need the receiver's part."""
    for i, flow in enumerate(scenario.flows):
        ccas = {path.cca for path in flow.split}
        for k, path in enumerate(flow.split):
            if len(ccas) > 1 and kernel.cca(path.cca).needs_receiver:
                allowed = "that of all subflows of the connection, as it needs the receiver's part"
                step = "use one for all, or two connections"
                raise validation.bad(f"flows[{i}].subflows[{k}].cca", path.cca, allowed, step)


def check_cca(cca: str, kernel: KernelBuild, field: str) -> None:
    """Raise an InputError about `field` if a congestion control requires a missing feature."""
    feature = kernel.descriptions.missing.get(cca)
    if feature is not None:
        name = _FULL_NAMES.get(feature, feature)
        allowed = f"one that works without {name}, which Linux {kernel.release} lacks"
        raise validation.bad(field, cca, allowed, _NEXT_STEP) from MissingFeature(name)


def needing_accecn(scenario: Scenario, kernel: KernelBuild) -> list[str]:
    """Return the scenario's congestion controls that ask for accurate ECN by themselves, sorted."""
    ccas = {flow.cca for flow in scenario.split_flows if not flow.is_udp}
    return sorted(cca for cca in ccas if kernel.cca(cca).feature == "accecn")
