# SPDX-License-Identifier: Apache-2.0
"""The two runs of an experiment: the order of their flows, and checks.

Flows that start together keep an order for minutes: the first burst of one stands before that of
the other in the queue. Experiments are symmetric by construction: flows start in random order
(`start_spread_ms` of the noise), and the seed decides whether alpha or beta has the lower numbers,
and with them the lower addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.random_streams import standard_stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.experiment.change import Change
    from ccbench.experiment.flow import Flow
    from ccbench.experiment.noise import Noise
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = [
    "Sides",
    "beta_groups",
    "check_samples",
    "check_shared",
    "in_order",
    "sides",
    "with_later_flows",
]


@dataclass(frozen=True)
class Sides:
    """The single flows of the two sides in a competing run.

    Attributes
    ----------
    beta, alpha : slice
        Positions of the flows; those of beta are in the order of the solo run.
    """

    beta: slice
    alpha: slice

    @property
    def n_beta(self) -> int:
        """Number of beta flows."""
        return int(self.beta.stop - self.beta.start)

    @property
    def n_alpha(self) -> int:
        """Number of alpha flows."""
        return int(self.alpha.stop - self.alpha.start)


def in_order(
    beta: tuple[Flow, ...], alpha: tuple[Flow, ...], *, noise: Noise, seed: int
) -> tuple[Flow, ...]:
    """Return the groups of a competing run: alpha first for half of the seeds.

    If the noise does not spread the starts, all flows start in their order, and beta is first.

    Examples
    --------
    >>> from ccbench import Flow, Noise
    >>> groups = (Flow(cca="cubic"),), (Flow(cca="bbr"),)
    >>> noise = Noise(start_spread_ms=20)
    >>> [in_order(*groups, noise=noise, seed=seed)[0].cca for seed in range(5)]
    ['bbr', 'bbr', 'cubic', 'bbr', 'bbr']
    """
    return alpha + beta if _is_alpha_first(noise, seed) else beta + alpha


def beta_groups(scenario: Scenario, count: int = 1) -> range:
    """Return the positions of beta's groups of flows in a run of an experiment.

    Parameters
    ----------
    scenario : Scenario
        The solo or the competing scenario.
    count : int
        Number of beta's groups.
    """
    first = (
        len(scenario.flows) - count if _is_alpha_first(scenario.path.noise, scenario.seed) else 0
    )
    return range(first, first + count)


def _is_alpha_first(noise: Noise, seed: int) -> bool:
    return bool(noise.start_spread_ms) and standard_stream(seed, "order").random() < 0.5  # noqa: PLR2004 - a half


def with_later_flows(changes: Iterable[Change], by: int) -> tuple[Change, ...]:
    """Return changes with the numbers of their flows increased by `by`."""
    return tuple(
        replace(
            change,
            flow=None if change.flow is None else change.flow + by,
            when=None if change.when is None else replace(change.when, flow=change.when.flow + by),
        )
        for change in changes
    )


def _flows_before(scenario: Scenario, group: int) -> int:
    """Return the number of single flows in the groups before one."""
    return sum(flow.flow_count for flow in scenario.flows[:group])


def sides(solo: Scenario, competing: Scenario) -> Sides:
    """Return the flows of both sides in the competing run of an experiment.

    The beta flows are the first or the last ones. If they could be both, as alpha equals beta, the
    seed decides as in :func:`in_order`.

    Raises
    ------
    InputError
        If the scenarios differ in more than the added flows, the seed, the sampling and the queue
        log, or no bottleneck is on the path of all flows.
    """
    check_shared(competing)
    shared = len(solo.flows)
    step = "run the two scenarios of one Experiment"
    if len(competing.flows) <= shared:
        allowed = f"more than the {shared} of the solo run"
        raise validation.bad(
            "flow groups of the competing run", len(competing.flows), allowed, step
        )
    usual = beta_groups(competing, shared)
    firsts = usual.start, len(competing.flows) - shared - usual.start
    without_alpha = [
        replace(
            competing,
            flows=competing.flows[first : first + shared],
            path=replace(
                competing.path,
                changes=with_later_flows(competing.path.changes, -_flows_before(competing, first)),
            ),
            seed=solo.seed,
            sample_interval_ms=solo.sample_interval_ms,
            queue_log=solo.queue_log,
        )
        for first in firsts
    ]
    keys = [scenario.key() for scenario in without_alpha]
    if solo.key() not in keys:
        settings, expected = solo.to_dict(), without_alpha[0].to_dict()
        names = [
            name for name in expected if name != "name" and settings.get(name) != expected[name]
        ]
        allowed = "the same in both runs except for the flows that the competing run adds"
        raise validation.bad("network and beta flows", ", ".join(names), allowed, step)
    n_beta, count = solo.flow_count, competing.flow_count
    if firsts[keys.index(solo.key())] == 0:
        return Sides(beta=slice(0, n_beta), alpha=slice(n_beta, count))
    return Sides(beta=slice(count - n_beta, count), alpha=slice(0, count - n_beta))


def check_shared(scenario: Scenario) -> None:
    """Check that a bottleneck is on the path of all flows, which fair sharing presupposes.

    Raises
    ------
    InputError
        If there is none, as for flows of opposite directions.

    Examples
    --------
    >>> from ccbench import Bottleneck, Flow, NetworkPath, Scenario
    >>> links = (Bottleneck(bandwidth_mbps=10, queue_bdp=1),) * 2
    >>> flows = (Flow(last_bottleneck=0), Flow(first_bottleneck=1))
    >>> path = NetworkPath(bottlenecks=links, rtt_ms=40)
    >>> check_shared(Scenario(flows=flows, path=path, duration_s=60))
    Traceback (most recent call last):
    ...
    ccbench.base.errors.InputError: harm compares with fair shares of a bottleneck, but no ...
    """
    crossed: list[set[int]] = []
    for flow in scenario.flows:
        ends = (scenario.path.links_of(path) for path in flow.split)
        crossed.append({link for first, last in ends for link in range(first, last + 1)})
    if not set.intersection(*crossed):
        raise InputError(
            "harm compares with fair shares of a bottleneck, but no bottleneck is on the path of "
            "the data of all flows: give them a common one, or choose another metric"
        )


def check_samples(run: Run, name: str) -> None:
    """Check that a run has a result for every flow.

    Raises
    ------
    InputError
        If a flow has neither samples nor a completion.
    """
    has_result = run.completions["end_ns"].to_numpy() >= 0
    has_result[run.flows["flow"].to_numpy()] = True
    if not has_result.all():
        flow = int(has_result.argmin())
        raise validation.bad(
            f"{name}: samples of flow {flow}", 0, "1 or more", "run it with --fresh"
        )
