# SPDX-License-Identifier: Apache-2.0
"""Validation of a scenario against the kernel's features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.build import KernelBuild
    from ccbench.experiment.scenario import Scenario

__all__ = ["check", "check_cca", "uses_accecn"]

_FULL_NAMES = {"accecn": "accurate ECN (RFC 9768)"}
_NEXT_STEP = "choose another Linux: ccbench kernel build 7.3, and --kernel 7.3"


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Raise an InputError if the kernel lacks a feature that the scenario's ECN requires."""
    if "accecn" in kernel.descriptions.features:
        return
    for name in ("ecn", "receiver_ecn"):
        if getattr(scenario, name) == "accecn":
            allowed = f"true or false on Linux {kernel.release}, which lacks accurate ECN"
            raise validation.bad(name, "accecn", allowed, _NEXT_STEP)


def uses_accecn(scenario: Scenario, kernel: KernelBuild) -> bool:
    """Return whether a host or a congestion control of the scenario asks for accurate ECN."""
    features = {kernel.cca(flow.cca).feature for flow in scenario.flows}
    return "accecn" in {scenario.ecn, scenario.receiver_ecn, *features}


def check_cca(cca: str, kernel: KernelBuild, field: str) -> None:
    """Raise an InputError about `field` if a congestion control requires a missing feature."""
    feature = kernel.descriptions.missing.get(cca)
    if feature is not None:
        lacks = f"Linux {kernel.release} lacks {_FULL_NAMES.get(feature, feature)}, which it needs"
        raise validation.bad(field, cca, f"another one, as {lacks}", _NEXT_STEP)
