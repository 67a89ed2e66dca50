# SPDX-License-Identifier: Apache-2.0
"""The worst network for the flows that compete with a candidate, found by a search and simplified.

A criterion of mixed algorithms names the flows that may be `harmed`. A search
(:mod:`ccbench.raygen`) varies its network and the numbers of flows; the worst network, confirmed
with fresh seeds, is shrunk (:mod:`ccbench.raygen.shrinking`) as long as most of the harm remains,
and becomes a network of the criterion, in which the baselines run, too.
"""

from __future__ import annotations

import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ccbench import harm, raygen
from ccbench.base.errors import EngineError, InputError
from ccbench.base.random_streams import derived_seed
from ccbench.evaluate.criterion import Variant
from ccbench.evaluate.witness import Witness
from ccbench.experiment.path import NetworkPath
from ccbench.raygen import Number, SearchConfig, Space
from ccbench.raygen.shrinking import shrunk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.emulate import CampaignPlan
    from ccbench.evaluate.criterion import Criterion
    from ccbench.evaluate.design import Design
    from ccbench.harm import Experiment, RepeatedHarm

__all__ = ["FEWEST", "networks_within", "plan", "search", "searched"]

#: The networks of a search: small enough for many runs of a minute.
_GENES = (
    Number(name="bandwidth_mbps", low=5, high=50),
    Number(name="rtt_ms", low=10, high=200),
    Number(name="queue_bdp", low=0.25, high=8),
    Number(name="alpha_flows", low=1, high=4),
    Number(name="beta_flows", low=1, high=4),
)
#: Settings of the criterion's bottleneck that genes replace.
_VARIED = ("bandwidth_mbps", "queue_bdp", "queue_packets")
#: Fewest networks of a search: the smallest first generation, of whose size others are multiples.
FEWEST = 4
#: Networks of a search for each in its first generation.
_GENERATIONS = 5
#: Share of the harm that a simpler network must have.
_KEPT = 0.75
#: Most repetitions for a decision whether it has.
_MOST = 12


def searched(design: Design) -> tuple[Criterion, ...]:
    """Return the chosen criteria that name flows which may be harmed."""
    return tuple(one for one in design.criteria if one.harmed)


def plan(design: Design, **campaign: Any) -> list[CampaignPlan]:
    """Return the plan of the search of each such criterion, without the shrinking.

    Parameters
    ----------
    design, **campaign
        As in :func:`search`.
    """
    return [
        raygen.plan(_config(design, one), engine=campaign.get("engine", "kernel"))
        for one in searched(design)
    ]


def networks_within(minutes: float, design: Design, *, engine: Any, cores: int) -> int:
    """Return the number of networks that all searches of a design can try in a time.

    It is an estimate by earlier runs on this machine, without the shrinking; at least
    :data:`FEWEST`. The result depends on the number, not on the time that a search takes.
    """
    trial = replace(design, search=_GENERATIONS * FEWEST)
    plans = (raygen.plan(_config(trial, one), engine=engine, store=None) for one in searched(trial))
    hours_each = sum(each.core_hours for each in plans) / trial.search
    return max(FEWEST, int(minutes / 60 * cores / hours_each))


def search(design: Design, **campaign: Any) -> tuple[Witness, ...]:
    """Search for the worst network of each criterion with flows that may be harmed.

    Parameters
    ----------
    design : Design
        Its `search` is the number of networks that each search tries; each takes two runs.
    **campaign
        `engine`, `store`, `executor` and `jobs` of a :class:`~ccbench.emulate.Campaign`.

    Raises
    ------
    InputError
        If the engine cannot run the networks.
    EngineError
        If all networks of the first generation fail.

    Examples
    --------
    The worst of 60 networks for competitors of BBR, as further networks of an evaluation::

        design = Design(candidate="bbr", pack=load_pack("rfc9743"), search=60)
        evaluate(replace(design, witnesses=search(design)))
    """
    return tuple(_witness(design, one, campaign) for one in searched(design))


def _witness(design: Design, criterion: Criterion, campaign: Mapping[str, Any]) -> Witness:
    config = _config(design, criterion)
    result = raygen.search(config, **campaign)
    witness = Witness(criterion=criterion.key, tried=result.networks)
    claims = result.claims[result.claims["error"] == ""]
    if claims.empty or not claims["relative_harm_low"].iloc[0] > 0:
        return witness
    claim = claims.iloc[0]
    bound = _KEPT * float(claim["relative_harm"])
    first = _settings(criterion, dict(config.space.values(config.space.chromosome(claim))))
    duration_s = config.duration_s

    def measured(settings: Mapping[str, Any], duration_s: float) -> RepeatedHarm:
        experiment = _experiment(design, criterion, settings, duration_s)
        return harm.repeat(experiment, bound=bound, max_repetitions=_MOST, **campaign)

    def shows(settings: Mapping[str, Any], duration_s: float = duration_s) -> bool:
        try:
            return measured(settings, duration_s).decision == "above"
        except (EngineError, InputError):  # such as a queue of less than a packet
            return False

    if not shows(first):
        return witness
    simplest = shrunk(first, shows)
    shortest = shrunk({"duration_s": duration_s}, lambda given: shows(simplest, **given))
    return replace(
        witness,
        settings=tuple(simplest.items()),
        bound=bound,
        harm=measured(simplest, **shortest).relative.values,
        **shortest,
    )


def _config(design: Design, criterion: Criterion) -> SearchConfig:
    """Return the settings of the search."""
    scenario = criterion.scenario_of(criterion.networks[0], design.candidate, 1)
    (harmed,) = (flow for flow in scenario.flows if flow.name == criterion.harmed)
    names = {field.name for field in fields(NetworkPath)} - {"rtt_ms", "noise"}
    fixed = copy.deepcopy({k: value for k, value in criterion.scenario if k in names})
    for name in _VARIED:
        fixed["bottlenecks"][0].pop(name, None)
    return SearchConfig(
        alpha=design.candidate,
        beta=harmed.cca,
        budget=design.search,
        population=FEWEST * -(-design.search // (_GENERATIONS * FEWEST)),
        duration_s=scenario.duration_s,
        seed=derived_seed(design.seed, "worst network", criterion.key),
        space=Space(_GENES, path=fixed),
    )


def _settings(criterion: Criterion, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of genes as settings of the criterion's scenario."""
    labels = [flow.get("label") for flow in dict(criterion.scenario)["flows"]]
    numbers = [labels.index(label) for label in (criterion.candidates[0], criterion.harmed)]
    counts = (int(values[name]) for name in ("alpha_flows", "beta_flows"))
    return {
        "bottlenecks.0.bandwidth_mbps": values["bandwidth_mbps"],
        "rtt_ms": values["rtt_ms"],
        "bottlenecks.0.queue_bdp": values["queue_bdp"],
        **{f"flows.{i}.count": count for i, count in zip(numbers, counts, strict=True)},
    }


def _experiment(
    design: Design, criterion: Criterion, settings: Mapping[str, Any], duration_s: float
) -> Experiment:
    """Return the harm of the candidate in a network of the criterion."""
    seed = derived_seed(design.seed, "simplest network", criterion.key)
    network = Variant(name="", settings=tuple(settings.items()))
    scenario = criterion.scenario_of(network, design.candidate, seed)
    return harm.Experiment(
        alpha=tuple(flow for flow in scenario.flows if flow.name in criterion.candidates),
        beta=tuple(flow for flow in scenario.flows if flow.name == criterion.harmed),
        path=scenario.path,
        duration_s=duration_s,
        seed=seed,
    )
