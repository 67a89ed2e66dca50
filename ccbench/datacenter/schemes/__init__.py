# SPDX-License-Identifier: Apache-2.0
"""Named schemes: one module per scheme and its variants.

Each module sets ``SCHEMES``; there is no other list. The command line and the documentation take
names, summaries and order from the modules.

Common choices left open by the thesis (section 3.6.2.1):

- Pause frames have a class of their own, ahead of all data, and so do ACKs; the thesis says so for
  BFC's pauses. This class counts as one of BFC's physical queues, so that 32 `queues` are 31 for
  data.
- The thesis ran DCTCP and HPCC with HPCC's simulator, and DCQCN with bobzhuyb/ns3-rdma. As in their
  configurations, switches queue the ACKs of DCTCP and HPCC with the data, and DCQCN sends one ACK
  per 256 packets.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ccbench.base import validation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ccbench.datacenter.scheme import Scheme

__all__ = ["scheme", "schemes", "with_options"]


@cache
def schemes() -> Mapping[str, Scheme]:
    """Return all schemes by name.

    Examples
    --------
    >>> schemes()["bfc-128"].queues
    128
    """
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {
        scheme.name: scheme
        for module in modules
        for scheme in importlib.import_module(f"{__name__}.{module}").SCHEMES
    }


def scheme(name: str) -> Scheme:
    """Return the scheme with this name.

    Raises
    ------
    InputError
        If there is no such scheme.

    Examples
    --------
    >>> scheme("hpcc").pfc
    True
    """
    validation.one_of("scheme", name, schemes())
    return schemes()[name]


def with_options(chosen: Scheme, options: Iterable[tuple[str, Any]]) -> Scheme:
    """Return a scheme with some of its settings changed.

    Raises
    ------
    InputError
        If a setting does not exist or does not allow its value.

    Examples
    --------
    >>> with_options(scheme("bfc"), [("queues", 128)]) == replace(scheme("bfc"), queues=128)
    True
    """
    settings = {field.name for field in fields(chosen)} - {"name", "summary"}
    values = dict(options)
    for name in values:
        if name not in settings:
            raise validation.unknown_key(name, settings)
    return replace(chosen, **values)
