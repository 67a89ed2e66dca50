# SPDX-License-Identifier: Apache-2.0
"""Objectives of a search: which runs a network needs, and the value that the search maximises.

By ``harm``, the flows of both CCAs share a link, and the value is relative harm or harm by a metric
of flows. By any other objective, a flow of alpha has the link for itself; the value is how much
worse its metric is than that of beta on the same path, so that a search does not find paths on
which no CCA can do well.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.harm import BEST_HARM, METRICS, HarmResult, compare, measure, sides
from ccbench.harm.experiment import INTERVAL_S
from ccbench.metrics import METRICS as METRICS_OF_RUNS
from ccbench.metrics import Part, least_log
from ccbench.raygen.experiments import experiment
from ccbench.raygen.perturbations import NONE, perturbations_of
from ccbench.raygen.space import ADVERSARIAL_SPACE, DEFAULT_SPACE
from ccbench.raygen.trials import trial

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.harm import Experiment
    from ccbench.metrics import Metric
    from ccbench.raygen.space import Space
    from ccbench.raygen.trials import Trial
    from ccbench.run.run import Run

    #: The two scenarios of a network.
    Case: TypeAlias = Experiment | Trial

__all__ = ["HARM", "OBJECTIVES", "Objective", "objective_of"]

#: The thesis's objective.
HARM = "harm"


class Objective(ABC):
    """What a search maximises.

    Attributes
    ----------
    space : Space
        Default search space.
    duration_s : float
        Default length of each run in seconds.
    beta : str
        Default of the CCA that is harmed, or of the reference; empty if there is none.
    quantity : str
        What is measured, in words.
    is_shrunk : bool
        Whether claims are reduced to the simplest networks that still show them.
    """

    space: Space
    duration_s: float
    beta: str
    quantity: str
    is_shrunk: bool

    @abstractmethod
    def words(self, beta: str) -> str:
        """Return the name of the value."""

    @abstractmethod
    def claim(self, alpha: str, beta: str, harm: float) -> str:
        """Return a clause about a network with this harm."""

    @abstractmethod
    def definition(self, alpha: str, beta: str) -> str:
        """Return the definition of the value, which continues its name."""

    @abstractmethod
    def case(self, values: Mapping[str, Any], **settings: Any) -> Case:
        """Return the two scenarios of a network.

        Parameters
        ----------
        values, **settings
            As of :func:`~ccbench.raygen.experiments.experiment`.
        """

    @abstractmethod
    def measured(self, case: Case, solo: Run, competing: Run) -> HarmResult:
        """Return the harm of the runs of a network, of which `relative` is the objective.

        Raises
        ------
        InputError
            If it cannot be measured.
        """

    @abstractmethod
    def throughputs(
        self, solo: Run, competing: Run
    ) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return the throughput of alpha and of beta in competition, and of beta alone.

        In Mbit/s: a row per second, a column per flow.
        """


@dataclass(frozen=True)
class HarmObjective(Objective):
    """Relative harm, or harm by a metric of flows.

    By a metric that is a share of the link's capacity it is relative harm, by any other absolute
    harm, at least :data:`~ccbench.harm.BEST_HARM`, over the same part of the runs.
    """

    metric: Metric | None = None

    quantity = "harm"
    space = DEFAULT_SPACE
    duration_s = 180.0
    beta = ""
    is_shrunk = False

    def words(self, beta: str) -> str:  # noqa: ARG002
        """Return the name of the value."""
        return "relative harm" if self.metric is None else f"harm by {self.metric.quantity}"

    def claim(self, alpha: str, beta: str, harm: float) -> str:
        """Return a clause about a network with this harm."""
        return f"{alpha} {'harms' if harm > 0 else 'does not harm'} {beta}"

    def definition(self, alpha: str, beta: str) -> str:
        """Return the definition of harm."""
        if self.metric is not None:
            return f"is the fraction by which {alpha} worsens it for {beta}."
        return (
            f"is the fraction of its solo throughput that {beta} loses to {alpha}, minus the "
            f"loss if all flows shared equally: above 0, {alpha} takes more than its fair share "
            "(Ware, Battle for Bandwidth, CMU-CS-24-135, section 5.3)."
        )

    def case(self, values: Mapping[str, Any], **settings: Any) -> Experiment:
        """Return beta alone, and beta against alpha."""
        if perturbations_of(values):
            name = next(name for name in values if name.endswith(".kind"))
            step = f"choose another objective: {', '.join([*OBJECTIVES])}"
            raise validation.bad(name, values[name], f"{NONE!r} for objective {HARM!r}", step)
        found = experiment(values, **settings)
        if self.metric is None:
            return found
        return replace(found, queue_log=least_log([self.metric]))

    def measured(self, case: Case, solo: Run, competing: Run) -> HarmResult:
        """Return the harm; it fails if a flow has no value of the metric."""
        harm = measure(solo, competing, getattr(case, "measured_s", None))
        if self.metric is None:
            return harm
        (of,) = compare(solo, competing, (self.metric,), (harm.from_s, harm.to_s))
        if math.isnan(of.absolute):
            step = "choose another metric, or run for longer"
            raise InputError(f"a beta flow has no {self.metric.quantity}: {step}")
        expected = 0.0 if math.isnan(of.expected) else of.expected
        absolute = max(of.absolute, BEST_HARM)
        return replace(harm, absolute=absolute, expected=expected, relative=absolute - expected)

    def throughputs(
        self, solo: Run, competing: Run
    ) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return the throughput of alpha and of beta in competition, and of beta alone."""
        flows = sides(solo.scenario, competing.scenario)
        together = competing.throughput(INTERVAL_S)
        alone = solo.throughput(INTERVAL_S)
        return together.iloc[:, flows.alpha], together.iloc[:, flows.beta], alone


@dataclass(frozen=True, kw_only=True)
class LoneObjective(Objective):
    """A metric of one flow that has the path for itself, compared with a reference.

    Attributes
    ----------
    quantity : str
        The value in words, 0 for the best flow.
    metric : Metric
    """

    quantity: str
    metric: Metric

    space = ADVERSARIAL_SPACE
    duration_s = 20.0
    beta = "cubic"
    is_shrunk = True

    def words(self, beta: str) -> str:
        """Return the name of the value."""
        return f"{self.quantity}, beyond that of {beta}"

    def claim(self, alpha: str, beta: str, harm: float) -> str:
        """Return a clause about a network with this harm."""
        return f"{alpha} does {'worse than' if harm > 0 else 'no worse than'} {beta}"

    def definition(self, alpha: str, beta: str) -> str:
        """Return the definition of the value."""
        return f"is the difference of two runs: {alpha} and {beta} each had the path for itself."

    def case(self, values: Mapping[str, Any], **settings: Any) -> Trial:
        """Return the reference alone, and alpha alone."""
        return replace(trial(values, **settings), queue_log=least_log([self.metric]))

    def value(self, run: Run) -> float:
        """Return the value of a run, from 0 to 1.

        Raises
        ------
        InputError
            If the metric has no value.
        """
        part = Part(run)
        of_flow = self.metric.scope == "flow"
        metric = self.metric.over(part, [0]) if of_flow else float(self.metric.of(part).iloc[0])
        if math.isnan(metric):
            raise InputError(f"the flow has no {self.metric.quantity}: choose another objective")
        return _LOSSES[self.metric.name](metric, run)

    def measured(self, case: Case, solo: Run, competing: Run) -> HarmResult:
        """Return the values of alpha and of the reference as absolute and expected harm."""
        absolute, expected = self.value(competing), self.value(solo)
        beta_mbps, alpha_mbps = (
            float(run.throughput(INTERVAL_S)[0].mean()) for run in (solo, competing)
        )
        return HarmResult(
            relative=absolute - expected,
            absolute=absolute,
            expected=expected,
            solo_mbps=beta_mbps,
            competing_mbps=beta_mbps,  # they do not compete
            alpha_mbps=alpha_mbps,
            jain=1.0,
            n_alpha=1,
            n_beta=1,
            from_s=0.0,
            to_s=case.duration_s,
            converged_at_s=None,
            has_trend=False,
        )

    def throughputs(
        self, solo: Run, competing: Run
    ) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return the throughput of alpha, of no flow in competition, and of the reference."""
        alpha, beta = (run.throughput(INTERVAL_S).iloc[:, :1] for run in (competing, solo))
        return alpha, beta.iloc[:, :0], beta


def _stalled(stall_s: float, run: Run) -> float:
    return stall_s / run.scenario.duration_s


def _unused(utilisation: float, _run: Run) -> float:
    return 1 - utilisation


def _queueing(srtt_ms: float, run: Run) -> float:
    return max(0.0, 1 - run.scenario.path.rtt_ms / srtt_ms)


#: What a flow loses by the value of a metric, as a share: 0 is the best.
_LOSSES = {"stall": _stalled, "utilisation": _unused, "srtt_p95": _queueing}

#: Objectives of flows that are alone, by their names.
OBJECTIVES: Mapping[str, LoneObjective] = MappingProxyType(
    {
        "delay": LoneObjective(
            quantity="share of queueing in the 95th percentile of the RTT",
            metric=METRICS_OF_RUNS["srtt_p95"],
        ),
        "stall": LoneObjective(
            quantity="longest stall as a share of the run", metric=METRICS_OF_RUNS["stall"]
        ),
        "utilisation": LoneObjective(
            quantity="unused share of the link", metric=METRICS_OF_RUNS["utilisation"]
        ),
    }
)


def objective_of(name: object, metric: object) -> Objective:
    """Return the objective of this name, or for ``"harm"`` that of a metric.

    Raises
    ------
    InputError
        If there is no such objective, harm is not defined by the metric, or another objective has a
        metric.
    """
    validation.one_of("objective", name, [HARM, *OBJECTIVES])
    validation.one_of("metric", metric, [HARM, *METRICS])
    if name == HARM:
        return HarmObjective(METRICS.get(str(metric)))
    if metric != HARM:
        allowed = f"left out for objective {name!r}"
        raise validation.bad("metric", metric, allowed, f"choose objective {HARM!r}")
    return OBJECTIVES[str(name)]
