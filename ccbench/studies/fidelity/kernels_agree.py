# SPDX-License-Identifier: Apache-2.0
"""Releases of Linux compared: the same scenarios on virtual kernels of several releases.

No publication has these numbers. The study tests whether an upgrade of Linux changes results: the
CCAs of Linux alone, and the pairs of ``engines-agree``, on its six paths, with typical noise and 20
seeds each. Two successive releases differ in a quantity of a case if Welch's test rejects equal
means; the level of 5 % applies to all tests of a pair of releases together (Bonferroni). For equal
releases the expected number of differences is thus 0.05. Differences below 0.1 % do not count.

A digest of the queue's record shows whether a run is the same on both releases.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base.estimate import CONFIDENCE, Estimate, MeanDifference
from ccbench.base.figures import Figure
from ccbench.experiment.noise import typical
from ccbench.studies.catalogue import info
from ccbench.studies.fidelity.cases import CASE, MIXES, QUANTITIES, case_name, cases, measured
from ccbench.studies.published import exactly, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

#: In the order of their publication.
_RELEASES = ("6.1", "6.12", "7.3")
_OTHERS = (
    *("bic", "cdg", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "scalable", "vegas"),
    *("veno", "westwood", "yeah"),
)
_SEEDS = 20

#: Smallest relative difference that counts.
_SMALLEST = 0.001

_EQUAL = "expected of equal releases"


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    mixes = (*MIXES, *((cca,) for cca in _OTHERS))
    return tuple(
        replace(scenario, path=replace(scenario.path, noise=typical(rtt_ms=scenario.path.rtt_ms)))
        for scenario in cases(mixes, seeds=_SEEDS, quick=quick)
    )


def _measure(run: Run) -> Rows:
    release = str(run.provenance["kernel_release"])
    events = run.queue_events()
    rows = pd.util.hash_pandas_object(events[["time_ns", "event", "flow", "bytes"]], index=False)
    digest = hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()[:16]
    return [{"release": ".".join(release.split(".")[:2]), **measured(run), "queue_record": digest}]


def _conclude(table: pd.DataFrame) -> Findings:
    tests = pd.DataFrame(_tests(table))
    comparisons = []
    for older, newer in pairwise(_RELEASES):
        of_pair = _between(tests, older, newer)
        is_visible = of_pair["difference"].abs() > _SMALLEST * of_pair["older_mean"].abs()
        differing = of_pair[is_visible & (of_pair["p_value"] < (1 - CONFIDENCE) / len(of_pair))]
        between = f"Linux {older} and {newer}"
        comparisons += [
            Comparison(
                quantity=f"quantities that differ between {between}, of {len(of_pair)}",
                measured=len(differing),
                published=exactly(0, _EQUAL, text="none"),
                note=_note(differing),
            ),
            Comparison(
                quantity=f"runs with the same queue record on {between}",
                measured=_same_percent(table, older, newer),
                published=unbounded("any", _EQUAL),
                unit="%",
            ),
        ]
    return Findings(table=tests, figure=_figure(tests), comparisons=tuple(comparisons))


def _tests(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the difference of each quantity of each case between successive releases."""
    for case, runs in table.groupby(CASE, sort=False):
        for older, newer in pairwise(_RELEASES):
            for quantity in QUANTITIES:
                before, after = (
                    Estimate(runs.loc[runs["release"] == release, quantity].dropna())
                    for release in (older, newer)
                )
                if not before.values:
                    continue
                change = MeanDifference.between(before, after)
                yield {
                    **dict(zip(CASE, case, strict=True)),
                    "older": older,
                    "newer": newer,
                    "quantity": quantity,
                    "older_mean": before.mean,
                    "newer_mean": after.mean,
                    "difference": change.mean,
                    "half_width": change.half_width,
                    "p_value": change.p_value,
                }


def _between(tests: pd.DataFrame, older: str, newer: str) -> pd.DataFrame:
    return tests[(tests["older"] == older) & (tests["newer"] == newer)]


def _same_percent(table: pd.DataFrame, older: str, newer: str) -> float:
    """Return the percentage of scenarios with the same queue record on two releases."""
    records = table.pivot_table("queue_record", [*CASE, "seed"], "release", aggfunc="first")
    return 100 * float((records[older] == records[newer]).mean())


def _note(differing: pd.DataFrame) -> str:
    """Return the cases that differ, by mix, with the largest relative difference of each."""
    parts = []
    for mix, rows in differing.groupby("mix", sort=False):
        relative = (rows["difference"] / rows["older_mean"]).abs().fillna(np.inf)
        worst = rows.to_dict("records")[int(relative.to_numpy().argmax())]
        case = case_name(worst[name] for name in CASE)
        parts.append(
            f"{mix}: {len(rows)}, such as {QUANTITIES[str(worst['quantity'])]} "
            f"{worst['older_mean']:.4g} to {worst['newer_mean']:.4g} ({case})"
        )
    return "; ".join(parts) + ("." if parts else "")


def _figure(tests: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    shown = tests[tests["quantity"] == "mean_packets"]
    for axes, (older, newer) in zip(panels, pairwise(_RELEASES), strict=True):
        _differences(axes, _between(shown, older, newer))
        axes.set_title(f"Linux {older} to {newer}", fontsize="medium")
    figure.supxlabel("change of the mean queue in % of the queue's limit, 95 % intervals")
    return figure


def _differences(axes: Axes, rows: pd.DataFrame) -> None:
    mixes = list(dict.fromkeys(rows["mix"]))
    paths = list(dict.fromkeys(zip(rows["bandwidth_mbps"], rows["rtt_ms"], strict=True)))
    for i, (mbps, rtt_ms) in enumerate(paths):
        of_path = rows[(rows["bandwidth_mbps"] == mbps) & (rows["rtt_ms"] == rtt_ms)]
        share = 100 / of_path["queue_packets"]
        axes.errorbar(
            of_path["difference"] * share,
            [mixes.index(mix) + (i - len(paths) / 2) / 9 for mix in of_path["mix"]],
            xerr=of_path["half_width"] * share,
            fmt="o",
            markersize=3,
            linewidth=0.8,
            label=f"{mbps:g} Mbit/s, {rtt_ms:g} ms",
        )
    axes.axvline(0, color="grey", linewidth=0.6)
    axes.set_yticks(range(len(mixes)), [mix.replace(" and ", " against ") for mix in mixes])
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")


STUDY = Study(
    info=info("kernels-agree"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
    kernels=_RELEASES,
)
