# SPDX-License-Identifier: Apache-2.0
"""Running a study, and the files that it leaves."""

from __future__ import annotations

import json
import math
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ccbench import _atomic
from ccbench.emulate import DEFAULT_STORE, get_engine, run_many
from ccbench.errors import EngineError, InputError
from ccbench.studies.registry import get

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    from ccbench.emulate import Engine, Store
    from ccbench.scenario import Scenario
    from ccbench.studies.study import Findings, Rows, Study

__all__ = ["StudyResult", "run_study"]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """What came of a study, and what made it.

    Parameters
    ----------
    study : Study
        What was studied.
    quick : bool
        Whether in its quick version, whose numbers are not meant to agree with anything.
    findings : Findings
        Table, figure and comparisons.
    seeds : tuple of int
        Those of the scenarios, in ascending order.
    provenance : mapping
        JSON-able values that say what ran it, among them ``ccbench`` (the version), ``engine`` and
        ``engine_version``.

    Examples
    --------
    >>> result = run_study("ware-3.2", quick=True)  # doctest: +SKIP
    >>> [comparison.agrees for comparison in result.findings.comparisons]  # doctest: +SKIP
    """

    study: Study
    quick: bool
    findings: Findings
    seeds: tuple[int, ...]
    provenance: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but table and figure as JSON-able values; NaN becomes None."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "source": self.study.source,
            "quick": self.quick,
            "comparisons": [
                {
                    **asdict(comparison),
                    "ours": comparison.ours if math.isfinite(comparison.ours) else None,
                    "agrees": comparison.agrees,
                }
                for comparison in self.findings.comparisons
            ],
            "seeds": list(self.seeds),
            "provenance": dict(self.provenance),
        }

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the table, the figure, and the comparisons with what made them.

        Parameters
        ----------
        folder : path
            Where to; made with its parents.

        Returns
        -------
        tuple of Path
            The files ``NAME.csv``, ``NAME.png`` and ``NAME.json``. Each is there as a whole or not
            at all, and takes the place of one that is there.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        csv, png, description = (
            folder / f"{self.study.name}.{suffix}" for suffix in ("csv", "png", "json")
        )
        with _atomic.new_file(csv) as temporary:
            self.findings.table.to_csv(temporary, index=False)
        with _atomic.new_file(png) as temporary:
            self.findings.figure.savefig(temporary, format="png", dpi=150)
        with _atomic.new_file(description) as temporary:
            text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
            temporary.write_text(text + "\n", encoding="utf-8")
        return csv, png, description


def run_study(  # noqa: PLR0913 - choices that are independent, all by keyword
    study: str | Study,
    *,
    quick: bool = False,
    engine: str | Engine = "kernel",
    executor: Executor | None = None,
    jobs: int | None = None,
    store: Store | None = DEFAULT_STORE,
    fresh: bool = False,
    on_progress: Callable[[Scenario], None] | None = None,
) -> StudyResult:
    """Run what a study needs, as far as the store does not have it, and conclude.

    Parameters
    ----------
    study : str or Study
        A name that :func:`~ccbench.studies.names` lists, or a study of one's own.
    quick : bool
        Whether to run a small version that takes seconds.
    engine, executor, jobs, store, fresh
        As in :func:`ccbench.emulate.run_many`.
    on_progress : callable, optional
        Is called with each scenario that is done. An exception that it raises ends the study; what
        was finished is in the store.

    Returns
    -------
    StudyResult
        What came of it.

    Raises
    ------
    InputError
        If there is no study of this name.
    MissingRequirement
        If the engine is not installed.
    EngineError
        If a run fails, or cannot be measured.

    Examples
    --------
    >>> result = run_study("ware-3.2", quick=True)  # doctest: +SKIP
    >>> result.save("studies")  # doctest: +SKIP
    """
    if isinstance(study, str):
        study = get(study)
    if isinstance(engine, str):
        engine = get_engine(engine)
    scenarios = study.scenarios(quick=quick)
    rows: list[Rows] = [[] for _ in scenarios]
    runs = run_many(
        scenarios, engine=engine, executor=executor, jobs=jobs, store=store, fresh=fresh
    )
    with closing(runs):
        for i, run in runs:
            try:
                rows[i] = study.measure(run)
            except InputError as error:  # the run is to blame, not what the user wrote
                raise EngineError(f"{study.name}, {run.scenario.name}: {error}") from error
            if on_progress is not None:
                on_progress(run.scenario)
    table = pd.DataFrame([row for of_one in rows for row in of_one])
    return StudyResult(
        study=study,
        quick=quick,
        findings=study.conclude(table),
        seeds=tuple(sorted({scenario.seed for scenario in scenarios})),
        provenance=engine.provenance(),
    )
