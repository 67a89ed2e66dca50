# SPDX-License-Identifier: Apache-2.0
"""The simplest network that still shows most of what a claim shows."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from ccbench.base.errors import InputError
from ccbench.base.random_streams import derived_seed, repetition_seeds
from ccbench.raygen.perturbations import NONE, is_absent
from ccbench.raygen.shrinking import shrunk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.space import Chromosome
    from ccbench.raygen.strategy import Candidate

__all__ = ["KEPT", "LEAST", "simplest"]

#: Share of a claim's harm that the median over the seeds of a simpler network must have.
KEPT = 0.75

#: Harm of claims that are not worth reducing.
LEAST = 0.01

#: Seeds with which each simpler network runs. Neither the search nor its claims use them.
_SEEDS = 3


def simplest(
    config: SearchConfig,
    claim: Candidate,
    harm: float,
    measured: Callable[[Chromosome, Sequence[int]], Sequence[float]],
) -> Chromosome | None:
    """Return the simplest network that shows most of the harm of a claim.

    Perturbations are left out, the others become shorter and weaker, and numbers round, as long as
    the network stays in the search space.

    Parameters
    ----------
    config : SearchConfig
    claim : Candidate
    harm : float
        The claim's harm, above 0.
    measured : callable
        Returns the harm of a network with each of some seeds; empty if a run fails.

    Returns
    -------
    tuple or None
        The network; None if the claim itself does not show enough harm.
    """
    genes = config.space.genes
    seeds = repetition_seeds(derived_seed(config.seed, "simplest", claim.number), _SEEDS)
    known: dict[str, bool] = {}

    def shows(values: Mapping[str, Any]) -> bool:
        if not all(gene.includes(values[gene.name]) for gene in genes):
            return False
        network = config.space.chromosome(values)
        try:
            key = config.experiment(network, seeds[0]).competing.key()
        except InputError:  # such as a flow that ends before it starts
            return False
        if key not in known:
            harms = measured(network, seeds)
            known[key] = bool(harms) and statistics.median(harms) >= KEPT * harm
        return known[key]

    values = config.space.values(claim.chromosome)
    if not shows(values):
        return None
    found = shrunk(values, shows)
    # Other properties of what does not take place: equal networks are equal chromosomes.
    absent = {name.rpartition(".")[0] for name in found if is_absent(found, name)}
    lowest = {gene.name: gene.at(0.0) for gene in genes if gene.name.rpartition(".")[0] in absent}
    return config.space.chromosome({**found, **lowest, **{f"{name}.kind": NONE for name in absent}})
