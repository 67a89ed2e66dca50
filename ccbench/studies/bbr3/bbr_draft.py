# SPDX-License-Identifier: Apache-2.0
"""The example test cases of the BBR draft (draft-ietf-ccwg-bbr, appendix A).

Each of the 22 cases runs on a grid of paths: 64 kbit/s to 1 Gbit/s, and round-trip times of 1 ms to
1 s. On each path, a case

- *holds* or *fails*: all of its conditions hold, or one does not;
- *does not come about*: a premise does not hold, such as "inflight remains higher than the target";
- is *unsuitable*: the path cannot show it; it is not run.

The measured number of a case is the share of the paths on which it holds, among those on which it
came about. Two cases as the draft words them come about nowhere and on one path; variants with a
larger change of the rate are added.

A congestion control that reports no phase is judged by TCP's own state (see
:mod:`ccbench.studies.bbr3.wire`). Changes that begin with a phase then have the time at which a run
without them enters it: in virtual time, both runs are the same until then.

Tolerances are the draft's where it states one (2 % for the bandwidth). The others are stated in the
modules of the cases. Three were corrected after first runs had shown that they asked for more than
the draft does: with aggregation, the estimate may be too large; ``bw_shortterm`` falls by one Beta,
as losses may end before it reaches the new rate; and the window after an undo is that of REFILL.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ccbench.base import validation
from ccbench.base.figures import Figure
from ccbench.base.share import Share
from ccbench.studies.bbr3 import paths, probe_bw, probe_rtt, recovery, startup
from ccbench.studies.bbr3.case import GRID, DraftCase, Point
from ccbench.studies.bbr3.state import BBR3, Sender
from ccbench.studies.bbr3.wire import observed
from ccbench.studies.catalogue import info
from ccbench.studies.published import exactly, unbounded
from ccbench.studies.study import Comparison, Findings, Rows, Study

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.bbr3.case import Fact
    from ccbench.studies.bbr3.state import State
    from ccbench.studies.study_info import StudyInfo

__all__ = ["CASES", "STUDY", "UNSUITABLE", "study_of", "verdict"]

_CASES = {
    case.name: case
    for part in (startup, probe_bw, probe_rtt, paths, recovery)
    for case in part.CASES
}

#: All cases in the order of the draft, with variants behind the case that they vary.
CASES = tuple(
    _CASES[name]
    for name in (
        "startup-plateau",
        "startup-loss",
        "drain-inflight",
        "drain-time",
        "drain-time-70",
        "up-plateau",
        "up-loss-app",
        "up-app",
        "startup-app",
        "down-inflight",
        "down-time",
        "down-time-30",
        "rtt",
        "rtt-idle",
        "aggregation-startup",
        "aggregation-cruise",
        "tiny-bdp",
        "faster",
        "slower",
        "policer",
        "undo-recovery",
        "undo-timeout",
        "startup-rtt",
        "up-loss",
        "refill-app",
    )
)

_HOLDS, _FAILS, _ABSENT = "holds", "fails", "does not come about"
#: The verdict of a case on a path that cannot show it.
UNSUITABLE = "unsuitable"
_NOT_APPLICABLE = "not applicable"
#: Marker and colour of each verdict that came about, or did not.
_MARKERS = {
    _HOLDS: ("o", "C2"),
    _FAILS: ("x", "C3"),
    _ABSENT: ("_", "0.6"),
    _NOT_APPLICABLE: (".", "0.8"),
}

_QUICK = (Point(10, 100), Point(100, 10))
_POINTS = (*GRID, *_QUICK)
#: Separates the cases in the name of a scenario.
_AND = "; "


@dataclass(frozen=True)
class _Use:
    """A case on a path, and what is known of the congestion control."""

    case: DraftCase
    point: Point
    sender: Sender

    @property
    def name(self) -> str:
        """Name of its scenario, from which :func:`_uses` reads it."""
        entry = "" if self.sender.entry_s is None else f" from {self.sender.entry_s!r} s"
        return f"{self.case.name}, {self.point}{entry}"


def _plan(uses: Iterable[_Use]) -> tuple[Scenario, ...]:
    """Return the scenarios of cases on paths, of which some show several cases."""
    planned: dict[Scenario, list[_Use]] = {}
    for use in uses:
        planned.setdefault(use.case.planned(use.sender, use.point), []).append(use)
    return tuple(
        replace(scenario, name=_AND.join(use.name for use in together))
        for scenario, together in planned.items()
    )


def _uses(scenario: Scenario, sender: Sender) -> list[_Use]:
    """Return the cases on a path that a scenario shows: the inverse of :func:`_plan`."""
    places = {f"{case.name}, {point}": (case, point) for case in CASES for point in _POINTS}
    uses = []
    for name in scenario.name.split(_AND):
        place, _, entry = name.partition(" from ")
        case, point = places[place]
        entry_s = float(entry.removesuffix(" s")) if entry else None
        uses.append(_Use(case, point, replace(sender, entry_s=entry_s)))
    return uses


def verdict(steps: Iterator[Fact]) -> tuple[str, str]:
    """Return the verdict of a case's conditions and what was found, up to the first failed premise.

    Examples
    --------
    >>> from ccbench.studies.bbr3.case import Fact
    >>> verdict(iter([Fact("no loss", holds=False, is_premise=True), Fact("more", holds=True)]))
    ('does not come about', 'no loss (not so)')
    """
    found, result = [], _HOLDS
    for step in steps:
        found.append(step.text if step.holds else f"{step.text} (not so)")
        if not step.holds:
            result = _ABSENT if step.is_premise else _FAILS
            if step.is_premise:
                break
    return result, "; ".join(found)


def study_of(sender: Sender) -> Study:
    """Return the study of a congestion control."""
    cases = [case for case in CASES if not _missing(case, sender)]

    def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
        points = _QUICK if quick else GRID
        return _plan(
            _Use(case, point, sender)
            for case in cases
            for point in points
            if not case.unsuitable(point)
        )

    def measure(run: Run) -> Rows:
        uses = _uses(run.scenario, sender)
        state = observed(run, sender, uses[0].point)
        return [row for use in uses for row in _rows(use, state)]

    def follow_ups(run: Run) -> tuple[Scenario, ...]:
        waiting = [use for use in _uses(run.scenario, sender) if use.case.waits(use.sender)]
        if not waiting:
            return ()
        state = observed(run, sender, waiting[0].point)
        times = [use.case.entry(state)[0] for use in waiting]
        return _plan(
            replace(use, sender=replace(sender, entry_s=entry_s))
            for use, entry_s in zip(waiting, times, strict=True)
            if not math.isnan(entry_s)
        )

    def conclude(table: pd.DataFrame) -> Findings:
        return _conclude(table, sender)

    return Study(
        info=_info_of(sender),
        scenarios=scenarios,
        measure=measure,
        conclude=conclude,
        follow_ups=follow_ups if sender.is_silent else None,
        for_cca=_for_cca,
    )


def _for_cca(cca: str, engine: Engine) -> Study:
    """Return the study of another congestion control."""
    kernel, check_cca = (getattr(engine, name, None) for name in ("kernel", "check_cca"))
    if kernel is None or check_cca is None:
        allowed = "left out with engines other than kernel"
        raise validation.bad("cca", cca, allowed, "use the engine kernel")
    check_cca(cca)
    return study_of(Sender(cca, tuple(field.name for field in kernel.cca(cca).info)))


def _info_of(sender: Sender) -> StudyInfo:
    """Return the description of the study of a congestion control, and with it its files' names."""
    described = info("bbr-draft")
    if sender.cca == BBR3.cca:
        return described
    word = re.sub(r"[^A-Za-z0-9]+", "-", sender.cca).strip("-")
    title = f"Test cases of the BBR draft, for {sender.cca}"
    return replace(described, name=f"{described.name}-{word}", title=title)


def _missing(case: DraftCase, sender: Sender) -> list[str]:
    """Return what a congestion control does not report of what a case needs, if anything."""
    return [] if sender.is_silent else sorted({*case.needs} - sender.reported)


def _rows(use: _Use, state: State) -> Rows:
    """Return the row of a verdict, and none if a run with the case's changes follows."""
    steps: Iterable[Fact]
    if use.case.waits(use.sender):
        entry_s, steps = use.case.entry(state)
        if not math.isnan(entry_s):
            return []
    else:
        steps = use.case.steps(use.sender, state, use.point)
    return [_row(use.case, use.point, *verdict(iter(steps)))]


def _row(case: DraftCase, point: Point, result: str, found: str) -> dict[str, object]:
    return {
        "case": case.name,
        "mbps": point.mbps,
        "rtt_ms": point.rtt_ms,
        "verdict": result,
        "found": found,
    }


def _unsuitable(table: pd.DataFrame, sender: Sender) -> Rows:
    """Return the rows of the paths on which cases were not run."""
    points = [Point(*pair) for pair in table[["mbps", "rtt_ms"]].drop_duplicates().to_numpy()]
    rows = []
    for case in CASES:
        missing = _missing(case, sender)
        for point in points:
            if missing:
                lacks = f"{sender.cca} does not report {', '.join(missing)}"
                rows.append(_row(case, point, _NOT_APPLICABLE, lacks))
            elif why := case.unsuitable(point):
                rows.append(_row(case, point, UNSUITABLE, why))
    return rows


def _conclude(table: pd.DataFrame, sender: Sender) -> Findings:
    table = pd.concat([table, pd.DataFrame(_unsuitable(table, sender))], ignore_index=True)
    table["case"] = pd.Categorical(table["case"], [case.name for case in CASES])
    table = table.sort_values(["case", "mbps", "rtt_ms"], ignore_index=True).astype({"case": str})
    return Findings(
        table=table,
        figure=_figure(table, sender),
        comparisons=tuple(
            _comparison(case, table[table["case"] == case.name], sender) for case in CASES
        ),
    )


def _source(sender: Sender) -> str:
    """Return what shows the state of a congestion control, if that is not its own report."""
    return "By TCP's own state: " if sender.is_silent else ""


def _comparison(case: DraftCase, rows: pd.DataFrame, sender: Sender) -> Comparison:
    counts = rows["verdict"].value_counts()
    holds, fails = counts.get(_HOLDS, 0), counts.get(_FAILS, 0)
    where = f"appendix A, {case.title}"
    never_run = {*counts.index} <= {UNSUITABLE, _NOT_APPLICABLE}
    parts = [f"{result} on {n}" for result, n in counts.items()]
    failed = rows[rows["verdict"] == _FAILS]
    example = ""
    if len(failed):
        row = failed.iloc[len(failed) // 2]
        example = f" {Point(row['mbps'], row['rtt_ms'])}: {row['found']}."
    return Comparison(
        quantity=f"{case.label}: paths on which it holds",
        measured=Share(int(holds), int(holds + fails), is_sample=False),
        published=unbounded("verify", where) if never_run else exactly(100, where, text="verify"),
        unit="%",
        note=f"{_source(sender)}{', '.join(parts)} of {len(rows)} paths.{example}",
    )


def _figure(table: pd.DataFrame, sender: Sender) -> Figure:
    """Draw the verdicts: a row per case, a column per path."""
    points = sorted({*zip(table["mbps"], table["rtt_ms"], strict=True)})
    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots()
    places = {
        (point, case.name): (x, y) for x, point in enumerate(points) for y, case in enumerate(CASES)
    }
    for result, (marker, colour) in _MARKERS.items():
        rows = table[table["verdict"] == result]
        keys = zip(zip(rows["mbps"], rows["rtt_ms"], strict=True), rows["case"], strict=True)
        at = np.array([places[key] for key in keys]).reshape(-1, 2)
        axes.plot(at[:, 0], at[:, 1], marker, color=colour, label=result)
    axes.plot([], [], " ", label="blank: the path cannot show it")
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.set_ylim(len(CASES) - 0.5, -0.5)
    axes.set_xticks(range(len(points)), [str(Point(*point)) for point in points], rotation=90)
    axes.set_yticks(range(len(CASES)), [case.label for case in CASES])
    axes.tick_params(labelsize="x-small", length=0)
    axes.set_title(f"{_source(sender)}{sender.cca}", fontsize="small")
    figure.legend(loc="outside upper center", ncols=len(_MARKERS) + 1, fontsize="small")
    return figure


STUDY = study_of(BBR3)
