# SPDX-License-Identifier: Apache-2.0
"""Reports of evaluations: a page, Markdown, JSON, JUnit XML, figures and scenarios, in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import durable, safe_json
from ccbench.evaluate.answers import NO_ANSWERS
from ccbench.evaluate.earlier import EVALUATION

if TYPE_CHECKING:
    from ccbench.evaluate.answers import Answers
    from ccbench.evaluate.evaluation import Evaluation

__all__ = ["save"]


def save(
    evaluation: Evaluation, folder: str | Path, answers: Answers = NO_ANSWERS
) -> tuple[Path, ...]:
    """Write the report of an evaluation to a folder.

    Parameters
    ----------
    evaluation : Evaluation
    folder : path
        Created if missing.
    answers : Answers, optional
        Answers to the questions for the author.

    Returns
    -------
    tuple of Path
        ``report.html``, which is self-contained, ``report.md``, ``evaluation.json`` and
        ``junit.xml``. The folder has all figures and scenarios, too. The same evaluation gives the
        same bytes.

    Examples
    --------
    >>> from ccbench.evaluate import Design, evaluate, load_pack
    >>> only = ("5.1.1-outage",)
    >>> design = Design(candidate="vegas", pack=load_pack("rfc9743"), extent="quick", only=only)
    >>> evaluation = evaluate(design)  # doctest: +SKIP
    >>> save(evaluation, "vegas-report")[0].name  # doctest: +SKIP
    'report.html'
    """
    # Imports matplotlib.
    from ccbench.evaluate.report.content import (  # noqa: PLC0415
        SCENARIOS,
        details,
        summary,
        witness_file,
    )
    from ccbench.evaluate.report.junit import junit_of  # noqa: PLC0415
    from ccbench.evaluate.report.markdown import markdown_of  # noqa: PLC0415
    from ccbench.evaluate.report.page import page_of  # noqa: PLC0415
    from ccbench.pages import FIGURES, Pictures  # noqa: PLC0415

    folder = Path(folder)
    pictures = Pictures(folder / FIGURES, formats=(".svg",))
    rows, found = summary(evaluation, answers), details(evaluation, answers, pictures)
    design = evaluation.design
    cases = {cell.case.key: cell.case for cell in evaluation.cells}
    (folder / SCENARIOS).mkdir(exist_ok=True)
    for key, case in cases.items():
        scenario = design.scenario(case, design.candidate)
        durable.write_text(folder / SCENARIOS / f"{key}.toml", scenario.to_toml())
    for criterion in design.criteria:
        witness = design.witness(criterion)
        if witness and witness.settings:
            shortest = witness.scenario(criterion, design.candidate, design.seeds[0])
            file = folder / SCENARIOS / witness_file(criterion)
            durable.write_text(file, shortest.to_toml())
    texts = {
        "report.html": page_of(evaluation, rows, found),
        "report.md": markdown_of(evaluation, rows, found),
        EVALUATION: safe_json.text(evaluation.to_dict()),
        "junit.xml": junit_of(evaluation),
    }
    for name, text in texts.items():
        durable.write_text(folder / name, text)
    return tuple(folder / name for name in texts)
