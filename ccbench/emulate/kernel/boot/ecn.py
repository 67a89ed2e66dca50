# SPDX-License-Identifier: Apache-2.0
"""Validation of a scenario's ECN against the kernel's features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    from ccbench.emulate.kernel.source.build import KernelBuild
    from ccbench.experiment.scenario import Scenario

__all__ = ["check"]

_NEXT_STEP = "build another Linux (ccbench kernel build 7.3) and choose it (--kernel 7.3)"


def check(scenario: Scenario, kernel: KernelBuild) -> None:
    """Raise an InputError if a host negotiates accurate ECN, which the kernel lacks."""
    if "accecn" in kernel.descriptions.features:
        return
    allowed = f"true or false with Linux {kernel.release}, which lacks accurate ECN"
    for name in ("ecn", "receiver_ecn"):
        if getattr(scenario, name) == "accecn":
            raise validation.bad(name, "accecn", allowed, _NEXT_STEP)
