# SPDX-License-Identifier: Apache-2.0
"""Kernel settings of a scenario: sysctls and module parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ccbench.base import validation

__all__ = ["flattened", "module_parameters", "sysctls"]

#: Boolean module parameters in the kernel's notation.
_KERNEL_BOOLS = {True: "Y", False: "N"}


def sysctls(field: str, settings: Any) -> tuple[tuple[str, str], ...]:
    """Return sysctls of the end hosts as sorted pairs of strings.

    Raises
    ------
    InputError
        If a name is not below ``net.``, or a value is neither a whole number nor a line of text.
    """
    form = "the dotted name of a setting below net."
    step = 'write for example {"net.ipv4.tcp_sack" = "0"}'
    checked = {}
    for key, value in validation.pairs(field, settings, step).items():
        pattern = r"net(\.[A-Za-z0-9_-]+)+"
        name = _name(field, key, pattern, form, step)
        words = str(value) if _is_whole(value) else value
        allowed = "a whole number or one line of text"
        checked[name] = validation.text(f"{field}.{name}", words, r"[^\r\n]*", allowed, example="0")
    return tuple(sorted(checked.items()))


def module_parameters(field: str, settings: Any) -> tuple[tuple[str, str], ...]:
    """Return parameters of kernel modules as sorted pairs of strings.

    Raises
    ------
    InputError
        If a name is not ``module.parameter``, or a value is not a boolean, a whole number or a
        single word.
    """
    step = 'write for example {"tcp_rapid.tolerance" = 64}'
    checked = {}
    for key, value in validation.pairs(field, settings, step).items():
        form = "a module's name, a dot and a parameter's name"
        name = _name(field, key, r"[a-z0-9_]+\.[A-Za-z0-9_]+", form, step)
        # Spaces and quotes separate parameters on the kernel's command line.
        form = "a whole number, a boolean, or 1 to 200 characters without spaces and quotes"
        words = str(value) if _is_whole(value) else value
        words = _KERNEL_BOOLS[value] if isinstance(value, bool) else words
        checked[name] = validation.text(
            f"{field}.{name}", words, r"[!#-~]{1,200}", form, example="64"
        )
    return tuple(sorted(checked.items()))


def _name(field: str, key: object, pattern: str, allowed: str, step: str) -> str:
    """Return the name of a setting if it matches a pattern."""
    if not isinstance(key, str) or not re.fullmatch(pattern, key):
        raise validation.bad(field, key, allowed, step)
    return key


def flattened(field: str, value: object, _: Path = Path()) -> object:
    """Return a flat table with dotted names; TOML nests an unquoted ``net.ipv4.tcp_sack = 0``."""
    try:
        return _flat(value)
    except RecursionError:
        allowed = "a table of names and values"
        raise validation.bad(field, value, allowed, "shorten its dotted names") from None


def _flat(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    flat: dict[str, object] = {}
    for name, item in value.items():
        inner = _flat(item)
        if isinstance(inner, dict):
            flat.update({f"{name}.{rest}": setting for rest, setting in inner.items()})
        else:
            flat[name] = inner
    return flat


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
