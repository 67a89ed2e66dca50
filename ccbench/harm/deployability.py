# SPDX-License-Identifier: Apache-2.0
"""Whether a new CCA may be deployed beside another: the measurements that the thresholds judge.

In every network beta's flows of every workload run alone, beside beta's and beside alpha's of every
workload. One run of two beta workloads tells the harm in both directions. What is measured is the
whole run, slow start included, as most workloads are not about a steady state; each network's noise
keeps flows from locking in step.

A flow that alpha starves so that it does not complete does not escape: its completion time is at
least the time until the end, and so is the harm that follows from it.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from ccbench import emulate
from ccbench.base import validation
from ccbench.base.errors import EngineError, InputError
from ccbench.base.random_streams import repetition_seeds
from ccbench.experiment.scenario import Scenario
from ccbench.harm._pairs import check_samples
from ccbench.harm.circumstances import NETWORKS, WORKLOADS
from ccbench.harm.comparison import harm_or_nan
from ccbench.harm.performance import METRICS, achieved, metrics_named
from ccbench.harm.thresholds import THRESHOLDS, Verdict, bounds, judge, overall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, Store
    from ccbench.harm.circumstances import Network, Workload
    from ccbench.harm.performance import Metric
    from ccbench.run.run import Run

__all__ = ["Assessment", "Deployability", "assess"]

#: A harm below this counts as this: no losses where there were some are better without bounds, and
#: have no mean with others.
_BEST = -1.0


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """A plan of measurements for the deployment thresholds.

    Parameters
    ----------
    alpha, beta : str
        The new CCA and the deployed one, by their Linux names.
    networks : tuple of Network
    workloads : tuple of Workload
        Those of UDP flows can only be harmed.
    metrics : tuple of str, optional
        Judge every workload by these, as far as its flows have them. Left out: each by its own.
    duration_s : float
        Length of each run in seconds.
    repetitions : int
        Runs of each scenario, with the seeds of
        :func:`~ccbench.base.random_streams.repetition_seeds`.
    leeway : float
        By how much harm may exceed a bound, 0 to 1.
    seed : int

    Raises
    ------
    InputError
        If a setting is out of range, or no workload has one of the metrics.

    Examples
    --------
    >>> len(Assessment(alpha="bbr", beta="cubic").scenarios())
    500
    """

    alpha: str
    beta: str
    networks: tuple[Network, ...] = NETWORKS
    workloads: tuple[Workload, ...] = WORKLOADS
    metrics: tuple[str, ...] | None = None
    duration_s: float = 60.0
    repetitions: int = 5
    leeway: float = 0.05
    seed: int = 1

    def __post_init__(self) -> None:
        validation.whole("repetitions", self.repetitions, validation.Range(1, 1000), example=3)
        validation.number("leeway", self.leeway, validation.Range(0, 1), example=0.05)
        for side in ("alpha", "beta"):
            if not getattr(self, side):
                raise validation.bad(side, "", "the name of a CCA", f'for example {side} = "bbr"')
        if not self._attackers:
            allowed = "at least one of TCP flows"
            raise validation.bad("workloads", [w.name for w in self.workloads], allowed, "add one")
        if not any(self.metrics_of(workload) for workload in self.workloads):
            message = f"metric: no workload has {', '.join(self.metrics or ())}: choose another one"
            raise InputError(message)
        for workload in self.workloads:
            workload.check_duration(self.duration_s)
        self.scenarios()  # a mistake shows here and not when it is run

    @property
    def _attackers(self) -> tuple[Workload, ...]:
        return tuple(w for w in self.workloads if not w.flow.is_udp)

    def metrics_of(self, workload: Workload) -> tuple[str, ...]:
        """Return the metrics by which harm to a workload is judged."""
        if self.metrics is None:
            return workload.metrics
        chosen = metrics_named(self.metrics)
        return tuple(metric.name for metric in chosen if metric.exists_for(workload.flow))

    def scenarios(self) -> dict[_Key, Scenario]:
        """Return every scenario to run, by what it is."""
        seeds = repetition_seeds(self.seed, self.repetitions)
        return {
            key: self._scenario(key, seeds[key.repetition])
            for network in self.networks
            for repetition in range(self.repetitions)
            for key in self._keys(network, repetition)
        }

    def _keys(self, network: Network, repetition: int) -> Iterator[_Key]:
        for i, victim in enumerate(self.workloads):
            yield _Key(network, victim, None, "", repetition)
            for attacker in self._attackers:
                yield _Key(network, victim, attacker, "alpha", repetition)
                # Of two beta workloads one run tells the harm in both directions.
                if attacker not in self.workloads[:i] or victim.flow.is_udp:
                    yield _Key(network, victim, attacker, "beta", repetition)

    def _scenario(self, key: _Key, seed: int) -> Scenario:
        flows = [key.victim.with_cca(self.beta)]
        name = f"{key.victim.name} alone"
        if key.attacker is not None:
            flows.append(key.attacker.with_cca(self.alpha if key.side == "alpha" else self.beta))
            name = f"{flows[1].label} beside {flows[0].label}"
        judged = {m for w in self.workloads for m in self.metrics_of(w)}
        with validation.within(f"network {key.network.name!r}, {name}: "):
            return Scenario(
                flows=tuple(flows),
                bottlenecks=(key.network.bottleneck,),
                rtt_ms=key.network.rtt_ms,
                noise=key.network.path_noise,
                duration_s=self.duration_s,
                seed=seed,
                queue_log=any(METRICS[name].needs_queue_log for name in judged),
                name=f"{key.network.name}: {name}",
            )


class _Key(NamedTuple):
    """Key of a scenario: the victim's flows alone, or beside an attacker's of alpha or beta."""

    network: Network
    victim: Workload
    attacker: Workload | None
    side: str
    repetition: int


@dataclass(frozen=True, kw_only=True)
class Deployability:
    """The measured harms, and the verdicts of the thresholds.

    Attributes
    ----------
    assessment : Assessment
    cases : DataFrame
        See :func:`~ccbench.harm.thresholds.judge`.
    harms : DataFrame
        Every harm that was measured; see :func:`~ccbench.harm.thresholds.bounds`. With ``solo`` and
        ``competing``, the values it was computed from, and ``judged``, whether the metric is one of
        the victim's.
    provenance : mapping
        What made the runs.
    """

    assessment: Assessment
    cases: pd.DataFrame = field(repr=False)
    harms: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict of each threshold over all cases."""
        return {
            threshold: overall(self.cases.loc[self.cases["threshold"] == threshold, "verdict"])
            for threshold in THRESHOLDS
        }

    def counterexamples(self, threshold: str) -> pd.DataFrame:
        """Return the cases that break a threshold, the worst first."""
        of_threshold = self.cases["threshold"] == threshold
        return self.cases[of_threshold & (self.cases["verdict"] == "broken")]


def assess(  # noqa: PLR0913 - choices that are independent, all by keyword
    assessment: Assessment,
    *,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = emulate.DEFAULT_STORE,
    on_progress: Callable[[int, int], None] | None = None,
) -> Deployability:
    """Measure all harms and judge them.

    What is finished is in the store: asked again, it goes on where it was interrupted.

    Parameters
    ----------
    assessment : Assessment
    engine, executor, jobs, store
        As in :func:`ccbench.emulate.run_many`.
    on_progress : callable, optional
        Called with the number of runs that are done, and of all.

    Raises
    ------
    InputError
        If the engine cannot run the scenarios.
    EngineError
        If a run fails, or beta's flows achieve nothing alone.

    Examples
    --------
    >>> small = Assessment(alpha="bbr", beta="cubic", networks=NETWORKS[:1], repetitions=1)
    >>> assess(small).verdicts["symmetric"]  # doctest: +SKIP
    'broken'
    """
    resolved = emulate.resolve(engine)
    scenarios = assessment.scenarios()
    for scenario in scenarios.values():
        resolved.check(scenario)
    judged = metrics_named(
        dict.fromkeys(m for w in assessment.workloads for m in assessment.metrics_of(w))
    )
    keys = list(scenarios)
    by_key: dict[_Key, tuple[_Achieved, ...]] = {}
    with closing(
        emulate.run_many(
            scenarios.values(), engine=resolved, executor=executor, jobs=jobs, store=store
        )
    ) as results:
        for i, run in results:
            by_key[keys[i]] = _of_groups(run, judged)
            if on_progress is not None:
                on_progress(len(by_key), len(keys))
    harms = pd.DataFrame(_harms(assessment, by_key))
    # Beta's own harms are bounds by whatever metric; alpha's are judged by those of the victim.
    relevant = harms[harms["judged"] | (harms["side"] == "beta")]
    cases = judge(bounds(relevant), assessment.leeway)
    return Deployability(
        assessment=assessment,
        cases=cases,
        harms=harms,
        provenance={**resolved.provenance(), "seed": assessment.seed},
    )


#: Of a group of flows: each metric's value, and what that is at least.
_Achieved: TypeAlias = "dict[str, tuple[float, float]]"


def _of_groups(run: Run, metrics: Sequence[Metric]) -> tuple[_Achieved, ...]:
    """Return the performance of each group of flows."""
    try:
        check_samples(run, run.scenario.name)
    except InputError as error:  # the run is to blame, not what the user wrote
        raise EngineError(str(error)) from error
    exact = achieved(run, metrics)
    bounded = [replace(m, of=m.at_least) for m in metrics if m.at_least is not None]
    least = exact.assign(**achieved(run, bounded))
    groups = run.scenario.flow_table()["group"]
    return tuple(
        {
            m.name: (
                m.of_group(flow, exact.loc[groups == number, m.name]),
                m.of_group(flow, least.loc[groups == number, m.name]),
            )
            for m in metrics
            if m.exists_for(flow)
        }
        for number, flow in enumerate(run.scenario.flows)
    )


def _harms(
    assessment: Assessment, by_key: Mapping[_Key, tuple[_Achieved, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield every harm that is judged or bounds one, with what it was computed from."""
    for key, groups in by_key.items():
        if key.attacker is None:
            continue
        sides = [(key.victim, key.attacker, groups[0])]
        # Only a beta flow can be a victim; if the two are alike, either is. UDP bounds nothing.
        back = key.side == "beta" and key.victim is not key.attacker
        if back and not key.victim.flow.is_udp:
            sides.append((key.attacker, key.victim, groups[1]))
        for victim, attacker, together in sides:
            (alone,) = by_key[_Key(key.network, victim, None, "", key.repetition)]
            for metric in metrics_named(together):
                judged = metric.name in assessment.metrics_of(victim)
                solo, _ = alone[metric.name]
                competing, at_least = together[metric.name]
                censored = math.isnan(competing) and not math.isnan(at_least)
                if key.side == "alpha" and censored:
                    competing = at_least
                try:
                    value = harm_or_nan(metric, solo, competing)
                except InputError as error:
                    if not judged:
                        continue
                    where = f"{key.network.name}, {victim.name}, {metric.name}"
                    raise EngineError(f"{where}: {error}") from error
                yield {
                    "network": key.network.name,
                    "victim": victim.name,
                    "attacker": attacker.name,
                    "side": key.side,
                    "metric": metric.name,
                    "judged": judged,
                    "repetition": key.repetition,
                    "solo": solo,
                    "competing": competing,
                    "harm": max(value, _BEST) if not math.isnan(value) else value,
                    "censored": key.side == "alpha" and censored,
                }
