# SPDX-License-Identifier: Apache-2.0
"""Folder of the sources of ccbench's modules and init.

It imports nothing that does not belong to the reading of records: what readers of records import is
part of the identity of runs.
"""

from __future__ import annotations

from pathlib import Path

from ccbench.base.errors import CcbenchError

__all__ = ["HEADERS", "sources_dir"]

#: Folder of the headers that ccbench's modules and the init share.
HEADERS = "include"

_PACKAGE = Path(__file__).parents[3]


def sources_dir() -> Path:
    """Return the folder with the sources of ccbench's modules and the init.

    They are inside the package in an installed wheel, and beside it in a checkout.

    Raises
    ------
    CcbenchError
        If there is none: ccbench is not installed completely.

    Examples
    --------
    >>> (sources_dir() / "init" / "init.c").is_file()
    True
    """
    for folder in (_PACKAGE / "kernel_modules", _PACKAGE.parent / "kernel_modules"):
        if (folder / "um.config").is_file():
            return folder
    raise CcbenchError(
        f"the sources of the kernel modules are not in {_PACKAGE}: ccbench is not installed "
        "completely; install it again"
    )
