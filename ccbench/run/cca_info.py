# SPDX-License-Identifier: Apache-2.0
"""Internal state that congestion controls report.

In Linux, a congestion control can report up to 20 bytes of state through inet_diag, which ``ss -i``
displays. Its descriptor assigns names and units to these values (``CCA_INFO`` in
``kernel_modules/include/ccbench_describe.h``), in the order of the columns ``cca_info_0`` to
``cca_info_6`` of a run's samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.structures import structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.base.structures import Field

__all__ = ["COLUMNS", "MAX_BYTES", "check"]

#: Columns of a run's samples.
COLUMNS = tuple(f"cca_info_{i}" for i in range(7))

#: Size of the state that inet_diag reports.
MAX_BYTES = 20


def check(fields: Sequence[Field]) -> None:
    """Check the fields of a congestion control.

    Raises
    ------
    ValueError
        If two fields have the same name, or the fields do not fit.
    """
    if structure(fields).itemsize > MAX_BYTES or len(fields) > len(COLUMNS):
        raise ValueError(f"more than {len(COLUMNS)} fields or {MAX_BYTES} bytes")
