# SPDX-License-Identifier: Apache-2.0
"""``ccbench evaluate``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ccbench.base import result_folders
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    WorkersChoice,
    cca_names,
    check_ccas,
    completes,
    engine_options,
    json_option,
    output_option,
    seed_option,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan
from ccbench.cli._status import ExitStatus

if TYPE_CHECKING:
    from ccbench.cli._options import EngineChoice
    from ccbench.emulate import Engine
    from ccbench.evaluate import Answers, Design, Evaluation, Extent
    from ccbench.evaluate.earlier import Earlier

__all__ = ["evaluate"]

#: Fewest networks of a search, and the shortest time for one in minutes.
_FEWEST = 4
_SHORTEST_MIN = 0.1


def _search_extent(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> float | None:
    """Return a number of networks as an int, or minutes as a float."""
    if text is None:
        return None
    try:
        extent = float(text.removesuffix("min")) if text.endswith("min") else int(text)
    except ValueError:
        extent = 0
    if not (_FEWEST if isinstance(extent, int) else _SHORTEST_MIN) <= extent < math.inf:
        message = f"{text!r} is neither {_FEWEST} networks or more, nor minutes: try 60, or 10min"
        raise click.BadParameter(message)
    return extent


@click.command()
@click.argument("candidate", metavar="CCA", required=False, shell_complete=completes(cca_names))
@click.option("--list", "lists", is_flag=True, help="List the packs, or the criteria of --pack.")
@click.option(
    "--pack",
    metavar="NAME|FOLDER",
    help="Criteria: a pack of ccbench, or a folder of your own.  [default: rfc9743]",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="CCA",
    shell_complete=completes(cca_names),
    help="CCA with which the candidate is compared; may be repeated.  [default: cubic, reno]",
)
@click.option(
    "--against",
    metavar="CCA|FOLDER",
    help="Name changes against another version: a CCA, or the folder of an earlier evaluation.",
)
@click.option(
    "--only",
    metavar="SECTION,...",
    default="",
    help="Sections or names of criteria, such as 5.1.1,7.9.",
)
@click.option("--quick", "extent", flag_value="quick", help="One network per criterion: minutes.")
@click.option("--full", "extent", flag_value="full", help="More repetitions of all networks.")
@click.option(
    "--search",
    callback=_search_extent,
    metavar="N|Nmin",
    help="Also try N networks for each criterion of mixed algorithms, and evaluate the worst, "
    "reduced to the fewest flows and round numbers; such as 60, or as many as this machine can try "
    "in a time, such as 10min.",
)
@click.option(
    "--answers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file with your answers to the questions of the pack.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["regression", "failure"]),
    help="Exit with status 1 after a definite failure, or also after a change for the worse.",
)
@seed_option
@workers_options
@dry_run_option
@engine_options
@output_option("Folder for the report: HTML, Markdown, JSON, JUnit XML, figures and scenarios.")
@json_option
@click.pass_context
def evaluate(
    context: click.Context,
    *,
    candidate: str | None,
    lists: bool,
    pack: str | None,
    baselines: tuple[str, ...],
    against: str | None,
    only: str,
    extent: Extent | None,
    search: float | None,
    answers: Path | None,
    fail_on: Literal["regression", "failure"] | None,
    seed: int,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
    output: Path | None,
    as_json: bool,
) -> ExitStatus:
    """Evaluate a CCA by the criteria of RFC 9743.

    The networks of each criterion run with the candidate and with each baseline, repeated with
    different seeds. The RFC sets no thresholds, so nothing passes: the candidate is better than a
    baseline, similar, or worse. Definite failures, such as starvation, are named.

    Finished runs are stored: the same command continues an interrupted evaluation.
    """
    from ccbench import evaluate as library
    from ccbench.emulate import CampaignPlan
    from ccbench.emulate.progress import shown
    from ccbench.evaluate import worst

    if lists:
        _list(pack, as_json=as_json)
        return ExitStatus.OK
    if candidate is None:
        raise click.MissingParameter(ctx=context, param=context.command.params[0])
    earlier, version = _before(against)
    design = library.Design(
        candidate=candidate,
        pack=library.load_pack(pack or library.DEFAULT_PACK),
        baselines=baselines or library.BASELINES,
        against=version,
        extent=extent or "default",
        only=tuple(filter(None, (name.strip() for name in only.split(",")))),
        seed=seed,
    )
    given = library.NO_ANSWERS if answers is None else library.load_answers(answers, design.pack)
    runner = engine.make()
    named = [("CCA", candidate), *(("--baseline", cca) for cca in baselines)]
    if against is not None and earlier is None:
        named.append(("--against", version))
    check_ccas(*named, engine=runner)
    _name_unsuited(design)
    if search:
        design = _searching(design, search, runner, workers)
    if dry_run:
        workers.check_local("--dry-run")
        plans = [library.plan(design, engine=runner)]
        plans += worst.plan(design, engine=runner) if search else []
        about = {"criteria": str(len(design.criteria)), "networks": str(len(design.cases))}
        print_plan(CampaignPlan.total(plans), workers.jobs, about, as_json=as_json)
        return ExitStatus.OK
    if output is not None:
        result_folders.prepare(output, "evaluation")
    with workers.connected() as chosen:
        if search:
            design = replace(design, witnesses=worst.search(design, engine=runner, **chosen))
        with shown(f"evaluating {candidate}") as on_progress:
            result = library.evaluate(
                design, earlier=earlier, engine=runner, on_progress=on_progress, **chosen
            )
    if output is not None:
        library.save(result, output, given)
    if as_json:
        print_json(result.to_dict())
    else:
        _print(result, given, output)
    fails = bool(result.failures) or (fail_on == "regression" and bool(result.regressions))
    return ExitStatus.FAILED if fail_on and fails else ExitStatus.OK


def _name_unsuited(design: Design) -> None:
    if design.unsuited:
        sections = ", ".join(one.key for one in design.unsuited)
        click.echo(f"left out, as stacks send as much as they can: {sections}", err=True)


def _searching(design: Design, extent: float, engine: Engine, workers: WorkersChoice) -> Design:
    """Return the design with the number of networks of its searches."""
    from ccbench.emulate import cores
    from ccbench.evaluate import worst

    if not worst.searched(design):
        message = "--search is for criteria of mixed algorithms, which --only leaves out: drop one"
        raise click.UsageError(message)
    if isinstance(extent, int):
        return replace(design, search=extent)
    number = worst.networks_within(extent, design, engine=engine, cores=workers.jobs or cores())
    click.echo(f"networks that {extent:g} min allow here: --search {number}", err=True)
    return replace(design, search=number)


def _before(against: str | None) -> tuple[Earlier | None, str]:
    """Return the earlier evaluation, or the name of the CCA, against which changes are named."""
    from ccbench.evaluate.earlier import EVALUATION, load_earlier

    if against is None:
        return None, ""
    if (Path(against) / EVALUATION).is_file() or "/" in against:
        return load_earlier(Path(against)), ""
    return None, against


def _list(pack: str | None, *, as_json: bool) -> None:
    from ccbench import evaluate as library

    if pack is None:
        packs = [library.load_pack(name) for name in library.pack_names()]
        rows = [[one.name, str(len(one.criteria)), one.title, one.source] for one in packs]
        titles = ["pack", "criteria", "title", "source"]
    else:
        criteria = library.load_pack(pack).criteria
        rows = [
            [one.key, one.section, one.obligation, str(len(one.networks)), one.title]
            for one in criteria
        ]
        titles = ["criterion", "section", "obligation", "networks", "title"]
    if as_json:
        print_json(
            {
                "packs" if pack is None else "criteria": [
                    dict(zip(titles, row, strict=True)) for row in rows
                ]
            }
        )
    else:
        print_table(titles, rows, words=len(titles))


def _print(result: Evaluation, answers: Answers, output: Path | None) -> None:
    from ccbench.evaluate.report.content import summary
    from ccbench.evaluate.report.words import before, found, lead, short, shown, where

    design = result.design
    others = design.others
    rows = summary(result, answers)
    has_failures = any(row.failures for row in rows)
    print_table(
        [
            "section",
            "criterion",
            *(f"compared with {other}" for other in others),
            "evidence",
            *["definite failure"] * has_failures,
        ],
        [
            [
                row.section,
                row.title,
                *(row.compared[other] for other in others),
                row.evidence,
                *["\n".join(row.failures)] * has_failures,
            ]
            for row in rows
        ],
        title=f"{design.candidate}: {design.pack.title}",
        words=3 + len(others),
    )
    if result.regressions:
        click.echo()
        print_table(
            ["measure", design.candidate, "before"],
            [
                [where(cell), short(cell, design.candidate), before(cell)]
                for cell in result.regressions
            ],
            title="worse than the version before",
        )
    if worse := found(result, "worse"):
        click.echo()
        ccas = (design.candidate, *others)
        print_table(
            ["measure", *ccas],
            [[where(cell), *(short(cell, cca) for cca in ccas)] for cell in worse],
            title=f"worse than {' and '.join(others)}",
        )
    click.echo()
    click.echo(lead(result))
    for criterion in design.criteria:
        if witness := design.witness(criterion):
            click.echo(f"{criterion.section} {criterion.title}: {witness.words}")
    for cell in result.failures:
        if cell.failed is not None:
            value = "" if cell.failed.is_run else f" ({shown(cell, design.candidate)})"
            click.echo(f"definite failure: {where(cell)}: {cell.failed.words}{value}")
    print_pairs(
        {
            "made by": made_by(result.provenance),
            **({"report": str(output / "report.html")} if output else {}),
        }
    )
