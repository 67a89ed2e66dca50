# SPDX-License-Identifier: Apache-2.0
"""Classification of recordings as people have them: late, short, coarse, or of the window only.

One run of a minute for each CCA on each of 24 networks, half of them the thesis's settings, with
loss, cross traffic, both or neither. Networks, paths and seeds are none of those of the packaged
training set; with ``--kernel``, the kernel is another one, too. Of each run, parts are judged as
``ccbench classify`` judges recordings, alone and four together, each of another network. Each CCA
is also judged without it in the training set: it should be unknown.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.base.figures import Figure
from ccbench.base.random_streams import stream
from ccbench.base.share import Share
from ccbench.classify.evidence import weighed
from ccbench.classify.implementation import CCAS
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.trace import QueueTrace
from ccbench.classify.training import scenario
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.view import View
from ccbench.classify.windows import (
    DURATION_S,
    MOST_CROSS_SHARE,
    Course,
    Part,
    at_the_queue,
    at_the_sender,
    network,
    path,
)
from ccbench.studies.catalogue import info
from ccbench.studies.published import at_least, at_most, unbounded
from ccbench.studies.study import Comparison, Findings, Study

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.study import Rows

_CCAS = (*CCAS, "bbr3")
_QUICK_CCAS = ("bbr", "cubic", "vegas")
#: The numbers of the networks, which the training set does not have, and the seeds of their runs.
_NUMBERS, _SEED = range(10_000, 10_024), 70_000
#: Starts of late recordings, and lengths of short ones, in seconds.
_STARTS_S, _LENGTHS_S = (0, 3, 7, 10, 15, 20, 30, 39), (10, 15)
_USUAL_S, _USUAL_START_S = 20.0, 8.0
_TOGETHER, _GROUPS = 4, 12
_SURE = 0.9
_EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0)
_WHERE, _NOT_STATED = "goal", unbounded("not stated", "nowhere")
_FOUR, _ONE = "four recordings", "one recording"


@cache
def _plan() -> dict[Scenario, tuple[int, str]]:
    return {
        scenario(network(number), cca, path(number), seed=_SEED + number, duration_s=DURATION_S): (
            number,
            cca,
        )
        for number in _NUMBERS
        for cca in _CCAS
    }


def _scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    return tuple(
        each
        for each, (number, cca) in _plan().items()
        if not quick or (cca in _QUICK_CCAS and number < _NUMBERS[_TOGETHER])
    )


def _parts(course: Course, number: int) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a run, with the condition of each."""
    setting, variation = network(number), path(number)
    rtt_s = setting.rtt_ms / 1e3
    for start_s in _STARTS_S:
        yield f"from {start_s} s on", at_the_queue(course, setting, start_s, _USUAL_S)
    for length_s in _LENGTHS_S:
        yield f"of {length_s} s", at_the_queue(course, setting, _USUAL_START_S, length_s)
    usual = _USUAL_START_S, _USUAL_S
    yield "every 0.1 s", at_the_queue(course, setting, *usual, step_s=0.1)
    step_s = max(0.02, round(rtt_s, 2))
    yield "averages per RTT", at_the_queue(course, setting, 0, 20, step_s=step_s, average_s=step_s)
    if variation.cross_share <= MOST_CROSS_SHARE:
        yield "at the sender", at_the_sender(course, setting, variation, *usual)


def _measure(run: Run) -> Rows:
    number, cca = _plan()[run.scenario]
    rows = []
    for condition, part in _parts(Course.of(run, path(number)), number):
        measured = part.measured()
        if len(measured):
            rows.append(
                {
                    "cca": cca,
                    "number": number,
                    "condition": condition,
                    "measured": measured,
                    **asdict(part.setting),
                    **asdict(part.view),
                }
            )
    return rows


def _trace(row: Any) -> QueueTrace:
    setting = Setting(
        bandwidth_mbps=row.bandwidth_mbps, rtt_ms=row.rtt_ms, queue_packets=int(row.queue_packets)
    )
    view = View(
        from_start=bool(row.from_start),
        length_s=row.length_s,
        step_s=row.step_s,
        average_s=row.average_s,
        is_estimated=bool(row.is_estimated),
    )
    measured = np.asarray(row.measured, dtype=np.uint8)
    return QueueTrace(
        setting=setting, points=np.zeros(0, dtype=np.float32), measured=measured, view=view
    )


def _judged(table: pd.DataFrame, training: TrainingSet, left_out: str) -> list[dict[str, Any]]:
    """Judge single recordings, and groups of four of one CCA and condition."""
    trees, calibration = training.reactions_in_context, training.calibration
    assert trees is not None
    assert calibration is not None
    rows = []
    for (cca, condition), own in table.groupby(["cca", "condition"], sort=False):
        traces = [_trace(row) for row in own.itertuples()]
        rng = stream(len(rows), f"{cca} {condition}")
        groups: list[tuple[str, Sequence[QueueTrace]]] = [(_ONE, [each]) for each in traces]
        if len(traces) >= _TOGETHER:
            groups += [
                (_FOUR, [traces[i] for i in rng.permutation(len(traces))[:_TOGETHER]])
                for _ in range(_GROUPS)
            ]
        for recordings, some in groups:
            seen = weighed(trees, some, calibration)
            rows.append(
                {
                    "cca": cca,
                    "condition": condition,
                    "recordings": recordings,
                    "is_thesis": all(each.setting in SETTINGS for each in some),
                    "left_out": left_out,
                    "label": seen.label,
                    "confidence": seen.confidence,
                    "answered": seen.is_confident,
                    "right": seen.label == cca,
                }
            )
    return rows


def _conclude(table: pd.DataFrame) -> Findings:
    packaged = TrainingSet.load(PACKAGED)
    rows = _judged(table, packaged, "")
    for cca in sorted(set(table["cca"])):
        own = table[table["cca"] == cca]
        rows += _judged(own, replace(packaged.without(cca)), cca)
    judged = pd.DataFrame(rows)
    return Findings(table=judged, figure=_figure(judged), comparisons=tuple(_comparisons(judged)))


def _comparisons(judged: pd.DataFrame) -> Iterator[Comparison]:
    known, unknown = judged[judged["left_out"] == ""], judged[judged["left_out"] != ""]
    for recordings in (_ONE, _FOUR):
        own = known[known["recordings"] == recordings]
        for condition, some in own.groupby("condition", sort=False):
            wrong = some["answered"] & ~some["right"]
            yield Comparison(
                quantity=f"{recordings}, {condition}: answers that are wrong",
                measured=Share(int(wrong.sum()), len(some)),
                published=at_most(1, _WHERE),
                unit="%",
            )
        for name, some in (
            ("", own),
            (" in the thesis's settings", own[own["is_thesis"]]),
        ):
            if len(some):
                yield Comparison(
                    quantity=f"{recordings}{name}: right answers",
                    measured=Share(int((some["answered"] & some["right"]).sum()), len(some)),
                    published=_NOT_STATED,
                    unit="%",
                )
        left_out = unknown[unknown["recordings"] == recordings]
        yield Comparison(
            quantity=f"{recordings}: CCAs left out of training that get a label",
            measured=Share(int(left_out["answered"].sum()), len(left_out)),
            published=at_most(5, _WHERE),
            unit="%",
        )
    sure = known[known["answered"] & (known["confidence"] >= _SURE)]
    yield Comparison(
        quantity=f"answers with a confidence of {_SURE:g} or more that are right",
        measured=Share(int(sure["right"].sum()), len(sure)),
        published=at_least(100 * _SURE, _WHERE),
        unit="%",
    )


def _figure(judged: pd.DataFrame) -> Figure:
    """Draw the reliability diagram, and the answers by condition."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2))
    # One server in four is assumed to run an unknown CCA.
    known = judged["left_out"] == ""
    weights = np.where(known, 1.0, known.sum() / max((~known).sum(), 1) / 3)
    bins = pd.cut(judged["confidence"], list(_EDGES), include_lowest=True)
    for recordings, colour in ((_ONE, "C0"), (_FOUR, "C1")):
        own = judged["recordings"] == recordings
        points = [
            (
                np.average(judged["confidence"][some], weights=weights[some]),
                np.average(judged["right"][some], weights=weights[some]),
            )
            for each in bins.cat.categories
            if (some := (own & (bins == each)).to_numpy()).any()
        ]
        left.plot(*zip(*points, strict=True), "o-", color=colour, label=recordings)
    left.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    left.set_xlabel("confidence")
    left.set_ylabel("share of right labels")
    left.legend(fontsize="small")
    conditions = list(dict.fromkeys(judged["condition"]))
    at = np.arange(len(conditions))
    for i, recordings in enumerate((_ONE, _FOUR)):
        own = judged[known & (judged["recordings"] == recordings)]
        answered = own.assign(
            is_right=100.0 * (own["answered"] & own["right"]),
            is_wrong=100.0 * (own["answered"] & ~own["right"]),
        ).groupby("condition")[["is_right", "is_wrong"]]
        shares = answered.mean().reindex(conditions)
        place = at + 0.4 * i - 0.2
        right.bar(place, shares["is_right"], 0.38, color=f"C{i}", label=f"{recordings}: right")
        bottom = shares["is_right"]
        right.bar(place, shares["is_wrong"], 0.38, bottom=bottom, color="black")
    right.set_xticks(at, conditions, rotation=60, ha="right", fontsize="small")
    right.set_ylabel("answers (%); black: wrong")
    right.legend(fontsize="small")
    return figure


STUDY = Study(
    info=info("any-recording"),
    scenarios=_scenarios,
    measure=_measure,
    conclude=_conclude,
)
