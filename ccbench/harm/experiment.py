# SPDX-License-Identifier: Apache-2.0
"""One measurement of harm: its two scenarios and the result of their runs (Ware section 5.3)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.counts import counted
from ccbench.base.errors import InputError
from ccbench.convergence import converged_at, measured_from, trends
from ccbench.experiment.scenario import Flow, NetworkPath, Scenario
from ccbench.harm._pairs import check_samples, check_shared, in_order, sides, with_later_flows
from ccbench.harm.formulas import expected_harm, harm, relative_harm
from ccbench.metrics import jain_index

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.experiment.change import Change
    from ccbench.run.run import Run

__all__ = [
    "INTERVAL_S",
    "Experiment",
    "HarmResult",
    "divided",
    "flow_names",
    "long_flows",
    "measure",
]

#: Interval of throughput in seconds (section 5.3.3.1).
INTERVAL_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A network with the beta flows alone, and with the alpha flows added.

    Parameters
    ----------
    alpha, beta : tuple of Flow
        The new flows, and the flows that they may harm.
    path : NetworkPath
        The network. Flows in its changes are numbered as in the solo run.
    duration_s : float
        Length of each of the two runs in seconds, 1 or more; 180 in the thesis.
    seed : int
        Seed of all random numbers of both runs.
    queue_log : bool or "summary"
        Whether the runs record all events of packets. Harm does not need them.
    measured_s : (float, float), optional
        Start and end of the part of both runs over which harm is measured, in whole seconds.
        Default: from convergence, see :func:`measure`.

    Raises
    ------
    InputError
        If one of the two scenarios is invalid or shorter than 1 s, or no bottleneck is on the path
        of all flows.

    Examples
    --------
    >>> from ccbench import typical_path
    >>> path = typical_path(bandwidth_mbps=100, rtt_ms=40, queue_bdp=1)
    >>> experiment = long_flows(alpha="bbr", beta="cubic", path=path)
    >>> experiment.solo.flow_count, experiment.competing.flow_count
    (1, 2)
    >>> experiment.describe()
    '1 bbr against 1 cubic, 40 ms, 100 Mbit/s, 333 packets (1 BDP)'
    """

    alpha: tuple[Flow, ...]
    beta: tuple[Flow, ...]
    path: NetworkPath
    duration_s: float = 180.0
    seed: int = 1
    queue_log: bool | str = False
    sample_interval_ms: float = 100.0
    measured_s: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.alpha:
            raise validation.bad(
                "alpha", self.alpha, "one or more Flows", "add the flows that may harm"
            )
        _ = self.solo  # report errors before a run
        check_shared(self.competing)
        if self.duration_s < INTERVAL_S:
            allowed = f"at least {INTERVAL_S:g}, the interval of throughput"
            raise validation.bad("duration_s", self.duration_s, allowed, "run for longer")

    @cached_property
    def solo(self) -> Scenario:
        """The beta flows alone; independent of alpha, so that experiments share solo runs."""
        return self._scenario(self.beta, self.path, f"{flow_names(self.beta)} alone")

    @cached_property
    def competing(self) -> Scenario:
        """Both groups of flows.

        With noise that spreads the starts, the seed decides which group has the lower numbers;
        otherwise the beta flows are first, with the numbers of `solo`.
        """
        name = f"{flow_names(self.alpha)} against {flow_names(self.beta)}"
        flows = in_order(self.beta, self.alpha, noise=self.path.noise, seed=self.seed)
        is_beta_first = flows[: len(self.beta)] == self.beta
        before = 0 if is_beta_first else sum(flow.flow_count for flow in self.alpha)
        changes = with_later_flows(self.path.changes, before)
        return self._scenario(flows, replace(self.path, changes=changes), name)

    @property
    def scenarios(self) -> tuple[Scenario, Scenario]:
        """The solo and the competing scenario."""
        return self.solo, self.competing

    def describe(self) -> str:
        """Return a description in one line, with beta's round-trip time and BDP."""
        alpha_ms, beta_ms = (self.path.rtt_ms + s[0].extra_rtt_ms for s in (self.alpha, self.beta))
        scale = self.path.rtt_ms / beta_ms
        links = " and ".join(
            f"{link.mean_mbps:g} Mbit/s, {counted(link.queue_packets or 0, 'packet')} "
            f"({(link.queue_packets or 0) / self.competing.path.bdp_packets(i) * scale:.2g} BDP)"
            for i, link in enumerate(self.competing.path.bottlenecks)
        )
        other = "" if alpha_ms == beta_ms else f" (alpha's {alpha_ms:g} ms)"
        return f"{self.competing.name}, {beta_ms:g} ms{other}, {links}"

    def _scenario(self, flows: tuple[Flow, ...], path: NetworkPath, name: str) -> Scenario:
        return Scenario(
            flows=flows,
            path=path,
            duration_s=self.duration_s,
            seed=self.seed,
            queue_log=self.queue_log,
            sample_interval_ms=self.sample_interval_ms,
            name=name,
        )


def long_flows(  # noqa: PLR0913 - independent choices, all by keyword
    *,
    alpha: str,
    beta: str,
    path: NetworkPath,
    alpha_flows: int = 1,
    beta_flows: int = 1,
    duration_s: float = 180.0,
    seed: int = 1,
) -> Experiment:
    """Return the thesis's experiment: unlimited flows of two CCAs share a queue (5.4).

    Parameters
    ----------
    alpha, beta : str
        Linux names of the new CCA and of the CCA that it may harm.
    path : NetworkPath
        The network, such as a :func:`~ccbench.experiment.path.typical_path`. The queue of the
        thesis is drop-tail.
    alpha_flows, beta_flows : int
        Number of flows of each CCA. All start at 0 s, or within the noise's `start_spread_ms`.
    duration_s : float
        Length of each run in seconds.
    seed : int
        Seed of all random numbers of both runs.

    Raises
    ------
    InputError
        If a setting is out of range.

    Examples
    --------
    >>> from ccbench import typical_path
    >>> path = typical_path(bandwidth_mbps=100, rtt_ms=40, queue_packets=64)
    >>> long_flows(alpha="bbr", beta="cubic", path=path, beta_flows=4).describe()
    '1 bbr against 4 cubic, 40 ms, 100 Mbit/s, 64 packets (0.19 BDP)'
    """
    check_named(alpha=alpha, beta=beta)
    with validation.within("alpha: "):
        alpha_group = Flow(cca=alpha, count=alpha_flows)
    with validation.within("beta: "):
        beta_group = Flow(cca=beta, count=beta_flows)
    return Experiment(
        alpha=(alpha_group,), beta=(beta_group,), path=path, duration_s=duration_s, seed=seed
    )


def divided(scenario: Scenario, beta: Iterable[int] = ()) -> Experiment:
    """Return the experiment that measures the harm to some groups of a scenario's flows.

    Parameters
    ----------
    scenario : Scenario
        Beta and alpha flows together.
    beta : iterable of int, optional
        Positions of the groups that may be harmed. All others are alpha. Default: all groups but
        the first may be harmed.

    Raises
    ------
    InputError
        If a group does not exist, alpha or beta has no group, no bottleneck is on the path of all
        groups, or a change is one of an alpha flow, or waits for its event: the solo run lacks
        this flow.

    Examples
    --------
    >>> scenario = Scenario.load("examples/bbr-vs-cubic.toml")
    >>> divided(scenario, beta=[1]).solo.name
    '2 cubic alone'
    """
    count = len(scenario.flows)
    if count == 1:
        raise InputError(
            "harm needs two groups of flows, those that may be harmed and those that harm, but "
            "this scenario has one: add a [[flows]] table, or choose another metric"
        )
    last = validation.Range(0, count - 1)
    groups = tuple(beta) or range(1, count)
    chosen = dict.fromkeys(validation.whole("beta", group, last, example=0) for group in groups)
    if not 0 < len(chosen) < count:
        allowed = f"one or more of the {count} groups of flows, but not all of them"
        raise validation.bad("beta", list(chosen), allowed, "leave some for alpha, which harms")
    check_shared(scenario)
    return Experiment(
        alpha=tuple(flow for i, flow in enumerate(scenario.flows) if i not in chosen),
        beta=tuple(scenario.flows[i] for i in chosen),
        path=replace(scenario.path, changes=_renumbered(scenario, chosen)),
        duration_s=scenario.duration_s,
        seed=scenario.seed,
        queue_log=scenario.queue_log,
        sample_interval_ms=scenario.sample_interval_ms,
    )


def _renumbered(scenario: Scenario, beta: Iterable[int]) -> tuple[Change, ...]:
    """Return the changes with the numbers that their flows have in a run of these groups."""
    if not scenario.path.changes:
        return ()
    groups = scenario.flow_table()["group"].to_numpy()
    order = [int(flow) for group in beta for flow in (groups == group).nonzero()[0]]
    numbers = {flow: number for number, flow in enumerate(order)}

    def renumbered(place: str, flow: int) -> int:
        if flow in numbers:
            return numbers[flow]
        allowed = "a flow of beta for metric harm, as one of its runs has no others"
        raise validation.bad(place, flow, allowed, "name a flow of beta, or remove the change")

    changes = []
    for i, change in enumerate(scenario.path.changes):
        new = change
        if new.when is not None:
            flow = renumbered(f"changes[{i}].when.flow", new.when.flow)
            new = replace(new, when=replace(new.when, flow=flow))
        if new.flow is not None:
            new = replace(new, flow=renumbered(f"changes[{i}].flow", new.flow))
        changes.append(new)
    return tuple(changes)


def check_named(**ccas: str) -> None:
    """Check that names of CCAs are not empty, which would be a Flow's default.

    Raises
    ------
    InputError
        If a name is empty.
    """
    for side, cca in ccas.items():
        if cca == "":
            raise validation.bad(
                side, cca, "the name of a CCA", f'write for example {side} = "bbr"'
            )


@dataclass(frozen=True, kw_only=True)
class HarmResult:
    """Harm and the values from which it is computed.

    Attributes
    ----------
    relative : float
        `absolute` minus `expected`: above 0, alpha harms beta more than equal sharing would.
    absolute : float
        Fraction of its solo throughput that beta loses.
    expected : float
        Fraction that beta would lose if all flows shared equally.
    solo_mbps, competing_mbps : float
        Total throughput of the beta flows in Mbit/s, alone and in competition.
    alpha_mbps : float
        Total throughput of the alpha flows in Mbit/s.
    jain : float
        Jain's index of all single flows in competition.
    n_alpha, n_beta : int
        Number of flows.
    from_s, to_s : float
        Start and end of the measured part of both runs, in seconds.
    converged_at_s : float or None
        Time of convergence of the competing run; None without convergence.
    has_trend : bool
        Whether the throughput of a flow in competition has a trend over the measured part
        (:mod:`ccbench.convergence.trend`).
    """

    relative: float
    absolute: float
    expected: float
    solo_mbps: float
    competing_mbps: float
    alpha_mbps: float
    jain: float
    n_alpha: int
    n_beta: int
    from_s: float
    to_s: float
    converged_at_s: float | None
    has_trend: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of JSON-able values."""
        return asdict(self)


def measure(solo: Run, competing: Run, measured_s: tuple[float, float] | None = None) -> HarmResult:
    """Compute the harm to the flows of `solo` by the additional flows of `competing`.

    The measured part of both runs starts at the convergence of the competing run. Without
    convergence, it starts after a minute or, if that is shorter, half of the run. It never starts
    before all flows have started, save for the spread of their starts by noise.

    Parameters
    ----------
    solo, competing : Run
        Runs of the two scenarios of an :class:`Experiment`.
    measured_s : (float, float), optional
        Part to measure instead, from the experiment.

    Raises
    ------
    InputError
        If the runs differ in more than the alpha flows and the seed, a flow has no samples, or the
        flows of a run transferred no data. A failed measurement is never a harm.

    Examples
    --------
    >>> from ccbench.emulate import run_many
    >>> runs = dict(run_many(experiment.scenarios))  # doctest: +SKIP
    >>> measure(solo=runs[0], competing=runs[1]).relative > 0.2  # doctest: +SKIP
    True
    """
    flows = sides(solo.scenario, competing.scenario)
    n_alpha, n_beta = flows.n_alpha, flows.n_beta
    check_samples(solo, "solo run")
    check_samples(competing, "competing run")
    together, alone = competing.throughput(INTERVAL_S), solo.throughput(INTERVAL_S)
    converged_at_s = None
    if measured_s is None:
        converged_at_s = converged_at(together)
        settled_s = measured_from(converged_at_s, competing.scenario.duration_s)
        spread_s = competing.scenario.path.noise.start_spread_ms / 1e3
        started_s = math.ceil(competing.scenario.starts_s().max() - spread_s)
        to_s = float(together.index[-1])
        measured_s = max(settled_s, started_s), to_s
        if started_s >= to_s:
            allowed = f"above {started_s + INTERVAL_S:g}, a second after the last start of a flow"
            raise validation.bad(
                "duration_s", competing.scenario.duration_s, allowed, "run for longer"
            )
    from_s, to_s = measured_s
    counted = (together.index > from_s) & (together.index <= to_s)
    means = together[counted].mean()
    solo_mbps = float(alone[counted].mean().sum())
    competing_mbps = float(means.iloc[flows.beta].sum())
    with validation.within("throughput of the beta flows: "):
        absolute = harm(solo_mbps, competing_mbps)
    with validation.within("throughput of the flows in competition: "):
        jain = jain_index(means.to_numpy())
    return HarmResult(
        relative=relative_harm(solo_mbps, competing_mbps, n_alpha=n_alpha, n_beta=n_beta),
        absolute=absolute,
        expected=expected_harm(n_alpha=n_alpha, n_beta=n_beta),
        solo_mbps=solo_mbps,
        competing_mbps=competing_mbps,
        alpha_mbps=float(means.iloc[flows.alpha].sum()),
        jain=jain,
        n_alpha=n_alpha,
        n_beta=n_beta,
        from_s=from_s,
        to_s=to_s,
        converged_at_s=converged_at_s,
        has_trend=bool(trends(together[together.index <= to_s], from_s).any()),
    )


def flow_names(flows: tuple[Flow, ...]) -> str:
    """Return a description of groups of flows, such as ``"2 bbr"``."""
    return " + ".join(f"{flow.flow_count} {flow.name}" for flow in flows)
