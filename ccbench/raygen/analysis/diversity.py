# SPDX-License-Identifier: Apache-2.0
"""Distances between scenarios (Ware section 5.5, Fig 5.14).

The thesis compares the diversity of the twenty most harmful scenarios of the genetic algorithm with
that of random search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from ccbench.raygen.space import Space

__all__ = ["coordinates", "distances", "finished", "ranked"]


def distances(space: Space, table: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the Euclidean distances between scenarios, each gene scaled to 0 to 1.

    The thesis scales by "max-min" without stating its base. Here it is the range of the space on
    the gene's scale. The range of the table would make nearly equal scenarios look as diverse as
    scenarios from the whole space, and distances of two searches would not be comparable.

    Parameters
    ----------
    space : Space
        The search space.
    table : DataFrame
        One row for each of n scenarios, with a column for each gene.

    Returns
    -------
    ndarray, shape (n * (n - 1) / 2,)
        Distances of all pairs: the first scenario with all others, the second with all after it,
        and so on. At most the square root of the number of genes.

    Examples
    --------
    Scenarios at both ends and in the middle of the logarithmic range of bandwidths:

    >>> import pandas as pd
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> networks = [(25.0, 40.0, 1.0, 1, 1), (100.0, 40.0, 1.0, 1, 1), (400.0, 40.0, 1.0, 1, 1)]
    >>> table = pd.DataFrame(networks, columns=[gene.name for gene in DEFAULT_SPACE.genes])
    >>> distances(DEFAULT_SPACE, table).round(3).tolist()
    [0.5, 1.0, 0.5]
    """
    points = coordinates(space, table)
    first, second = np.triu_indices(len(points), k=1)
    lengths: npt.NDArray[np.float64] = np.linalg.norm(points[first] - points[second], axis=1)
    return lengths


def coordinates(space: Space, table: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the coordinates of the scenarios in a table; see :meth:`Space.coordinates`.

    Returns
    -------
    ndarray, shape (n, number of coordinates)

    Examples
    --------
    >>> import pandas as pd
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> row = DEFAULT_SPACE.values((400.0, 10.0, 5.0, 1, 1))
    >>> coordinates(DEFAULT_SPACE, pd.DataFrame([row]))[0, :3].tolist()
    [1.0, 0.0, 1.0]
    """
    rows = table[[gene.name for gene in space.genes]].itertuples(index=False, name=None)
    width = sum(len(gene.coordinates(gene.at(0))) for gene in space.genes)
    return np.array([space.coordinates(row) for row in rows], dtype=float).reshape(-1, width)


def finished(space: Space, experiments: pd.DataFrame) -> pd.DataFrame:
    """Return the first row of each distinct scenario that did not fail."""
    done = experiments.dropna(subset=["relative_harm"])
    return done.drop_duplicates([gene.name for gene in space.genes])


def ranked(space: Space, experiments: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of :func:`finished` in descending order of harm, then of proposal."""
    return finished(space, experiments).sort_values(
        ["relative_harm", "number"], ascending=[False, True]
    )
