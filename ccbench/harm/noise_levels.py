# SPDX-License-Identifier: Apache-2.0
"""Harm over levels of noise.

Harm between loss-based congestion controls depends on the level of noise, possibly including its
sign: without noise, one flow may take nearly all losses (phase effects, Floyd and Jacobson 1992).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench.base import validation
from ccbench.base.estimate import ERROR, fewest
from ccbench.harm.repetition import REPETITIONS, RepeatedHarm, repeat_each

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.harm.experiment import Experiment

__all__ = ["LEVELS", "NEGLIGIBLE", "Sensitivity", "sensitivity"]

#: Default levels, as multiples of an experiment's noise.
LEVELS = (0.0, 0.01, 0.1, 1.0, 10.0)

#: Largest negligible harm: beta's loss of a twentieth of the throughput that it has alone. The harm
#: of one CCA to itself varies by about as much between single runs, and `deployable` tolerates as
#: much.
NEGLIGIBLE = 0.05

_LEVEL = validation.Range(0, 1e6)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensitivity:
    """Harm of one experiment at several levels of noise.

    The intervals of all levels hold simultaneously with 95 % confidence (Bonferroni's correction).

    Attributes
    ----------
    experiment : Experiment
        The experiment with noise of level 1.
    levels : tuple of float
        Multiples of this noise in ascending order.
    harms : tuple of RepeatedHarm
        Harm at each level.
    """

    experiment: Experiment
    levels: tuple[float, ...]
    harms: tuple[RepeatedHarm, ...]

    @property
    def signs(self) -> tuple[int, ...]:
        """The sign of harm at each level that has an interval beyond :data:`NEGLIGIBLE`, or 0.

        A run without randomness is a single sample and has no interval, hence no sign.
        """
        estimates = [harm.headline[1] for harm in self.harms]
        return tuple((e.low > NEGLIGIBLE) - (e.high < -NEGLIGIBLE) for e in estimates)

    @property
    def sign_depends_on_noise(self) -> bool:
        """Whether harm is shown to be above 0 at one level and below 0 at another."""
        return {1, -1} <= set(self.signs)

    @property
    def largest(self) -> float:
        """Largest absolute harm in any interval; NaN without intervals."""
        ends = [abs(end) for harm in self.harms for end in harm.headline[1].interval]
        return max((end for end in ends if not math.isnan(end)), default=math.nan)

    def table(self) -> pd.DataFrame:
        """Return a table with a row per level.

        Returns
        -------
        DataFrame
            Columns ``level``; ``noise``, a description; ``repetitions``; ``exact``; ``harm``,
            ``low`` and ``high``, the median of :attr:`RepeatedHarm.headline` and its interval (NaN
            if there is none); and ``sign``, of :attr:`signs`.
        """
        rows = zip(self.levels, self.harms, self.signs, strict=True)
        return pd.DataFrame(
            [
                {
                    "level": level,
                    "noise": harm.noise.describe(),
                    "repetitions": len(harm.repetitions),
                    "exact": harm.is_exact,
                    "harm": harm.headline[1].value,
                    "low": harm.headline[1].low,
                    "high": harm.headline[1].high,
                    "sign": sign,
                }
                for level, harm, sign in rows
            ]
        )

    def repetitions(self) -> pd.DataFrame:
        """Return the table of all repetitions, as :meth:`RepeatedHarm.table` with ``level``."""
        tables = {level: of.table() for level, of in zip(self.levels, self.harms, strict=True)}
        return pd.concat(tables, names=["level", None]).reset_index("level")

    def to_dict(self) -> dict[str, Any]:
        """Return all values as a dictionary (JSON-able except for NaN)."""
        rows = zip(self.levels, self.signs, self.harms, strict=True)
        return {
            "levels": [{"level": level, "sign": s, **harm.to_dict()} for level, s, harm in rows],
            "negligible": NEGLIGIBLE,
            "largest": self.largest,
            "sign_depends_on_noise": self.sign_depends_on_noise,
        }


def sensitivity(
    experiment: Experiment,
    levels: Iterable[float] = LEVELS,
    *,
    repetitions: int | None = None,
    **settings: Any,
) -> Sensitivity:
    """Measure harm at several levels of noise.

    Parameters
    ----------
    experiment : Experiment
        An experiment with noise.
    levels : iterable of float
        Multiples of the experiment's noise, 0 or more.
    repetitions : int, optional
        Number of repetitions at each level. Default: as many as simultaneous intervals take, 8 for
        five levels.
    **settings
        As in :func:`~ccbench.harm.repeat_each`, for each level.

    Raises
    ------
    InputError
        If the experiment has no noise, or there are no levels or one is out of range.
    EngineError
        If a run fails.

    Examples
    --------
    >>> sensitivity(experiment, (0, 1), repetitions=2).table()  # doctest: +SKIP
    """
    if not experiment.path.noise:
        step = "leave out --no-noise (in Python, give the experiment noise)"
        raise validation.bad("noise", "none", "some, because levels are multiples of it", step)
    chosen = sorted(
        {validation.number("levels", level, _LEVEL, example=10) for level in tuple(levels)}
    )
    if not chosen:
        raise validation.bad("levels", (), "one or more", "write for example levels=(0, 1, 10)")
    error = ERROR / len(chosen)
    count = max(REPETITIONS, fewest(error)) if repetitions is None else repetitions
    path = experiment.path
    scaled = {
        level: replace(experiment, path=replace(path, noise=path.noise.scaled(level)))
        for level in chosen
    }
    harms = repeat_each(scaled, repetitions=count, error=error, **settings)
    return Sensitivity(experiment=experiment, levels=tuple(chosen), harms=tuple(harms.values()))
