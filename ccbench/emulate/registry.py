# SPDX-License-Identifier: Apache-2.0
"""Registry of engines, collected from the packages of :mod:`ccbench.emulate`."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

import ccbench.emulate
from ccbench.base import validation
from ccbench.emulate.engine import Engine, LinkEngine

if TYPE_CHECKING:
    from ccbench.emulate.engine import EngineInfo

__all__ = ["ENGINES", "get_engine", "info_of", "resolve", "resolve_link"]


def _described() -> dict[str, EngineInfo]:
    """Return the descriptions of engines by name, those in virtual time first."""
    infos: list[EngineInfo] = []
    for module in pkgutil.iter_modules(ccbench.emulate.__path__, "ccbench.emulate."):
        if module.ispkg:
            infos += getattr(importlib.import_module(module.name), "ENGINES", ())
    infos.sort(key=lambda info: (info.is_real_time, info.name))
    return {info.name: info for info in infos}


#: Descriptions of engines by name.
#:
#: :meta hide-value:
ENGINES = _described()


def info_of(name: str) -> EngineInfo:
    """Return the description of an engine.

    Raises
    ------
    InputError
        If there is no such engine.

    Examples
    --------
    >>> info_of("kernel").is_repeatable
    True
    """
    if name not in ENGINES:
        allowed = f"one of {', '.join(ENGINES)}"
        raise validation.bad("engine", name, allowed, validation.choice_hint(name, ENGINES))
    return ENGINES[name]


def get_engine(name: str, version: str | None = None) -> Engine:
    """Return the engine of that name.

    Parameters
    ----------
    name : str
        One of :data:`ENGINES`.
    version : str, optional
        The required version (:meth:`~ccbench.emulate.engine.Engine.version`); missing parts are
        built, which may take minutes. By default the version in use on this machine.

    Raises
    ------
    InputError
        If there is no such engine.
    MissingRequirement
        If this machine lacks that version and cannot build it.

    Examples
    --------
    >>> get_engine("kernel").name
    'kernel'
    """
    kind = info_of(name).load()
    return kind() if version is None else kind.of_version(version)


def resolve(engine: str | Engine) -> Engine:
    """Return the engine of that name; an engine object is returned unchanged."""
    return get_engine(engine) if isinstance(engine, str) else engine


def resolve_link(engine: str | Engine) -> LinkEngine:
    """Return an engine whose links reach servers.

    Raises
    ------
    InputError
        If there is no such engine, or it has no links.
    """
    resolved = resolve(engine)
    if not isinstance(resolved, LinkEngine):
        names = ", ".join(info.name for info in ENGINES.values() if info.has_links)
        allowed = f"one whose links reach servers: {names}"
        raise validation.bad("engine", resolved.name, allowed, "choose one of these")
    return resolved
