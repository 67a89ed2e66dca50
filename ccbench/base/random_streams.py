# SPDX-License-Identifier: Apache-2.0
"""Independent random streams, derived from a seed and a label.

Each purpose (the sizes of short flows, the first generation of a search, the start times of a
scenario) labels its stream, and the generator is seeded with a digest of seed and label. Streams of
one seed and of adjacent seeds are therefore independent, and a new purpose does not change the
draws of the others. The kernel modules (``kernel_modules/include/random_stream.h``) and the
data-centre simulator (``native/datacenter/random.h``) use the same method.
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

#: Exclusive upper limit of derived seeds, so that JSON readers in all languages keep all digits.
_SEED_LIMIT = 2**53

#: Number of bytes of a label's digest that form the spawn key.
_KEY_BYTES = 16


def stream(seed: int, *label: str | int) -> np.random.Generator:
    """Return the NumPy generator of one purpose, at the beginning of its stream.

    Parameters
    ----------
    seed : int
        The user's seed, 0 or more.
    label : str or int
        The purpose, and an index where there are several: a flow number, a repetition.

    Examples
    --------
    >>> stream(1, "sizes").random() != stream(1, "gaps").random()
    True
    """
    import numpy as np  # noqa: PLC0415 - not needed to derive seeds

    digest = _digest(label)[:_KEY_BYTES]
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, len(digest), 4))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def standard_stream(seed: int, *label: str | int) -> random.Random:
    """Return the standard library's generator of one purpose, at the beginning of its stream.

    It serves code without NumPy, and random choices of Python objects.

    Examples
    --------
    >>> standard_stream(1, "sizes").random() != standard_stream(1, "gaps").random()
    True
    """
    return random.Random(_digest((seed, *label)))


def derived_seed(seed: int, *label: str | int) -> int:
    """Return the seed of one purpose, such as a scenario: an integer below 2^53.

    Examples
    --------
    >>> derived_seed(1, "repetition", 1) == derived_seed(1, "repetition", 1)
    True
    """
    return int.from_bytes(_digest((seed, *label))[:8], "little") % _SEED_LIMIT


def repetition_seeds(seed: int, count: int) -> tuple[int, ...]:
    """Return the seeds of the repetitions of a scenario.

    The first is `seed` itself. The others are derived from it, so that repetitions of adjacent
    seeds share no run. A larger `count` appends seeds.

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
    # JSON distinguishes 1 from "1", and ("a", "b") from ("ab",).
    return hashlib.sha256(json.dumps(label).encode()).digest()
