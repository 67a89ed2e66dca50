# SPDX-License-Identifier: Apache-2.0
"""Mixes of short flows: Poisson arrivals of flows whose sizes follow a distribution.

A mix is a value that determines the start and the size of each flow. It becomes the `arrivals` of a
:class:`~ccbench.experiment.flow.Flow`: with :meth:`FlowMix.arrivals` in Python, as a table in TOML,
or as a CSV file written by ``ccbench traffic``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ccbench.base import dataclass_dicts, random_streams, validation
from ccbench.base.checked_fields import check_fields, number, set_field, whole
from ccbench.base.counts import counted
from ccbench.base.errors import InputError
from ccbench.base.validation import RATE_MBPS, Range
from ccbench.experiment import flow_sizes
from ccbench.experiment.flow_sizes import FlowSizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.arrivals import Arrivals

__all__ = ["MOST_FLOWS", "FlowMix", "divided"]

#: Maximum number of flows of a scenario.
MOST_FLOWS = 1_000_000

_SECONDS = Range(0, 1e6)
_LOAD = Range(0, RATE_MBPS.high, low_open=True)
_SEED = Range(0, 2**63 - 1)


@dataclass(frozen=True, kw_only=True)
class FlowMix:
    """Short flows that arrive as a Poisson process.

    Parameters
    ----------
    sizes : str, float or FlowSizes
        Flow sizes: a name from :data:`ccbench.experiment.flow_sizes.SIZES`, a single size in bytes,
        or a distribution.
    load_mbps : float
        Mean offered payload in Mbit/s, above 0.
    start_s, stop_s : float
        Interval of arrivals in seconds.
    seed : int
        Seed of the arrivals.

    Raises
    ------
    InputError
        If a value is out of range, or the mix has more flows than a scenario may have.

    Examples
    --------
    >>> mix = FlowMix(sizes="heavy-tailed", load_mbps=48, stop_s=60)
    >>> round(mix.expected_flows)
    16364
    >>> len(mix.arrivals())
    16294
    """

    sizes: str | float | FlowSizes = "heavy-tailed"
    load_mbps: float = field(metadata=number(_LOAD, example=48))
    start_s: float = field(default=0.0, metadata=number(_SECONDS, example=0))
    stop_s: float
    seed: int = field(default=1, metadata=whole(_SEED, example=1))

    def __post_init__(self) -> None:
        check_fields(self)
        later = Range(self.start_s, _SECONDS.high, low_open=True)
        example = self.start_s + 60
        set_field(self, "stop_s", validation.number("stop_s", self.stop_s, later, example=example))
        if self.expected_flows > 0.99 * MOST_FLOWS:
            allowed = f"one with fewer than {MOST_FLOWS} flows; this has {self.expected_flows:.0f}"
            raise validation.bad("load_mbps", self.load_mbps, allowed, "lower it or stop earlier")

    @property
    def distribution(self) -> FlowSizes:
        """Distribution of the flow sizes."""
        return self.sizes if isinstance(self.sizes, FlowSizes) else flow_sizes.find(self.sizes)

    @property
    def expected_flows(self) -> float:
        """Mean number of flows over all seeds."""
        return self.distribution.flows_per_s(self.load_mbps) * (self.stop_s - self.start_s)

    def arrivals(self) -> Arrivals:
        """Return the start in seconds and the size in bytes of each flow, in order of the start.

        Raises
        ------
        InputError
            If no flow arrives.

        Examples
        --------
        >>> FlowMix(sizes=1500, load_mbps=0.1, stop_s=1).arrivals()[0]
        (0.066..., 1500)
        """
        # With two streams, the n-th size does not depend on the number of flows.
        times, sizes = self._stream("starts"), self._stream("sizes")
        count = int(times.poisson(self.expected_flows))
        if count == 0:
            allowed, step = "enough for one flow", "raise it, or stop later"
            raise validation.bad("load_mbps", self.load_mbps, allowed, step)
        # Given their number, the arrivals of a Poisson process are independent and uniform.
        starts = np.sort(times.uniform(self.start_s, self.stop_s, count))
        drawn = self.distribution.sample(count, sizes)
        return tuple(zip(starts.tolist(), drawn.tolist(), strict=True))

    def _stream(self, purpose: str) -> np.random.Generator:
        """Return a random stream that is independent of those of all other mixes."""
        mix = (self.load_mbps, self.start_s, self.stop_s)
        deciles = self.distribution.at(np.linspace(0, 1, 11)).tolist()
        return random_streams.stream(self.seed, "flow mix", purpose, *map(repr, mix), *deciles)

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> FlowMix:
        """Create a mix from a dictionary of its settings, such as a TOML table.

        Raises
        ------
        InputError
            If a setting is unknown, missing or wrong.

        Examples
        --------
        >>> FlowMix.from_dict({"sizes": 20000, "load_mbps": 10, "stop_s": 30}).seed
        1
        """
        return dataclass_dicts.build(cls, data)


def divided(arrivals: Arrivals, parts: int, *, seed: int = 1) -> tuple[Arrivals, ...]:
    """Assign each flow to one of `parts` groups at random, with equal probability.

    This gives cross traffic of several congestion controls (Goyal et al. 2022, appendix B.1).

    Parameters
    ----------
    arrivals : tuple of (float, int)
        Start and size of each flow.
    parts : int
        Number of groups, 1 to 64.
    seed : int
        Seed of the assignment.

    Returns
    -------
    tuple of arrivals
        Flows of each group, in order of the start.

    Raises
    ------
    InputError
        If a value is out of range, or a group has no flow.

    Examples
    --------
    >>> groups = divided(tuple((float(i), 1000) for i in range(900)), 3)
    >>> [len(group) for group in groups], sum(len(group) for group in groups)
    ([...], 900)
    """
    parts = validation.whole("parts", parts, Range(1, 64), example=3)
    validation.whole("seed", seed, _SEED, example=1)
    # The first flow selects the stream: appended flows do not change the assignment of the others.
    stream = random_streams.stream(seed, "divided", parts, *map(repr, arrivals[:1]))
    group_of = stream.integers(parts, size=len(arrivals)).tolist()
    groups: list[list[tuple[float, int]]] = [[] for _ in range(parts)]
    for flow, group in zip(arrivals, group_of, strict=True):
        groups[group].append(flow)
    if not all(groups):
        raise InputError(
            f"arrivals are {counted(len(arrivals), 'flow')}, too few for {parts} groups: add some"
        )
    return tuple(tuple(group) for group in groups)
