# SPDX-License-Identifier: Apache-2.0
"""Importance of genes for harm in the experiments of a search."""

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

#: Minimum number of experiments for a model of harm that generalises.
FEWEST = 20
_PARTS = 5
_TREES = 80
#: Minimum number of experiments in a leaf, as harm is noisy.
_LEAF = 2
#: Number of permutations of the values of a gene in each part.
_SHUFFLES = 3


@dataclass(frozen=True, kw_only=True)
class Importance:
    """Importance of genes in a model of harm, and the accuracy of the model.

    Attributes
    ----------
    genes : Series
        Increase of the model's squared error if the values of a gene are permuted, as a fraction of
        the variance of harm, by the names of the genes in descending order. It is about 0, or
        slightly below, for an irrelevant gene. Interactions count for each of their genes, so the
        sum need not be 1.
    explained : float
        Fraction of the variance of harm that the model explains in experiments to which it was not
        fitted. At 0.3, `genes` are not reliable; at 0 or below, the model explains nothing. NaN, as
        are `genes`, if all harms are equal or there are fewer than 20 experiments.
    """

    genes: pd.Series[float]
    explained: float


def importance(space: Space, experiments: pd.DataFrame, seed: int = 1) -> Importance:
    """Return the permutation importance of each gene for relative harm (Breiman 2001).

    In five-fold cross-validation, a random forest is fitted to four fifths of the experiments. It
    predicts the harm of the other fifth, first with the true values and then with the values of one
    gene permuted. Overfitting does not increase the importance.

    Parameters
    ----------
    space : Space
        The search space.
    experiments : DataFrame
        One row per experiment, with ``relative_harm`` (NaN if it failed) and a column for each gene
        (:attr:`SearchResult.experiments`). Equal scenarios count once, as predicting a known
        scenario is trivial.
    seed : int
        Seed of the forests and permutations. Equal input and seed give equal output.

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001), section 10.

    Examples
    --------
    Harm that increases by 0.1 with each doubling of the round-trip time:

    >>> import random
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> rng = random.Random(1)
    >>> table = pd.DataFrame(DEFAULT_SPACE.values(DEFAULT_SPACE.random(rng)) for _ in range(100))
    >>> table["relative_harm"] = 0.1 * np.log2(table["rtt_ms"] / 10)
    >>> result = importance(DEFAULT_SPACE, table)
    >>> result.genes.index[0], result.explained > 0.95
    ('rtt_ms', True)
    """
    from sklearn.inspection import permutation_importance  # noqa: PLC0415 (takes a second)
    from sklearn.model_selection import KFold  # noqa: PLC0415

    names = [gene.name for gene in space.genes]
    table = finished(space, experiments)
    genes, harm = table[names], table["relative_harm"].to_numpy()
    if len(table) < FEWEST or harm.min() == harm.max():
        return Importance(genes=pd.Series(np.nan, index=names), explained=np.nan)
    error, increase = 0.0, np.zeros(len(names))
    parts = KFold(_PARTS, shuffle=True, random_state=random_state(seed, "importance", "parts"))
    for part, (fitted, others) in enumerate(parts.split(genes)):
        model = forest(space, seed, "importance", part).fit(genes.iloc[fitted], harm[fitted])
        error += ((model.predict(genes.iloc[others]) - harm[others]) ** 2).sum()
        permuted = permutation_importance(
            model,
            genes.iloc[others],
            harm[others],
            scoring="neg_mean_squared_error",
            n_repeats=_SHUFFLES,
            random_state=random_state(seed, "importance", "shuffles", part),
        )
        increase += len(others) * permuted.importances_mean
    total = ((harm - harm.mean()) ** 2).sum()
    by_gene = pd.Series(increase / total, index=names).sort_values(ascending=False, kind="stable")
    return Importance(genes=by_gene, explained=float(1 - error / total))


def forest(space: Space, seed: int, *label: str | int) -> Any:
    """Return an unfitted model of harm for a table of genes; `label` identifies its random stream.

    A random forest needs no tuning, handles steps, words and noise, and predicts the harm of nearby
    experiments.
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
    """Return a derived seed for scikit-learn, which accepts seeds below 2^32."""
    return derived_seed(seed, *label) % 2**32
