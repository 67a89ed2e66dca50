# SPDX-License-Identifier: Apache-2.0
"""Trials: a CCA alone on a path with perturbations, and a reference on the same path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.experiment.flow import Flow
from ccbench.experiment.scenario import Scenario
from ccbench.harm.experiment import check_named
from ccbench.raygen.experiments import base_rtt_ms, network_path
from ccbench.raygen.perturbations import changes, cross_traffic, perturbations_of, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.experiment.path import NetworkPath
    from ccbench.raygen.perturbations import Perturbation

__all__ = ["Trial", "trial"]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One flow of a CCA on a path, and one of a reference in its place.

    Parameters
    ----------
    alpha, beta : tuple of Flow
        The flow under test, and the reference.
    path : NetworkPath
        The path without perturbations.
    perturbations : tuple of Perturbation
    duration_s : float
        Length of each run in seconds.
    seed : int
        Seed of both runs.
    queue_log : bool or "summary"
        As in :class:`~ccbench.Scenario`.

    Raises
    ------
    InputError
        If a scenario is invalid.
    """

    alpha: tuple[Flow, ...]
    beta: tuple[Flow, ...]
    path: NetworkPath
    perturbations: tuple[Perturbation, ...] = ()
    duration_s: float
    seed: int = 1
    queue_log: bool | str = False

    def __post_init__(self) -> None:
        _ = self.solo  # report errors before a run

    @cached_property
    def solo(self) -> Scenario:
        """The reference on the path with its perturbations."""
        return self._scenario(self.beta)

    @cached_property
    def competing(self) -> Scenario:
        """The flow under test in its place."""
        return self._scenario(self.alpha)

    @property
    def scenarios(self) -> tuple[Scenario, Scenario]:
        """The scenario of the reference, and that of the flow under test."""
        return self.solo, self.competing

    def describe(self) -> str:
        """Return a description in one line."""
        return f"{self.competing.name}: {words(self.perturbations)}"

    def _scenario(self, flows: tuple[Flow, ...]) -> Scenario:
        cross = cross_traffic(self.perturbations, self.path, until_s=self.duration_s)
        changed = changes(self.perturbations, self.path, until_s=self.duration_s)
        return Scenario(
            flows=flows + cross,
            path=replace(self.path, changes=self.path.changes + changed),
            duration_s=self.duration_s,
            seed=self.seed,
            queue_log=self.queue_log,
            name=f"{flows[0].name} alone",
        )


def trial(  # noqa: PLR0913 - all by keyword
    values: Mapping[str, Any],
    *,
    alpha: str,
    beta: str,
    duration_s: float,
    seed: int,
    fixed: Mapping[str, Any] = MappingProxyType({}),
    **network: Any,
) -> Trial:
    """Return the trial with these values of genes.

    Parameters
    ----------
    values, duration_s, seed, fixed, **network
        As of :func:`~ccbench.raygen.experiments.experiment`, and perturbations.
    alpha, beta : str
        The CCA under test and the reference, by their Linux names.

    Raises
    ------
    InputError
        If the network is impossible; the message names the setting.

    Examples
    --------
    >>> values = {"bandwidth_mbps": 12, "rtt_ms": 40, "queue_bdp": 2}
    >>> values |= {
    ...     f"perturbations.0.{name}": of
    ...     for name, of in (("kind", "outage"), ("at_s", 2), ("lasts_s", 0.5))
    ... }
    >>> trial(values, alpha="bbr", beta="cubic", duration_s=20, seed=1).describe()
    'bbr alone: the link sends nothing from 2 to 2.5 s'
    """
    check_named(alpha=alpha, beta=beta)
    above_0 = validation.Range(0, low_open=True)
    rtt_ms = base_rtt_ms(values, fixed)
    path = network_path(
        values,
        rtt_ms=rtt_ms,
        shorter_ms=rtt_ms,
        fixed=fixed,
        **network,
    )
    return Trial(
        alpha=(Flow(cca=alpha),),
        beta=(Flow(cca=beta),),
        path=path,
        perturbations=perturbations_of(values),
        duration_s=validation.number("duration_s", duration_s, above_0, example=20),
        seed=seed,
    )
