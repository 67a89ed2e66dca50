# SPDX-License-Identifier: Apache-2.0
"""One error for many failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.base.errors import EngineError, RefusedInput

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["raise_failures"]

#: Maximum number of failures that an error describes.
_MOST_FAILURES = 5


def raise_failures(failed: Sequence[tuple[str, EngineError]], total: int, others: str) -> None:
    """Raise one error that names each failure with its reason, if there are any.

    Parameters
    ----------
    failed : sequence of (str, EngineError)
        The names of what failed, and the errors.
    total : int
        Number of results, with those that did not fail.
    others : str
        What became of the others, such as ``"are in the store"``.

    Raises
    ------
    EngineError
        RefusedInput if the first error is one.

    Examples
    --------
    >>> raise_failures([("a", EngineError("no luck")), ("b", EngineError("lost"))], 3, "finished")
    Traceback (most recent call last):
    ...
    ccbench.base.errors.EngineError: 2 of 3 failed: a: no luck; b: lost (the others finished)
    """
    if not failed:
        return
    first = failed[0][1]
    kind = RefusedInput if isinstance(first, RefusedInput) else EngineError
    if total == 1:
        raise kind(f"{failed[0][0]}: {first}", first.console) from first
    shown = [f"{name}: {error}" for name, error in failed[:_MOST_FAILURES]]
    more = len(failed) - len(shown)
    words = "; ".join([*shown, *([f"and {more} more"] if more else [])])
    message = f"{len(failed)} of {total} failed: {words} (the others {others})"
    raise kind(message, first.console) from first
