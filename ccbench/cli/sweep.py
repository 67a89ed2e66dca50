# SPDX-License-Identifier: Apache-2.0
"""``ccbench sweep``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from ccbench.base import durable, result_folders, safe_json, validation
from ccbench.base.errors import InputError
from ccbench.cli._console import (
    made_by,
    print_json,
    print_pairs,
    print_table,
    repeat_more,
)
from ccbench.cli._options import (
    WorkersChoice,
    completes,
    engine_options,
    json_option,
    output_option,
    plain_value,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ccbench.cli._options import EngineChoice
    from ccbench.sweeps import CaseEstimate, Sweep

__all__ = ["sweep"]

_Varied: TypeAlias = "tuple[str, tuple[int | float | str | bool, ...]]"

#: Printed decimals by metric; 2 for all others.
_DECIMALS = {"share": 3, "harm": 3, "jain": 3, "utilisation": 3}


def varied(text: str) -> _Varied:
    """Read the path of a setting and its values.

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


def _groups(texts: Sequence[str], scenario: Path) -> tuple[int, ...]:
    """Read the numbers of groups of flows of a scenario file."""
    for text in texts:
        if not (text.isascii() and text.isdecimal()):
            from ccbench.experiment.scenario import Scenario

            flows = Scenario.load(scenario).flows
            names = [flow.name for flow in flows]
            listed = ", ".join(f"{i} ({name})" for i, name in enumerate(names))
            number = names.index(text) if text in names else 0
            allowed = f"the number of a group of flows of {scenario}: {listed}"
            raise validation.bad("--beta", text, allowed, f"write for example --beta {number}")
    return tuple(map(int, texts))


def _complete_path(
    context: click.Context, _parameter: click.Parameter, prefix: str
) -> Iterable[str]:
    """Return the settings of the scenario file on the command line."""
    from ccbench.experiment.scenario import Scenario

    file = context.params.get("scenario")
    try:
        document = Scenario.load(file).to_dict() if file else {}
    except InputError:
        document = {}
    from ccbench import sweeps

    return [f"{path}=" for path in sweeps.paths(document) if path.startswith(prefix)]


def _metrics() -> Iterable[str]:
    from ccbench.sweeps import METRICS

    return METRICS


@click.command()
@click.argument("scenario", metavar="SCENARIO.toml|FOLDER|-", type=click.Path(path_type=Path))
@click.option(
    "--vary",
    type=varied,
    multiple=True,
    metavar="SETTING=V1,V2,...",
    shell_complete=_complete_path,
    help="Path of a setting in the file, and its values: rtt_ms=10,40 or flows.1.cca=cubic,bbr or "
    "bottlenecks.0.queue_bdp=0.5,1,2. May be repeated.",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs of each combination, each with its own seed; prints medians and 95 % intervals.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="M",
    shell_complete=completes(_metrics),
    help="Metric of `ccbench metrics`, such as share, fct_p95, harm or sojourn_time. May be "
    "repeated.  [default: throughput]",
)
@click.option(
    "--beta",
    multiple=True,
    metavar="GROUP",
    help="For --metric harm: number of a group of flows, from 0, that may be harmed; may be "
    "repeated. All other groups are alpha.  [default: all but the first, as `ccbench harm "
    "--scenario`]",
)
@output_option("Folder for the table of all runs and the estimates.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the medians and their intervals as .png, .pdf or .svg: the first setting on the "
    "x-axis, a line for each value of the second, a panel for each combination of the others.",
)
@workers_options
@dry_run_option
@engine_options
@json_option
def sweep(
    *,
    scenario: Path,
    vary: tuple[_Varied, ...],
    repeat: int,
    metrics: tuple[str, ...],
    beta: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Run all combinations of a scenario's settings.

    Prints the median of each combination and, with --repeat, its 95 % interval. Finished runs are
    stored: the same command continues an interrupted sweep, and additional values only add runs.
    """
    _check_options(vary, metrics, beta)
    if dry_run:
        workers.check_local("--dry-run")

    from ccbench import sweeps

    chosen = sweeps.Sweep.of(
        scenario,
        vary=dict(vary),
        repeat=repeat,
        metrics=metrics or ("throughput",),
        beta=_groups(beta, scenario),
    )
    if plot is not None:
        from ccbench import plots
        from ccbench.sweeps import figures

        plots.check_path(plot)
        figures.check_figure(chosen)
    runner = engine.make(chosen.check)
    if dry_run:
        plan = chosen.plan(engine=runner)
        about = {"combinations": str(plan.combinations)}
        print_plan(plan, workers.jobs, about, as_json=as_json)
        return
    if output is not None:
        result_folders.prepare(output, "sweep")
    with workers.connected() as where:
        table = chosen.run(engine=runner, **where)
    estimates = sweeps.estimates(chosen, table)
    if plot is not None:
        from ccbench import plots
        from ccbench.sweeps import figures

        plots.save(figures.drawn(chosen, estimates), plot)
    provenance = table.attrs["provenance"]
    document = {
        "sweep": chosen.to_dict(),
        "estimates": [estimate.to_dict() for estimate in estimates],
        "runs": table.to_dict("records"),
        "provenance": provenance,
    }
    if output is not None:
        sweeps.save_table(table, output / "sweep.csv")
        durable.write_text(output / "sweep.json", safe_json.text(document))
    if as_json:
        print_json(document)
        return
    _print_estimates(chosen, estimates)
    files = {"table of all runs": output and output / "sweep.csv", "plot": plot}
    written = {name: str(path) for name, path in files.items() if path is not None}
    print_pairs({"made by": made_by(provenance), **written})


def _check_options(
    vary: tuple[_Varied, ...], metrics: tuple[str, ...], beta: tuple[str, ...]
) -> None:
    """Reject options that exclude each other."""
    paths = [path for path, _ in vary]
    for path in paths:
        if paths.count(path) > 1:
            message = f"--vary {path} is given twice: write all its values in one option"
            raise click.UsageError(message)
    if beta and "harm" not in metrics:
        message = "--beta is for --metric harm: add --metric harm, or leave --beta out"
        raise click.UsageError(message)
    if not vary:
        message = "--vary is missing: name a setting and its values, such as --vary rtt_ms=10,40"
        raise click.UsageError(message)


def _print_estimates(sweep: Sweep, estimates: Sequence[CaseEstimate]) -> None:
    """Print a row for each combination, and a note about the intervals."""
    from ccbench.sweeps.figures import setting_name

    columns = list(dict.fromkeys((estimate.metric, estimate.of) for estimate in estimates))
    cases = [estimates[i : i + len(columns)] for i in range(0, len(estimates), len(columns))]
    print_table(
        [
            *("\n".join(setting_name(sweep, path)) for path in sweep.vary),
            *(_heading(estimate) for estimate in estimates[: len(columns)]),
        ],
        [
            [*(_cell(value) for value in case[0].values.values()), *map(_median, case)]
            for case in cases
        ],
        title=str(sweep.document.get("name", "")),
    )
    _print_order(sweep)
    if sweep.repeat == 1:
        click.echo("One run of each combination: --repeat N gives medians with 95 % intervals.\n")
        return
    click.echo(f"Median of {sweep.repeat} repetitions, and its 95 % interval.\n")
    doubts = [estimate.estimate.doubt for estimate in estimates if estimate.estimate.doubt]
    if doubts:
        where = f"{len(doubts)} of {len(estimates)} numbers"
        click.echo(f"Caution, {where}: {repeat_more(doubts[0], sweep.repeat)}\n")
    exact = sum(case[0].is_exact for case in cases)
    if exact:
        where = "all combinations" if exact == len(cases) else f"{exact} combinations"
        click.echo(
            f"In {where} all repetitions are equal, as nothing in them is random: add noise, such "
            f"as\n--vary noise.reverse_jitter_ms={_typical_jitter(sweep)}\n"
        )


def _print_order(sweep: Sweep) -> None:
    """Say that harm includes the effect of the order of flows where all start together."""
    if "harm" in sweep.metrics and any(
        not case.scenario.path.noise.start_spread_ms for case in sweep.cases
    ):
        click.echo(
            "Flows that start together do so in the order beta, alpha, and harm includes the "
            "effect of\nthis order: add --vary noise.start_spread_ms=20 to randomise it.\n"
        )


def _typical_jitter(sweep: Sweep) -> str:
    """Return the typical jitter of the first scenario in milliseconds."""
    from ccbench.experiment.noise import typical

    return f"{typical(rtt_ms=sweep.cases[0].scenario.path.rtt_ms).reverse_jitter_ms:.2g}"


def _heading(estimate: CaseEstimate) -> str:
    metric = estimate.metric
    quantity = {"share": "share", "harm": "relative harm"}.get(metric.name, metric.quantity)
    return "\n".join(filter(None, (quantity, estimate.of, metric.unit)))


def _cell(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _median(estimate: CaseEstimate) -> str:
    name = estimate.metric.name
    form = f"{'+' if name == 'harm' else ''}.{_DECIMALS.get(name, 2)}f"
    return "-" if math.isnan(estimate.estimate.value) else format(estimate.estimate, form)
