# SPDX-License-Identifier: Apache-2.0
"""The kernel's configuration: parsing, and comparison with the requested options."""

from __future__ import annotations

import re

__all__ = ["OPTIONAL", "not_in_effect", "parse_config"]

#: Options of the fragment that exist only in some kernel versions.
OPTIONAL = frozenset(
    {
        "CONFIG_BASE_FULL",  # 6.1; replaced in 6.12 by BASE_SMALL, which is off
        "CONFIG_NET_SCH_DUALPI2",  # since 6.17
        "CONFIG_PROC_SYSCTL",  # part of SYSCTL in 7.2
        "CONFIG_RANDOM_TRUST_BOOTLOADER",  # 6.1; 6.12 always does
        "CONFIG_RANDOM_TRUST_CPU",  # the same
    }
)

_LINE = re.compile(r"^(?:(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set)$", re.MULTILINE)


def parse_config(text: str) -> dict[str, str]:
    r"""Return the options of a configuration, with "n" for those that are off.

    Examples
    --------
    >>> parse_config("CONFIG_NET=y\n# CONFIG_IPV6 is not set\n")
    {'CONFIG_NET': 'y', 'CONFIG_IPV6': 'n'}
    """
    options = {}
    for name, value, off in _LINE.findall(text):
        options[off or name] = "n" if off else value
    return options


def not_in_effect(fragment: str, config: str) -> list[str]:
    r"""Return the options of a fragment that have another value in the complete configuration.

    The order is that of the fragment. Options in :data:`OPTIONAL` may be absent from the
    configuration.

    Parameters
    ----------
    fragment : str
        The requested options.
    config : str
        The kernel's resulting ``.config``.

    Examples
    --------
    >>> not_in_effect("CONFIG_NET=y\nCONFIG_IPV6=n", "CONFIG_NET=m\n")
    ['CONFIG_NET']
    """
    actual = parse_config(config)
    return [
        name
        for name, value in parse_config(fragment).items()
        if actual.get(name, value if name in OPTIONAL else "n") != value
    ]
