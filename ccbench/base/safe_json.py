# SPDX-License-Identifier: Apache-2.0
"""JSON from files that may be damaged or malicious."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["loads"]


def loads(text: str | bytes) -> Any:
    """Parse JSON; any error is a ``ValueError``, including excessive nesting.

    Examples
    --------
    >>> loads("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
