# SPDX-License-Identifier: Apache-2.0
"""A heavy-tailed mix of flows as cross traffic (Goyal et al. 2022, Figures 8, 9 and 19).

100,000 CUBIC flows in 360 s offer half of the link's rate, with the sizes published by the authors
("caida" in :mod:`ccbench.experiment.flow_sizes`). The set-up is that of their traffic generator
(github.com/akshayknarayan/empirical-traffic-gen, ``exp.py``):

- **200 connections** stay open, and each flow uses a random connection, queued behind that
  connection's earlier flows. Linux retains the slow-start threshold of an idle connection and
  halves its window for each retransmission timeout.
- **Completion times** start with the client's request. The virtual kernel has the whole propagation
  delay in the other direction, so a base RTT is added to the times from sending to delivery.

Choices left open by the paper:

- **Each seed** draws different flows; the load varies with the few flows larger than 5 MB. All
  schemes run with the same flows.
- **The fair share** over time is that of processor sharing: all flows present have equal shares of
  the link at all times. It depends on the flows alone, not on the scheme.
- **Elastic** flows are, in the paper's words, "larger than the initial congestion window of 10
  packets, finishing in greater than a RTT": here the base RTT plus the queueing delay at the flow's
  start. A second definition, flows that last longer than a window of the FFT, is shown without a
  verdict.
- **A throughput profile** consists of the five percentiles drawn in Figure 8b. Two profiles are
  compared by the percentile with the largest difference, as a percentage of the link's rate.
- **Flow sizes** are grouped by powers of ten from the initial window of 15 KB on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.base.random_streams import stream
from ccbench.elasticity.detector import WINDOW_S
from ccbench.elasticity.observed import INITIAL_WINDOW_BYTES
from ccbench.experiment.scenario import MSS_BYTES, MTU_BYTES, Flow
from ccbench.experiment.traffic import FlowMix
from ccbench.run import packets
from ccbench.studies.catalogue import info
from ccbench.studies.nimbus.comparisons import compared, farthest
from ccbench.studies.nimbus.fair_share import fair_shares_mbps
from ccbench.studies.nimbus.measures import SETTLED_S, delays_ms, verdicts
from ccbench.studies.nimbus.testbed import CCAS, COLOURS, LINK_MBPS, seeds, shared
from ccbench.studies.published import (
    at_least,
    at_most,
    between,
    percentage,
    quantity,
    similar,
    unbounded,
)
from ccbench.studies.study import Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.published import Published
    from ccbench.studies.study import Comparison

_DURATION_S = 360.0
_INTERVAL_S = 5.0
#: Time for the last flows to complete, in seconds.
_DRAIN_S = 2.0
_CONNECTIONS = 200
_QUANTILES = np.arange(1, 100) / 100
#: Percentiles of Figure 8b: ends of the whiskers, edges of the box, median.
_PROFILE_PERCENT = (10, 25, 50, 75, 90)
_SIZES_BYTES = (INITIAL_WINDOW_BYTES, 150_000, 1_500_000, 150_000_000)
#: "When the fraction of the elastic traffic is high" (section 7.1).
_HIGH_SHARE = 0.3
_SHORT = "up to 15 KB"
#: Sampling interval of the number of active flows in seconds.
_STEP_S = 0.1
#: Definitions of elastic traffic: the paper's, and flows that last longer than an FFT window.
_DEFINITIONS = ("elastic", "lasting")
_TEXT = "section 7.1"


@cache
def _mix(seed: int, stop_s: float, ccas: tuple[str, ...]) -> tuple[Flow, ...]:
    """Return a seed's mix on its connections, which use these CCAs in turn."""
    flows = FlowMix(sizes="caida", load_mbps=LINK_MBPS / 2, stop_s=stop_s, seed=seed).arrivals()
    chosen = stream(seed, "connections").integers(_CONNECTIONS, size=len(flows)).tolist()
    carried: list[list[tuple[float, int]]] = [[] for _ in range(_CONNECTIONS)]
    for flow, connection in zip(flows, chosen, strict=True):
        carried[connection].append(flow)
    return tuple(
        Flow(
            kind="bytes",
            cca=ccas[connection % len(ccas)],
            arrivals=tuple(arrivals),
            connections=1,
            label="mix",
        )
        for connection, arrivals in enumerate(carried)
        if arrivals
    )


def mixed(
    cca: str,
    seed: int,
    duration_s: float,
    *,
    others: tuple[str, ...] = ("cubic",),
    settings: Mapping[str, int] | None = None,
) -> Scenario:
    """Return a backlogged flow with the mix, whose connections use these CCAs in turn.

    Examples
    --------
    >>> scenario = mixed("nimbus", 1, 20.0, others=("cubic", "reno", "bbr"))
    >>> scenario.flow_count, sorted({flow.cca for flow in scenario.flows[1:]})
    (201, ['bbr', 'cubic', 'reno'])
    """
    return shared(
        Flow(cca=cca),
        *_mix(seed, duration_s - _DRAIN_S, others),
        duration_s=duration_s,
        seed=seed,
        name=f"{cca} against a mix of flows",
        settings=settings,
    )


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 20.0 if quick else _DURATION_S
    return tuple(mixed(cca, seed, duration_s) for cca in CCAS for seed in seeds(quick=quick))


def deviations_mbps(run: Run) -> pd.Series[float]:
    """Return the first flow's deviation from its fair share in each interval."""
    arrivals = sorted(
        (start_s, size * MTU_BYTES / MSS_BYTES)
        for flow in run.scenario.flows[1:]
        for start_s, size in flow.arrivals
    )
    duration_s = run.scenario.duration_s
    share = fair_shares_mbps(arrivals, _INTERVAL_S, duration_s, LINK_MBPS)
    return run.throughput(_INTERVAL_S)[0] - share


def _measure(run: Run) -> Rows:
    def row(what: str, at: object, value: float) -> dict[str, object]:
        scenario = run.scenario
        key = {"cca": scenario.flows[0].cca, "seed": scenario.seed}
        return {**key, "what": what, "at": at, "value": float(value)}

    waited = delays_ms(run)
    rows = [
        row("rtt_ms", share, value + run.scenario.path.rtt_ms)
        for share, value in waited.quantile(_QUANTILES).items()
    ]
    off = deviations_mbps(run)
    rows += [row("deviation_mbps", time_s, value) for time_s, value in off.items()]
    rows.append(row("mbps", 0, run.summary()["throughput_mbps"].iloc[0]))
    done = classified(run.completion_times(), waited, run.scenario.path.rtt_ms)
    size = np.searchsorted(_SIZES_BYTES, done["size_bytes"])
    took = (done["fct_s"] + run.scenario.path.rtt_ms / 1e3).groupby(size)
    rows += [
        row("fct_p95_s", _label(int(str(i))), value) for i, value in took.quantile(0.95).items()
    ]
    rows.append(row("unfinished", 0, np.isinf(done["fct_s"]).sum()))
    rows.append(row("flows", 0, len(done)))
    rows.append(row("mean_bytes", 0, done["size_bytes"].mean()))
    for name in _DEFINITIONS:
        present = _presence(done[done[name]], run.scenario.duration_s)
        rows.append(row(f"{name}_percent", 0, 100 * present.mean()))
    if run.scenario.flows[0].cca == "nimbus":
        observed = verdicts(run).loc[SETTLED_S:]
        rows += [row("eta", time_s, value) for time_s, value in observed["elasticity"].items()]
        called_elastic = 100 * observed["is_elastic"]
        shares = _shares(run, done, observed.index)
        for name in _DEFINITIONS:
            share = shares[name]
            rows += [row(f"{name}_share", time_s, value) for time_s, value in share.items()]
            is_high = share > _HIGH_SHARE
            rows.append(row(f"high_{name}_percent", 0, 100 * is_high.mean()))
            rows.append(row(f"accuracy_{name}_percent", 0, called_elastic[is_high].mean()))
            rows.append(row(f"delay_mode_{name}_percent", 0, 100 - called_elastic[~is_high].mean()))
    return rows


def classified(done: pd.DataFrame, waited_ms: pd.Series[float], base_rtt_ms: float) -> pd.DataFrame:
    """Return the flows of the mix, classified by each definition of elastic traffic.

    Parameters
    ----------
    done : DataFrame
        The result of ``run.completion_times()``.
    waited_ms : Series
        Queueing delays over time, index ``time_s``.
    base_rtt_ms : float
        Base RTT of the flows.

    Returns
    -------
    DataFrame
        Index ``flow``, the connection; columns ``start_s``, ``size_bytes``, ``fct_s`` (infinite if
        the flow did not complete), ``elastic`` and ``lasting``.

    Examples
    --------
    Of three flows, one fits into the initial window, and one takes no longer than an RTT:

    >>> sizes, took = [10_000, 20_000, 20_000], [0.2, 0.06, 0.2]
    >>> done = pd.DataFrame({"start_s": 1.0, "size_bytes": sizes, "fct_s": took})
    >>> classified(done, pd.Series([20.0], index=[0.5]), 50.0)["elastic"].tolist()
    [False, False, True]
    """
    last = np.searchsorted(waited_ms.index, done["start_s"], side="right") - 1
    rtt_s = (base_rtt_ms + waited_ms.to_numpy()[np.maximum(last, 0)]) / 1e3
    took_s = done["fct_s"].fillna(np.inf)
    return done.assign(
        fct_s=took_s,
        elastic=(done["size_bytes"] > INITIAL_WINDOW_BYTES) & (took_s > rtt_s),
        lasting=took_s > WINDOW_S,
    )


def _presence(flows: pd.DataFrame, duration_s: float) -> pd.Series[bool]:
    """Return the times at which any of these flows is active; index ``time_s``."""
    times = np.arange(0, duration_s, _STEP_S)
    begun = np.searchsorted(np.sort(flows["start_s"]), times, side="right")
    ended = np.searchsorted(np.sort(flows["start_s"] + flows["fct_s"]), times, side="right")
    return pd.Series(begun > ended, index=pd.Index(times, name="time_s"))


def _shares(run: Run, done: pd.DataFrame, ends_s: pd.Index[float]) -> pd.DataFrame:
    """Return the elastic share of the cross traffic's bytes in each window of the FFT.

    Parameters
    ----------
    run : Run
        A run of :func:`mixed`.
    done : DataFrame
        Its flows, as returned by :func:`classified`.
    ends_s : Index
        The ends of the FFT windows.

    Returns
    -------
    DataFrame
        Index `ends_s`, one column per definition.
    """
    passed = packets.delivered(run)
    passed = passed[passed["flow"] != 0]
    sizes = passed["bytes"].to_numpy(dtype=float)
    left_s = passed["arrival_s"] + passed["queueing_ms"] / 1e3
    edges = [np.searchsorted(left_s, ends_s - ago) for ago in (WINDOW_S, 0)]

    def in_windows(each: Any) -> Any:
        return np.diff(np.concatenate([[0], np.cumsum(each)])[edges], axis=0)[0]

    carried = done.iloc[carried_flows(passed, done)]
    total = np.maximum(in_windows(sizes), 1)
    shares = {name: in_windows(sizes * carried[name]) / total for name in _DEFINITIONS}
    return pd.DataFrame(shares, index=ends_s)


def carried_flows(passed: pd.DataFrame, done: pd.DataFrame) -> Any:
    """Return the flow of each packet, for connections that carry several flows.

    A connection delivers its flows sequentially, so a packet belongs to the first flow that ends
    with this packet or later.

    Parameters
    ----------
    passed : DataFrame
        Packets with the columns ``flow``, the connection, ``bytes``, ``arrival_s`` and
        ``queueing_ms``, as returned by :func:`ccbench.run.packets.delivered`.
    done : DataFrame
        Flows ordered by connection and start, as returned by :func:`classified`; at least one per
        connection.

    Returns
    -------
    ndarray
        Positions in `done`, one per packet.

    Examples
    --------
    >>> done = pd.DataFrame({"start_s": [0.0, 1, 0], "fct_s": [0.5, 0.5, 2]}, index=[1, 1, 2])
    >>> passed = pd.DataFrame({"flow": [1, 2, 1], "bytes": 1500, "arrival_s": [0.4, 0.5, 1.2]})
    >>> carried_flows(passed.assign(queueing_ms=30.0), done).tolist()
    [0, 2, 1]
    """
    # A packet is delivered once the link has sent it. Only half of that time is added, so that
    # rounding does not assign the last packet of a flow to the next flow.
    on_link_s = passed["bytes"].to_numpy() * 8e-6 / LINK_MBPS
    delivered_s = passed["arrival_s"] + passed["queueing_ms"] / 1e3 + on_link_s / 2
    # Offset times so that those of each connection follow those of the previous one.
    latest_s = 1 + delivered_s.max()
    ends_s = np.minimum(done["start_s"] + done["fct_s"], latest_s - _STEP_S)
    ends = done.index.to_numpy() * latest_s + ends_s.to_numpy()
    positions = np.searchsorted(ends, passed["flow"] * latest_s + delivered_s)
    # Packets after a connection's last flow are spurious retransmissions.
    last = np.searchsorted(done.index, passed["flow"], side="right") - 1
    return np.minimum(positions, last)


def _label(i: int) -> str:
    """Return the label of a size group."""
    return _SHORT if i == 0 else f"{_SIZES_BYTES[i - 1] / 1e6:g} to {_SIZES_BYTES[i] / 1e6:g} MB"


def profiles(deviations: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return throughput profiles: percentiles of deviations from the fair share.

    Parameters
    ----------
    deviations : DataFrame
        Table with the columns ``cca``, ``seed`` and ``value``, one row per interval.

    Returns
    -------
    dict of str to DataFrame
        By percentile, one row per seed and one column per CCA.
    """
    return {
        f"{percent}th": deviations.pivot_table(
            "value",
            "seed",
            "cca",
            aggfunc=lambda values, share=percent / 100: values.quantile(share),
            sort=False,
        )
        for percent in _PROFILE_PERCENT
    }


def profile_difference(of: Mapping[str, pd.DataFrame], published: Published) -> Comparison:
    """Compare the throughput profiles (:func:`profiles`) of NimbusCC and CUBIC."""
    apart = {name: 100 * (each["nimbus"] - each["cubic"]) / LINK_MBPS for name, each in of.items()}
    name, values = farthest(apart, 0)
    return compared(
        "deviation from the fair share, NimbusCC minus CUBIC, the percentile that differs most "
        f"({name})",
        values,
        published,
        unit="% of the link",
    )


def _conclude(table: pd.DataFrame) -> Findings:
    def of(what: str, at: object = None) -> pd.DataFrame:
        """Return a quantity with one row per seed and one column per CCA."""
        rows = table[(table["what"] == what) & ((table["at"] == at) | (at is None))]
        return rows.pivot_table(index="seed", columns="cca", values="value", dropna=False)

    median, short, rates = of("rtt_ms", 0.5), of("fct_p95_s", _SHORT), of("mbps")
    profile = profiles(table[table["what"] == "deviation_mbps"])
    introduction, appendix = "section 1", "section 7.1, Figure 19"
    comparisons = [
        compared("flows", of("flows")["cubic"], unbounded("100,000", _TEXT), unit=""),
        compared(
            "mean size of the flows",
            of("mean_bytes")["cubic"] / 1e3,
            unbounded("22", _TEXT),
            unit="KB",
        ),
        compared(
            "time with elastic flows, against Copa",
            of("elastic_percent")["copa"],
            percentage(25, _TEXT, text="about 25"),
        ),
        compared(
            "time with flows of more than 5 s, against Copa",
            of("lasting_percent")["copa"],
            unbounded("variant", _TEXT),
        ),
        compared(
            "throughput of Copa ÷ NimbusCC's",
            100 * rates["copa"] / rates["nimbus"],
            similar(100, _TEXT, text="the same"),
        ),
        compared(
            "25th percentile of Copa's deviation from the fair share",
            profile["25th"]["copa"],
            at_most(0, _TEXT, text="significantly lower than the fair share"),
            unit="Mbit/s",
        ),
        profile_difference(profile, similar(0, _TEXT, text="comparable")),
        compared(
            "median RTT, NimbusCC minus Vegas",
            median["nimbus"] - median["vegas"],
            quantity(10, _TEXT),
            unit="ms",
        ),
        *(
            compared(
                f"median RTT, {cca} minus NimbusCC",
                median[cca] - median["nimbus"],
                at_least(50, _TEXT, text="over 50"),
                unit="ms",
            )
            for cca in ("cubic", "bbr")
        ),
        compared(
            "median RTT, NimbusCC minus Copa",
            median["nimbus"] - median["copa"],
            quantity(5, introduction),
            unit="ms",
        ),
        compared(
            f"95th percentile of completion times {_SHORT}, CUBIC ÷ NimbusCC",
            short["cubic"] / short["nimbus"],
            quantity(1.3, appendix),
            unit="",
        ),
        compared(
            f"95th percentile of completion times {_SHORT}, BBR ÷ NimbusCC",
            short["bbr"] / short["nimbus"],
            between(3, 4, appendix),
            unit="",
        ),
    ]
    for name, words in zip(_DEFINITIONS, ("elastic flows", "flows of more than 5 s"), strict=True):
        accuracy, mode = at_least(90, _TEXT, text="over 90"), at_least(50, _TEXT, text="primarily")
        if name != _DEFINITIONS[0]:
            accuracy = mode = unbounded("variant", _TEXT)
        comparisons += [
            compared(
                f"more than 30 % of the bytes are of {words}",
                of(f"high_{name}_percent")["nimbus"],
                unbounded("periods", _TEXT),
                unit="% of the time",
            ),
            compared(
                f"called elastic while more than 30 % of the bytes are of {words}",
                of(f"accuracy_{name}_percent")["nimbus"],
                accuracy,
                unit="% of the time",
            ),
            compared(
                f"in delay-control mode while at most 30 % of the bytes are of {words}",
                of(f"delay_mode_{name}_percent")["nimbus"],
                mode,
                unit="% of the time",
            ),
        ]
    return Findings(table=table, figure=_figure(table), comparisons=tuple(comparisons))


def _figure(table: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(12, 8), layout="constrained")
    (rtts, boxes), (times, over_time) = figure.subplots(2, 2)
    ccas = list(table["cca"].unique())
    for cca in ccas:
        quantiles = table[(table["cca"] == cca) & (table["what"] == "rtt_ms")]
        mean = quantiles.groupby(quantiles["at"].astype(float))["value"].mean()
        rtts.plot(mean, mean.index, color=COLOURS[cca], label=cca)
    rtts.set_xlabel("RTT of a packet (ms)")
    rtts.set_ylabel("share of the packets")
    rtts.legend(fontsize="small")
    off = table[table["what"] == "deviation_mbps"]
    boxes.boxplot(
        [off.loc[off["cca"] == cca, "value"] for cca in ccas], whis=(10, 90), showfliers=False
    )
    boxes.set_xticks(range(1, len(ccas) + 1), ccas)
    boxes.axhline(0, color="0.6", linewidth=0.8)
    boxes.set_ylabel("off the fair share (Mbit/s)")
    fct = table[table["what"] == "fct_p95_s"]
    fct = fct.pivot_table(index="at", columns="cca", values="value", sort=False)[ccas]
    fct = fct.where(np.isfinite(fct))  # infinite if more than 5 % did not complete
    fct.plot.bar(ax=times, rot=0, logy=True, color=[COLOURS[cca] for cca in ccas])
    times.set_xlabel("flow size")
    times.set_ylabel("95th percentile of completion times (s)")
    times.legend(fontsize="small", title=None)
    _draw_elasticity(over_time, table[table["seed"] == table["seed"].min()])
    return figure


def _draw_elasticity(axes: Axes, table: pd.DataFrame) -> None:
    for what, colour in (("elastic_share", "0.6"), ("lasting_share", "C2"), ("eta", "C0")):
        rows = table[table["what"] == what]
        axes.plot(rows["at"].astype(float), rows["value"], color=colour, label=what)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("η, and elastic part of the bytes")


STUDY = Study(
    info=info("nimbus-8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
