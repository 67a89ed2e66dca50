# SPDX-License-Identifier: Apache-2.0
"""Repeated measurements of harm with several seeds, and their median with its interval.

Losses at a full queue depend on details of the packets' timing, so a single run is one sample of a
chaotic system. With noise, every seed gives another sample. Results are medians, whose intervals
hold for any distribution of the samples (:mod:`ccbench.base.estimate`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from ccbench import emulate
from ccbench.base import validation
from ccbench.base.estimate import ERROR, Estimate, fewest
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate.policies import Look, fixed, looks, until_decided, until_precise
from ccbench.experiment.kinds import KINDS
from ccbench.harm._pairs import sides
from ccbench.harm.comparison import MetricHarm, compare, compare_flows
from ccbench.harm.experiment import HarmResult, measure
from ccbench.harm.order import OrderEffect, alpha_leads

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from ccbench.emulate import Engine, Store
    from ccbench.experiment.noise import Noise
    from ccbench.experiment.scenario import Scenario
    from ccbench.harm.experiment import Experiment
    from ccbench.metrics import Metric
    from ccbench.run.run import Run

__all__ = [
    "MAX_REPETITIONS",
    "REPETITIONS",
    "HarmRepetition",
    "RepeatedHarm",
    "plan",
    "repeat",
    "repeat_each",
]

_Key = TypeVar("_Key", bound="Hashable")

#: Default number of repetitions.
REPETITIONS = 6

#: Default maximum number of repetitions to reach a precision.
MAX_REPETITIONS = 100

#: Attributes of a HarmResult that have a median.
_HARM_PARTS = (
    "relative",
    "absolute",
    "expected",
    "solo_mbps",
    "competing_mbps",
    "alpha_mbps",
    "jain",
    "from_s",
    "to_s",
)

#: Attributes of a MetricHarm that have a median, and those that have an interval in documents.
_METRIC_PARTS = ("solo", "competing", "absolute", "expected", "relative")
_METRIC_INTERVALS = ("solo", "competing", "absolute", "relative")


@dataclass(frozen=True, kw_only=True, eq=False)
class HarmRepetition:
    """One measurement of an experiment.

    Attributes
    ----------
    seed : int
        Seed of the two runs.
    harm : HarmResult or None
        None if the beta flows do not always have data.
    metrics : tuple of MetricHarm
        Harm by further metrics.
    flows : DataFrame
        Harm to each beta flow by all metrics for which the runs have records; index ``flow``.
    is_exact : bool
        :attr:`Run.is_exact <ccbench.run.run.Run.is_exact>` of both runs.
    alpha_leads : bool
        Whether the alpha flows start before the beta flows, on average.
    provenance : mapping
        Origin of the competing run.
    """

    seed: int
    harm: HarmResult | None
    metrics: tuple[MetricHarm, ...]
    flows: pd.DataFrame
    is_exact: bool
    alpha_leads: bool
    provenance: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class RepeatedHarm:
    """Harm as the median of repeated measurements, with its 95 % confidence interval.

    Attributes
    ----------
    experiment : Experiment
        The experiment with the seed of the first repetition.
    repetitions : tuple of HarmRepetition
        In the order of their seeds (:func:`~ccbench.base.random_streams.repetition_seeds`).
    is_exact : bool
        Whether the experiment is deterministic: every seed gives the same two runs. There is then
        one repetition and no interval.
    precision : float or None
        Requested half width of the interval.
    bound : float or None
        Value that the interval should exclude.
    error : float
        Probability that an interval does not contain the true median. It is below 5 % if several
        intervals hold together: those of several looks for a precision or a bound, or of several
        experiments.
    """

    experiment: Experiment
    repetitions: tuple[HarmRepetition, ...]
    is_exact: bool
    precision: float | None = None
    bound: float | None = None
    error: float = ERROR

    @property
    def noise(self) -> Noise:
        """Noise of all runs."""
        return self.experiment.path.noise

    @cached_property
    def relative(self) -> Estimate:
        """Relative harm of long flows.

        Raises
        ------
        InputError
            If the beta flows do not always have data.
        """
        return self.estimate("relative")

    @property
    def headline(self) -> tuple[str, Estimate]:
        """Name and estimate of the quantity to which `precision` applies.

        This is relative harm or, if the beta flows do not always have data, absolute harm by the
        first metric.
        """
        if self.repetitions[0].harm is not None:
            return "relative harm", self.relative
        name = self.repetitions[0].metrics[0].metric
        return f"absolute harm by {name}", self.metric_estimate(name, "absolute")

    @property
    def order(self) -> OrderEffect | None:
        """Effect of the order of starts on the headline; None if the noise does not spread them."""
        if not self.noise.start_spread_ms:
            return None
        values = tuple(zip(self.repetitions, self.headline[1].values, strict=True))
        return OrderEffect(
            tuple(value for repetition, value in values if repetition.alpha_leads),
            tuple(value for repetition, value in values if not repetition.alpha_leads),
        )

    @property
    def sign(self) -> int:
        """1 if the interval of the headline is above 0, -1 if below, 0 if it contains 0."""
        return self._side(0.0)

    @property
    def decision(self) -> str | None:
        """``"above"`` or ``"below"`` `bound`, or ``"undecided"``; None without a bound."""
        if self.bound is None:
            return None
        return ("undecided", "above", "below")[self._side(self.bound)]

    def _side(self, bound: float) -> int:
        estimate = self.headline[1]
        low, high = estimate.low, estimate.high
        if self.is_exact:
            low = high = estimate.value
        return (low > bound) - (high < bound)

    @property
    def is_precise(self) -> bool:
        """Whether the interval has the requested precision; true without a request."""
        if self.precision is None or self.is_exact:
            return True
        return self.headline[1].half_width <= self.precision

    @property
    def doubt(self) -> str:
        """Reason for which the repetitions hardly support the headline's interval, or empty."""
        return "" if self.is_exact else self.headline[1].doubt

    def estimate(self, part: str) -> Estimate:
        """Return an attribute of :class:`~ccbench.harm.HarmResult` over all repetitions.

        Parameters
        ----------
        part : str
            Name of the attribute, such as ``"relative"``, ``"solo_mbps"`` or ``"jain"``.

        Raises
        ------
        InputError
            If the beta flows do not always have data, or the attribute does not exist.

        Examples
        --------
        >>> print(repeat(experiment).estimate("jain"))  # doctest: +SKIP
        0.5... (0.5... to 0.5...)
        """
        validation.one_of("part", part, _HARM_PARTS)
        return self._median(getattr(harm, part) for harm in self._harms())

    def metric_estimate(self, metric: str, part: str) -> Estimate:
        """Return an attribute of :class:`~ccbench.harm.MetricHarm` over all repetitions.

        It is NaN if one repetition has no value.

        Parameters
        ----------
        metric : str
            Name of a measured metric.
        part : str
            ``"solo"``, ``"competing"``, ``"absolute"``, ``"expected"`` or ``"relative"``.

        Raises
        ------
        InputError
            If the metric was not measured, or the attribute does not exist.
        """
        names = [harm.metric for harm in self.repetitions[0].metrics]
        validation.one_of("metric", metric, names)
        validation.one_of("part", part, _METRIC_PARTS)
        position = names.index(metric)
        return self._median(getattr(r.metrics[position], part) for r in self.repetitions)

    def values(self) -> pd.DataFrame:
        """Return a table with the seed and the harm of each repetition.

        Raises
        ------
        InputError
            If the beta flows do not always have data.
        """
        rows = zip(self.repetitions, self._harms(), strict=True)
        return pd.DataFrame(
            [{"seed": repetition.seed, **harm.to_dict()} for repetition, harm in rows]
        )

    def table(self) -> pd.DataFrame:
        """Return a row for each repetition and metric; ``harm`` is the metric of long flows.

        Returns
        -------
        DataFrame
            Columns ``seed``; ``alpha_leads``, whether alpha's flows start first; ``metric`` and
            ``unit``; and ``solo``, ``competing``, ``absolute``, ``expected`` and ``relative`` as in
            a :class:`~ccbench.harm.MetricHarm`.
        """
        rows = []
        for repetition in self.repetitions:
            start = {"seed": repetition.seed, "alpha_leads": repetition.alpha_leads}
            if (of := repetition.harm) is not None:
                rates = {"solo": of.solo_mbps, "competing": of.competing_mbps}
                harms = {"absolute": of.absolute, "expected": of.expected, "relative": of.relative}
                rows.append({**start, "metric": "harm", "unit": "Mbit/s", **rates, **harms})
            rows += [{**start, **metric.to_dict()} for metric in repetition.metrics]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return medians and single values as a dictionary (JSON-able except for NaN)."""
        return {
            "harm": None if self.repetitions[0].harm is None else self._harm_document(),
            "metrics": [self._metric_document(metric) for metric in self.repetitions[0].metrics],
            "flows": self._median_of_flows().reset_index().to_dict("records"),
            "noise": self.noise.to_dict(),
            "exact": self.is_exact,
            "order": None if self.order is None else self.order.to_dict(),
            "error": self.error,
            "doubt": self.doubt or None,
            **({} if self.bound is None else {"bound": self.bound, "decision": self.decision}),
            "scenarios": {
                "solo": self.experiment.solo.to_dict(),
                "competing": self.experiment.competing.to_dict(),
            },
            "engine": dict(self.repetitions[0].provenance),
        }

    def _harms(self) -> list[HarmResult]:
        harms = [repetition.harm for repetition in self.repetitions if repetition.harm is not None]
        if not harms:
            allowed = "flows that always have data for a harm by throughput"
            raise validation.bad("beta", self.experiment.beta, allowed, "use metric_estimate")
        return harms

    def _median(self, values: Iterable[float]) -> Estimate:
        return Estimate(values, of="median", error=self.error)

    def _harm_document(self) -> dict[str, Any]:
        converged = [h.converged_at_s for h in self._harms() if h.converged_at_s is not None]
        return {
            **{part: self.estimate(part).value for part in _HARM_PARTS},
            "n_alpha": self._harms()[0].n_alpha,
            "n_beta": self._harms()[0].n_beta,
            "converged_at_s": self._median(converged).value if converged else None,
            "has_trend": any(harm.has_trend for harm in self._harms()),
            "relative_low": self.relative.low,
            "relative_high": self.relative.high,
            "repetitions": len(self.repetitions),
            "values": self.values().to_dict("records"),
        }

    def _metric_document(self, metric: MetricHarm) -> dict[str, Any]:
        parts = {part: self.metric_estimate(metric.metric, part) for part in _METRIC_PARTS}
        medians = {part: estimate.value for part, estimate in parts.items()}
        ends = {
            f"{part}_{end}": getattr(parts[part], end)
            for part in _METRIC_INTERVALS
            for end in ("low", "high")
        }
        values = [
            {"seed": repetition.seed, **{part: parts[part].values[i] for part in _METRIC_PARTS}}
            for i, repetition in enumerate(self.repetitions)
        ]
        count = len(self.repetitions)
        names = {"metric": metric.metric, "unit": metric.unit}
        return {**names, **medians, **ends, "repetitions": count, "values": values}

    def _median_of_flows(self) -> pd.DataFrame:
        first = self.repetitions[0].flows
        median = np.median([repetition.flows.to_numpy() for repetition in self.repetitions], axis=0)
        return pd.DataFrame(median, index=first.index, columns=first.columns)


def repeat(experiment: Experiment, **settings: Any) -> RepeatedHarm:
    """Measure harm with several seeds.

    Finished runs are in the store, so that a further call runs only missing repetitions. If nothing
    in the first repetition drew a random number, it is the only one.

    With `precision`, rounds of half as many further repetitions follow until the interval is narrow
    enough (:func:`ccbench.emulate.policies.looks`). In simulations of normal, lognormal and
    rare-event distributions, 96 % or more of the last intervals contain the median.

    Parameters
    ----------
    experiment : Experiment
        The experiment, with the seed of the first repetition.
    **settings
        As in :func:`repeat_each`.

    Raises
    ------
    InputError
        If a setting is out of range, the engine cannot run the experiment, or there is nothing to
        measure.
    EngineError
        If a run fails, or harm cannot be computed from it.

    Examples
    --------
    >>> print(repeat(experiment).relative)  # doctest: +SKIP
    0.4... (0.4... to 0.4...)
    """
    return repeat_each({"": experiment}, **settings)[""]


def repeat_each(  # noqa: PLR0913 - independent choices, all by keyword
    experiments: Mapping[_Key, Experiment],
    *,
    repetitions: int = REPETITIONS,
    precision: float | None = None,
    bound: float | None = None,
    max_repetitions: int = MAX_REPETITIONS,
    error: float = ERROR,
    metrics: Iterable[Metric] = (),
    **campaign: Any,
) -> dict[_Key, RepeatedHarm]:
    """Measure the harm of several experiments, each as :func:`repeat` does.

    Parameters
    ----------
    experiments : mapping of Experiment
    repetitions : int
        Number of repetitions; with `precision` or `bound`, the minimum, 6 or more.
    precision : float, optional
        Half width to reach of the interval of relative harm or, if the beta flows do not always
        have data, of absolute harm by the first metric.
    bound : float, optional
        Repeat until the interval of the same quantity excludes this value, instead of `precision`.
    max_repetitions : int
        Maximum number of repetitions with `precision` or `bound`. :attr:`RepeatedHarm.is_precise`
        and :attr:`RepeatedHarm.decision` state whether they were enough.
    error : float
        Probability that an interval does not contain the true median.
    metrics : iterable of Metric
        Further metrics of harm.
    **campaign
        Settings of a :class:`~ccbench.emulate.Campaign`, such as `engine`, `jobs`, `store` and
        `on_progress`.

    Raises
    ------
    InputError, EngineError
        As in :func:`repeat`.
    """
    chosen = tuple(metrics)
    running = emulate.Campaign(**campaign)
    for experiment in experiments.values():
        _check(experiment, repetitions, precision, bound, max_repetitions, chosen)
        with validation.within(f"{experiment.describe()}: "):
            running.check((experiment.competing,))
    policy = fixed(repetitions)
    plan: tuple[Look, ...] = (Look(repetitions, error),)
    if precision is not None or bound is not None:
        plan = looks(repetitions, max_repetitions, error)
    if precision is not None:
        policy = until_precise(precision, _headline, plan)
    elif bound is not None:
        policy = until_decided(bound, _headline, plan)
    most = max(repetitions, max_repetitions)
    seeds = {key: repetition_seeds(each.seed, most) for key, each in experiments.items()}

    def seeded(key: _Key) -> Callable[[int], tuple[Scenario, ...]]:
        return lambda seed: replace(experiments[key], seed=seed).scenarios

    def measure(pair: tuple[_Key, int], solo: Run, competing: Run) -> HarmRepetition:
        key, i = pair
        return _measured(replace(experiments[key], seed=seeds[key][i]), solo, competing, chosen)

    repeated = running.repeated(
        {key: seeded(key) for key in experiments},
        seeds,
        measure,
        policy=policy,
        named=lambda pair: f"{experiments[pair[0]].describe()}, seed {seeds[pair[0]][pair[1]]}",
    )
    errors = {look.repetitions: look.error for look in plan}
    return {
        key: RepeatedHarm(
            experiment=experiments[key],
            repetitions=of.results,
            is_exact=of.is_exact,
            precision=precision,
            bound=bound,
            error=error if of.is_exact else errors[len(of.results)],
        )
        for key, of in repeated.items()
    }


def _headline(repetitions: Sequence[HarmRepetition]) -> list[float]:
    """Return the values of :attr:`RepeatedHarm.headline`."""
    return [
        repetition.metrics[0].absolute if repetition.harm is None else repetition.harm.relative
        for repetition in repetitions
    ]


def plan(
    experiment: Experiment,
    *,
    repetitions: int = REPETITIONS,
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
) -> emulate.CampaignPlan:
    """Return the extent and the expected cost of :func:`repeat` without a precision, at most.

    Examples
    --------
    >>> plan(experiment, repetitions=2).runs  # doctest: +SKIP
    4
    """
    campaign = emulate.Campaign(engine=engine, store=store)

    def needs(seed: int) -> tuple[Scenario, ...]:
        return replace(experiment, seed=seed).scenarios

    seeds = {"": repetition_seeds(experiment.seed, repetitions)}
    return campaign.plan(campaign.seeded({"": needs}, seeds))


def _check(  # noqa: PLR0913, PLR0917 - the settings of repeat_each
    experiment: Experiment,
    repetitions: int,
    precision: float | None,
    bound: float | None,
    max_repetitions: int,
    metrics: Sequence[Metric],
) -> None:
    is_fixed = precision is None and bound is None
    allowed = validation.Range(1 if is_fixed else fewest(ERROR), 10_000)
    validation.whole("repetitions", repetitions, allowed, example=REPETITIONS)
    if precision is not None:
        above_0 = validation.Range(0, low_open=True)
        validation.number("precision", precision, above_0, example=0.02)
    if bound is not None:
        validation.number("bound", bound, validation.Range(), example=0.05)
        if precision is not None:
            step = "remove one of the two"
            raise validation.bad("bound", bound, "left out with precision", step)
    if not is_fixed:
        allowed = validation.Range(repetitions, 10_000)
        validation.whole("max_repetitions", max_repetitions, allowed, example=MAX_REPETITIONS)
    if not (metrics or _always_have_data(experiment)):
        required = "one or more if the beta flows do not always have data"
        raise validation.bad("metrics", (), required, 'name one of METRICS, such as "fct"')


def _always_have_data(experiment: Experiment) -> bool:
    """Return whether the beta flows can use their fair share of the link."""
    return all(KINDS[flow.kind].is_endless for flow in experiment.beta)


def _measured(
    experiment: Experiment, solo: Run, competing: Run, metrics: Sequence[Metric]
) -> HarmRepetition:
    harm = window = None
    if _always_have_data(experiment):
        harm = measure(solo, competing, experiment.measured_s)
        window = harm.from_s, harm.to_s
    parts = compare(solo, competing, metrics, window)
    flows = compare_flows(solo, competing, window=window)
    return HarmRepetition(
        seed=experiment.seed,
        harm=harm,
        metrics=parts,
        flows=pd.DataFrame(flows["harm"]),
        is_exact=solo.is_exact and competing.is_exact,
        alpha_leads=alpha_leads(competing.scenario, sides(solo.scenario, competing.scenario)),
        provenance=competing.provenance,
    )
