# SPDX-License-Identifier: Apache-2.0
"""The traces of chapter 2's studies: a training set and a test set.

The training set has the variations of the packaged one, with the longest duration studied, on the
installed virtual kernel. The test set has round-trip times and seeds that the training set lacks,
and runs on the kernel or engine requested for the study. Shorter traces are prefixes of these, as
in the thesis.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ccbench.classify.implementation import CCAS
from ccbench.classify.occupancy import DURATION_S, STEP_S
from ccbench.classify.reactions import Limits
from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.threshold import Threshold
from ccbench.classify.trace import QueueTrace
from ccbench.classify.training import VARIATIONS, Variation, measured, scenario, trace
from ccbench.classify.training_set import PACKAGED, TrainingSet
from ccbench.classify.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run
    from ccbench.studies.study import Rows

__all__ = [
    "CLEAN",
    "CONDITIONS",
    "KNOWN",
    "SERVER",
    "VOTED",
    "clean_test_scenarios",
    "confusions",
    "judged",
    "measure",
    "noisy_test_scenarios",
    "servers",
    "test_scenarios",
    "training_scenarios",
    "training_set",
]

#: Paths without loss or cross traffic.
CLEAN = "clean"
#: The condition of the training set.
KNOWN = "known"

#: The conditions of the test set. Its round-trip times do not occur in the training set.
CONDITIONS: dict[str, tuple[Variation, ...]] = {
    CLEAN: (
        Variation(name="1.5 ms longer", extra_rtt_ms=1.5),
        Variation(name="3 ms shorter", extra_rtt_ms=-3.0),
        Variation(name="5 ms longer", extra_rtt_ms=5.0),
    ),
    "clocks of ms": (
        Variation(name="clock", extra_rtt_ms=1.5, in_milliseconds=True, jitter_ms=1.8),
        Variation(name="clock, longer", extra_rtt_ms=5.0, in_milliseconds=True, jitter_ms=2.2),
    ),
    **{
        f"others {share:.0%}": (
            Variation(name=f"others {share}", extra_rtt_ms=1.5, cross_share=share),
        )
        for share in (0.02, 0.05, 0.1)
    },
    **{
        f"loss {loss:.2%}": (Variation(name=f"loss {loss}", extra_rtt_ms=1.5, loss=loss),)
        for loss in (0.0002, 0.001, 0.005)
    },
}

#: The columns of :func:`measure` that identify a server, which has one vote.
SERVER = ["condition", "variation", "seed", "cca"]
#: The setting of rows that contain a server's label.
VOTED = "voted"

#: The limits of the thesis's CCAs.
_LIMITS = Path(__file__).with_name("limits.json")
#: Maximum length of a trace in seconds.
_LONGEST_S = 50.0
_KNOWN_SEEDS = (1, 2)
_TESTED_SEEDS = (101, 102, 103, 104)
#: CCAs that the thesis does not have.
_NEWER_CCAS = ("bbr3",)
#: Seeds of more and shorter traces, for rare errors.
_NOISY_SEEDS = tuple(range(401, 413))

#: Settings of the quick version.
_QUICK_S = 20.0
_QUICK_CCAS = ("bbr", "cubic", "reno", "vegas")
_QUICK_SETTINGS = SETTINGS[:2]
_QUICK_CONDITIONS = {CLEAN: CONDITIONS[CLEAN][:1], "loss 0.50%": CONDITIONS["loss 0.50%"]}


@dataclass(frozen=True, kw_only=True)
class _Trace:
    """The trace of a scenario."""

    condition: str
    variation: Variation
    setting: Setting
    cca: str
    duration_s: float
    seed: int

    @property
    def scenario(self) -> Scenario:
        return scenario(
            self.setting, self.cca, self.variation, seed=self.seed, duration_s=self.duration_s
        )


def training_set() -> TrainingSet:
    """Return the packaged training set with the thesis's CCAs only, which had no BBRv3.

    The limits are those chosen for these CCAs (``limits.json``), with which the published results
    of these studies were made.

    Examples
    --------
    >>> training_set().ccas == CCAS
    True
    """
    packaged = TrainingSet.load(PACKAGED)
    own = packaged.without(*(cca for cca in packaged.ccas if cca not in CCAS))
    stored = json.loads(_LIMITS.read_text(encoding="utf-8"))
    thresholds = {
        Setting(**entry["setting"]): Threshold(**entry["threshold"])
        for entry in stored["thresholds"]
    }
    limits = Limits(**{name: _tuples(value) for name, value in stored["limits"].items()})
    return replace(own, thresholds=thresholds, limits=limits)


def _tuples(value: Any) -> Any:
    """Return a value of JSON with tuples instead of lists."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def training_scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of the training set.

    Examples
    --------
    >>> sorted({each.flows[0].cca for each in training_scenarios(quick=True)})
    ['bbr', 'cubic', 'reno', 'vegas']
    """
    return tuple(plan.scenario for plan in _training(quick=quick))


def test_scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of the test set.

    Examples
    --------
    >>> {each.path.bottlenecks[0].loss for each in test_scenarios(quick=True)} == {0.0, 0.005}
    True
    """
    return tuple(plan.scenario for plan in _test(quick=quick))


def clean_test_scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of :func:`test_scenarios` on clean paths.

    Examples
    --------
    >>> {each.path.bottlenecks[0].loss for each in clean_test_scenarios(quick=True)}
    {0.0}
    """
    return tuple(plan.scenario for plan in _test(quick=quick) if plan.condition == CLEAN)


def noisy_test_scenarios(*, quick: bool, ccas: Collection[str] = CCAS) -> tuple[Scenario, ...]:
    """Return scenarios of 20 s under the conditions of the test set, with more seeds.

    Parameters
    ----------
    quick : bool
        Whether to return those of the quick version.
    ccas : collection of str, optional
        The CCAs of the servers: some of the thesis's, which are the default, and ``"bbr3"``.

    Examples
    --------
    >>> len({each.seed for each in noisy_test_scenarios(quick=True)}) > 1
    True
    >>> {each.flows[0].cca for each in noisy_test_scenarios(quick=True, ccas=("bbr3",))}
    {'bbr3'}
    """
    return tuple(plan.scenario for plan in _noisy_test(quick=quick) if plan.cca in ccas)


def measure(run: Run) -> Rows:
    """Return the row of a run of the training or a test set.

    Returns
    -------
    list of dict
        Columns :data:`SERVER`, ``setting`` (the name), ``trace`` (packets, every
        :data:`~ccbench.classify.occupancy.STEP_S`) and ``measured`` (the measurements of its first
        20 s).

    Raises
    ------
    InputError
        If the run ends before the trace does.
    """
    plan = _plan()[run.scenario]
    return [
        {
            "condition": plan.condition,
            "variation": plan.variation.name,
            "seed": plan.seed,
            "cca": plan.cca,
            "setting": plan.setting.name,
            "trace": trace(run, plan.variation, duration_s=plan.duration_s),
            "measured": measured(run, plan.setting, plan.variation),
        }
    ]


def servers(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], list[QueueTrace]]]:
    """Yield each server of a table of :func:`measure`, with the first 20 s of its traces.

    Parameters
    ----------
    table : DataFrame
        A row per trace.

    Yields
    ------
    dict
        The columns :data:`SERVER`.
    list of QueueTrace
        The trace of each setting.
    """
    points = round(DURATION_S / STEP_S)
    for server, own in table.groupby(SERVER, sort=False):
        traces = [
            QueueTrace(
                setting=Setting.named(name),
                points=trace[:points],
                measured=np.asarray(measured, dtype=np.uint8),
            )
            for name, trace, measured in zip(
                own["setting"], own["trace"], own["measured"], strict=True
            )
        ]
        yield dict(zip(SERVER, server, strict=True)), traces


def judged(table: pd.DataFrame, training: Callable[[str], TrainingSet]) -> pd.DataFrame:
    """Judge each server as ``ccbench classify`` does.

    Parameters
    ----------
    table : DataFrame
        A row per trace, of :func:`measure`.
    training : callable
        Gives the training set for servers of a CCA.

    Returns
    -------
    DataFrame
        A row per trace, with the columns :data:`SERVER`, ``setting``, ``nearest``,
        ``distance_packets`` and ``label``, and a row per server, in which ``setting`` is
        :data:`VOTED` and only the label is given.
    """
    rows: list[dict[str, Any]] = []
    for server, traces in servers(table):
        verdict = judge(traces, training(server["cca"]))
        rows += [
            {
                **server,
                "setting": trace.setting.name,
                "nearest": trace.nearest,
                "distance_packets": trace.distance,
                "label": trace.label,
            }
            for trace in verdict.traces
        ]
        rows.append({**server, "setting": VOTED, "label": verdict.label})
    return pd.DataFrame(rows)


def confusions(rows: pd.DataFrame, column: str = "label", *, most: int | None = None) -> str:
    """Return how often each CCA has each of the labels in a column, the most frequent first.

    Parameters
    ----------
    rows : DataFrame
        Rows with wrong labels.
    column : str
        The column of the labels; that of the CCA is ``cca``.
    most : int, optional
        Maximum number of pairs; an ellipsis stands for the others.

    Examples
    --------
    >>> rows = pd.DataFrame({"cca": ["bic", "bic", "yeah"], "label": ["cubic", "cubic", "reno"]})
    >>> confusions(rows), confusions(rows, most=1)
    ('bic as cubic 2, yeah as reno 1', 'bic as cubic 2, ...')
    """
    counts = (rows["cca"] + " as " + rows[column]).value_counts()
    named = [f"{pair} {count}" for pair, count in counts.head(most or len(counts)).items()]
    return ", ".join([*named, "..."] if len(named) < len(counts) else named)


@cache
def _training(*, quick: bool) -> tuple[_Trace, ...]:
    if quick:
        return _all({KNOWN: VARIATIONS[:2]}, (1,), quick=True)
    return _all({KNOWN: VARIATIONS}, _KNOWN_SEEDS, quick=False)


@cache
def _test(*, quick: bool) -> tuple[_Trace, ...]:
    if quick:
        return _all(_QUICK_CONDITIONS, _TESTED_SEEDS[:1], quick=True)
    return _all(CONDITIONS, _TESTED_SEEDS, quick=False)


@cache
def _noisy_test(*, quick: bool) -> tuple[_Trace, ...]:
    if quick:
        return _all(_QUICK_CONDITIONS, _TESTED_SEEDS[:1], also=_NEWER_CCAS, quick=True)
    return _all(CONDITIONS, _NOISY_SEEDS, also=_NEWER_CCAS, duration_s=DURATION_S, quick=False)


def _all(
    conditions: dict[str, tuple[Variation, ...]],
    seeds: tuple[int, ...],
    *,
    also: tuple[str, ...] = (),
    duration_s: float = _LONGEST_S,
    quick: bool,
) -> tuple[_Trace, ...]:
    settings, ccas = (_QUICK_SETTINGS, _QUICK_CCAS) if quick else (SETTINGS, CCAS)
    return tuple(
        _Trace(
            condition=condition,
            variation=variation,
            setting=setting,
            cca=cca,
            duration_s=_QUICK_S if quick else duration_s,
            seed=seed,
        )
        for condition, variations in conditions.items()
        for variation, setting, cca, seed in product(variations, settings, (*ccas, *also), seeds)
    )


@cache
def _plan() -> dict[Scenario, _Trace]:
    """Return the trace of each scenario."""
    return {
        plan.scenario: plan
        for quick in (False, True)
        for plan in (*_training(quick=quick), *_test(quick=quick), *_noisy_test(quick=quick))
    }
