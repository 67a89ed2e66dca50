# SPDX-License-Identifier: Apache-2.0
"""``ccbench evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ccbench.base.progress_bars import progress
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    WorkersChoice,
    cca_names,
    check_ccas,
    completes,
    engine_options,
    json_option,
    seed_option,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    from ccbench.cli._options import EngineChoice
    from ccbench.evaluate import Cell, Design, Evaluation

__all__ = ["evaluate"]


@click.command()
@click.argument("candidate", metavar="CCA", shell_complete=completes(cca_names))
@click.option(
    "--pack",
    default="rfc9743",
    show_default=True,
    metavar="NAME|FOLDER",
    help="Criteria: a pack of ccbench, or a folder of your own.",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="CCA",
    shell_complete=completes(cca_names),
    help="CCA beside which the candidate is shown; may be repeated.  [default: cubic, reno]",
)
@click.option(
    "--only",
    metavar="SECTION,...",
    default="",
    help="Sections or names of criteria, such as 5.1.1,7.9.",
)
@click.option("--quick", "extent", flag_value="quick", help="One network per criterion: minutes.")
@click.option("--full", "extent", flag_value="full", help="More repetitions of all networks.")
@seed_option
@workers_options
@dry_run_option
@engine_options
@json_option
def evaluate(
    *,
    candidate: str,
    pack: str,
    baselines: tuple[str, ...],
    only: str,
    extent: str | None,
    seed: int,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Evaluate a congestion control by the criteria of RFC 9743, beside CUBIC and Reno.

    Each criterion's networks run with the candidate and with each baseline, repeated with different
    seeds. The RFC sets no thresholds, so that nothing passes: the candidate is better than a
    baseline, like it, or worse. Definite failures, such as starvation, are named.
    """
    from ccbench import evaluate as library

    design = library.Design(
        candidate=candidate,
        pack=library.load_pack(pack),
        baselines=baselines or library.BASELINES,
        extent=extent or "default",
        only=tuple(filter(None, only.split(","))),
        seed=seed,
    )
    runner = engine.make()
    check_ccas(("CCA", candidate), *(("--baseline", cca) for cca in baselines), engine=runner)
    if dry_run:
        workers.check_local("--dry-run")
        about = {"criteria": str(len(design.criteria)), "networks": str(len(design.cases))}
        print_plan(library.plan(design, engine=runner), workers.jobs, about, as_json=as_json)
        return
    with workers.connected() as chosen, progress("{task.completed:.0f} of {task.total:.0f} runs") as bar:
        total = len(design.cases) * len(design.ccas) * len(design.seeds)
        task = bar.add_task(candidate, total=total)
        result = library.evaluate(
            design, engine=runner, on_run=lambda _: bar.update(task, advance=1), **chosen
        )
    if as_json:
        print_json(result.to_dict())
        return
    _print(design, result)


def _print(design: Design, result: Evaluation) -> None:
    others = design.ccas[1:]
    print_table(
        ["section", "criterion", "measure", *design.ccas, *(f"beside {cca}" for cca in others)],
        [
            [
                cell.case.criterion.section,
                "\n".join(filter(None, (cell.case.criterion.title, cell.case.network.name))),
                cell.measure.described.quantity + (f" of {cell.measure.of}" if cell.measure.of else ""),
                *(_value(cell, cca) for cca in design.ccas),
                *(one.judgement for one in cell.comparisons),
            ]
            for cell in result.cells
        ],
        title=f"{design.candidate}: {design.pack.title}",
    )
    for cell in result.failures:
        click.echo(f"{cell.case.criterion.section} {cell.case.network.name}: {cell.failed}")
    for case, reason in result.unmeasured.items():
        click.echo(f"not measured: {case}: {reason}")
    print_pairs({"made by": made_by(result.provenance)})


def _value(cell: Cell, cca: str) -> str:
    value = cell.median(cca)
    return "-" if value != value else f"{value:.3g} {cell.measure.described.unit}".strip()  # noqa: PLR0124
