# SPDX-License-Identifier: Apache-2.0
"""The traces of chapter 2's studies: those that are known, and those that are classified.

Known are the variations of the packaged training set, made at the greatest length that is studied,
on the installed virtual kernel. Those that are classified have round trips and seeds that no known
one has, and are made on whatever kernel or engine the study is asked to run on. Shorter traces are
the beginnings of these, as in the thesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from ccbench.classify.setting import SETTINGS, Setting
from ccbench.classify.training import CCAS, VARIATIONS, Variation, scenario, trace

if TYPE_CHECKING:
    from ccbench.run import Run
    from ccbench.scenario import Scenario
    from ccbench.studies.study import Rows

__all__ = ["CLEAN", "CONDITIONS", "KNOWN", "SERVER", "clean", "known", "measure", "tested"]

#: Paths without loss, and nobody else there.
CLEAN = "clean"
#: The condition of the traces that are known.
KNOWN = "known"

#: Under what conditions traces are classified. Their round trips are those of no known trace.
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

#: What belongs to one server, and has one vote: columns of :func:`measure`.
SERVER = ["condition", "variation", "seed", "cca"]

#: Greatest length of a trace, in seconds.
_LONGEST_S = 50.0
_KNOWN_SEEDS = (1, 2)
_TESTED_SEEDS = (101, 102)

#: The quick version's.
_QUICK_S = 20.0
_QUICK_CCAS = ("bbr", "cubic", "reno", "vegas")
_QUICK_SETTINGS = SETTINGS[:2]


@dataclass(frozen=True, kw_only=True)
class _Trace:
    """What a scenario is for."""

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


def known(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of the traces that are known."""
    return tuple(one.scenario for one in _known(quick=quick))


def tested(*, quick: bool) -> tuple[Scenario, ...]:
    """Return the scenarios of the traces that are classified."""
    return tuple(one.scenario for one in _tested(quick=quick))


def clean(*, quick: bool) -> tuple[Scenario, ...]:
    """Return those of them on clean paths."""
    return tuple(one.scenario for one in _tested(quick=quick) if one.condition == CLEAN)


def measure(run: Run) -> Rows:
    """Return one row: the columns of :data:`SERVER`, ``setting``, and the ``trace``."""
    one = _plan()[run.scenario]
    return [
        {
            "condition": one.condition,
            "variation": one.variation.name,
            "seed": one.seed,
            "cca": one.cca,
            "setting": one.setting.name,
            "trace": trace(run, one.variation, duration_s=one.duration_s),
        }
    ]


@cache
def _known(*, quick: bool) -> tuple[_Trace, ...]:
    if quick:
        return _all({KNOWN: VARIATIONS[:2]}, (1,), quick=True)
    return _all({KNOWN: VARIATIONS}, _KNOWN_SEEDS, quick=False)


@cache
def _tested(*, quick: bool) -> tuple[_Trace, ...]:
    if quick:
        noisiest = list(CONDITIONS)[-1]
        few = {CLEAN: CONDITIONS[CLEAN][:1], noisiest: CONDITIONS[noisiest]}
        return _all(few, (101,), quick=True)
    return _all(CONDITIONS, _TESTED_SEEDS, quick=False)


def _all(
    conditions: dict[str, tuple[Variation, ...]], seeds: tuple[int, ...], *, quick: bool
) -> tuple[_Trace, ...]:
    settings, ccas = (_QUICK_SETTINGS, _QUICK_CCAS) if quick else (SETTINGS, CCAS)
    return tuple(
        _Trace(
            condition=condition,
            variation=variation,
            setting=setting,
            cca=cca,
            duration_s=_QUICK_S if quick else _LONGEST_S,
            seed=seed,
        )
        for condition, variations in conditions.items()
        for variation, setting, cca, seed in product(variations, settings, ccas, seeds)
    )


@cache
def _plan() -> dict[Scenario, _Trace]:
    """Return what each scenario is for."""
    return {
        one.scenario: one
        for quick in (False, True)
        for one in (*_known(quick=quick), *_tested(quick=quick))
    }
