# SPDX-License-Identifier: Apache-2.0
"""Common parts of the studies of ABC's evaluation: schemes, links and measurements.

The setup is that of section 7.2 of Goyal et al., "ABC: A Simple Explicit Congestion Controller for
Wireless Networks" (NSDI 2020): recorded cellular links, a round-trip time of 100 ms, queues of 250
packets, eta 0.98 and delta 133 ms, and a router that knows the rate of its link.

Choices left open by the paper follow the authors' published scripts
(github.com/prateshg/ABC-NSDI2020):

- The eight traces are those in the script that starts the experiments: Verizon-LTE-short,
  Verizon-LTE-driving, TMobile-LTE-driving and ATT-LTE-driving-2016, each up and down. Runs last 140
  s, the length of the short traces.
- The delay threshold d_t is 50 ms, and rates are measured over 20 ms; up to five accelerates
  accumulate.
- CoDel's target is 50 ms instead of the default of 5 ms, with an interval of 100 ms. CoDel with 5
  ms is a separate scheme. PIE is not in the scripts and has Linux's defaults.

"Per-packet delay" is the time that packets wait in queues: section 7.6 states 95th percentiles of
28 ms at a round-trip time of 100 ms, less than the propagation delay to the receiver alone. As in
the scripts' Mahimahi, measurements include the start of a run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench.base.errors import MissingRequirement
from ccbench.experiment import trace_library
from ccbench.experiment.noise import NO_NOISE, typical
from ccbench.experiment.scenario import Bottleneck, Flow, NetworkPath, Scenario
from ccbench.experiment.trace import OPPORTUNITY_BYTES, Trace
from ccbench.run import packets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from ccbench.run.run import Run

__all__ = [
    "ABC",
    "ABC_20",
    "CELLULAR_S",
    "CODEL",
    "COLOURS",
    "EXPLICIT",
    "FOR_CELLULAR",
    "QUEUE_PACKETS",
    "RTT_MS",
    "SCHEMES",
    "Scheme",
    "cellular",
    "course",
    "delays_ms",
    "measured",
    "path_utilisation",
    "recorded",
    "router",
    "scheme_of",
    "stepped",
    "two_rates",
]

RTT_MS = 100.0
QUEUE_PACKETS = 250
#: Duration of a run on a cellular link in seconds.
CELLULAR_S = 140.0

Option = int | float | str | bool

_ROUTER: dict[str, Option] = {"eta": 0.98, "delta_ms": 133, "d_t_ms": 50, "window_ms": 20}


def router(**changes: Option) -> tuple[tuple[str, Option], ...]:
    """Return the options of ABC's router in the paper's section 7.2, with changes.

    Examples
    --------
    >>> dict(router(eta=0.9))["eta"]
    0.9
    """
    return tuple(sorted({**_ROUTER, **changes}.items()))


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A CCA with its queueing discipline.

    Parameters
    ----------
    name : str
        The paper's name.
    cca : str
        Its Linux name.
    qdisc : str
        The queueing discipline.
    options : tuple of (str, value)
        Options of the queueing discipline.
    """

    name: str
    cca: str
    qdisc: str = "droptail"
    options: tuple[tuple[str, Option], ...] = ()

    def bottleneck(self, link: Trace | float, queue_packets: int = QUEUE_PACKETS) -> Bottleneck:
        """Return a bottleneck with this scheme's queue and a link: a trace, or a rate in Mbit/s."""
        trace = link if isinstance(link, Trace) else None
        return Bottleneck(
            trace=trace,
            bandwidth_mbps=None if isinstance(link, Trace) else link,
            queue_packets=queue_packets,
            qdisc=self.qdisc,
            qdisc_options=self.options,
        )


ABC = Scheme(name="ABC", cca="abc", qdisc="abc", options=router())
#: ABC with the qdisc's default delay threshold instead of 50 ms.
ABC_20 = replace(ABC, name="ABC, d_t 20 ms", options=router(d_t_ms=20))
CODEL = Scheme(
    name="Cubic+Codel",
    cca="cubic",
    qdisc="codel",
    options=(("interval_ms", 100), ("target_ms", 50)),
)

#: The paper's schemes, as far as available, and CoDel with its default target.
SCHEMES = (
    ABC,
    CODEL,
    Scheme(name="Copa", cca="copa"),
    Scheme(name="Cubic", cca="cubic"),
    Scheme(name="BBR", cca="bbr"),
    Scheme(name="PCC", cca="vivace"),
    Scheme(name="Vegas", cca="vegas"),
    Scheme(name="Cubic+PIE", cca="cubic", qdisc="pie"),
    Scheme(name="Cubic+Codel, 5 ms", cca="cubic", qdisc="codel"),
)

#: Schemes for cellular links only (section 7.3).
FOR_CELLULAR = (Scheme(name="Sprout", cca="sprout"), Scheme(name="Verus", cca="verus"))

#: XCP's gains in the evaluation: the highest that are stable (section 7.3).
_FASTEST: dict[str, Option] = {"alpha": 0.55, "beta": 0.4}

#: The explicit control protocols that ABC is compared with. RCP and VCP have their defaults, which
#: are the values of appendix F.
EXPLICIT = (
    Scheme(name="XCP", cca="xcp", qdisc="xcp", options=tuple(sorted(_FASTEST.items()))),
    Scheme(
        name="XCPw",
        cca="xcp",
        qdisc="xcp",
        options=tuple(sorted({**_FASTEST, "update": "packet"}.items())),
    ),
    Scheme(name="RCP", cca="rcp", qdisc="rcp"),
    Scheme(name="VCP", cca="vcp", qdisc="vcp"),
)

_ALL = (*SCHEMES, ABC_20, *EXPLICIT, *FOR_CELLULAR)

COLOURS = {scheme.name: f"C{i}" for i, scheme in enumerate(_ALL)}


def scheme_of(scenario: Scenario) -> str:
    """Return the name of a scenario's scheme, or the CCA if the paper has no such scheme.

    ABC with an ABC router is ABC regardless of the options.

    Examples
    --------
    >>> link = Bottleneck(bandwidth_mbps=12, queue_packets=250, qdisc="pie")
    >>> path = NetworkPath(bottlenecks=(link,), rtt_ms=100)
    >>> scheme_of(Scenario(flows=(Flow(),), path=path, duration_s=9))
    'Cubic+PIE'
    """
    link = scenario.path.bottlenecks[0]
    combination = scenario.flows[0].cca, link.qdisc, link.qdisc_options
    names = {(scheme.cca, scheme.qdisc, scheme.options): scheme.name for scheme in _ALL}
    other = ABC.name if combination[:2] == (ABC.cca, ABC.qdisc) else combination[0]
    return names.get(combination, other)


@cache
def recorded(name: str, duration_s: float = CELLULAR_S) -> Trace:
    """Return the beginning of a recorded cellular link, which then repeats.

    Parameters
    ----------
    name : str
        Name in ``ccbench traces list``.
    duration_s : float
        Maximum length in seconds.

    Raises
    ------
    MissingRequirement
        If there is no such trace.

    Examples
    --------
    >>> recorded("Verizon-LTE-driving.up").duration_s  # doctest: +SKIP
    140.0
    """
    if name not in trace_library.paths():
        message = f"there is no trace {name}: {trace_library.HOW_TO_INSTALL}"
        raise MissingRequirement(message)
    whole = trace_library.find(name)
    if whole.duration_s <= duration_s:
        return whole
    end_ms = round(duration_s * 1e3)
    times = [time for time in whole.opportunities_ms if time < end_ms]
    # A trace ends with its last opportunity.
    return Trace(name=whole.name, opportunities_ms=(*times, end_ms))


def stepped(rates_mbps: Sequence[float], step_s: float, *, name: str | None = None) -> Trace:
    """Return a link with step changes of its rate.

    Parameters
    ----------
    rates_mbps : sequence of float
        Rate of each step in Mbit/s.
    step_s : float
        Length of each step in seconds.
    name : str, optional
        Name of the trace; the first rates by default.

    Examples
    --------
    >>> link = stepped([12, 24], 0.5)
    >>> link.rates_mbps(0.5)
    (12.0, 24.0)
    """
    packets_of_step = np.asarray(rates_mbps) * 1e6 * step_s / (8 * OPPORTUNITY_BYTES)
    ends = np.cumsum(packets_of_step)
    # The k-th opportunity is at the time when the link could have carried k packets.
    whole = np.arange(1, int(ends[-1] + 1e-9) + 1)
    edges_ms = np.arange(len(ends) + 1) * step_s * 1e3
    times_ms = np.ceil(np.interp(whole, np.r_[0, ends], edges_ms) - 1e-6).astype(int)
    times_ms[-1] = round(edges_ms[-1])
    if name is None:
        rates = ", ".join(f"{rate:g}" for rate in rates_mbps[:4])
        name = f"{rates}{', ...' if len(rates_mbps) > 4 else ''} Mbit/s"  # noqa: PLR2004 - for display
    return Trace(name=name, opportunities_ms=tuple(times_ms.tolist()))


def two_rates() -> Trace:
    """Return the link of the paper's Figure 19: 12 and 24 Mbit/s, alternating every half second."""
    return stepped([12, 24], 0.5)


def cellular(  # noqa: PLR0913 - independent settings of a scenario, all by keyword
    scheme: Scheme,
    *names: str,
    rtt_ms: float = RTT_MS,
    duration_s: float = CELLULAR_S,
    count: int = 1,
    others: tuple[Flow, ...] = (),
    seed: int = 1,
) -> Scenario:
    """Return backlogged flows of a scheme over recorded links in series.

    Competing flows have the typical noise; a single flow has none.

    Parameters
    ----------
    scheme : Scheme
        CCA of the flows and queue of every link.
    *names : str
        The links.
    rtt_ms, duration_s : float
        As in a :class:`~ccbench.experiment.scenario.Scenario`.
    count : int
        Number of flows.
    others : tuple of Flow
        Additional flows.
    seed : int
        Seed of the noise.

    Raises
    ------
    MissingRequirement
        If there is no such trace.
    """
    flows = f"{count} {scheme.name}" if count > 1 else scheme.name
    competing = count > 1 or others
    return Scenario(
        flows=(Flow(cca=scheme.cca, count=count), *others),
        path=NetworkPath(
            bottlenecks=tuple(scheme.bottleneck(recorded(name)) for name in names),
            rtt_ms=rtt_ms,
            noise=typical(rtt_ms=rtt_ms) if competing else NO_NOISE,
        ),
        duration_s=duration_s,
        seed=seed,
        name=f"{flows}, {' and '.join(names)}, {rtt_ms:g} ms",
    )


def delays_ms(run: Run) -> dict[str, float]:
    """Return mean and 95th percentile of the packets' total queueing delay."""
    waited = packets.delivered(run)["queueing_ms"]
    return {"mean_ms": float(waited.mean()), "p95_ms": float(waited.quantile(0.95))}


def path_utilisation(run: Run) -> float:
    """Return the used share of a path's capacity over the whole run.

    The capacity of a path with several links is that of the slowest link in each second. Packets
    that wait between two links from one second to the next can push the result slightly above 1.
    """
    scenario = run.scenario
    if len(scenario.path.bottlenecks) == 1:
        return run.utilisation()
    ends = np.arange(0, scenario.duration_s + 0.5)
    capacity = [
        [after - before for before, after in pairwise(map(link.capacity_bytes, ends))]
        for link in scenario.path.bottlenecks
    ]
    carried = run.carried_bytes(len(scenario.path.bottlenecks) - 1)
    return float(carried / np.min(capacity, axis=0).sum())


def measured(run: Run) -> dict[str, Any]:
    """Return the common measurements on cellular links: utilisation and delays."""
    links = run.scenario.path.bottlenecks
    names = [link.trace.name if link.trace else f"{link.mean_mbps:g} Mbit/s" for link in links]
    return {
        "scheme": scheme_of(run.scenario),
        "link": " and ".join(names),
        "rtt_ms": run.scenario.path.rtt_ms,
        "utilisation_percent": 100 * path_utilisation(run),
        **delays_ms(run),
    }


def course(run: Run, interval_s: float = 0.5) -> pd.DataFrame:
    """Return capacity, throughput and queueing delay over time.

    Parameters
    ----------
    run : Run
        A run with a queue log.
    interval_s : float
        A multiple of the scenario's `sample_interval_ms`.

    Returns
    -------
    DataFrame
        Index ``time_s``, the end of each interval; columns ``capacity_mbps`` of the last link,
        ``mbps`` of each flow by its number, ``delay_ms`` (95th percentile of the packets that
        arrived at the first queue in the interval; NaN if none).
    """
    throughput = run.throughput(interval_s)
    edges = [0.0, *throughput.index]
    capacity = np.diff([run.scenario.path.bottlenecks[-1].capacity_bytes(edge) for edge in edges])
    delivered = packets.delivered(run)
    interval = np.searchsorted(edges, delivered["arrival_s"].to_numpy())
    delay = delivered["queueing_ms"].groupby(interval).quantile(0.95)
    return throughput.assign(
        capacity_mbps=capacity * 8e-6 / interval_s,
        delay_ms=delay.reindex(range(1, len(edges))).to_numpy(),
    )
