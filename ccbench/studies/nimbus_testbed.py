# SPDX-License-Identifier: Apache-2.0
"""What the studies of Nimbus have in common: the testbed, its cross traffic, what is measured.

The testbed is that of sections 5 and 7 of Goyal et al., "Elasticity Detection: A Building Block for
Internet Congestion Control" (SIGCOMM 2022): 96 Mbit/s, 50 ms, a drop-tail queue of 2 BDP, one
backlogged sender that is judged, and cross traffic.

Where the paper leaves room:

- **The link's rate** is given to NimbusCC, as the authors' published scripts do
  (github.com/mitnebula/nimbus); ``nimbus-13`` is about what becomes of a wrong one.
- **A verdict** is the mode that the sender is in, so Copa has one too: competitive says elastic.
- **Accuracy** is the part of the time in which the verdict is right, from 10 s on: a window of the
  FFT is 5 s long, and flows get as much to get going. Cross traffic is elastic if any byte in
  the window is of an elastic flow (section 3.2).
- **Queueing delay** is that of the sender's own packets. RTTs are it and the base RTT.
- **Poisson traffic** is of full packets, as the text says ("Poisson packet arrivals").
- **"An equal mix"** of elastic and inelastic traffic is one backlogged NewReno flow and a third of
  the link of Poisson traffic: with fair shares all three have as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ccbench import packets
from ccbench.elasticity.observed import observe
from ccbench.elasticity.pulse import PULSE_HZ, PULSE_SIZE
from ccbench.scenario import Bottleneck, Flow, Scenario
from ccbench.studies.study import Comparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from ccbench.run import Run

__all__ = [
    "CATEGORIES",
    "CCAS",
    "COLOURS",
    "LINK_MBPS",
    "QUEUE_BDP",
    "RTT_MS",
    "SEEDS",
    "SETTLED_S",
    "Phase",
    "accuracy_percent",
    "category_of",
    "compared",
    "cross_traffic",
    "delays_ms",
    "draw_bars",
    "fair_shares_mbps",
    "judged",
    "mode_accuracy_percent",
    "phased",
    "pulser",
    "seeds",
    "shared",
    "spread",
    "verdicts",
    "worst_case",
]

LINK_MBPS = 96.0
RTT_MS = 50.0
QUEUE_BDP = 2.0
#: "We report the mean accuracy of the detector across 5 runs" (section 7.2).
SEEDS = (1, 2, 3, 4, 5)
#: A packet's time on the link. Without any randomness of a host, seeds would change nothing where
#: TCP flows meet TCP flows or constant rates, and flows could lock in step.
_JITTER_MS = 0.125
#: From when on a detector is judged.
SETTLED_S = 10.0

#: The senders that are compared; the paper has PCC-Vivace as well, which Linux has not.
CCAS = ("nimbus", "cubic", "bbr", "vegas", "copa")
COLOURS = {cca: f"C{i}" for i, cca in enumerate(CCAS)}

#: What senders that switch modes tell of it, and what it is in the TCP-competitive mode.
_COMPETITIVE = {"nimbus": ("mode", 0), "copa": ("default_mode", 0)}

#: Cross traffic in section 7.2.
CATEGORIES = ("elastic", "inelastic", "mix")


def seeds(*, quick: bool) -> tuple[int, ...]:
    """Return the seeds of a study; a quick version has one."""
    return SEEDS[:1] if quick else SEEDS


def shared(  # noqa: PLR0913 - the testbed's settings, all by keyword but for the flows
    *flows: Flow,
    duration_s: float,
    seed: int,
    name: str,
    link_mbps: float = LINK_MBPS,
    rtt_ms: float = RTT_MS,
    queue_bdp: float = QUEUE_BDP,
    qdisc: str = "droptail",
    qdisc_options: tuple[tuple[str, Any], ...] = (),
    settings: Mapping[str, int] | None = None,
) -> Scenario:
    """Return a scenario in the testbed; the first flow is the one that is judged.

    NimbusCC has the link's rate and the `settings`, by their names without
    ``net.ipv4.tcp_nimbus_``.

    Examples
    --------
    >>> shared(Flow(), Flow(cca="reno"), duration_s=60, seed=2, name="two").bdp_packets()
    400.0
    """
    ccas = {flow.cca.partition("_")[0] for flow in flows}
    own = {"link_kbps": round(link_mbps * 1e3), **(settings or {})} if "nimbus" in ccas else {}
    link = Bottleneck(
        bandwidth_mbps=link_mbps, queue_bdp=queue_bdp, qdisc=qdisc, qdisc_options=qdisc_options
    )
    return Scenario(
        flows=flows,
        bottlenecks=(link,),
        rtt_ms=rtt_ms,
        duration_s=duration_s,
        seed=seed,
        jitter_ms=_JITTER_MS,
        sysctls=tuple((f"net.ipv4.tcp_nimbus_{name}", str(own[name])) for name in own),
        name=f"{name}, seed {seed}",
    )


def cross_traffic(
    category: str, *, rtt_ms: float = RTT_MS, link_mbps: float = LINK_MBPS, cca: str = "reno"
) -> tuple[Flow, ...]:
    """Return the cross traffic of a category of section 7.2.

    Parameters
    ----------
    category : str
        One of :data:`CATEGORIES`.
    rtt_ms : float
        Base RTT of its TCP flow, if the testbed's is less.
    link_mbps : float
        Rate of the link, of which Poisson traffic has a half, or a third in a mix.
    cca : str
        Congestion control of its TCP flow.

    Examples
    --------
    >>> [flow.kind for flow in cross_traffic("mix")]
    ['bulk', 'poisson']
    """
    elastic = Flow(cca=cca, extra_rtt_ms=max(0.0, rtt_ms - RTT_MS))
    parts = {"inelastic": 2, "mix": 3}
    inelastic = Flow(kind="poisson", rate_mbps=link_mbps / parts.get(category, 2))
    return {"elastic": (elastic,), "inelastic": (inelastic,), "mix": (elastic, inelastic)}[category]


@dataclass(frozen=True)
class Phase:
    """A part of a schedule: so much Poisson traffic and so many CUBIC flows from `start_s` on."""

    start_s: float
    poisson_mbps: float
    cubic_flows: int

    @property
    def is_elastic(self) -> bool:
        """Whether there are CUBIC flows."""
        return self.cubic_flows > 0

    def fair_share_mbps(self, link_mbps: float = LINK_MBPS) -> float:
        """Return what a backlogged flow beside them should get.

        Examples
        --------
        >>> Phase(0, 32, 1).fair_share_mbps()
        32.0
        """
        return (link_mbps - self.poisson_mbps) / (1 + self.cubic_flows)


def phased(phases: Sequence[Phase], duration_s: float) -> tuple[Flow, ...]:
    """Return the flows of a schedule: each phase has flows of its own.

    Examples
    --------
    >>> flows = phased([Phase(0, 16, 0), Phase(20, 0, 2)], 40)
    >>> [(flow.kind, flow.count, flow.start_s, flow.stop_s) for flow in flows]
    [('poisson', 1, 0.0, 20.0), ('bulk', 2, 20.0, 40.0)]
    """
    flows = []
    ends = [*(phase.start_s for phase in phases[1:]), duration_s]
    for phase, stop_s in zip(phases, ends, strict=True):
        times: dict[str, Any] = {"start_s": phase.start_s, "stop_s": stop_s}
        if phase.poisson_mbps:
            flows.append(Flow(kind="poisson", rate_mbps=phase.poisson_mbps, **times))
        if phase.cubic_flows:
            flows.append(Flow(cca="cubic", count=phase.cubic_flows, **times))
    return tuple(flows)


def pulser(mean_mbps: float, duration_s: float, link_mbps: float = LINK_MBPS) -> tuple[Flow, ...]:
    """Return UDP flows that are one sender which pulses and otherwise heeds nothing.

    A constant rate, and for a quarter of each period another flow. Its burst is that of the
    paper's pulse, a half-sine of a quarter of the link's rate; on average pulses add nothing.

    Examples
    --------
    >>> flows = pulser(48, 10)
    >>> sum(f.rate_mbps * ((f.stop_s or 10) - f.start_s) for f in flows) / 10
    48.0...
    """
    up_mbps = link_mbps * PULSE_SIZE * 2 / math.pi
    period_s = 1 / PULSE_HZ
    pulses = round(duration_s * PULSE_HZ)
    starts_s = (round(i * period_s, 6) for i in range(pulses))
    return Flow(kind="cbr", rate_mbps=mean_mbps - up_mbps / 3), *(
        Flow(
            kind="cbr",
            rate_mbps=4 / 3 * up_mbps,
            start_s=start_s,
            stop_s=round(start_s + period_s / 4, 6),
        )
        for start_s in starts_s
    )


def verdicts(run: Run, *, flows: Sequence[int] = (0,), link_mbps: float | None = None) -> Any:
    """Return what the judged sender can know of its cross traffic, and what is so.

    Returns
    -------
    DataFrame
        Index ``time_s``; columns ``elasticity``, ``is_elastic`` and ``elastic_share`` as in
        :class:`ccbench.elasticity.observed.Observation`; of a sender that has them, the first two
        are its own: its mode, and its η.
    """
    seen = observe(run, flows=flows, link_mbps=link_mbps).elasticity
    told = run.cca_info(flows[0])
    if is_competitive := _COMPETITIVE.get(run.scenario.flows[0].cca.partition("_")[0]):
        column, value = is_competitive
        own = told.reindex(seen.index, method="ffill")
        seen = seen.assign(is_elastic=own[column] == value, elasticity=own.get("eta", math.nan))
    return seen


def accuracy_percent(seen: pd.DataFrame, from_s: float = SETTLED_S) -> float:
    """Return in what part of the time the verdict is right, in percent, from some time on.

    Parameters
    ----------
    seen : DataFrame
        As :func:`verdicts` gives it.
    from_s : float
        In seconds.
    """
    late = seen[seen.index >= from_s]
    return 100 * float((late["is_elastic"] == (late["elastic_share"] > 0)).mean())


def mode_accuracy_percent(run: Run, from_s: float = SETTLED_S) -> float:
    """Return the accuracy where the cross traffic is the same throughout, without a log of packets.

    The truth is then what the scenario says: elastic if any of the others is a TCP flow.

    Parameters
    ----------
    run : Run
        One whose first flow tells its mode, NimbusCC or Copa.
    from_s : float
        In seconds.
    """
    column, competitive = _COMPETITIVE[run.scenario.flows[0].cca.partition("_")[0]]
    says_elastic = run.cca_info(0).loc[from_s:, column] == competitive
    return 100 * float((says_elastic == (category_of(run.scenario) != "inelastic")).mean())


def category_of(scenario: Scenario) -> str:
    """Return which of :data:`CATEGORIES` the traffic beside the first flow is.

    Examples
    --------
    >>> one = shared(Flow(), *cross_traffic("mix"), duration_s=9, seed=1, name="")
    >>> category_of(one)
    'mix'
    """
    is_udp = {flow.is_udp for flow in scenario.flows[1:]}
    return "mix" if len(is_udp) > 1 else "inelastic" if True in is_udp else "elastic"


def judged(run: Run, link_mbps: float | None = None) -> dict[str, Any]:
    """Return what most studies measure of a run: accuracy, throughput and delay.

    Parameters
    ----------
    run : Run
        One in the testbed.
    link_mbps : float, optional
        What is left out: the rate of its (first) bottleneck.
    """
    scenario = run.scenario
    return {
        "cca": scenario.flows[0].cca,
        "cross": category_of(scenario),
        "seed": scenario.seed,
        "accuracy_percent": accuracy_percent(verdicts(run, link_mbps=link_mbps)),
        "mbps": float(run.summary()["throughput_mbps"].iloc[0]),
        "delay_ms": float(delays_ms(run).mean()),
    }


def compared(  # noqa: PLR0913 - a comparison's own settings, all but two by keyword
    what: str,
    values: pd.Series[float],
    *,
    published: str,
    accepted: tuple[float, float],
    unit: str = "%",
    digits: int = 1,
) -> Comparison:
    """Compare the mean of a number over the seeds; the note has its range."""
    return Comparison(
        what=what,
        ours=float(values.mean()),
        published=published,
        accepted=accepted,
        unit=unit,
        note=spread(values, digits),
    )


def worst_case(rows: pd.DataFrame, by: Sequence[str]) -> pd.Series[float]:
    """Return the accuracy of each seed in the case where the mean over the seeds is lowest.

    Parameters
    ----------
    rows : DataFrame
        With the columns ``seed`` and ``accuracy_percent``.
    by : sequence of str
        The columns that tell one case from another.
    """
    cases = rows.groupby(list(by))["accuracy_percent"]
    lowest: Any = cases.mean().idxmin()
    case = lowest if isinstance(lowest, tuple) else (lowest,)
    words = (f"{value:g}" if isinstance(value, float) else str(value) for value in case)
    return cases.get_group(case).rename(" ".join(words))


def delays_ms(run: Run, flow: int = 0) -> pd.Series[float]:
    """Return what each packet of a flow waited, in ms; index ``time_s``, when it came."""
    passed = packets.delivered(run)
    mine = passed[passed["flow"] == flow]
    delay: pd.Series[float] = mine.set_index("arrival_s")["queueing_ms"].rename_axis("time_s")
    return delay


def fair_shares_mbps(
    arrivals: Sequence[tuple[float, float]], interval_s: float, duration_s: float, link_mbps: float
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what a backlogged flow gets of a link that all flows share equally at any time.

    Processor sharing: with n others there, each flow has a part of 1 / (n + 1) of the link.

    Parameters
    ----------
    arrivals : sequence of (float, float)
        When each of the others comes, in seconds and in order, and how many bytes it sends.
    interval_s, duration_s : float
        Over what the share is averaged, and until when.
    link_mbps : float
        Rate of the link.

    Returns
    -------
    numpy.ndarray
        Mbit/s in each whole interval.

    Examples
    --------
    One flow of 6 MB comes after a second, and with half of 96 Mbit/s takes another second:

    >>> fair_shares_mbps([(1.0, 6_000_000)], 1.0, 3.0, 96.0).tolist()
    [96.0, 48.0, 96.0]
    """
    from heapq import heappop, heappush  # noqa: PLC0415 - of this function alone

    rate = link_mbps * 1e6 / 8  # bytes per second
    times, served = [0.0], [0.0]  # what each flow that was always there has got until then
    finish: list[float] = []
    now, got = 0.0, 0.0
    upcoming = iter([*arrivals, (math.inf, 0)])
    next_s, size = next(upcoming)
    while now < duration_s:
        pace = rate / (len(finish) + 1)
        done_s = now + (finish[0] - got) / pace if finish else math.inf
        until_s = min(next_s, done_s, duration_s)
        got += (until_s - now) * pace
        now = until_s
        times.append(now)
        served.append(got)
        if now == done_s:
            got = heappop(finish)
        elif now == next_s:
            heappush(finish, got + size)
            next_s, size = next(upcoming)
    edges = np.arange(int(duration_s / interval_s + 1e-9) + 1) * interval_s
    return np.asarray(np.diff(np.interp(edges, times, served)) * 8e-6 / interval_s)


def spread(values: pd.Series[float], digits: int = 1) -> str:
    """Return the range of a number over the seeds, for a comparison's note.

    Examples
    --------
    >>> import pandas as pd
    >>> spread(pd.Series([3.14, 2.72]))
    '2.7 to 3.1 over 2 seeds'
    """
    kept = values.dropna()
    low, high = (f"{value:.{digits}f}" for value in (kept.min(), kept.max()))
    return f"{low} to {high} over {len(kept)} seeds"


def draw_bars(axes: Axes, table: pd.DataFrame, unit: str) -> None:
    """Draw a group of bars for each row of a table, one for each column."""
    table.plot.bar(ax=axes, rot=0, width=0.8)
    axes.set_ylabel(unit)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small", title=None)
