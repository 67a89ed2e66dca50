# SPDX-License-Identifier: Apache-2.0
"""Speed of earlier runs on this machine.

The cache folder contains a small file for each engine and host. A lost or torn file is recreated by
the next run.
"""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from typing import TYPE_CHECKING

from ccbench.base.cache import cache_dir

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["expected_s", "learn"]

#: Weight of earlier runs when a run is added; about the last ten count.
_PAST_WEIGHT = 0.9


def expected_s(engine: str, work: float) -> float | None:
    """Return the expected run time in seconds; None without earlier runs on this machine.

    Parameters
    ----------
    engine : str
        The engine's name.
    work : float
        The work of :class:`~ccbench.emulate.resources.Needs`.
    """
    past_work, past_s = _past(_file(engine))
    return work * past_s / past_work if past_work else None


def learn(engine: str, work: float, took_s: float) -> None:
    """Record the time that an engine took for some work."""
    file = _file(engine)
    past_work, past_s = (_PAST_WEIGHT * value for value in _past(file))
    text = json.dumps({"work": past_work + work, "seconds": past_s + took_s})
    with suppress(OSError):  # an unwritable cache only disables estimates
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")


def _file(engine: str) -> Path:
    return cache_dir() / "speed" / f"{engine}-{platform.node()}.json"


def _past(file: Path) -> tuple[float, float]:
    try:
        document = json.loads(file.read_bytes())
        return float(document["work"]), float(document["seconds"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0.0, 0.0
