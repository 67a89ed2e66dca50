# SPDX-License-Identifier: Apache-2.0
"""Named schemes: one module for each and its variants.

A module sets ``SCHEMES``; there is no other list. Their names, summaries and the order of the
modules are those of the command line and of the documentation.

Common to all, where the thesis (section 3.6.2.1) leaves room:

- Pause frames have a class of their own, before all data, and ACKs too: the thesis says so for
  BFC's pauses. It counts as one of BFC's physical queues, so `queues` of 32 are 31 for data.
- The thesis ran DCTCP and HPCC with HPCC's simulator, and DCQCN with bobzhuyb/ns3-rdma. As in
  their configurations, switches queue the ACKs of DCTCP and HPCC with the data, and 256 packets of
  DCQCN share an ACK.
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
    """Return all schemes, by name.

    Examples
    --------
    >>> schemes()["bfc-128"].queues
    128
    """
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {
        one.name: one
        for module in modules
        for one in importlib.import_module(f"{__name__}.{module}").SCHEMES
    }


def scheme(name: str) -> Scheme:
    """Return the scheme of this name.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> scheme("hpcc").pfc
    True
    """
    known = schemes()
    validation.one_of("scheme", name, known)
    return known[name]


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
    known = {field.name for field in fields(chosen)} - {"name", "summary"}
    values = dict(options)
    for name in values:
        if name not in known:
            raise validation.unknown_key(name, known)
    return replace(chosen, **values)
