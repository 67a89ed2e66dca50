# SPDX-License-Identifier: Apache-2.0
"""One measurement of harm: its scenarios, and the result of the two runs (Ware section 5.3)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.experiment.noise import NO_NOISE, Noise, typical
from ccbench.experiment.scenario import Bottleneck, Flow, Scenario
from ccbench.harm._pairs import check_samples, flow_counts
from ccbench.harm.convergence import converged_at, measured_from
from ccbench.harm.metrics import expected_harm, harm, jain_index, relative_harm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.run.run import Run

__all__ = ["INTERVAL_S", "Experiment", "HarmResult", "flow_names", "long_flows", "measure"]

#: Throughput is taken over windows of this many seconds (section 5.3.3.1).
INTERVAL_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The same network twice: with the beta flows alone, and with the alpha flows added.

    Parameters
    ----------
    alpha, beta : tuple of Flow
        The new flows and those that they may harm.
    bottlenecks : tuple of Bottleneck
        As in :class:`~ccbench.experiment.scenario.Scenario`.
    rtt_ms : float
        Base round-trip time in milliseconds.
    duration_s : float
        Length of each of the two runs in seconds, 1 or more; the thesis runs 180.
    seed : int
        For everything random in both runs.
    noise : Noise
        As in :class:`~ccbench.experiment.scenario.Scenario`.
    queue_log : bool
        Whether the runs record every packet event. Harm does not need it.
    measured_s : (float, float), optional
        The part of both runs over which harm is measured, in whole seconds from, to. Left out: from
        convergence on, see :func:`measure`.

    Raises
    ------
    InputError
        If one of the two scenarios is not valid, or shorter than 1 s.

    Examples
    --------
    >>> experiment = long_flows(
    ...     alpha="bbr", beta="cubic", bandwidth_mbps=100, rtt_ms=40, queue_bdp=1
    ... )
    >>> experiment.solo.flow_count, experiment.competing.flow_count
    (1, 2)
    >>> experiment.describe()
    '1 bbr against 1 cubic, 40 ms, 100 Mbit/s, 333 packets (1 BDP)'
    """

    alpha: tuple[Flow, ...]
    beta: tuple[Flow, ...]
    bottlenecks: tuple[Bottleneck, ...]
    rtt_ms: float
    duration_s: float = 180.0
    seed: int = 1
    noise: Noise = NO_NOISE
    queue_log: bool = False
    measured_s: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not self.alpha:
            raise validation.bad(
                "alpha", self.alpha, "one or more Flows", "add the flows that may harm"
            )
        _ = self.solo, self.competing  # a mistake shows here and not when the experiment is run
        if self.duration_s < INTERVAL_S:
            allowed = f"at least {INTERVAL_S:g}, as throughput is taken over such windows"
            raise validation.bad("duration_s", self.duration_s, allowed, "run for longer")

    @cached_property
    def solo(self) -> Scenario:
        """The beta flows alone.

        Nothing in it depends on alpha, so that experiments share their solo runs.
        """
        return self._scenario(self.beta, f"{flow_names(self.beta)} alone")

    @cached_property
    def competing(self) -> Scenario:
        """The beta flows and after them the alpha flows, so that beta keeps its flow numbers."""
        name = f"{flow_names(self.alpha)} against {flow_names(self.beta)}"
        return self._scenario(self.beta + self.alpha, name)

    def describe(self) -> str:
        """Return the experiment in one line for people; round-trip time and BDP are beta's."""
        alpha_ms, beta_ms = (self.rtt_ms + s[0].extra_rtt_ms for s in (self.alpha, self.beta))
        scale = self.rtt_ms / beta_ms
        links = " and ".join(
            f"{link.mean_mbps:g} Mbit/s, {link.queue_packets} packets "
            f"({(link.queue_packets or 0) / self.competing.bdp_packets(i) * scale:.2g} BDP)"
            for i, link in enumerate(self.competing.bottlenecks)
        )
        other = "" if alpha_ms == beta_ms else f" (alpha's {alpha_ms:g} ms)"
        return f"{self.competing.name}, {beta_ms:g} ms{other}, {links}"

    def _scenario(self, flows: tuple[Flow, ...], name: str) -> Scenario:
        return Scenario(
            flows=flows,
            bottlenecks=self.bottlenecks,
            rtt_ms=self.rtt_ms,
            duration_s=self.duration_s,
            seed=self.seed,
            noise=self.noise,
            queue_log=self.queue_log,
            name=name,
        )


def long_flows(  # noqa: PLR0913 - a network has this many numbers; all are named
    *,
    alpha: str,
    beta: str,
    bandwidth_mbps: float,
    rtt_ms: float,
    queue_bdp: float | None = None,
    queue_packets: int | None = None,
    alpha_flows: int = 1,
    beta_flows: int = 1,
    duration_s: float = 180.0,
    seed: int = 1,
    qdisc: str = "droptail",
    qdisc_options: Iterable[tuple[str, int | float | str | bool]] = (),
    noise: Noise | None = None,
) -> Experiment:
    """Return the thesis's experiment: endless flows of two CCAs through a queue (5.4).

    In the thesis the queue is drop-tail.

    Parameters
    ----------
    alpha, beta : str
        The new CCA and the one that it may harm, by their Linux names.
    bandwidth_mbps : float
        Rate of the link in Mbit/s.
    rtt_ms : float
        Base round-trip time in milliseconds.
    queue_bdp, queue_packets : float, int
        Room in the queue; exactly one of the two.
    alpha_flows, beta_flows : int
        Number of flows of each CCA. All start at 0 s.
    duration_s : float
        Length of each run in seconds.
    seed : int
        For everything random in both runs.
    qdisc, qdisc_options
        The queue, as in :class:`~ccbench.experiment.scenario.Bottleneck`.
    noise : Noise, optional
        Left out, the typical one of this link (:func:`ccbench.experiment.noise.typical`);
        :data:`ccbench.experiment.noise.NO_NOISE` for exact runs.

    Raises
    ------
    InputError
        If a setting is out of range; the message names it.

    Examples
    --------
    >>> long_flows(
    ...     alpha="bbr", beta="cubic", bandwidth_mbps=100, rtt_ms=40, queue_packets=64, beta_flows=4
    ... ).describe()
    '1 bbr against 4 cubic, 40 ms, 100 Mbit/s, 64 packets (0.19 BDP)'
    """
    check_named(alpha=alpha, beta=beta)
    with validation.within("alpha: "):
        alpha_group = Flow(cca=alpha, count=alpha_flows)
    with validation.within("beta: "):
        beta_group = Flow(cca=beta, count=beta_flows)
    bottleneck = Bottleneck(
        bandwidth_mbps=bandwidth_mbps,
        queue_bdp=queue_bdp,
        queue_packets=queue_packets,
        qdisc=qdisc,
        qdisc_options=tuple(qdisc_options),
    )
    return Experiment(
        alpha=(alpha_group,),
        beta=(beta_group,),
        bottlenecks=(bottleneck,),
        rtt_ms=rtt_ms,
        duration_s=duration_s,
        seed=seed,
        noise=typical(rtt_ms=rtt_ms) if noise is None else noise,
    )


def check_named(**ccas: str) -> None:
    """Refuse empty names, which a Flow would take for its default.

    Raises
    ------
    InputError
        If one is empty; the message names the side.
    """
    for side, cca in ccas.items():
        if cca == "":
            raise validation.bad(
                side, cca, "the name of a CCA", f'write for example {side} = "bbr"'
            )


@dataclass(frozen=True, kw_only=True)
class HarmResult:
    """Harm and the parts that it is made of.

    Attributes
    ----------
    relative : float
        `absolute` minus `expected`: above 0, alpha harms beta more than equal sharing would.
    absolute : float
        Fraction of its solo throughput that beta loses.
    expected : float
        The fraction that it would lose if all flows shared equally.
    solo_mbps, competing_mbps : float
        Throughput of all beta flows together in Mbit/s, alone and in competition.
    alpha_mbps : float
        Throughput of all alpha flows together in Mbit/s.
    jain : float
        Jain's index of all single flows in competition.
    n_alpha, n_beta : int
        Number of flows.
    from_s, to_s : float
        The part of both runs that was measured, in seconds.
    converged_at_s : float or None
        When the competition had converged; None if it did not.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the parts as a dictionary of plain values (JSON-able)."""
        return asdict(self)


def measure(solo: Run, competing: Run, measured_s: tuple[float, float] | None = None) -> HarmResult:
    """Compute the harm done to the flows of `solo` by those that `competing` has in addition.

    Both runs are measured over the same part: from the point at which the competition has converged
    to the end, or, if it does not converge, without the first minute (of a run of less than two
    minutes: without its first half). In any case all flows have started.

    Parameters
    ----------
    solo, competing : Run
        Runs of an :class:`Experiment`'s two scenarios.
    measured_s : (float, float), optional
        The experiment's: the part to measure instead.

    Raises
    ------
    InputError
        If the runs differ in more than the alpha flows (and the seed), if a flow has no samples, if
        the solo run moved no data, or if nobody moved any in competition: a failed measurement is
        never a harm.

    Examples
    --------
    >>> from ccbench.emulate import run_many
    >>> runs = dict(run_many((experiment.solo, experiment.competing)))  # doctest: +SKIP
    >>> measure(solo=runs[0], competing=runs[1]).relative > 0.2  # doctest: +SKIP
    True
    """
    n_beta, n_alpha = flow_counts(solo.scenario, competing.scenario)
    check_samples(solo, "solo run")
    check_samples(competing, "competing run")
    together, alone = competing.throughput(INTERVAL_S), solo.throughput(INTERVAL_S)
    converged_at_s = None
    if measured_s is None:
        converged_at_s = converged_at(together)
        settled_s = measured_from(converged_at_s, competing.scenario.duration_s)
        started_s = math.ceil(competing.scenario.flow_table()["start_s"].max())
        to_s = float(together.index[-1])
        measured_s = max(settled_s, started_s), to_s
        if started_s >= to_s:
            allowed = f"above {started_s + INTERVAL_S:g}, so that all flows send for a second"
            raise validation.bad(
                "duration_s", competing.scenario.duration_s, allowed, "run for longer"
            )
    from_s, to_s = measured_s
    counted = (together.index > from_s) & (together.index <= to_s)
    means = together[counted].mean()
    solo_mbps = float(alone[counted].mean().sum())
    competing_mbps = float(means.iloc[:n_beta].sum())
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
        alpha_mbps=float(means.iloc[n_beta:].sum()),
        jain=jain,
        n_alpha=n_alpha,
        n_beta=n_beta,
        from_s=from_s,
        to_s=to_s,
        converged_at_s=converged_at_s,
    )


def flow_names(flows: tuple[Flow, ...]) -> str:
    """Return groups of flows for people, such as ``"2 bbr"``."""
    return " + ".join(f"{flow.flow_count} {flow.label or flow.cca or flow.kind}" for flow in flows)
