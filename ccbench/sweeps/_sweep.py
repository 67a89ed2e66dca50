# SPDX-License-Identifier: Apache-2.0
"""Sweeps: runs of a scenario with all combinations of the values of some settings."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ccbench import emulate
from ccbench.base import validation
from ccbench.base.random_streams import repetition_seeds
from ccbench.emulate import CampaignPlan
from ccbench.emulate.progress import shown
from ccbench.experiment.scenario import Scenario
from ccbench.experiment.setting_paths import changed, check_path, expanded, is_value, plain
from ccbench.metrics import Part, column_of, least_log, of_objects
from ccbench.run import scenario_sources
from ccbench.sweeps.metrics import harm_scenarios, metrics_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ccbench.emulate import Engine, Store
    from ccbench.experiment.setting_paths import Value
    from ccbench.metrics import Metric
    from ccbench.run.run import Run

__all__ = ["Combination", "Sweep", "SweepPlan", "sweep"]

_REPEAT = validation.Range(1, 10_000)
#: Maximum number of runs of a sweep.
_MOST_RUNS = 100_000


@dataclass(frozen=True)
class Combination:
    """A combination of a sweep: the values of its settings and the resulting scenario."""

    values: Mapping[str, Value]
    scenario: Scenario


class _Point(NamedTuple):
    """The numbers of a case and of one of its repetitions."""

    case: int
    repetition: int


@dataclass(frozen=True, kw_only=True)
class SweepPlan(CampaignPlan):
    """The extent and expected cost of a sweep, at most: combinations may prove to be exact.

    Attributes
    ----------
    combinations : int
        Number of combinations of values.
    """

    combinations: int


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A scenario, the settings to vary, and the metrics.

    Parameters
    ----------
    document : mapping
        Settings of the scenario as in a TOML file. A `queue_bdp` refers to the rate and the
        round-trip time of each combination.
    vary : mapping
        Values of the settings to vary, by path: ``{"rtt_ms": [10, 40], "flows.1.cca": ["cubic",
        "bbr"]}``. The sweep runs every combination; the last setting varies fastest. Values may
        also be parts, ``{"bottlenecks.0.burst_loss": [BurstLoss.of(0.01, 5), BurstLoss.of(0.01,
        20)]}``, and tuples in place of lists.
    repeat : int
        Runs of each combination. The first has the scenario's own seed, see
        :func:`ccbench.base.random_streams.repetition_seeds`.
    metrics : sequence of str
        Keys of :data:`ccbench.sweeps.METRICS`. They determine the records of the runs.
    beta : sequence of int
        For the metric ``harm``: positions of the groups of flows that may be harmed. All others are
        alpha. Default: as in :func:`ccbench.harm.divided`, all but the first may be harmed.
    base_dir : path
        Base of relative file names in the document.

    Raises
    ------
    InputError
        If the document or a combination is not a valid scenario, a path is not a setting, or
        another value is out of range.

    Examples
    --------
    >>> sweep = Sweep(
    ...     document={
    ...         "flows": [{"cca": "bbr"}, {"cca": "cubic"}],
    ...         "bottlenecks": [{"bandwidth_mbps": 12, "queue_bdp": 1}],
    ...         "rtt_ms": 40,
    ...         "duration_s": 60,
    ...     },
    ...     vary={"rtt_ms": [10, 100], "bottlenecks.0.queue_bdp": [1, 2]},
    ... )
    >>> [case.scenario.path.bottlenecks[0].queue_packets for case in sweep.cases]
    [10, 20, 100, 200]
    """

    document: Mapping[str, Any]
    vary: Mapping[str, Sequence[Value]]
    repeat: int = 1
    metrics: Sequence[str] = ("throughput",)
    beta: Sequence[int] = ()
    base_dir: Path = field(default=Path())

    def __post_init__(self) -> None:
        Scenario.from_dict(self.document, self.base_dir)  # report errors of the document first
        validation.whole("repeat", self.repeat, _REPEAT, example=5)
        object.__setattr__(self, "vary", self._checked_vary())
        chosen = tuple(metric.name for metric in metrics_named(self.metrics))
        object.__setattr__(self, "metrics", chosen)
        step = "write for example [0]"
        beta = validation.several("beta", self.beta, "positions of groups of flows", step)
        object.__setattr__(self, "beta", beta)
        runs = self.repeat * math.prod(map(len, self.vary.values()))
        if runs > _MOST_RUNS:
            allowed = f"at most {_MOST_RUNS} in all"
            raise validation.bad("runs", runs, allowed, "vary less, or split the sweep")
        self._scenarios(self.cases[0].scenario)  # report errors before a run

    @classmethod
    def of(cls, scenario: str | Path | Mapping[str, Any], **settings: Any) -> Sweep:
        """Create a sweep from a scenario file, a saved run, or a dictionary of settings.

        Raises
        ------
        InputError
            If the file is unreadable, or as for :class:`Sweep`.

        Examples
        --------
        >>> len(Sweep.of("examples/bbr-vs-cubic.toml", vary={"rtt_ms": [10, 20, 40]}).cases)
        3
        """
        given: object = scenario
        if isinstance(given, Mapping):
            return cls(document=given, **settings)
        if not isinstance(given, str | Path):
            step = "a Scenario has its queue in packets"
            allowed = "the path of a TOML file, or a dictionary of its settings"
            raise validation.bad("scenario", given, allowed, step)
        source = scenario_sources.read(Path(given))
        source.scenario()
        return cls(document=source.document, base_dir=source.folder, **settings)

    @property
    def measured(self) -> tuple[Metric, ...]:
        """Metrics of the sweep."""
        return metrics_named(self.metrics)

    @cached_property
    def cases(self) -> tuple[Combination, ...]:
        """All combinations; the last setting varies fastest."""
        return tuple(
            self._case(dict(zip(self.vary, values, strict=True)))
            for values in itertools.product(*self.vary.values())
        )

    def check(self, engine: Engine) -> None:
        """Check that an engine can run all combinations.

        Raises
        ------
        InputError
            If it cannot.
        """
        for case in self.cases:
            for scenario in self._scenarios(replace(case.scenario, queue_log=False)):
                with validation.within(f"{scenario.name}: "):
                    engine.check(scenario)

    def plan(
        self,
        *,
        engine: str | Engine = "kernel",
        store: Store | None = emulate.DEFAULT_STORE,
    ) -> SweepPlan:
        """Return the extent of the sweep and its expected cost, based on earlier runs.

        Without earlier runs on this machine, the speed is measured with part of a run.

        Raises
        ------
        InputError
            If the engine cannot run a combination.

        Examples
        --------
        >>> Sweep.of("examples/abc.toml", vary={"rtt_ms": [10, 20]}).plan().runs  # doctest: +SKIP
        2
        """
        resolved = emulate.resolve(engine)
        self.check(resolved)
        campaign = emulate.Campaign(engine=resolved, store=store)
        seeds = {i: self._seeds(i) for i in range(len(self.cases))}
        plan = campaign.plan(campaign.seeded(self._needs(), seeds))
        return SweepPlan(combinations=len(self.cases), **plan.to_dict())

    def run(self, **campaign: Any) -> pd.DataFrame:
        """Run all combinations and return the table that :func:`sweep` describes.

        An interrupted sweep resumes, because finished runs are in the store. Notebooks and
        terminals display a progress bar.

        Parameters
        ----------
        **campaign
            Settings of a :class:`~ccbench.emulate.Campaign`: `engine`, `store`, `executor`, `jobs`.

        Raises
        ------
        InputError
            If the engine cannot run a combination; then nothing is run.
        EngineError
            If runs fail. All other runs are finished and stored.

        Examples
        --------
        >>> Sweep.of("examples/abc.toml", vary={"rtt_ms": [10, 20]}).run()  # doctest: +SKIP
        """
        needs, seeds = self._needs(), {i: self._seeds(i) for i in range(len(self.cases))}
        with shown("sweep") as on_progress:
            running = emulate.Campaign(on_progress=on_progress, **campaign)
            resolved = emulate.resolve(running.engine)
            self.check(resolved)
            repeated = running.repeated(
                needs,
                seeds,
                lambda _, *runs: self._measured(runs),
                named=lambda key: f"{self.cases[key[0]].scenario.name}, repetition {key[1]}",
            )
        points = [_Point(i, j) for i in needs for j in range(self.repeat)]
        measured = {point: repeated[point.case].of(point.repetition) for point in points}
        is_exact = [repeated[i].is_exact for i in needs]
        table = pd.DataFrame(
            [row for point in points for row in self._rows(point, measured[point])]
        )
        table.attrs = {
            "sweep": self.to_dict(),
            "objects": self._objects(measured.values()),
            "exact": is_exact,
            "provenance": resolved.provenance(),
        }
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return the sweep as a dictionary of JSON-able values."""
        return {
            "scenario": dict(self.document),
            "vary": {path: [*map(plain, values)] for path, values in self.vary.items()},
            "repeat": self.repeat,
            "metrics": list(self.metrics),
            "beta": list(self.beta),
        }

    def _checked_vary(self) -> dict[str, tuple[Value, ...]]:
        step = 'write for example {"rtt_ms": [10, 40]}'
        given = validation.pairs("vary", self.vary, step)
        if not given:
            raise validation.bad("vary", given, "one setting or more", step)
        checked: dict[str, tuple[Value, ...]] = {}
        set_by: dict[str, str] = {}
        for path, candidates in given.items():
            with validation.within("vary: "):
                check_path(self.document, str(path))
            for one in expanded(self.document, str(path)):
                if (other := set_by.setdefault(one, str(path))) != path:
                    step = f"it also sets {one}: keep one of them"
                    raise validation.bad("vary", path, f"left out with {other}", step)
            allowed = "one value or more: numbers, words, true or false, or parts of a scenario"
            values = validation.several(f"vary: {path}", candidates, allowed, step)
            if not values or not all(map(is_value, values)):
                raise validation.bad(f"vary: {path}", list(values), allowed, step)
            for value, times in Counter(values).items():
                if times > 1:
                    allowed = "given once"
                    raise validation.bad(f"vary: {path}", value, allowed, "remove the others")
            if path == "seed" and self.repeat > 1:
                allowed = "left out with repeat, which sets the seed of each repetition"
                step = "remove one of the two"
                raise validation.bad("vary: seed", list(values), allowed, step)
            checked[str(path)] = values
        return checked

    def _case(self, values: Mapping[str, Value]) -> Combination:
        name = _words(values)
        with validation.within(f"{name}: "):
            scenario = Scenario.from_dict(changed(self.document, values), self.base_dir)
        return Combination(values, replace(scenario, name=name))

    def _needs(self) -> dict[int, Callable[[int], tuple[Scenario, ...]]]:
        """Return the scenarios of each case with a seed."""
        log = least_log(self.measured)

        def needs(case: Combination) -> Callable[[int], tuple[Scenario, ...]]:
            recorded = replace(case.scenario, queue_log=log)
            return lambda seed: self._scenarios(replace(recorded, seed=seed))

        return {i: needs(case) for i, case in enumerate(self.cases)}

    def _seeds(self, case: int) -> tuple[int, ...]:
        return repetition_seeds(self.cases[case].scenario.seed, self.repeat)

    def _scenarios(self, scenario: Scenario) -> tuple[Scenario, ...]:
        """Return the scenarios to run for a case: its own, and those for harm."""
        needs_solo = [metric.needs_solo for metric in self.measured]
        if not any(needs_solo):
            return (scenario,)
        solo, competing = harm_scenarios(scenario, tuple(self.beta))
        return (competing if all(needs_solo) else scenario, solo, competing)

    def _measured(self, runs: Sequence[Run]) -> list[pd.Series[float]]:
        """Return the values of each metric from the runs of one repetition."""
        part, *pair = map(Part, runs)
        return [
            metric.of(*pair) if metric.needs_solo else of_objects(metric, part)
            for metric in self.measured
        ]

    def _objects(self, measured: Iterable[Sequence[pd.Series[float]]]) -> dict[str, list[str]]:
        """Return the names of the objects of each metric that is not one of flows, in order."""
        names: dict[str, dict[str, None]] = {}
        for values in measured:
            for metric, of_metric in zip(self.measured, values, strict=True):
                if metric.scope != "flow":
                    names.setdefault(metric.name, {}).update(dict.fromkeys(of_metric.index))
        return {metric: [*objects] for metric, objects in names.items()}

    def _rows(self, point: _Point, values: Sequence[pd.Series[float]]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a repetition: one in all, or one per group of flows."""
        case = self.cases[point.case]
        seeds = self._seeds(point.case)
        by_metric = dict(zip(self.measured, values, strict=True))
        by_group = any(metric.scope == "flow" for metric in self.measured)
        for i, flow in enumerate(case.scenario.flows[: None if by_group else 1]):
            row = {path: _cell(value) for path, value in case.values.items()}
            row |= {"repetition": point.repetition, "seed": seeds[point.repetition]}
            if by_group:
                row |= {"group": i, "label": flow.name}
            for metric, results in by_metric.items():
                if metric.scope == "flow":
                    row[metric.column] = results[i]
                else:
                    row |= {column_of(metric, str(of)): value for of, value in results.items()}
            yield row


def sweep(
    scenario: str | Path | Mapping[str, Any],
    *,
    vary: Mapping[str, Sequence[Value]],
    repeat: int = 1,
    metrics: Sequence[str] = ("throughput",),
    beta: Sequence[int] = (),
    **campaign: Any,
) -> pd.DataFrame:
    """Run a scenario with all combinations of the values of some settings.

    An interrupted sweep resumes, because finished runs are in the store. Notebooks and terminals
    display a progress bar.

    Parameters
    ----------
    scenario : path or mapping
        A scenario file, or its content as a dictionary. A :class:`~ccbench.Scenario` is not
        allowed, because it has converted `queue_bdp` to packets, which would not follow the rate
        and the round-trip time.
    vary, repeat, metrics, beta
        Settings to vary, repetitions and metrics, as in :class:`Sweep`.
    **campaign
        As in :meth:`Sweep.run`.

    Returns
    -------
    DataFrame
        A row per combination and repetition and, with metrics of groups of flows, per group.
        Columns: the varied settings, by path; ``repetition``, from 0; ``seed``; for groups,
        ``group`` (the position) and ``label``; a column per metric with its unit, such as
        ``throughput_mbps``. Metrics of a run are the same in all its rows. ``attrs`` contains
        ``sweep``, the settings; ``exact``, whether every seed gives the same runs, for each
        combination (:attr:`Run.is_exact <ccbench.run.run.Run.is_exact>`); and ``provenance``, the
        origin of the runs.

    Raises
    ------
    InputError
        If a value is out of range, or the engine cannot run a combination; then nothing is run.
    EngineError
        If runs fail. All other runs are finished and stored.

    Examples
    --------
    >>> import ccbench
    >>> table = ccbench.sweep(
    ...     "examples/bbr-vs-cubic.toml",
    ...     vary={"rtt_ms": [10, 40]},
    ...     repeat=5,
    ...     metrics=["share"],
    ... )  # doctest: +SKIP
    >>> table.groupby(["rtt_ms", "label"])["share"].mean()  # doctest: +SKIP
    """
    settings = {"vary": vary, "repeat": repeat, "metrics": metrics, "beta": beta}
    return Sweep.of(scenario, **settings).run(**campaign)


def _cell(value: Value) -> float | str:
    """Return a value for a table, in which parts of a scenario are words."""
    return value if isinstance(value, float | int | str) else str(value)


def _words(values: Mapping[str, Value]) -> str:
    """Return a description of the values of settings.

    Examples
    --------
    >>> _words({"rtt_ms": 40, "flows.0.cca": "bbr"})
    "rtt_ms = 40, flows.0.cca = 'bbr'"
    """
    return ", ".join(f"{path} = {value!r}" for path, value in values.items())
