# SPDX-License-Identifier: Apache-2.0
"""Running a study, and the files that it leaves."""

from __future__ import annotations

import json
import math
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench import raygen
from ccbench.base import durable, validation
from ccbench.base.errors import EngineError, InputError
from ccbench.base.sealed import file_digest, sealed
from ccbench.emulate import DEFAULT_STORE, resolve, run_many
from ccbench.studies.catalogue import get
from ccbench.studies.study import SearchStudy, SimulationStudy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, Store
    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen import Progress, SearchConfig, SearchResult
    from ccbench.run.run import Run
    from ccbench.studies.study import Comparison, Findings, Rows, Study

__all__ = ["StudyResult", "run_study"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """What came of a study, and what made it.

    Parameters
    ----------
    study : Study, SearchStudy or SimulationStudy
        What was studied.
    quick : bool
        Whether in its quick version, whose numbers are not meant to agree with anything.
    full : bool
        Whether in a version as large as the published.
    findings : Findings
        Table, figure and comparisons.
    seeds : tuple of int
        Those of all runs, in ascending order.
    provenance : mapping
        JSON-able values that say what ran it, among them ``ccbench`` (the version), ``engine`` and
        ``engine_version``.

    Examples
    --------
    >>> result = run_study("ware-3.2", quick=True)  # doctest: +SKIP
    >>> [comparison.verdict for comparison in result.findings.comparisons]  # doctest: +SKIP
    """

    study: Study | SearchStudy | SimulationStudy
    quick: bool
    full: bool
    findings: Findings
    seeds: tuple[int, ...]
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but table and figure as JSON-able values; NaN becomes None."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "publication": self.study.info.publication,
            "part": self.study.info.part,
            "quick": self.quick,
            "full": self.full,
            "comparisons": [_described(one) for one in self.findings.comparisons],
            "seeds": list(self.seeds),
            "provenance": dict(self.provenance),
        }

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the table, the figures, and the comparisons with what made them.

        Parameters
        ----------
        folder : path
            Where to; made with its parents.

        Returns
        -------
        tuple of Path
            The files ``NAME.csv``, ``NAME.png``, further figures ``NAME-SHORT.png`` if there are
            any, and ``NAME.json``. Each is there as a whole or not at all, and takes the place of
            one that is there. The last one has the SHA-256 of the others (``files``) and of all
            that it says itself (``sha256``).
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        name, findings = self.study.name, self.findings
        csv, description = folder / f"{name}.csv", folder / f"{name}.json"
        figures = {folder / f"{name}.png": findings.figure}
        for short, figure in findings.more_figures.items():
            figures[folder / f"{name}-{short}.png"] = figure
        digests = {}
        with durable.new_file(csv) as temporary:
            findings.table.to_csv(temporary, index=False)
            digests[csv.name] = file_digest(temporary.read_bytes())
        for png, figure in figures.items():
            with durable.new_file(png) as temporary:
                figure.savefig(temporary, format="png", dpi=150)
                digests[png.name] = file_digest(temporary.read_bytes())
        document = sealed({**self.to_dict(), "files": digests})
        durable.write_text(description, json.dumps(document, indent=2, allow_nan=False) + "\n")
        return csv, *figures, description


def _described(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON-able values; what is no finite number becomes None."""
    published = comparison.published
    return {
        "what": comparison.what,
        "ours": _finite(comparison.value),
        "half_width": _finite(comparison.half_width),
        "unit": comparison.unit,
        "published": published.text,
        "where": published.where,
        "kind": published.kind,
        "low": _finite(published.low),
        "high": _finite(published.high),
        "verdict": comparison.verdict,
        "significant": comparison.is_significant,
        "note": comparison.note,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def run_study(  # noqa: PLR0913 - choices that are independent, all by keyword
    study: str | Study | SearchStudy | SimulationStudy,
    *,
    quick: bool = False,
    full: bool = False,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> StudyResult:
    """Run what a study needs, as far as the store does not have it, and conclude.

    Parameters
    ----------
    study : str, Study, SearchStudy or SimulationStudy
        A name that :func:`~ccbench.studies.names` lists, or a study of one's own: that, or the
        file that sets it (:func:`~ccbench.studies.study_in`).
    quick : bool
        Whether to run a small version that takes seconds.
    full : bool
        Whether to run one as large as the published, where the usual one is smaller.
    engine, executor, jobs, store
        As in :func:`ccbench.emulate.run_many`. A study that names its engines uses these, and its
        references run on the installed virtual kernel.
    fresh : bool
        Whether to run even what the store has. Searches then leave the store alone.
    on_progress : callable, optional
        Is called now and then with the share that is done, 0 to 1. An exception that it raises ends
        the study; what was finished is in the store.

    Returns
    -------
    StudyResult
        What came of it.

    Raises
    ------
    InputError
        If there is no study of this name, or `full` one.
    MissingRequirement
        If the engine is not installed.
    EngineError
        If a run fails, or cannot be measured. Of a search, if a whole generation fails.

    Examples
    --------
    >>> result = run_study("ware-3.2", quick=True)  # doctest: +SKIP
    >>> result.save("studies")  # doctest: +SKIP
    """
    if isinstance(study, str):
        study = get(study)
    if quick and full:
        raise validation.bad("full", full, "left out beside quick", "leave out one of the two")
    if isinstance(study, SimulationStudy):
        simulate = partial(_simulated, study, quick=quick, full=full, jobs=jobs)
        return simulate(store=store, fresh=fresh, report=on_progress)
    engine = resolve(engine)
    engines = [engine]
    report = on_progress or _silent
    where: dict[str, Any] = {"engine": engine, "executor": executor, "jobs": jobs}
    if isinstance(study, SearchStudy):
        searches = study.searches(quick=quick, full=full)
        if full and searches == study.searches(quick=False, full=False):
            raise _no_full_version(study, full=full)
        search = partial(raygen.search, **where, store=None if fresh else store)
        findings = study.conclude(_found(searches, search, report))
        seeds = {one.seed for one in searches}
    else:
        if full:
            raise _no_full_version(study, full=full)
        scenarios = study.scenarios(quick=quick)
        engines = [resolve(name) for name in study.engines] or engines
        parts = [(one, scenarios) for one in engines]
        if study.references is not None:
            of_reference = resolve("kernel")
            parts.insert(0, (of_reference, study.references(quick=quick)))
            if of_reference.version() != engine.version():
                engines.insert(0, of_reference)
        rows: Rows = []
        # All are made first, which checks whether each engine can run the scenarios.
        batches = [
            run_many(some, **{**where, "engine": one}, store=store, fresh=fresh)
            for one, some in parts
        ]
        for i, ((_, some), runs) in enumerate(zip(parts, batches, strict=True)):
            with closing(runs):
                rows += _measured(study, some, runs, partial(_part, report, i, len(parts)))
        findings = study.conclude(pd.DataFrame(rows))
        seeds = {scenario.seed for _, some in parts for scenario in some}
    return StudyResult(
        study=study,
        quick=quick,
        full=full,
        findings=findings,
        seeds=tuple(sorted(seeds)),
        provenance=_provenance(engines),
    )


def _simulated(  # noqa: PLR0913 - as those of run_study
    study: SimulationStudy,
    *,
    quick: bool,
    full: bool,
    jobs: int | None,
    store: Store | None,
    fresh: bool,
    report: Callable[[float], None] | None,
) -> StudyResult:
    """Run a study of data centres on this machine, as far as the store does not have it."""
    from ccbench.datacenter.case import run_cases  # noqa: PLC0415 - only these studies need it
    from ccbench.datacenter.store import SimulationStore, core_version  # noqa: PLC0415

    if full:
        raise _no_full_version(study, full=full)
    kept = None
    if store is not None:
        kept = SimulationStore(store.root and store.root / "simulations")
    cases = study.cases(quick=quick)
    rows = run_cases(cases, study.measure, jobs=jobs, store=kept, fresh=fresh, on_progress=report)
    findings = study.conclude(pd.DataFrame([row for of_one in rows for row in of_one]))
    release = version("ccbench")
    return StudyResult(
        study=study,
        quick=quick,
        full=False,
        findings=findings,
        seeds=tuple(sorted({case.seed for case in cases})),
        provenance={"ccbench": release, "engine": "bfc", "engine_version": core_version()},
    )


def _part(report: Callable[[float], None], done: int, parts: int, share: float) -> None:
    """Report the share of a part, after those that are done, as one of the whole."""
    report((done + share) / parts)


def _provenance(engines: list[Engine]) -> dict[str, Any]:
    """Return what ran a study; of several engines also what each of them is."""
    of_each = [engine.provenance() for engine in engines]
    if len(of_each) == 1:
        return of_each[0]
    joined = {
        name: ", ".join(str(one[name]) for one in of_each) for name in ("engine", "engine_version")
    }
    return {"ccbench": of_each[0]["ccbench"], **joined, "engines": of_each}


def _measured(
    study: Study,
    scenarios: tuple[Scenario, ...],
    runs: Iterable[tuple[int, Run]],
    report: Callable[[float], None],
) -> Rows:
    """Return the rows of all runs, in the order of the scenarios."""
    rows: list[Rows] = [[] for _ in scenarios]
    total_s = sum(scenario.duration_s for scenario in scenarios)
    done_s = 0.0
    for i, run in runs:
        try:
            rows[i] = study.measure(run)
        except InputError as error:  # the run is to blame, not what the user wrote
            raise EngineError(f"{study.name}, {run.scenario.name}: {error}") from error
        done_s += run.scenario.duration_s
        report(done_s / total_s)
    return [row for of_one in rows for row in of_one]


def _found(
    searches: tuple[SearchConfig, ...],
    search: Callable[..., SearchResult],
    report: Callable[[float], None],
) -> list[SearchResult]:
    """Search, one after the other, and return what was found."""
    total = sum(config.planned for config in searches)
    done = 0
    found = []
    for config in searches:

        def show(now: Progress, done: int = done, planned: int = config.planned) -> None:
            report((done + now.fraction * planned) / total)

        found.append(search(config, on_progress=show))
        done += config.planned
        report(done / total)
    return found


def _no_full_version(study: Study | SearchStudy | SimulationStudy, *, full: bool) -> InputError:
    allowed = f"left out for {study.name}"
    return validation.bad("full", full, allowed, "its usual version is all there is")


def _silent(_: float) -> None:
    """Show nothing."""
