# SPDX-License-Identifier: Apache-2.0
"""Which genes matter for harm, over all that a search has run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.random_streams import derived_seed
from ccbench.raygen.analysis.diversity import coordinates, finished

if TYPE_CHECKING:
    from ccbench.raygen.space import Space

__all__ = ["FEWEST", "Importance", "forest", "importance", "random_state"]

#: With fewer experiments, what a forest makes of one part of them says little about another.
FEWEST = 20
_PARTS = 5
_TREES = 80
#: A leaf is the mean of so many experiments or more: harm has noise.
_LEAF = 2
#: How often the values of a gene are shuffled in each part.
_SHUFFLES = 3


@dataclass(frozen=True, kw_only=True)
class Importance:
    """What a model of harm relies on, and how good the model is.

    Attributes
    ----------
    genes : Series
        By the names of the genes, the greatest first: by how much the model's squared error grows
        if it is told wrong values of the gene, as a part of the variance of harm. About 0, or a
        little below, for a gene that does not matter. Genes that matter together count in both, so
        they need not add up to 1.
    explained : float
        Part of the variance of harm that the model explains in experiments that it was not fitted
        to. At 0.3 it has understood little, and `genes` are to be taken with care; at 0 or below,
        nothing. NaN, as are `genes`, if nothing can be said: all harms are the same, or there are
        fewer than 20 experiments.
    """

    genes: pd.Series[float]
    explained: float


def importance(space: Space, experiments: pd.DataFrame, seed: int = 1) -> Importance:
    """Return how much each gene matters for relative harm (Breiman 2001).

    A random forest is fitted to four fifths of the experiments and predicts the harm of the others,
    once as they are and then with the values of one gene shuffled among them; five times, so that
    each fifth is predicted once. If the forest has taken noise for a pattern, that does not help it
    there.

    Parameters
    ----------
    space : Space
        Where they lie.
    experiments : DataFrame
        One row per experiment, with ``relative_harm`` (NaN if it failed) and a column for each gene
        (:attr:`SearchResult.experiments`). Equal scenarios count once: to predict what was seen is
        no merit.
    seed : int
        Of the forests and of the shuffling. Equal input and seed give equal output.

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001), section 10.

    Examples
    --------
    Harm that is 0.1 more for every doubling of the round-trip time:

    >>> import random
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> rng = random.Random(1)
    >>> table = pd.DataFrame(DEFAULT_SPACE.values(DEFAULT_SPACE.random(rng)) for _ in range(100))
    >>> table["relative_harm"] = 0.1 * np.log2(table["rtt_ms"] / 10)
    >>> found = importance(DEFAULT_SPACE, table)
    >>> found.genes.index[0], found.explained > 0.95
    ('rtt_ms', True)
    """
    from sklearn.inspection import permutation_importance  # noqa: PLC0415 (takes a second)
    from sklearn.model_selection import KFold  # noqa: PLC0415

    names = [gene.name for gene in space.genes]
    known = finished(space, experiments)
    genes, harm = known[names], known["relative_harm"].to_numpy()
    if len(known) < FEWEST or harm.min() == harm.max():
        return Importance(genes=pd.Series(np.nan, index=names), explained=np.nan)
    error, grown = 0.0, np.zeros(len(names))
    parts = KFold(_PARTS, shuffle=True, random_state=random_state(seed, "importance", "parts"))
    for part, (fitted, others) in enumerate(parts.split(genes)):
        model = forest(space, seed, "importance", part).fit(genes.iloc[fitted], harm[fitted])
        error += ((model.predict(genes.iloc[others]) - harm[others]) ** 2).sum()
        worse = permutation_importance(
            model,
            genes.iloc[others],
            harm[others],
            scoring="neg_mean_squared_error",
            n_repeats=_SHUFFLES,
            random_state=random_state(seed, "importance", "shuffles", part),
        )
        grown += len(others) * worse.importances_mean
    total = ((harm - harm.mean()) ** 2).sum()
    by_gene = pd.Series(grown / total, index=names).sort_values(ascending=False, kind="stable")
    return Importance(genes=by_gene, explained=float(1 - error / total))


def forest(space: Space, seed: int, *label: str | int) -> Any:
    """Return a model to fit to a table of genes and their harms; the seed's label says for what.

    A random forest: it needs no tuning, takes steps, words and noise as they come, and says where
    nothing was run what was seen nearby.
    """
    from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 (takes a second)
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import FunctionTransformer  # noqa: PLC0415

    return make_pipeline(
        FunctionTransformer(lambda table: coordinates(space, table)),
        RandomForestRegressor(
            _TREES,
            min_samples_leaf=_LEAF,
            oob_score=True,
            random_state=random_state(seed, *label, "forest"),
        ),
    )


def random_state(seed: int, *label: str | int) -> int:
    """Return the seed of one purpose within scikit-learn, which takes seeds below 2^32."""
    return derived_seed(seed, *label) % 2**32
