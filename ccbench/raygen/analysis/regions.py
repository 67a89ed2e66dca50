# SPDX-License-Identifier: Apache-2.0
"""Regions of the search space with the most harmful scenarios, and rules that describe them.

Two scenarios are in different regions if there is much less harm between them. Distances are not
suitable: scenarios that differ only in irrelevant genes are far apart, and scenarios with different
causes of harm can be close. Instead, a model of harm, fitted to all experiments, is evaluated along
the straight line between each two scenarios. Between experiments, the model predicts the harm of
nearby ones: regions are separated only by experiments with less harm.
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

#: Minimum number of experiments per top scenario: half of all experiments would not be special.
_TOP_SHARE = 4
#: Harm at the edge of a region, as a fraction of the way from typical harm to that of the top.
_EDGE = 0.5
#: Steps of the model between two scenarios.
_STEPS = 10
#: Minimum number of scenarios of a region from which a rule is learned, if available ...
_MIN_FOR_RULE = 12
#: ... among this many times the number of top scenarios.
_POOL = 3
#: Number of random scenarios that define typical harm, and from which rules separate regions.
_RANDOM = 1000
#: Maximum depth of a rule ...
_MAX_DEPTH = 4
#: ... and minimum decrease of the Gini impurity (0.5 at first) by each bound: a smaller decrease is
#: more likely due to chance.
_MIN_DECREASE = 0.03
#: Seed of the model.
_SEED = 1


@dataclass(frozen=True, kw_only=True)
class Region:
    """A part of the space in which alpha does harm.

    Attributes
    ----------
    members : tuple of int
        Numbers of the top scenarios in the region, in descending order of harm.
    lowest_harm, highest_harm : float
        Range of their relative harm.
    rule : tuple of Condition
        Conditions that separate them from scenarios with less harm; empty if there are none.
    members_matched : int
        Number of members that satisfy the rule.
    matched : int
        Number of all distinct successful experiments that satisfy the rule.
    matched_harm : float
        Median of their relative harm. If it is far below that of the members, the rule is not
        sufficient for harm.
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
        """Number of the most harmful scenario."""
        return self.members[0]

    def where(self, alpha: str = "alpha", beta: str = "beta") -> str:
        """Return the rule in words, with the names of the two CCAs."""
        words = ", ".join(condition.words(alpha, beta) for condition in self.rule)
        return words or "no condition detected"

    def evidence(self) -> str:
        """Return the accuracy of the rule in words."""
        size = len(self.members)
        if self.members_matched < size:
            members = f"{self.members_matched} of these {size} scenarios"
        else:
            members = f"all {size} of these scenarios" if size > 1 else "this scenario"
        return (
            f"holds for {members}, and for {self.matched} of all scenarios, whose median"
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
    it predicts between them stays above the middle between typical harm and that of the top
    scenarios, or if other scenarios link them. Unlike clustering by distance, this works for a
    handful of points, ignores irrelevant genes, and can return a single region.

    A rule is the path in a decision tree that separates a region from random scenarios, whose
    weight increases as the predicted harm decreases, and from the top scenarios of other regions.
    (Other experiments are not suitable: if a search has focused on small queues, queues no longer
    separate them.) Its bounds are those of the scenarios in the region, rounded outwards.

    Parameters
    ----------
    space : Space
        The search space.
    experiments : DataFrame
        One row per experiment, with ``number``, ``relative_harm`` (NaN if it failed) and a column
        for each gene (:attr:`SearchResult.experiments`).
    top : int
        Number of scenarios to group: the most harmful distinct ones, at most a quarter of the
        successful ones.

    Returns
    -------
    tuple of Region
        The region with the most harmful scenario first. One region without a rule if fewer than 20
        distinct experiments succeeded, or if the forest cannot separate the top from noise. Empty
        if all experiments failed.

    Examples
    --------
    Harm in networks with a small queue and a long round-trip time:

    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> rng = standard_stream(1, "example")
    >>> table = pd.DataFrame(DEFAULT_SPACE.values(DEFAULT_SPACE.random(rng)) for _ in range(200))
    >>> table["relative_harm"] = 0.4 * ((table["queue_bdp"] < 1) & (table["rtt_ms"] > 100))
    >>> (region,) = regions(DEFAULT_SPACE, table.rename_axis("number").reset_index())
    >>> region.where()
    'RTT of at least 100 ms, queue of at most 0.97 BDP'
    """
    table = ranked(space, experiments).reset_index(drop=True)
    count = min(top, -(-len(table) // _TOP_SHARE))
    if not count:
        return ()
    if len(table) < FEWEST or (landscape := _Landscape(space, table, count)).is_flat:
        return (_region(table, np.arange(count), ()),)
    labels = landscape.labels(min(count * _POOL, len(table)))
    result = []
    for label in pd.unique(labels[:count]):
        (same,) = np.nonzero(labels == label)
        members = same[same < count]
        others = np.setdiff1d(np.arange(count), members)
        rule = landscape.rule(same[: max(len(members), _MIN_FOR_RULE)], others)
        result.append(_region(table, members, rule))
    return tuple(result)


class _Landscape:
    """Harm over the search space, predicted by a forest.

    Parameters
    ----------
    space : Space
    experiments : DataFrame
        Distinct successful experiments in descending order of harm. Methods identify them by their
        position.
    count : int
        Number of top scenarios.
    """

    def __init__(self, space: Space, experiments: pd.DataFrame, count: int) -> None:
        self._space = space
        self._genes = experiments[[gene.name for gene in space.genes]]
        harm = experiments["relative_harm"].to_numpy()
        self._model = forest(space, _SEED, "regions").fit(self._genes, harm)
        rng = standard_stream(_SEED, "regions", "anywhere")
        self._random = self._table([space.random(rng) for _ in range(_RANDOM)])
        self._random_harm = self._model.predict(self._random)
        self._typical = float(np.median(self._random_harm))
        # Out-of-bag predictions, from trees that were not fitted to the experiment, discount
        # scenarios that are in the top by luck.
        out_of_bag = self._model[-1].oob_prediction_
        self._error = float(np.sqrt(np.mean((out_of_bag - harm) ** 2)))
        self._level = float(np.median(out_of_bag[:count]))
        self._rise = self._level - self._typical

    @property
    def is_flat(self) -> bool:
        """Whether the top scenarios cannot be separated from noise."""
        return self._rise <= self._error

    def labels(self, pool: int) -> npt.NDArray[np.int_]:
        """Return the number of the region of each of the first `pool` experiments."""
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 (a slow import)

        points = [self._space.chromosome(row) for row in self._genes[:pool].to_dict("records")]
        first, second = np.triu_indices(pool)
        lines = (self._line(points[i], points[j]) for i, j in zip(first, second, strict=True))
        harm = self._model.predict(self._table(itertools.chain.from_iterable(lines)))
        lowest = np.zeros((pool, pool))
        lowest[first, second] = lowest[second, first] = harm.reshape(len(first), -1).min(axis=1)
        edge = self._typical + _EDGE * self._rise
        within = lowest.diagonal() >= edge
        labels: npt.NDArray[np.int_] = connected_components(lowest >= edge, directed=False)[1]
        # A scenario whose own predicted harm is below the edge joins the nearest region.
        for i in np.nonzero(~within)[0]:
            labels[i] = labels[np.where(within, lowest[i], -np.inf).argmax()]
        return labels

    def rule(
        self, inside: npt.NDArray[np.int_], outside: npt.NDArray[np.int_]
    ) -> tuple[Condition, ...]:
        """Return the rule that separates experiments from others and from less harmful ones."""
        from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 (a slow import)

        random_weights = ((self._level - self._random_harm) / self._rise).clip(0, 1)
        parts = (self._genes.iloc[inside], self._genes.iloc[outside], self._random)
        table = pd.concat(parts, ignore_index=True)
        is_inside = np.arange(len(table)) < len(inside)
        weights = np.concatenate([np.ones(len(inside) + len(outside)), random_weights])
        for part in (is_inside, ~is_inside):  # both sides have the same total weight
            weights[part] /= 2 * weights[part].sum()
        for gene in self._space.genes:
            if isinstance(gene, Choice):
                table[gene.name] = _shares(table[gene.name], weights, is_inside)
        tree = DecisionTreeClassifier(
            max_depth=_MAX_DEPTH,
            min_impurity_decrease=_MIN_DECREASE,
            random_state=random_state(_SEED, "regions", "rules"),
        ).fit(table.to_numpy(dtype=float), is_inside, weights)
        # The path to the leaf with most experiments of the region bounds each gene on some sides.
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

    def _line(self, start: Chromosome, end: Chromosome) -> list[Chromosome]:
        """Return scenarios on the straight line between two scenarios, both included."""
        genes = list(zip(self._space.genes, start, end, strict=True))
        return [
            tuple(gene.blend(first, second, step / _STEPS) for gene, first, second in genes)
            for step in range(_STEPS + 1)
        ]

    def _table(self, chromosomes: Iterable[Chromosome]) -> pd.DataFrame:
        return pd.DataFrame(chromosomes, columns=self._genes.columns)


def _shares(
    values: pd.Series[Any], weights: npt.NDArray[np.float64], is_inside: npt.NDArray[np.bool_]
) -> pd.Series[float]:
    """Replace each value by the fraction of its weight that is inside.

    If the values of a choice are ordered by this fraction, one bound splits them into the best two
    sets (Breiman et al., Classification and regression trees, 1984, section 4.2.2).
    """
    total = pd.Series(weights).groupby(values).transform("sum")
    inside = pd.Series(weights * is_inside).groupby(values).transform("sum")
    return inside / total.where(total > 0, 1)


def _region(
    experiments: pd.DataFrame, members: npt.NDArray[np.int_], rule: tuple[Condition, ...]
) -> Region:
    holds = np.ones(len(experiments), dtype=bool)
    for condition in rule:
        holds &= condition.holds(experiments).to_numpy()
    harm = experiments["relative_harm"].to_numpy()
    return Region(
        members=tuple(experiments["number"].iloc[members].tolist()),
        lowest_harm=float(harm[members].min()),
        highest_harm=float(harm[members].max()),
        rule=rule,
        members_matched=int(holds[members].sum()),
        matched=int(holds.sum()),
        matched_harm=float(np.median(harm[holds])),
    )
