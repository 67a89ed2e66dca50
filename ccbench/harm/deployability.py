# SPDX-License-Identifier: Apache-2.0
"""Measurement of the deployment thresholds of a new CCA.

In every network, beta's flows of every workload run alone, with beta's flows and with alpha's flows
of every workload. One run of two beta workloads measures the harm in both directions. Harm is
computed over the whole run, including slow start, because most workloads have no steady state. The
noise of each network prevents synchronisation of flows. The cases that still decide about a
threshold are repeated until their intervals exclude the leeway.

If alpha starves a flow so that it does not complete, its completion time is at least the time until
the end of the run, which gives a lower bound of the harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from ccbench import emulate
from ccbench.base import validation
from ccbench.base.errors import EngineError, InputError
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate.policies import looks
from ccbench.experiment.scenario import Scenario
from ccbench.harm._pairs import beta_groups, check_samples, in_order
from ccbench.harm.circumstances import NETWORKS, WORKLOADS
from ccbench.harm.comparison import METRICS, harm_or_nan, metrics_named
from ccbench.harm.formulas import BEST_HARM
from ccbench.harm.thresholds import THRESHOLDS, Verdict, bounds, judge, overall, undecided
from ccbench.metrics import Part, least_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ccbench.emulate import Engine, Store
    from ccbench.emulate.policies import Look
    from ccbench.experiment.flow import Flow
    from ccbench.harm.circumstances import Network, Workload
    from ccbench.metrics import Metric
    from ccbench.run.run import Run

__all__ = ["MAX_REPETITIONS", "Assessment", "Deployability", "assess", "assessment_plan"]

MAX_REPETITIONS = 20


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """A plan of measurements for the deployment thresholds.

    Parameters
    ----------
    alpha, beta : str
        Linux names of the new and the deployed CCA.
    networks : tuple of Network
    workloads : tuple of Workload
        Workloads of UDP flows can only be harmed.
    metrics : tuple of str, optional
        Metrics to judge every workload by, if they exist for its flows. Default: each workload's
        own.
    duration_s : float
        Length of each run in seconds.
    repetitions : int
        Runs of each scenario before the first verdict, with the seeds of
        :func:`~ccbench.base.random_streams.repetition_seeds`. With one, which has no interval, the
        harm itself decides.
    max_repetitions : int
        Maximum number of runs of the scenarios of cases that remain undecided.
    leeway : float
        Amount by which harm may exceed a bound, 0 to 1.
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
    max_repetitions: int = MAX_REPETITIONS
    leeway: float = 0.05
    seed: int = 1

    def __post_init__(self) -> None:
        validation.whole("repetitions", self.repetitions, validation.Range(1, 1000), example=5)
        allowed = validation.Range(self.repetitions, 1000)
        validation.whole("max_repetitions", self.max_repetitions, allowed, example=MAX_REPETITIONS)
        validation.number("leeway", self.leeway, validation.Range(0, 1), example=0.05)
        for side in ("alpha", "beta"):
            if not getattr(self, side):
                raise validation.bad(side, "", "the name of a CCA", f'for example {side} = "bbr"')
        if not any(w.suits(self.alpha) and w.suits(self.beta) for w in self._attackers):
            required = "at least one of TCP flows that both CCAs can have"
            raise validation.bad("workloads", [w.name for w in self.workloads], required, "add one")
        if not any(self.metrics_of(workload) for workload in self.workloads):
            names = ", ".join(self.metrics or ())
            message = f"metric: no workload has {names}: choose another metric"
            raise InputError(message)
        for workload in self.workloads:
            workload.check_duration(self.duration_s)
        self.scenarios()  # report errors before a run

    @property
    def _attackers(self) -> tuple[Workload, ...]:
        return tuple(w for w in self.workloads if not w.flow.is_udp)

    def metrics_of(self, workload: Workload) -> tuple[str, ...]:
        """Return the metrics by which harm to a workload is judged."""
        if self.metrics is None:
            return workload.metrics
        chosen = metrics_named(self.metrics)
        return tuple(metric.name for metric in chosen if metric.exists_for(workload.flow))

    @property
    def looks(self) -> tuple[Look, ...]:
        """The numbers of repetitions after which cases are judged, and their errors."""
        most = self.max_repetitions if self.repetitions > 1 else 1
        return looks(self.repetitions, most, of="mean")

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each repetition."""
        return repetition_seeds(self.seed, self.looks[-1].repetitions)

    def scenarios(self) -> dict[tuple[_Key, int], Scenario]:
        """Return the scenarios that run before the first verdict, by key and repetition."""
        return {
            (key, repetition): self._scenario(key, seed)
            for network in self.networks
            for repetition, seed in enumerate(self.seeds[: self.repetitions])
            for key in self.keys(network)
        }

    def cases(self) -> dict[_Key, Callable[[int], tuple[Scenario]]]:
        """Return functions of a seed that return a scenario, by key."""

        def case(key: _Key) -> Callable[[int], tuple[Scenario]]:
            return lambda seed: (self._scenario(key, seed),)

        return {key: case(key) for network in self.networks for key in self.keys(network)}

    def keys(self, network: Network) -> Iterator[_Key]:
        """Yield the keys of all scenarios in a network."""
        for i, victim in enumerate(self.workloads):
            if not victim.suits(self.beta):
                continue
            yield _Key(network, victim, None, "")
            for attacker in self._attackers:
                if attacker.suits(self.alpha):
                    yield _Key(network, victim, attacker, "alpha")
                # One run of two beta workloads measures the harm in both directions.
                is_new = attacker not in self.workloads[:i] or victim.flow.is_udp
                if attacker.suits(self.beta) and is_new:
                    yield _Key(network, victim, attacker, "beta")

    def _scenario(self, key: _Key, seed: int) -> Scenario:
        victim = key.victim.with_cca(self.beta)
        flows: tuple[Flow, ...] = (victim,)
        name = f"{key.victim.name} alone"
        if key.attacker is not None:
            attacker = key.attacker.with_cca(self.alpha if key.side == "alpha" else self.beta)
            flows = in_order((victim,), (attacker,), noise=key.network.path.noise, seed=seed)
            name = f"{attacker.label} against {victim.label}"
        judged = {m for w in self.workloads for m in self.metrics_of(w)}
        with validation.within(f"network {key.network.name!r}, {name}: "):
            return Scenario(
                flows=flows,
                path=key.network.path,
                duration_s=self.duration_s,
                seed=seed,
                queue_log=least_log(METRICS[name] for name in judged),
                name=f"{key.network.name}: {name}",
            )


class _Key(NamedTuple):
    """Key of a scenario: the victim's flows alone, or with an attacker's flows of alpha or beta."""

    network: Network
    victim: Workload
    attacker: Workload | None
    side: str


@dataclass(frozen=True, kw_only=True)
class Deployability:
    """The measured harms and the verdicts of the thresholds.

    Attributes
    ----------
    assessment : Assessment
    cases : DataFrame
        Verdicts of :func:`~ccbench.harm.thresholds.judge`, which holds at all looks together.
    harms : DataFrame
        All measured harms, with the columns of :func:`~ccbench.harm.thresholds.bounds`, ``solo``
        and ``competing``, the values from which harm was computed, and ``judged``, whether the
        metric is one of the victim's.
    provenance : mapping
        Origin of the runs.
    """

    assessment: Assessment
    cases: pd.DataFrame = field(repr=False)
    harms: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any]

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Verdict of each threshold over all cases."""
        return {
            threshold: overall(self.cases.loc[self.cases["threshold"] == threshold, "verdict"])
            for threshold in THRESHOLDS
        }

    def counterexamples(self, threshold: str) -> pd.DataFrame:
        """Return the cases that break a threshold, worst first."""
        of_threshold = self.cases["threshold"] == threshold
        return self.cases[of_threshold & (self.cases["verdict"] == "broken")]


def assess(assessment: Assessment, **campaign: Any) -> Deployability:
    """Measure all harms and judge them.

    An interrupted assessment resumes, because finished runs are in the store.

    Parameters
    ----------
    assessment : Assessment
    **campaign
        Settings of a :class:`~ccbench.emulate.Campaign`, such as `engine`, `jobs`, `store` and
        `on_progress`.

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
    running = emulate.Campaign(**campaign)
    scenarios = assessment.scenarios()
    running.check(scenarios.values())
    judged = metrics_named(
        dict.fromkeys(m for w in assessment.workloads for m in assessment.metrics_of(w))
    )
    cases = assessment.cases()
    by_key = running.repeated(
        cases,
        dict.fromkeys(cases, assessment.seeds),
        lambda _, run: _of_groups(run, judged),
        policy=partial(_until_decided, assessment),
        named=lambda pair: f"{scenarios[pair[0], 0].name}, repetition {pair[1]}",
    )
    harms = pd.DataFrame(_harms(assessment, {key: of.results for key, of in by_key.items()}))
    return Deployability(
        assessment=assessment,
        cases=_judged(assessment, harms),
        harms=harms,
        provenance={**emulate.resolve(running.engine).provenance(), "seed": assessment.seed},
    )


def assessment_plan(
    assessment: Assessment,
    *,
    engine: str | Engine = "kernel",
    store: Store | None = emulate.DEFAULT_STORE,
) -> emulate.CampaignPlan:
    """Return the extent and the expected cost of :func:`assess` before the first verdict.

    Examples
    --------
    >>> assessment_plan(Assessment(alpha="bbr", beta="cubic")).runs  # doctest: +SKIP
    500
    """
    campaign = emulate.Campaign(engine=engine, store=store)
    cases = assessment.cases()
    seeds = assessment.seeds[: assessment.repetitions]
    return campaign.plan(campaign.seeded(cases, dict.fromkeys(cases, seeds)))


#: Value and lower bound of each metric of a group of flows.
_Achieved: TypeAlias = "dict[str, tuple[float, float]]"


def _of_groups(run: Run, metrics: Sequence[Metric]) -> _Groups:
    """Return the performance of the victim's flows, and of the attacker's if there are any."""
    try:
        check_samples(run, run.scenario.name)
    except InputError as error:  # caused by the run, not by the user's input
        raise EngineError(str(error)) from error
    part = Part(run)
    groups = run.scenario.flow_table()["group"]
    (of_victim,) = beta_groups(run.scenario)
    of_groups = [
        {
            m.name: (
                m.over(part, groups.index[groups == number]),
                m.at_least_over(part, groups.index[groups == number]),
            )
            for m in metrics
            if m.exists_for(flow)
        }
        for number, flow in enumerate(run.scenario.flows)
    ]
    return (of_groups.pop(of_victim), *of_groups)


#: Those of the victim, and of the attacker if there are any.
_Groups: TypeAlias = "tuple[_Achieved, ...]"
#: Results by key, in the order of the seeds; if a scenario is exact, only one.
_Results: TypeAlias = "Mapping[_Key, Sequence[_Groups]]"


def _judged(assessment: Assessment, harms: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts of all cases."""
    # Beta's harms are bounds by any metric; alpha's harms are judged by the victim's metrics.
    relevant = harms[harms["judged"] | (harms["side"] == "beta")]
    return judge(bounds(relevant), assessment.leeway, assessment.looks)


def _until_decided(assessment: Assessment, results: _Results) -> dict[_Key, int]:
    """Return the number of repetitions of each scenario: the policy of :func:`assess`.

    Cases that still decide about a threshold are repeated until the next look, with all scenarios
    of their bounds.
    """
    counts = {key: max(len(own), assessment.repetitions) for key, own in results.items()}
    harms = pd.DataFrame(_harms(assessment, results))
    if harms.empty:
        return counts
    open_cases = undecided(_judged(assessment, harms), assessment.leeway)
    for case in open_cases.to_dict("records"):
        more = [n for n, _ in assessment.looks if n > case["repetitions"]]
        for key in counts if more else ():
            if _is_needed(key, case["network"], case["victim"], case["attacker"]):
                counts[key] = max(counts[key], more[0])
    return counts


def _is_needed(key: _Key, network: str, victim: str, attacker: str) -> bool:
    """Return whether a case needs a scenario for its harm, or for one of its bounds."""
    if key.network.name != network:
        return False
    if key.attacker is None:
        return key.victim.name in {victim, attacker}
    if key.side == "alpha":
        return (key.victim.name, key.attacker.name) == (victim, attacker)
    return victim in {key.victim.name, key.attacker.name}


def _harms(assessment: Assessment, results: _Results) -> Iterator[dict[str, Any]]:
    """Yield every harm that is judged or a bound, with the values from which it was computed."""
    for network in assessment.networks:
        own = {key: results[key] for key in assessment.keys(network) if results.get(key)}
        most = max(map(len, own.values()), default=0)
        # An exact scenario runs once, and every repetition of it would give the same result.
        own = {key: [*runs] * most if len(runs) == 1 else runs for key, runs in own.items()}
        for repetition in range(most):
            at = {key: runs[repetition] for key, runs in own.items() if repetition < len(runs)}
            for key in at:
                yield from _harms_of_run(assessment, key, repetition, at)


def _harms_of_run(
    assessment: Assessment, key: _Key, repetition: int, results: Mapping[_Key, _Groups]
) -> Iterator[dict[str, Any]]:
    """Yield the harms in one run, given the runs of the same repetition in its network."""
    if key.attacker is None:
        return
    groups = results[key]
    sides = [(key.victim, key.attacker, groups[0])]
    # A beta attacker is a victim, too, of the other workload. UDP does not give a bound.
    is_mutual = key.side == "beta" and key.victim is not key.attacker
    if is_mutual and not key.victim.flow.is_udp:
        sides.append((key.attacker, key.victim, groups[1]))
    for victim, attacker, together in sides:
        for alone in results.get(_Key(key.network, victim, None, ""), ()):
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
                    "repetition": repetition,
                    "solo": solo,
                    "competing": competing,
                    "harm": max(value, BEST_HARM) if not math.isnan(value) else value,
                    "censored": key.side == "alpha" and censored,
                }
