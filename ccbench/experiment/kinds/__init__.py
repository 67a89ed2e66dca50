# SPDX-License-Identifier: Apache-2.0
"""Kinds of flows: what their applications do, and their settings.

Each module of this package without a leading underscore describes one kind as ``KIND``; there is no
other list. In the guest, a kind is a file of ``kernel_modules/flows`` with a ``struct flow_ops``.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from ccbench.experiment.kinds._descriptor import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.base.checked_fields import Metadata

__all__ = ["KINDS", "MODULES", "Kind", "setting"]

#: Modules that describe kinds.
MODULES = tuple(
    f"{__name__}.{module.name}"
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
)

#: Kinds of flows by their names in scenarios.
KINDS: Mapping[str, Kind] = MappingProxyType(
    {kind.name: kind for kind in (import_module(module).KIND for module in MODULES)}
)


def setting(name: str) -> Metadata:
    """Return the metadata of a field of flows that some kinds have and others do not."""
    owned = ({**kind.settings, **kind.optional} for kind in KINDS.values())
    metadata = next(settings[name] for settings in owned if name in settings)

    def check(name: str, value: object) -> object:
        return value if value in (None, (), "") else metadata["check"](name, value)

    return {**metadata, "check": check}
