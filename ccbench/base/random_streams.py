# SPDX-License-Identifier: Apache-2.0
"""Random streams: one for every purpose, derived from a seed and a label.

A seed alone never becomes a generator. Each purpose (the sizes of short flows, the first generation
of a search, the start times of a scenario) names its stream, and the name is mixed with the seed.
So streams of one seed are independent of each other, streams of neighbouring seeds are too, and a
purpose that is added changes no other's draws. The kernel modules
(``kernel_modules/include/random_stream.h``) and the simulator of data centres
(``native/datacenter/random.h``) do the same.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import TYPE_CHECKING

from ccbench.base import validation

if TYPE_CHECKING:
    import numpy as np

__all__ = ["derived_seed", "repetition_seeds", "standard_stream", "stream"]

#: Derived seeds stay below this, so that JSON readers of every language keep all digits.
_SEED_LIMIT = 2**53

#: Bytes of a label's digest that become the spawn key.
_KEY_BYTES = 16


def stream(seed: int, *label: str | int) -> np.random.Generator:
    """Return the generator of one purpose, at the beginning of its stream.

    Parameters
    ----------
    seed : int
        The user's seed, 0 or more.
    label : str or int
        The purpose, and what tells several of a kind apart: a flow's number, a repetition.

    Examples
    --------
    >>> stream(1, "sizes").random() != stream(1, "gaps").random()
    True
    """
    import numpy as np  # noqa: PLC0415 - not for those who only derive seeds

    digest = _digest(label)[:_KEY_BYTES]
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, len(digest), 4))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def standard_stream(seed: int, *label: str | int) -> random.Random:
    """Return the generator of one purpose, as :func:`stream` does, of the standard library.

    For code without NumPy, and for choices from Python objects.

    Examples
    --------
    >>> standard_stream(1, "sizes").random() != standard_stream(1, "gaps").random()
    True
    """
    return random.Random(_digest((seed, *label)))


def derived_seed(seed: int, *label: str | int) -> int:
    """Return the seed of one purpose: a whole number below 2^53.

    For what takes a seed of its own, such as a scenario.

    Examples
    --------
    >>> derived_seed(1, "repetition", 1) == derived_seed(1, "repetition", 1)
    True
    """
    return int.from_bytes(_digest((seed, *label))[:8], "little") % _SEED_LIMIT


def repetition_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Return the seeds with which a scenario is repeated.

    The first is `seed` itself. The others are derived from it, so that repetitions of one seed and
    of the next have no run in common. More repetitions only add seeds at the end.

    Parameters
    ----------
    seed : int
        The user's seed.
    count : int
        Number of repetitions, 1 or more.

    Examples
    --------
    >>> repetition_seeds(7, 1)
    (7,)
    >>> repetition_seeds(7, 3)[:2] == repetition_seeds(7, 2)
    True
    """
    validation.whole("count", count, validation.Range(1), example=5)
    return (seed, *(derived_seed(seed, "repetition", i) for i in range(1, count)))


def _digest(label: tuple[str | int, ...]) -> bytes:
    # JSON keeps 1 and "1", and ("a", "b") and ("ab",), apart.
    return hashlib.sha256(json.dumps(label).encode()).digest()
