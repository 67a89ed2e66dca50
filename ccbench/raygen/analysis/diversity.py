# SPDX-License-Identifier: Apache-2.0
"""How different scenarios are (Ware section 5.5, Fig 5.14).

A search that finds twenty times the same network has found one. The thesis asks whether the twenty
most harmful scenarios of the genetic algorithm lie as far apart as those of random search.
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

    The thesis scales by "max-min" and does not say of what. Here it is the range of the space, on
    the gene's own scale. The range of the table would make twenty nearly equal scenarios look as
    varied as twenty from all over the space, and distances of two searches could not be compared.

    Parameters
    ----------
    space : Space
        Where they lie.
    table : DataFrame
        One row per scenario, n of them, with a column for each gene.

    Returns
    -------
    ndarray, shape (n * (n - 1) / 2,)
        Of all pairs: the first with each other, the second with those behind it, and so on. At most
        the square root of the number of genes.

    Examples
    --------
    From end to end of the range of one gene, and half the way (80 Mbit/s are twice 40, as 40 are
    twice 20):

    >>> import pandas as pd
    >>> from ccbench.raygen import DEFAULT_SPACE
    >>> networks = [(25.0, 40.0, 1.0, 1, 1), (100.0, 40.0, 1.0, 1, 1), (400.0, 40.0, 1.0, 1, 1)]
    >>> table = pd.DataFrame(networks, columns=[gene.name for gene in DEFAULT_SPACE.genes])
    >>> distances(DEFAULT_SPACE, table).round(3).tolist()
    [0.5, 1.0, 0.5]
    """
    places = coordinates(space, table)
    first, second = np.triu_indices(len(places), k=1)
    lengths: npt.NDArray[np.float64] = np.linalg.norm(places[first] - places[second], axis=1)
    return lengths


def coordinates(space: Space, table: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return where the scenarios of a table lie, see :meth:`Space.coordinates`.

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
    """Return the rows of different scenarios that did not fail, each where it was first run."""
    done = experiments.dropna(subset=["relative_harm"])
    return done.drop_duplicates([gene.name for gene in space.genes])


def ranked(space: Space, experiments: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of :func:`finished`, the most harmful first; of equal ones the first run."""
    return finished(space, experiments).sort_values(
        ["relative_harm", "number"], ascending=[False, True]
    )
