# SPDX-License-Identifier: Apache-2.0
"""Versions of installed distributions."""

from __future__ import annotations

__all__ = ["installed_version"]


def installed_version(distribution: str = "ccbench") -> str:
    """Return the version of an installed distribution.

    Examples
    --------
    >>> import ccbench
    >>> installed_version() == ccbench.__version__
    True
    """
    from importlib.metadata import version  # noqa: PLC0415 - most commands never ask

    return version(distribution)
