# SPDX-License-Identifier: Apache-2.0
"""Execution of studies, and their result files."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from ccbench import raygen
from ccbench.base import durable, validation
from ccbench.base.code_digests import code_digest
from ccbench.base.errors import InputError, MissingRequirement
from ccbench.base.sealed import file_digest, sealed
from ccbench.base.versions import installed_version
from ccbench.emulate import DEFAULT_STORE, Campaign, CampaignPlan, resolve
from ccbench.emulate.registry import info_of
from ccbench.studies.catalogue import get
from ccbench.studies.study import ModelStudy, SearchStudy, SimulationStudy, grouped
from ccbench.studies.style import concluded, save_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, Store
    from ccbench.experiment.scenario import Scenario
    from ccbench.raygen import Progress, SearchConfig, SearchResult
    from ccbench.run.run import Run
    from ccbench.studies.study import AnyStudy, Comparison, Findings, Rows, Study

__all__ = ["StudyResult", "plan_study", "run_study"]

#: Scenarios that are measured together.
_Groups: TypeAlias = "tuple[tuple[Scenario, ...], ...]"


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """Findings of a study and their provenance.

    Parameters
    ----------
    study : Study, SearchStudy, SimulationStudy or ModelStudy
        The study.
    quick : bool
        Whether this is the quick version, whose numbers need not agree with anything.
    full : bool
        Whether this is a version as large as the published one.
    findings : Findings
        Table, figure and comparisons.
    seeds : tuple of int
        Seeds of all runs, in ascending order.
    provenance : mapping
        JSON-compatible description of the software, including ``ccbench`` (the version), ``engine``
        and ``engine_version``.

    Examples
    --------
    >>> result = run_study("ware-3.2", quick=True)  # doctest: +SKIP
    >>> [comparison.verdict for comparison in result.findings.comparisons]  # doctest: +SKIP
    """

    study: AnyStudy
    quick: bool
    full: bool
    findings: Findings
    seeds: tuple[int, ...]
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but table and figures as JSON-compatible values; NaN becomes None."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "publication": self.study.info.publication,
            "part": self.study.info.part,
            "quick": self.quick,
            "full": self.full,
            "comparisons": [_described(comparison) for comparison in self.findings.comparisons],
            "seeds": list(self.seeds),
            "provenance": dict(self.provenance),
        }

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write table, figures, and comparisons with their provenance.

        Parameters
        ----------
        folder : path
            Output folder; created with its parents.

        Returns
        -------
        tuple of Path
            The files ``NAME.csv``, ``NAME.png`` and ``NAME.svg``, further figures
            ``NAME-SHORT.png`` and ``NAME-SHORT.svg`` if any, and ``NAME.json``. Each is written
            atomically and replaces an existing file. The last contains the SHA-256 of the others
            (``files``) and of its own content (``sha256``).
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        name, findings = self.study.name, self.findings
        csv, description = folder / f"{name}.csv", folder / f"{name}.json"
        with durable.new_file(csv) as temporary:
            findings.table.to_csv(temporary, index=False)
        files = [csv]
        for short, figure in {"": findings.figure, **findings.more_figures}.items():
            for suffix in (".png", ".svg"):
                files.append(folder / f"{name}{short and '-'}{short}{suffix}")
                save_figure(figure, files[-1])
        digests = {file.name: file_digest(file.read_bytes()) for file in files}
        document = sealed({**self.to_dict(), "files": digests})
        durable.write_text(description, json.dumps(document, indent=2, allow_nan=False) + "\n")
        return *files, description


def _described(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON-compatible values; non-finite numbers become None."""
    published = comparison.published
    low, high = map(_finite, comparison.interval)
    return {
        "quantity": comparison.quantity,
        "measured": _finite(comparison.value),
        "half_width": _finite(comparison.half_width),
        "interval": None if low is None else [low, high],
        "n_cases": comparison.n_cases,
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


def run_study(  # noqa: PLR0913 - independent options, all by keyword
    study: str | AnyStudy,
    *,
    quick: bool = False,
    full: bool = False,
    cca: str | None = None,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> StudyResult:
    """Run a study's experiments, except those in the store, and conclude.

    Parameters
    ----------
    study : str, Study, SearchStudy or SimulationStudy
        A name listed by :func:`~ccbench.studies.names`, or a user's own study: the object, or the
        file that defines it (:func:`~ccbench.studies.study_in`).
    quick : bool
        Run a small version that takes seconds.
    full : bool
        Run a version as large as the published one, if the usual one is smaller.
    cca : str, optional
        Study another congestion control, if the study is about one.
    engine, executor, jobs, store
        As in :func:`ccbench.emulate.run_many`. A study that names its engines or kernels uses
        those, and its references run on the installed virtual kernel.
    fresh : bool
        Run everything, even if stored. Searches then do not use the store.
    on_progress : callable, optional
        Called occasionally with the completed fraction, 0 to 1. An exception that it raises ends
        the study; finished runs are in the store.

    Raises
    ------
    InputError
        If there is no study of this name, or no `full` version.
    MissingRequirement
        If the engine is not installed.
    EngineError
        If a run fails or cannot be measured; for a search, if a whole generation fails.

    Examples
    --------
    >>> result = run_study("ware-3.2", quick=True)  # doctest: +SKIP
    >>> result.save("studies")  # doctest: +SKIP
    """
    study = _chosen(study, cca, engine)
    if quick and full:
        raise validation.bad("full", full, "left out with quick", "leave out one of the two")
    if isinstance(study, ModelStudy):
        return _computed(study, quick=quick, full=full)
    if isinstance(study, SimulationStudy):
        simulate = partial(_simulated, study, quick=quick, full=full, jobs=jobs)
        return simulate(store=store, fresh=fresh, report=on_progress)
    engine = resolve(engine)
    engines = [engine]
    report = on_progress or _silent
    execution: dict[str, Any] = {"engine": engine, "executor": executor, "jobs": jobs}
    if isinstance(study, SearchStudy):
        searches = study.searches(quick=quick, full=full)
        if full and searches == study.searches(quick=False, full=False):
            raise _no_full_version(study, full=full)
        search = partial(raygen.search, **execution, store=None if fresh else store)
        findings = concluded(study, _results(searches, search, report))
        seeds = {config.seed for config in searches}
    else:
        if full:
            raise _no_full_version(study, full=full)
        parts = _parts(study, engine, quick=quick)
        engines = _engines(study) or engines
        if study.references is not None and parts[0][0].version() != engine.version():
            engines.insert(0, parts[0][0])
        execution |= {"store": store, "fresh": fresh}
        campaigns = [({**execution, "engine": each}, own) for each, own in parts]
        rows, following = _rows(study, campaigns, execution, report)
        findings = concluded(study, pd.DataFrame(rows))
        measured = chain(*(own for _, own in parts), following)
        seeds = {scenario.seed for group in measured for scenario in group}
    return StudyResult(
        study=study,
        quick=quick,
        full=full,
        findings=findings,
        seeds=tuple(sorted(seeds)),
        provenance=_provenance(engines),
    )


def plan_study(  # noqa: PLR0913 - as in run_study
    study: str | AnyStudy,
    *,
    quick: bool = False,
    full: bool = False,
    cca: str | None = None,
    engine: str | Engine = "kernel",
    store: Store | None = DEFAULT_STORE,
) -> CampaignPlan:
    """Return the extent and the expected cost of :func:`run_study`, at most.

    Scenarios that depend on runs are not counted.

    Raises
    ------
    InputError
        As in :func:`run_study`, or for a study of simulated data centres or of models.

    Examples
    --------
    >>> plan_study("ware-3.2").runs  # doctest: +SKIP
    """
    study = _chosen(study, cca, engine)
    if isinstance(study, SimulationStudy | ModelStudy):
        allowed = "left out for simulated data centres and models, whose time is not estimated"
        raise validation.bad("dry run", study.name, allowed, "run it with quick first")
    resolved = resolve(engine)
    if isinstance(study, SearchStudy):
        searches = study.searches(quick=quick, full=full)
        return CampaignPlan.total(
            raygen.plan(config, engine=resolved, store=store) for config in searches
        )
    return CampaignPlan.total(
        Campaign(engine=each, store=store).plan(dict(enumerate(groups)))
        for each, groups in _parts(study, resolved, quick=quick)
    )


def _parts(study: Study, engine: Engine, *, quick: bool) -> list[tuple[Engine, _Groups]]:
    """Return the groups of scenarios of a study on each engine."""
    groups = study.groups(quick=quick)
    parts = [(each, groups) for each in _engines(study) or [engine]]
    if study.references is not None:
        parts.insert(0, (resolve("kernel"), grouped(study.references(quick=quick))))
    return parts


def _chosen(study: str | AnyStudy, cca: str | None, engine: str | Engine) -> AnyStudy:
    """Return a study by name, for another congestion control if one is given."""
    if isinstance(study, str):
        study = get(study)
    if cca is None:
        return study
    for_cca = getattr(study, "for_cca", None)
    if for_cca is None:
        allowed = f"left out for {study.name}, which is not about one congestion control"
        raise validation.bad("cca", cca, allowed, "remove it")
    changed: Study = for_cca(cca, resolve(engine))
    return changed


def _engines(study: Study) -> list[Engine]:
    """Return the engines that a study names."""
    kernel: Any = info_of("kernel").load()
    try:
        kernels = [kernel(kernel=release) for release in study.kernels]
    except InputError as error:  # a lack of this machine, not the user's input
        releases = ", ".join(study.kernels)
        raise MissingRequirement(f"{study.name} runs on Linux {releases}: {error}") from None
    return [*map(resolve, study.engines), *kernels]


def _simulated(  # noqa: PLR0913 - as in run_study
    study: SimulationStudy,
    *,
    quick: bool,
    full: bool,
    jobs: int | None,
    store: Store | None,
    fresh: bool,
    report: Callable[[float], None] | None,
) -> StudyResult:
    """Run a simulation study, except for stored simulations."""
    from ccbench.datacenter.case import run_cases  # noqa: PLC0415 - only these studies need it
    from ccbench.datacenter.store import SimulationStore, core_version  # noqa: PLC0415

    if full:
        raise _no_full_version(study, full=full)
    simulations = None
    if store is not None:
        simulations = SimulationStore(store.root and store.root / "simulations")
    cases = study.cases(quick=quick)
    rows = run_cases(
        cases, study.measure, jobs=jobs, store=simulations, fresh=fresh, on_progress=report
    )
    findings = concluded(study, pd.DataFrame([row for group in rows for row in group]))
    release = installed_version()
    return StudyResult(
        study=study,
        quick=quick,
        full=False,
        findings=findings,
        seeds=tuple(sorted({case.seed for case in cases})),
        provenance={"ccbench": release, "engine": "bfc", "engine_version": core_version()},
    )


def _computed(study: ModelStudy, *, quick: bool, full: bool) -> StudyResult:
    """Compute a study of models."""
    if full:
        raise _no_full_version(study, full=full)
    return StudyResult(
        study=study,
        quick=quick,
        full=False,
        findings=concluded(study, pd.DataFrame(study.rows(quick=quick))),
        seeds=(),
        provenance={
            "ccbench": installed_version(),
            "engine": "model",
            "engine_version": code_digest(study.conclude.__module__),
        },
    )


def _part(report: Callable[[float], None], done: int, parts: int, share: float) -> None:
    """Report the progress of a part as progress of the whole."""
    report((done + share) / parts)


def _provenance(engines: list[Engine]) -> dict[str, Any]:
    """Return the provenance of a study's runs; with several engines, also that of each engine."""
    of_each = [engine.provenance() for engine in engines]
    if len(of_each) == 1:
        return of_each[0]
    joined = {
        name: ", ".join(str(each[name]) for each in of_each)
        for name in ("engine", "engine_version")
    }
    return {"ccbench": of_each[0]["ccbench"], **joined, "engines": of_each}


def _rows(
    study: Study,
    campaigns: Sequence[tuple[dict[str, Any], _Groups]],
    after: dict[str, Any],
    report: Callable[[float], None],
) -> tuple[Rows, _Groups]:
    """Return the rows of a study, and the scenarios that depend on its runs.

    Parameters
    ----------
    study : Study
    campaigns : sequence of (dict, tuple of tuple of Scenario)
        The settings of each engine's campaign, and its groups of scenarios.
    after : dict
        The settings of the campaign of the scenarios that depend on runs.
    report : callable
        Called with the completed share.
    """
    for settings, groups in campaigns:  # report errors before a run
        Campaign(**settings).check(chain(*groups))
    rows: Rows = []
    stages = len(campaigns) + (study.follow_ups is not None)
    found: list[Scenario] = []
    for i, (settings, groups) in enumerate(campaigns):
        measured, further = _measured(study, groups, settings, partial(_part, report, i, stages))
        rows += measured
        found += further
    before = {scenario for _, groups in campaigns for scenario in chain(*groups)}
    following: dict[Scenario, None] = {}
    rest = 1.0  # of the last stage, of which each round of scenarios that follow reports a half
    while new := dict.fromkeys(each for each in found if each not in before | following.keys()):
        following |= new
        rest /= 2

        def show(share: float, rest: float = rest) -> None:
            _part(report, len(campaigns), stages, 1 - rest * (2 - share))

        measured, found = _measured(study, grouped(new), after, show)
        rows += measured
    report(1.0)
    return rows, grouped(following)


def _measured(
    study: Study, groups: _Groups, settings: dict[str, Any], report: Callable[[float], None]
) -> tuple[Rows, list[Scenario]]:
    """Return the rows of all groups of runs, and what follows them, in their order."""

    def measure(_: int, *runs: Run) -> tuple[Rows, tuple[Scenario, ...]]:
        return study.measure(*runs), () if study.follow_ups is None else study.follow_ups(*runs)

    measured = (
        Campaign(**settings, on_progress=lambda now: report(now.fraction))
        .measured(
            dict(enumerate(groups)),
            measure,
            named=lambda i: f"{study.name}, {groups[i][-1].name}",
        )
        .values()
    )
    rows = [row for own, _ in measured for row in own]
    return rows, [scenario for _, following in measured for scenario in following]


def _results(
    searches: tuple[SearchConfig, ...],
    search: Callable[..., SearchResult],
    report: Callable[[float], None],
) -> list[SearchResult]:
    """Run searches sequentially and return their results."""
    total = sum(config.planned for config in searches)
    done = 0
    results = []
    for config in searches:

        def show(now: Progress, done: int = done, planned: int = config.planned) -> None:
            report((done + now.fraction * planned) / total)

        results.append(search(config, on_progress=show))
        done += config.planned
        report(done / total)
    return results


def _no_full_version(study: AnyStudy, *, full: bool) -> InputError:
    allowed = f"left out for {study.name}"
    return validation.bad("full", full, allowed, "use its usual version")


def _silent(_: float) -> None:
    """Ignore progress."""
