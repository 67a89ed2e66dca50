# SPDX-License-Identifier: Apache-2.0
"""The speed of earlier runs on this machine.

Each engine has a small file in the cache folder, for each host that shares it. Losing one does no
harm: the next run makes another.
"""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from typing import TYPE_CHECKING

from ccbench.base import durable
from ccbench.base.cache import cache_dir

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["expected_s", "learn"]

#: Weight of the past when a run is added: about the last ten count.
_PAST = 0.9


def expected_s(engine: str, work: float) -> float | None:
    """Return how long a run of an engine takes, in seconds; None if none has run here yet.

    Parameters
    ----------
    engine : str
        Its name.
    work : float
        Of :class:`~ccbench.emulate.resources.Needs`.
    """
    past_work, past_s = _past(_file(engine))
    return work * past_s / past_work if past_work else None


def learn(engine: str, work: float, took_s: float) -> None:
    """Note that an engine took some time for some work."""
    file = _file(engine)
    past_work, past_s = (_PAST * value for value in _past(file))
    text = json.dumps({"work": past_work + work, "seconds": past_s + took_s})
    with suppress(OSError):  # a cache that cannot be written only lacks this
        file.parent.mkdir(parents=True, exist_ok=True)
        durable.write_text(file, text + "\n")


def _file(engine: str) -> Path:
    return cache_dir() / "speed" / f"{engine}-{platform.node()}.json"


def _past(file: Path) -> tuple[float, float]:
    try:
        document = json.loads(file.read_bytes())
        return float(document["work"]), float(document["seconds"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0.0, 0.0
