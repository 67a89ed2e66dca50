# SPDX-License-Identifier: Apache-2.0
"""``ccbench sweep``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from ccbench.base.errors import InputError
from ccbench.cli._console import in_hours, made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    check_folder_of,
    completes,
    engine_options,
    jobs_option,
    json_option,
    plain_value,
    scheduler_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.cli._options import EngineChoice
    from ccbench.sweeps import CaseEstimate, Sweep, SweepPlan

__all__ = ["sweep"]

_Varied: TypeAlias = "tuple[str, tuple[int | float | str | bool, ...]]"

#: How many decimals the text has of a metric; of the others two.
_DECIMALS = {"share": 3, "harm": 3, "jain": 3, "utilisation": 3}


def varied(text: str) -> _Varied:
    """Read a setting's path and its values.

    Examples
    --------
    >>> varied("bottlenecks.0.queue_bdp=0.5,1"), varied("flows.0.cca=bbr, cubic")
    (('bottlenecks.0.queue_bdp', (0.5, 1)), ('flows.0.cca', ('bbr', 'cubic')))
    """
    path, separator, values = (part.strip() for part in text.partition("="))
    words = [word.strip() for word in values.split(",")]
    if not (path and separator and all(words)):
        message = f"{text!r} is not SETTING=VALUE,VALUE,... such as rtt_ms=10,40"
        raise click.BadParameter(message)
    return path, tuple(plain_value(word) for word in words)


def _complete_path(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> Iterable[str]:
    """Return the settings of the scenario file that the command line names."""
    from ccbench.experiment.scenario import Scenario

    file = context.params.get("scenario")
    try:
        document = Scenario.load(file).to_dict() if file else {}
    except InputError:
        document = {}
    from ccbench import sweeps

    return [f"{path}=" for path in sweeps.paths(document) if path.startswith(begun)]


def _metrics() -> Iterable[str]:
    from ccbench.sweeps import METRICS

    return METRICS


@click.command()
@click.argument("scenario", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@click.option(
    "--vary",
    type=varied,
    multiple=True,
    required=True,
    metavar="SETTING=V1,V2,...",
    shell_complete=_complete_path,
    help="A setting of the file, by its path, and its values: rtt_ms=10,40 or "
    "flows.1.cca=cubic,bbr or bottlenecks.0.queue_bdp=0.5,1,2. May be repeated.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs of each combination, with seeds of their own, for a mean and its interval.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="M",
    shell_complete=completes(_metrics),
    help="What to measure: share, throughput, goodput, fct, downloaded (of each group of flows), "
    "harm, jain (of all), utilisation, delay (of the queue). May be repeated.  "
    "[default: throughput]",
)
@click.option(
    "--beta",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="GROUP",
    help="For --metric harm: the number of a group of flows that may be harmed, from 0; may be "
    "repeated. All others are alpha.  [default: 0]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a table of all runs, as .csv or .parquet.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the means and their intervals, as .png, .pdf or .svg: over the first setting, a "
    "line for each value of the second, a panel for the others.",
)
@jobs_option
@scheduler_option
@click.option("--dry-run", is_flag=True, help="Say what would be done and how long it would take.")
@engine_options
@json_option
def sweep(
    *,
    scenario: Path,
    vary: tuple[_Varied, ...],
    repeat: int,
    metrics: tuple[str, ...],
    beta: tuple[int, ...],
    output: Path | None,
    plot: Path | None,
    jobs: int | None,
    scheduler: str | None,
    dry_run: bool,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Run all combinations of a scenario's settings.

    Prints the mean of each combination and, with --repeat, its 95 % interval. Every finished run is
    kept: the same command goes on where it was interrupted, and further values only add runs.
    """
    _check_options(vary, metrics, beta)
    if scheduler is not None and (jobs is not None or dry_run):
        message = "--jobs and --dry-run are for this machine, --scheduler is for a cluster: choose"
        raise click.UsageError(message)

    from ccbench import emulate, sweeps

    chosen = sweeps.Sweep.of(
        scenario,
        vary=dict(vary),
        repeat=repeat,
        metrics=metrics or ("throughput",),
        beta=beta or (0,),
    )
    if output is not None:
        check_folder_of(sweeps.check_table_path(output))
    if plot is not None:
        from ccbench.run import plots  # matplotlib is worth it only if something is drawn
        from ccbench.sweeps import figures

        plots.check_path(plot)
        figures.check_figure(chosen)
    runner = engine.make()
    if dry_run:
        _print_plan(chosen.plan(engine=runner), jobs, as_json=as_json)
        return
    with nullcontext() if scheduler is None else emulate.cluster(scheduler) as executor:
        table = chosen.run(engine=runner, executor=executor, jobs=jobs)
    if output is not None:
        sweeps.save_table(table, output)
    if plot is not None:
        from ccbench.run import plots
        from ccbench.sweeps import figures

        plots.save(figures.sweep_figure(chosen, table), plot)
    found = sweeps.estimates(chosen, table)
    provenance = table.attrs["provenance"]
    if as_json:
        print_json(
            {
                "sweep": chosen.to_dict(),
                "estimates": [one.to_dict() for one in found],
                "runs": table.to_dict("records"),
                "provenance": provenance,
            }
        )
        return
    _print_estimates(chosen, found)
    files = {"table of all runs": output, "plot": plot}
    kept = {what: str(where) for what, where in files.items() if where is not None}
    print_pairs({"made by": made_by(provenance), **kept})


def _check_options(
    vary: tuple[_Varied, ...], metrics: tuple[str, ...], beta: tuple[int, ...]
) -> None:
    """Refuse options that do not go together."""
    paths = [path for path, _ in vary]
    for path in paths:
        if paths.count(path) > 1:
            message = f"--vary {path} is given twice: write all its values in one"
            raise click.UsageError(message)
    if beta and "harm" not in metrics:
        message = "--beta is for --metric harm: add that, or leave --beta out"
        raise click.UsageError(message)


def _print_estimates(sweep: Sweep, found: Sequence[CaseEstimate]) -> None:
    """Print a row for each combination, and what its intervals are."""
    from ccbench.sweeps.figures import setting_name

    columns = list(dict.fromkeys((one.metric, one.of) for one in found))
    of_cases = [found[i : i + len(columns)] for i in range(0, len(found), len(columns))]
    print_table(
        [
            *("\n".join(setting_name(sweep, path)) for path in sweep.vary),
            *(_heading(one) for one in found[: len(columns)]),
        ],
        [
            [*(_cell(value) for value in of_case[0].values.values()), *map(_mean, of_case)]
            for of_case in of_cases
        ],
        title=str(sweep.document.get("name", "")),
    )
    if sweep.repeat == 1:
        click.echo("One run of each combination: --repeat N gives means with 95 % intervals.\n")
        return
    click.echo(f"Mean of {sweep.repeat} repetitions ± half of its 95 % interval.\n")
    equal = sum(
        not scenario.draws_at_random and all(len(set(one.estimate.values)) == 1 for one in case)
        for case, scenario in zip(of_cases, (one.scenario for one in sweep.cases), strict=True)
    )
    if equal:
        where = "all combinations" if equal == len(of_cases) else f"{equal} combinations"
        click.echo(
            f"In {where} all repetitions are equal, as nothing in them is random: noise makes them "
            f"differ, for\nexample --vary noise.reverse_jitter_ms={_some_jitter(sweep)}\n"
        )


def _some_jitter(sweep: Sweep) -> str:
    """Return how much jitter is typical, in milliseconds."""
    from ccbench.experiment.noise import typical

    return f"{typical(rtt_ms=sweep.cases[0].scenario.rtt_ms).reverse_jitter_ms:.2g}"


def _heading(one: CaseEstimate) -> str:
    quantity = {"share": "share", "harm": "relative harm"}.get(one.metric.name, one.metric.quantity)
    return "\n".join(filter(None, (quantity, one.of, one.metric.unit)))


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _mean(one: CaseEstimate) -> str:
    form = f"{'+' if one.metric.name == 'harm' else ''}.{_DECIMALS.get(one.metric.name, 2)}f"
    return "-" if one.estimate.mean != one.estimate.mean else format(one.estimate, form)


def _print_plan(plan: SweepPlan, jobs: int | None, *, as_json: bool) -> None:
    from ccbench.emulate import cores

    if as_json:
        print_json(plan.to_dict())
        return
    side_by_side = jobs or cores()
    print_pairs(
        {
            "combinations": str(plan.combinations),
            "runs": f"{plan.runs} ({plan.stored} are stored)",
            "in real time": in_hours(plan.virtual_hours),
            "expected here": f"{in_hours(plan.core_hours / side_by_side)} with {side_by_side} "
            "side by side",
        }
    )
