# SPDX-License-Identifier: Apache-2.0
"""JSON: reading of files that may be damaged or malicious, and writing of any values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["loads", "plain", "text"]


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


def text(document: Mapping[str, Any]) -> str:
    """Return a document as JSON; NaN and infinities, absent from JSON, become null.

    Examples
    --------
    >>> print(text({"rate": float("nan")}), end="")
    {
      "rate": null
    }
    """
    return json.dumps(plain(document), indent=2, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Convert `value` to JSON types."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)
