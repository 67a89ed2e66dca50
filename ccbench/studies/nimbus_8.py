# SPDX-License-Identifier: Apache-2.0
"""A heavy-tailed mix of flows as cross traffic (Goyal et al. 2022, Figures 8, 9 and 19).

100,000 CUBIC flows in 360 s offer half the link, of sizes that the authors have published
("caida" in :mod:`ccbench.flow_sizes`). What the paper states of them is compared, too: their
number, their mean size, and that elastic traffic was there in 25 % of the time beside Copa. Where
it leaves room:

- **Each seed** draws other flows; the load varies with the few that are larger than 5 MB. All
  schemes meet the same flows.
- **A flow** is a connection of its own. The authors' generator keeps 200 open and sends each flow
  over one of them, behind what that still has to send.
- **The fair share** over time is that of processor sharing: each flow that is there has an equal
  part of the link at any time. That depends on the flows alone, not on the scheme.
- **Elastic**, by the paper's words, is a flow above the initial window of 10 packets. By that, and
  with the published sizes, more than 30 % of the bytes are elastic in nearly all windows of 5 s,
  while the paper speaks of periods with less, and of elastic traffic in 25 % of the time. Both are
  true of flows that last, so there are two truths here: the paper's words, and flows that take
  longer than a window of the FFT.
- **Flow sizes** are grouped by powers of ten from the initial window of 15 KB on.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ccbench.elasticity.detector import WINDOW_S
from ccbench.scenario import MSS_BYTES, MTU_BYTES, Flow
from ccbench.studies.catalogue import about
from ccbench.studies.nimbus_comparisons import spread
from ccbench.studies.nimbus_fair_share import fair_shares_mbps
from ccbench.studies.nimbus_measures import SETTLED_S, delays_ms, verdicts
from ccbench.studies.nimbus_testbed import CCAS, COLOURS, LINK_MBPS, seeds, shared
from ccbench.studies.study import Comparison, Findings, Rows, Study
from ccbench.traffic import FlowMix, divided

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ccbench.run import Run
    from ccbench.scenario import Scenario

_DURATION_S = 360.0
_INTERVAL_S = 5.0
#: The last flows have some time to end.
_DRAIN_S = 2.0
_QUANTILES = np.arange(1, 100) / 100
_SIZES_BYTES = (15_000, 150_000, 1_500_000, 150_000_000)
#: "When the fraction of the elastic traffic is high" (section 7.1).
_HIGH_SHARE = 0.3
#: Nimbus is 10 ms above Vegas, these are more than 50 ms above Nimbus.
_ABOVE_VEGAS = ("above 60", (60.0, 110.0))
_SHORT = "up to 15 KB"
#: How long the flows are looked at again, to see whether any that last are there.
_STEP_S = 0.1


@cache
def _flows(seed: int, stop_s: float) -> Flow:
    """Return the mix of a seed, which takes a moment to draw."""
    mix = FlowMix(sizes="caida", load_mbps=LINK_MBPS / 2, stop_s=stop_s, seed=seed)
    return Flow(kind="bytes", cca="cubic", arrivals=mix.arrivals(), label="mix")


def mixed(
    cca: str,
    seed: int,
    duration_s: float,
    *,
    others: tuple[str, ...] = ("cubic",),
    settings: Mapping[str, int] | None = None,
) -> Scenario:
    """Return a backlogged flow beside the mix, each of whose flows is one of `others` at random."""
    mix = _flows(seed, duration_s - _DRAIN_S)
    groups = divided(mix.arrivals, len(others), seed=seed) if len(others) > 1 else (mix.arrivals,)
    return shared(
        Flow(cca=cca),
        *(
            replace(mix, cca=other, arrivals=group)
            for other, group in zip(others, groups, strict=True)
        ),
        duration_s=duration_s,
        seed=seed,
        name=f"{cca} beside a mix of flows",
        settings=settings,
    )


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    duration_s = 20.0 if quick else _DURATION_S
    return tuple(mixed(cca, seed, duration_s) for cca in CCAS for seed in seeds(quick=quick))


def deviations_mbps(run: Run) -> pd.Series[float]:
    """Return how far the first flow is off its fair share in each interval."""
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

    rows = [
        row("rtt_ms", share, value + run.scenario.rtt_ms)
        for share, value in delays_ms(run).quantile(_QUANTILES).items()
    ]
    off = deviations_mbps(run)
    rows += [row("deviation_mbps", time_s, value) for time_s, value in off.items()]
    rows.append(row("mbps", 0, run.summary()["throughput_mbps"].iloc[0]))
    done = run.completion_times()
    size = np.searchsorted(_SIZES_BYTES, done["size_bytes"])
    took = done["fct_s"].fillna(np.inf).groupby(size)
    rows += [
        row("fct_p95_s", _label(int(str(i))), value) for i, value in took.quantile(0.95).items()
    ]
    rows.append(row("unfinished", 0, done["fct_s"].isna().sum()))
    rows.append(row("flows", 0, len(done)))
    rows.append(row("mean_bytes", 0, done["size_bytes"].mean()))
    rows.append(row("lasting_percent", 0, 100 * _presence(run).mean()))
    if run.scenario.flows[0].cca == "nimbus":
        seen = verdicts(run).loc[SETTLED_S:]
        lasting = lasting_share(run, seen.index)
        rows += [row("eta", time_s, value) for time_s, value in seen["elasticity"].items()]
        rows += [row("elastic_share", at, value) for at, value in seen["elastic_share"].items()]
        rows += [row("lasting_share", at, value) for at, value in lasting.items()]
        elastic = 100 * seen["is_elastic"]
        for what, share in (("elastic", seen["elastic_share"]), ("lasting", lasting)):
            high = share > _HIGH_SHARE
            rows.append(row(f"high_{what}_percent", 0, 100 * high.mean()))
            rows.append(row(f"accuracy_{what}_percent", 0, elastic[high].mean()))
        rows.append(row("delay_mode_percent", 0, 100 - elastic[lasting <= _HIGH_SHARE].mean()))
    return rows


def _lasting(run: Run) -> pd.DataFrame:
    """Return the flows of the mix that take longer than a window of the FFT."""
    done = run.completion_times()
    took = done["fct_s"].fillna(np.inf)
    return done.assign(end_s=done["start_s"] + took)[took > WINDOW_S]


def _presence(run: Run) -> pd.Series[bool]:
    """Return at what times there are flows that last; index ``time_s``."""
    flows = _lasting(run)
    times = np.arange(0, run.scenario.duration_s, _STEP_S)
    begun = np.searchsorted(np.sort(flows["start_s"]), times, side="right")
    ended = np.searchsorted(np.sort(flows["end_s"]), times, side="right")
    return pd.Series(begun > ended, index=pd.Index(times, name="time_s"))


def lasting_share(run: Run, ends_s: pd.Index[float]) -> pd.Series[float]:
    """Return what part of the cross traffic's bytes belongs to flows that last, in each window.

    Parameters
    ----------
    run : Run
        A run of :func:`mixed`.
    ends_s : Index
        The ends of windows of the FFT.
    """
    events = run.queue_events()
    passed = events[(events["event"] == "dequeue") & (events["flow"] != 0)]
    is_lasting = passed["flow"].isin(_lasting(run).index)
    sizes = passed["bytes"].astype(float)
    edges = [np.searchsorted(passed["time_ns"], (ends_s - ago) * 1e9) for ago in (WINDOW_S, 0)]
    all_bytes, lasting = (
        np.diff(np.concatenate([[0], np.cumsum(x)])[edges], axis=0)[0]
        for x in (sizes, sizes.where(is_lasting, 0))
    )
    return pd.Series(lasting / np.maximum(all_bytes, 1), index=ends_s)


def _label(i: int) -> str:
    """Name a group of sizes."""
    return _SHORT if i == 0 else f"{_SIZES_BYTES[i - 1] / 1e6:g} to {_SIZES_BYTES[i] / 1e6:g} MB"


def _conclude(table: pd.DataFrame) -> Findings:
    def of(what: str, at: object = None) -> pd.DataFrame:
        """Return a row for each seed, a column for each CCA."""
        rows = table[(table["what"] == what) & ((table["at"] == at) | (at is None))]
        return rows.pivot_table(index="seed", columns="cca", values="value", dropna=False)

    def compared(
        what: str,
        values: pd.Series[float],
        published: str,
        accepted: tuple[float, float],
        unit: str = "ms",
    ) -> Comparison:
        mean = float(values.mean())
        note = spread(values)
        return Comparison(
            what=what, ours=mean, published=published, accepted=accepted, unit=unit, note=note
        )

    median = of("rtt_ms", 0.5)
    short = of("fct_p95_s", _SHORT)
    rates = of("mbps", 0)
    deviations = table[table["what"] == "deviation_mbps"]
    low = deviations.pivot_table("value", "seed", "cca", aggfunc=lambda x: x.quantile(0.1))
    lasting = of("lasting_percent", 0)
    comparisons = [
        compared("flows", of("flows", 0)["cubic"], "100,000", (95_000, 105_000), ""),
        compared(
            "mean size of the flows", of("mean_bytes", 0)["cubic"] / 1e3, "22", (17, 27), "KB"
        ),
        compared(
            "time in which there are flows that last, Copa",
            lasting["copa"],
            "about 25 with elastic traffic",
            (15, 35),
            "%",
        ),
        compared(
            "throughput of all schemes, the highest by the lowest, less 1",
            100 * (rates.max(axis=1) / rates.min(axis=1) - 1),
            "the same",
            (0, 5),
            "%",
        ),
        *(
            compared(f"median RTT, {cca} less Vegas", median[cca] - median["vegas"], *_ABOVE_VEGAS)
            for cca in ("cubic", "bbr")
        ),
        compared(
            "10th percentile of the deviation from fair share, Copa less CUBIC",
            low["copa"] - low["cubic"],
            "significantly lower",
            (-96, -3),
            "Mbit/s",
        ),
    ]
    if "nimbus" in median:
        comparisons += [
            compared(
                "median RTT, Nimbus less Vegas", median["nimbus"] - median["vegas"], "10", (0, 20)
            ),
            compared(
                "median RTT, CUBIC less Nimbus",
                median["cubic"] - median["nimbus"],
                "above 50",
                (35, 110),
            ),
            compared(
                "median RTT, BBR less Nimbus",
                median["bbr"] - median["nimbus"],
                "above 50",
                (35, 110),
            ),
            compared(
                "median RTT, Nimbus less Copa", median["nimbus"] - median["copa"], "5", (-5, 15)
            ),
            compared(
                "10th percentile of the deviation from fair share, Nimbus less CUBIC",
                low["nimbus"] - low["cubic"],
                "comparable",
                (-8, 20),
                "Mbit/s",
            ),
            compared(
                "95th percentile of completion times up to 15 KB, CUBIC by Nimbus",
                short["cubic"] / short["nimbus"],
                "1.3",
                (1.1, 2),
                "",
            ),
            compared(
                "95th percentile of completion times up to 15 KB, BBR by Nimbus",
                short["bbr"] / short["nimbus"],
                "3 to 4",
                (1.5, 5),
                "",
            ),
            compared(
                "more than 30 % of the bytes of flows above 10 packets",
                of("high_elastic_percent", 0)["nimbus"],
                "at times",
                (10, 90),
                "% of the time",
            ),
            compared(
                "then called elastic",
                of("accuracy_elastic_percent", 0)["nimbus"],
                "over 90",
                (90, 100),
                "% of the time",
            ),
            compared(
                "more than 30 % of the bytes of flows that last",
                of("high_lasting_percent", 0)["nimbus"],
                "at times",
                (10, 90),
                "% of the time",
            ),
            compared(
                "then called elastic (flows that last)",
                of("accuracy_lasting_percent", 0)["nimbus"],
                "over 90",
                (90, 100),
                "% of the time",
            ),
            compared(
                "otherwise in delay-control mode (flows that last)",
                of("delay_mode_percent", 0)["nimbus"],
                "primarily",
                (50, 100),
                "% of the time",
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
    fct = fct.where(np.isfinite(fct))  # where more than 5 % did not end
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
    about=about("nimbus-8"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
