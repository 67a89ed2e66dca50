# SPDX-License-Identifier: Apache-2.0
"""``ccbench harm``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import durable, result_folders, safe_json, validation
from ccbench.cli._console import print_json
from ccbench.cli._harm_report import print_harm, print_sensitivity
from ccbench.cli._options import (
    OF_NETWORK,
    NetworkChoice,
    NoiseChoice,
    WorkersChoice,
    alpha_option,
    beta_option,
    check_ccas,
    check_left_out,
    duration_option,
    engine_options,
    json_option,
    network_options,
    noise_options,
    optional,
    output_option,
    quantity,
    seed_option,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.cli._options import EngineChoice
    from ccbench.emulate import Engine
    from ccbench.harm import Experiment
    from ccbench.metrics import Metric

__all__ = ["harm"]

#: Options of the flows and runs, by the argument of the command.
_OF_FLOWS = {
    "alpha": "--alpha",
    "beta": "--beta",
    "alpha_flows": "--alpha-flows",
    "beta_flows": "--beta-flows",
    "workload": "--workload",
    "duration": "--duration",
    "seed": "--seed",
}


@click.command()
@optional(alpha_option)
@optional(beta_option)
@click.option(
    "--scenario",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with the flows, the network, duration and seed instead: the first group of "
    "flows is alpha's, all others are beta's.",
)
@network_options
@click.option(
    "--alpha-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of ALPHA's flows.",
)
@click.option(
    "--beta-flows",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of BETA's flows.",
)
@click.option(
    "--workload",
    metavar="NAME",
    default="long",
    show_default=True,
    help="Workload of BETA's flows: long, short, video or call.",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Additional metric of harm, of flows in `ccbench metrics`; may be repeated. `all` stands "
    "for every one.",
)
@duration_option
@seed_option
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    help="Repetitions, each with its own seed.  [default: 6]",
)
@click.option(
    "--precision",
    type=quantity(""),
    metavar="X",
    help="Repeat until half the 95 % interval of relative harm is at most X.",
)
@click.option(
    "--bound",
    type=float,
    metavar="X",
    help="Repeat until the 95 % interval of relative harm is above or below X.",
)
@click.option(
    "--max-repeat",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --precision or --bound: maximum number of repetitions.  [default: 100]",
)
@noise_options
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Measure at 0, 0.01, 0.1, 1 and 10 times the noise.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --sensitivity: draw harm over the level of noise as .png, .pdf or .svg.",
)
@workers_options
@dry_run_option
@engine_options
@output_option("Folder for all values.")
@json_option
def harm(
    *,
    scenario: Path | None,
    network: NetworkChoice,
    metrics: tuple[str, ...],
    noise: NoiseChoice,
    repeat: int | None,
    precision: float | None,
    bound: float | None,
    max_repeat: int | None,
    sensitivity: bool,
    plot: Path | None,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
    output: Path | None,
    as_json: bool,
    **flows: Any,
) -> None:
    """Measure how much ALPHA harms BETA in one network.

    The network is that of --bandwidth or --trace, --rtt and --queue, that of a file with --path, or
    with all its flows that of --scenario.

    Compares two runs of the same network: BETA's flows alone, and BETA's flows together with
    ALPHA's. Absolute harm is the fraction of its solo throughput that BETA loses. Relative harm is
    absolute harm minus the loss that fair sharing would cause: above 0, ALPHA takes more than its
    fair share.

    Runs have the typical noise of the network and are repeated: each number is a median with its
    95 % confidence interval. Between loss-based CCAs, harm depends on the level of the noise: see
    --sensitivity.

    Workloads other than long flows have their own metrics, such as flow completion time or delay.
    """
    repetitions = _repetition_settings(repeat, precision, bound, max_repeat)
    if plot is not None:
        _check_plot(plot, sensitivity=sensitivity)
    experiment, by = _experiment(scenario, network, metrics, flows)
    path = replace(experiment.path, noise=noise.over(experiment.path.noise))
    experiment = replace(experiment, path=path)

    def check(engine: Engine) -> None:
        for option in ("--alpha", "--beta"):
            if (cca := flows[option.removeprefix("--")]) is not None:
                check_ccas((option, cca), engine=engine)
        engine.check(experiment.competing)

    runner = engine.make(check)
    check(runner)
    if dry_run:
        workers.check_local("--dry-run")
        _print_plan(experiment, repetitions, runner, workers.jobs, as_json=as_json)
        return
    if output is not None:
        result_folders.prepare(output, "measurement of harm")
    with workers.connected() as chosen:
        settings = {"metrics": by, "engine": runner, **repetitions, **chosen}
        if sensitivity:
            _over_noise(experiment, settings, plot, output, as_json=as_json)
        else:
            _at_one_level(experiment, settings, output, as_json=as_json)


def _print_plan(
    experiment: Experiment,
    repetitions: dict[str, Any],
    engine: Engine,
    jobs: int | None,
    *,
    as_json: bool,
) -> None:
    from ccbench import harm as library

    count = repetitions.get("repetitions", library.REPETITIONS)
    due = library.plan(experiment, repetitions=count, engine=engine)
    print_plan(due, jobs, {"network": experiment.describe()}, as_json=as_json)


def _at_one_level(
    experiment: Experiment, settings: dict[str, Any], output: Path | None, *, as_json: bool
) -> None:
    from ccbench.emulate.progress import shown
    from ccbench.harm import repeat

    with shown(experiment.competing.name) as on_progress:
        result = repeat(experiment, on_progress=on_progress, **settings)
    if output is not None:
        _write(output, result.to_dict(), result.table())
    if as_json:
        print_json(result.to_dict())
    else:
        print_harm(result, output)


def _over_noise(
    experiment: Experiment,
    settings: dict[str, Any],
    plot: Path | None,
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    from ccbench.emulate.progress import shown
    from ccbench.harm import sensitivity

    with shown(experiment.competing.name) as on_progress:
        result = sensitivity(experiment, on_progress=on_progress, **settings)
    if plot is not None:
        from ccbench import plots
        from ccbench.harm.figures import sensitivity_figure

        plots.save(sensitivity_figure(result), plot)
    if output is not None:
        _write(output, result.to_dict(), result.repetitions())
    if as_json:
        print_json(result.to_dict())
    else:
        print_sensitivity(result, plot, output)


def _write(folder: Path, document: dict[str, Any], table: pd.DataFrame) -> None:
    """Write the document and the values of all repetitions."""
    durable.write_text(folder / "harm.csv", table.to_csv(index=False))
    durable.write_text(folder / "harm.json", safe_json.text(document))


def _repetition_settings(
    repeat: int | None, precision: float | None, bound: float | None, max_repeat: int | None
) -> dict[str, Any]:
    """Return the given arguments of :func:`ccbench.harm.repeat`."""
    if max_repeat is not None and precision is None and bound is None:
        allowed = "left out without --precision or --bound"
        raise validation.bad("--max-repeat", max_repeat, allowed, "write --repeat instead")
    limits = {"precision": precision, "bound": bound, "max_repetitions": max_repeat}
    given = {"repetitions": repeat, **limits}
    return {name: value for name, value in given.items() if value is not None}


def _check_plot(plot: Path, *, sensitivity: bool) -> None:
    if not sensitivity:
        allowed = "left out without --sensitivity"
        raise validation.bad("--plot", str(plot), allowed, "add --sensitivity")
    from ccbench import plots

    plots.check_path(plot)


def _experiment(
    scenario: Path | None, network: NetworkChoice, metrics: tuple[str, ...], flows: dict[str, Any]
) -> tuple[Experiment, tuple[Metric, ...]]:
    """Return the experiment of the options, and the additional metrics."""
    from ccbench import harm as library
    from ccbench.experiment.scenario import Scenario
    from ccbench.metrics import least_log

    if scenario is not None:
        check_left_out({**_OF_FLOWS, **OF_NETWORK}, "--scenario")
        by = library.metrics_named(metrics)
        both = Scenario.load(scenario)
        with validation.within(f"{scenario}: "):
            experiment = library.divided(both)
        return replace(experiment, queue_log=least_log(by)), by
    for side in ("alpha", "beta"):
        if flows[side] is None:
            message = f"--{side} is missing: give it, or a file with --scenario"
            raise click.UsageError(message)
    workload, duration_s = flows["workload"], flows["duration"]
    service = library.workload_named(workload)
    service.check_duration(duration_s)
    own = () if workload == "long" else service.metrics
    by = library.metrics_named((*own, *metrics))
    experiment = library.long_flows(
        alpha=flows["alpha"],
        beta=flows["beta"],
        path=network.path(),
        alpha_flows=flows["alpha_flows"],
        beta_flows=flows["beta_flows"],
        duration_s=duration_s,
        seed=flows["seed"],
    )
    if workload != "long":
        flow = service.with_cca(flows["beta"])
        several = replace(flow, count=flows["beta_flows"] * flow.count)
        experiment = replace(experiment, beta=(several,))
    return replace(experiment, queue_log=least_log(by)), by
