# SPDX-License-Identifier: Apache-2.0
"""Where in the space the most harmful scenarios of a search lie, in words.

Two scenarios are in different regions if somewhere between them there is much less harm. Distances
do not tell: scenarios that are unlike only in what does not matter lie far apart, and two causes of
harm can lie close to each other. So a model of harm, fitted to all that was run, walks the straight
line between each two of them. Where nothing was run the model says what was seen nearby: regions
are divided only by experiments that showed less harm.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.random_streams import standard_stream
from ccbench.raygen.analysis.diversity import ranked
from ccbench.raygen.analysis.importance import FEWEST, forest, random_state
from ccbench.raygen.analysis.rule import spanning
from ccbench.raygen.gene import Choice

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ccbench.raygen.analysis.rule import Condition, Side
    from ccbench.raygen.gene import Gene
    from ccbench.raygen.space import Chromosome, Space

__all__ = ["Region", "regions"]

#: At most one in so many experiments counts as a top one: in half of all there is nothing special.
_TOP_SHARE = 4
#: A region ends where harm is less than so far up from what is usual to what the top has.
_EDGE = 0.5
#: Points at which the model is asked between two scenarios.
_STEPS = 10
#: A rule is learned from so many scenarios of its region or more, if the search has them ...
_FEW = 12
#: ... among this many times the top ones.
_POOL = 3
#: Random scenarios by which the model tells what is usual, and from which rules tell regions.
_ANYWHERE = 1000
#: A rule has at most so many bounds ...
_BOUNDS = 4
#: ... each of which lowers the Gini impurity (0.5 at first) by so much or more: what lowers it less
#: is more often chance than not.
_GAIN = 0.03
#: Of the model. It is not of interest to anybody.
_SEED = 1


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of the space in which alpha does harm.

    Attributes
    ----------
    members : tuple of int
        Numbers of the top scenarios in it, the most harmful first.
    lowest_harm, highest_harm : float
        Their relative harm.
    rule : tuple of Condition
        What they have in common and scenarios with less harm have not. Empty if nothing of that
        kind can be told.
    members_matched : int
        For how many of the members the rule holds.
    matched : int
        For how many of all different experiments that did not fail it holds.
    matched_harm : float
        The median of their relative harm. If it is far below that of the members, the rule is not
        all that it takes.
    """

    members: tuple[int, ...]
    lowest_harm: float
    highest_harm: float
    rule: tuple[Condition, ...]
    members_matched: int
    matched: int
    matched_harm: float

    @property
    def worst(self) -> int:
        """The number of its most harmful scenario."""
        return self.members[0]

    def where(self, alpha: str = "alpha", beta: str = "beta") -> str:
        """Say the rule to people; `alpha` and `beta` are what the two kinds of flows are called."""
        words = ", ".join(condition.words(alpha, beta) for condition in self.rule)
        return words or "anywhere, as far as can be told"

    def evidence(self) -> str:
        """Say to people how well the rule holds."""
        size = len(self.members)
        if self.members_matched < size:
            members = f"{self.members_matched} of these {size} scenarios"
        else:
            members = f"all {size} of these scenarios" if size > 1 else "this scenario"
        return (
            f"holds for {members}, and for {self.matched} of all that were run, whose median"
            f" relative harm is {self.matched_harm:+.3f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the region as a dictionary of JSON-able values."""
        return {
            "members": list(self.members),
            "worst": self.worst,
            "lowest_harm": self.lowest_harm,
            "highest_harm": self.highest_harm,
            "rule": [condition.to_dict() for condition in self.rule],
            "members_matched": self.members_matched,
            "matched": self.matched,
            "matched_harm": self.matched_harm,
        }


def regions(space: Space, experiments: pd.DataFrame, top: int = 20) -> tuple[Region, ...]:
    """Group the most harmful scenarios of a search into regions, and explain each by a rule.

    A random forest is fitted to all experiments. Two scenarios are in one region if the harm that
    it predicts between them stays in the upper half of what the top scenarios have above the
    usual, or falls by no more than the forest is usually wrong by; so are those that are linked by
    others. That works on a handful of points, leaves genes alone that do not matter, and one region
    is as good an answer as several: none of which is true of clusters by distance.

    A rule is the path in a decision tree that tells a region from random scenarios, which count the
    more the less harm the forest predicts for them, and from the top scenarios of other regions.
    (The other experiments would not do: where a search has looked at small queues only, queues no
    longer tell them apart.) Its bounds are those of the scenarios themselves, rounded outwards.

    Parameters
    ----------
    space : Space
        Where they lie.
    experiments : DataFrame
        One row per experiment, with ``number``, ``relative_harm`` (NaN if it failed) and a column
        for each gene (:attr:`SearchResult.experiments`).
    top : int
        How many scenarios to group: the most harmful different ones. At most a quarter of those
        that did not fail.

    Returns
    -------
    tuple of Region
        The one with the most harmful scenario first. One without a rule if fewer than 20 different
        experiments did not fail, or if the forest does not tell the top ones from noise. None if
        all failed.

    Examples
    --------
    Harm where the queue is small and the round-trip time is long:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> rng = standard_stream(1, "example")
    >>> table = pd.DataFrame(DEFAULT_SPACE.values(DEFAULT_SPACE.random(rng)) for _ in range(200))
    >>> table["relative_harm"] = 0.4 * ((table["queue_bdp"] < 1) & (table["rtt_ms"] > 100))
    >>> (region,) = regions(DEFAULT_SPACE, table.rename_axis("number").reset_index())
    >>> region.where()
    'RTT of at least 100 ms, queue of at most 0.97 BDP'
    """
    known = ranked(space, experiments).reset_index(drop=True)
    count = min(top, -(-len(known) // _TOP_SHARE))
    if not count:
        return ()
    if len(known) < FEWEST or (landscape := _Landscape(space, known, count)).is_flat:
        return (_region(known, np.arange(count), ()),)
    labels = landscape.labels(min(count * _POOL, len(known)))
    found = []
    for label in pd.unique(labels[:count]):
        (same,) = np.nonzero(labels == label)
        members = same[same < count]
        others = np.setdiff1d(np.arange(count), members)
        rule = landscape.rule(same[: max(len(members), _FEW)], others)
        found.append(_region(known, members, rule))
    return tuple(found)


class _Landscape:
    """What a forest makes of the experiments.

    Parameters
    ----------
    space : Space
    known : DataFrame
        Different experiments that did not fail, the most harmful first. Elsewhere in this module
        they are called by their place in it.
    count : int
        How many of them are the top ones.
    """

    def __init__(self, space: Space, known: pd.DataFrame, count: int) -> None:
        self._space = space
        self._genes = known[[gene.name for gene in space.genes]]
        harm = known["relative_harm"].to_numpy()
        self._model = forest(space, _SEED, "regions").fit(self._genes, harm)
        rng = standard_stream(_SEED, "regions", "anywhere")
        self._anywhere = self._table([space.random(rng) for _ in range(_ANYWHERE)])
        self._harm_anywhere = self._model.predict(self._anywhere)
        self._usual = float(np.median(self._harm_anywhere))
        # Out of bag: what the trees say that have not seen the experiment, so that scenarios which
        # are on top by good luck are not taken for more.
        unseen = self._model[-1].oob_prediction_
        self._error = float(np.sqrt(np.mean((unseen - harm) ** 2)))
        self._level = float(np.median(unseen[:count]))
        self._rise = self._level - self._usual

    @property
    def is_flat(self) -> bool:
        """Whether the top is not told from noise."""
        return self._rise <= self._error

    def labels(self, pool: int) -> npt.NDArray[np.int_]:
        """Return the regions of the first `pool` experiments, as numbers."""
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 (a slow import)

        places = [self._space.chromosome(row) for row in self._genes[:pool].to_dict("records")]
        first, second = np.triu_indices(pool)
        walks = (self._walk(places[i], places[j]) for i, j in zip(first, second, strict=True))
        harm = self._model.predict(self._table(itertools.chain.from_iterable(walks)))
        lowest = np.zeros((pool, pool))
        lowest[first, second] = lowest[second, first] = harm.reshape(len(first), -1).min(axis=1)
        edge = self._usual + _EDGE * self._rise
        within = lowest.diagonal() >= edge
        labels: npt.NDArray[np.int_] = connected_components(lowest >= edge, directed=False)[1]
        # Where harm seems to have been good luck, a scenario joins what it has most in common with.
        for i in np.nonzero(~within)[0]:
            labels[i] = labels[np.where(within, lowest[i], -np.inf).argmax()]
        return labels

    def rule(
        self, inside: npt.NDArray[np.int_], outside: npt.NDArray[np.int_]
    ) -> tuple[Condition, ...]:
        """Return what tells some experiments from others and from what does less harm anywhere."""
        from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 (a slow import)

        less = ((self._level - self._harm_anywhere) / self._rise).clip(0, 1)
        parts = (self._genes.iloc[inside], self._genes.iloc[outside], self._anywhere)
        table = pd.concat(parts, ignore_index=True)
        is_inside = np.arange(len(table)) < len(inside)
        weights = np.concatenate([np.ones(len(inside) + len(outside)), less])
        for part in (is_inside, ~is_inside):  # each weighs as much as the other
            weights[part] /= 2 * weights[part].sum()
        for gene in self._space.genes:
            if isinstance(gene, Choice):
                table[gene.name] = _shares(table[gene.name], weights, is_inside)
        tree = DecisionTreeClassifier(
            max_depth=_BOUNDS,
            min_impurity_decrease=_GAIN,
            random_state=random_state(_SEED, "regions", "rules"),
        ).fit(table.to_numpy(dtype=float), is_inside, weights)
        # The leaf with most of them, and the way there: on which side of it each gene is bounded.
        own = table.iloc[: len(inside)].to_numpy(dtype=float)
        leaves = tree.apply(own)
        first = int(np.argmax(leaves == np.bincount(leaves).argmax()))
        kernel = self._genes.iloc[inside[leaves == leaves[first]]]
        sides: dict[Gene, set[Side]] = {}
        for node, child in itertools.pairwise(tree.decision_path(own[[first]]).indices):
            side: Side = "high" if child == tree.tree_.children_left[node] else "low"
            sides.setdefault(self._space.genes[tree.tree_.feature[node]], set()).add(side)
        conditions = (
            spanning(gene, kernel[gene.name].tolist(), sides[gene])
            for gene in self._space.genes
            if gene in sides
        )
        return tuple(condition for condition in conditions if condition is not None)

    def _walk(self, start: Chromosome, end: Chromosome) -> list[Chromosome]:
        """Return scenarios on the straight line from one to another, both included."""
        genes = list(zip(self._space.genes, start, end, strict=True))
        return [
            tuple(gene.blend(ours, theirs, step / _STEPS) for gene, ours, theirs in genes)
            for step in range(_STEPS + 1)
        ]

    def _table(self, chromosomes: Iterable[Chromosome]) -> pd.DataFrame:
        return pd.DataFrame(chromosomes, columns=self._genes.columns)


def _shares(
    values: pd.Series[Any], weights: npt.NDArray[np.float64], is_inside: npt.NDArray[np.bool_]
) -> pd.Series[float]:
    """Put for each value how much of its weight is inside.

    In this order of its values a choice is split into the best two sets by one bound (Breiman et
    al., Classification and regression trees, 1984, section 4.2.2).
    """
    total = pd.Series(weights).groupby(values).transform("sum")
    inside = pd.Series(weights * is_inside).groupby(values).transform("sum")
    return inside / total.where(total > 0, 1)


def _region(
    known: pd.DataFrame, members: npt.NDArray[np.int_], rule: tuple[Condition, ...]
) -> Region:
    holds = np.ones(len(known), dtype=bool)
    for condition in rule:
        holds &= condition.holds(known).to_numpy()
    harm = known["relative_harm"].to_numpy()
    return Region(
        members=tuple(known["number"].iloc[members].tolist()),
        lowest_harm=float(harm[members].min()),
        highest_harm=float(harm[members].max()),
        rule=rule,
        members_matched=int(holds[members].sum()),
        matched=int(holds.sum()),
        matched_harm=float(np.median(harm[holds])),
    )
