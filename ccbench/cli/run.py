# SPDX-License-Identifier: Apache-2.0
"""``ccbench run``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base.estimate import Estimate
from ccbench.base.progress_bars import progress
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    NoiseChoice,
    engine_options,
    json_option,
    noise_options,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ccbench.cli._options import EngineChoice
    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.run.run import Run

__all__ = ["run"]

#: Above this much memory, a queue log that nobody has asked for is not worth it.
_LARGE_LOG_BYTES = 200e6
#: Runs that take longer are announced, in seconds.
_LONG_S = 300
#: With more flows than this, one row stands for a group of them.
_MOST_ROWS = 30
_LATE = (
    "This machine was too busy for real time: the link was not on time ({late}). The run is not "
    "in the store. Run it again when nothing else runs."
)
_EXACT = (
    "All {count} repetitions are the same run, byte for byte: nothing in this scenario is random, "
    "so there are no intervals. Add noise with --jitter MS or --noise NAME=VALUE."
)


@click.command()
@click.argument("scenario", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to keep the run in; with --repeat, a folder in it for each repetition.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw throughput and queue over time, as .png, .pdf or .svg; of the first repetition.",
)
@click.option("--seed", type=int, metavar="N", help="Another draw of all that is random in it.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Repetitions, each with a seed of its own: means with their 95 % intervals.",
)
@noise_options
@click.option("--fresh", is_flag=True, help="Run even if the store has this run already.")
@engine_options
@json_option
def run(
    *,
    scenario: Path,
    output: Path | None,
    plot: Path | None,
    seed: int | None,
    repeat: int,
    noise: NoiseChoice,
    fresh: bool,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Run a scenario and print what each flow got.

    A scenario is a TOML file such as this one. A scenario that was run before comes out of the
    store. Without -o and --plot, a queue log that would be large is only summed up.

    \b
        rtt_ms = 40
        duration_s = 60
        flows = [{ cca = "bbr" }, { cca = "cubic", count = 2, start_s = 5 }]
        bottlenecks = [{ bandwidth_mbps = 100, queue_bdp = 1.5 }]
    """  # noqa: D301 - click wants this sign itself
    from ccbench.experiment.scenario import Scenario
    from ccbench.run import run_files

    if output is not None and repeat > 1:
        from ccbench.run import repetition  # pandas is worth it only if something is repeated

        repetition.check_folder(output, repeat)
    elif output is not None:
        run_files.check_folder(output)
    if plot is not None:
        from ccbench.run import plots  # matplotlib is worth it only if something is drawn

        plots.check_path(plot)
    loaded = Scenario.load(scenario)
    if seed is not None:
        loaded = replace(loaded, seed=seed)
    loaded = replace(loaded, noise=noise.over(loaded.noise))
    chosen = engine.make()
    loaded = _feasible(
        loaded, chosen, repeat, is_for_table=output is None and plot is None, fresh=fresh
    )
    if repeat > 1:
        _repeat(loaded, repeat, chosen, output, plot, fresh=fresh, as_json=as_json)
    else:
        _run_once(loaded, chosen, output, plot, fresh=fresh, as_json=as_json)


def _run_once(
    scenario: Scenario,
    engine: Engine,
    output: Path | None,
    plot: Path | None,
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    from ccbench import emulate  # pandas is worth it only if something is run

    with progress("{task.completed:.0f} of {task.total:g} s") as bar:
        task = bar.add_task("running", total=scenario.duration_s)
        result = emulate.run(
            scenario,
            engine=engine,
            fresh=fresh,
            on_progress=lambda time_s: bar.update(task, completed=time_s),
        )
    if output is not None:
        result.save(output)
    _draw(result, plot)
    bottlenecks = result.bottleneck_summary()
    if as_json:
        document = {
            "scenario": scenario.to_dict(),
            "flows": result.summary().reset_index().to_dict("records"),
            "bottlenecks": bottlenecks.to_dict("records"),
            "provenance": result.provenance,
        }
        print_json(document)
        return
    _print_flows(_few_rows(result.summary(), scenario), scenario.name)
    _print_bottlenecks(bottlenecks)
    _print_files({"made by": made_by(result.provenance)}, "run kept in", output, plot)
    _warn_if_late(result)


def _repeat(
    scenario: Scenario,
    count: int,
    engine: Engine,
    output: Path | None,
    plot: Path | None,
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    from ccbench import emulate
    from ccbench.run import repetition

    with progress("{task.completed} of {task.total} runs") as bar:
        task = bar.add_task("running", total=count)

        def on_run(i: int, run: Run) -> None:
            if output is not None:
                run.save(repetition.folders(output, count)[i])
            if i == 0:
                _draw(run, plot)
            _warn_if_late(run)
            bar.advance(task)

        result = emulate.repeat(scenario, count, engine=engine, fresh=fresh, on_run=on_run)
    if as_json:
        print_json(result.to_dict())
        return
    flows = result.estimates(lambda one: _few_rows(one.flows, scenario))
    _print_flows(flows, scenario.name)
    _print_bottlenecks(result.estimates(lambda one: one.bottlenecks))
    form = "1 (exact)" if result.is_exact else f"{count} (mean \u00b1 half of the 95 % interval)"
    maker = made_by(result.repetitions[0].provenance)
    pairs = {"noise": scenario.noise.describe(), "repetitions": form, "made by": maker}
    _print_files(pairs, "runs kept in", output, plot)
    if result.is_exact:
        click.echo(_EXACT.format(count=count))


def _draw(run: Run, plot: Path | None) -> None:
    if plot is not None:
        from ccbench.run import plots

        plots.save(plots.throughput_and_queue(run), plot)


def _warn_if_late(run: Run) -> None:
    if run.is_late:
        names = ("late_ms_p99", "rate_error", "switch_waited_share")
        late = (f"{name} {run.provenance[name]:g}" for name in names if name in run.provenance)
        click.echo(_LATE.format(late=", ".join(late)), err=True)


def _feasible(
    scenario: Scenario, engine: Engine, count: int, *, is_for_table: bool, fresh: bool
) -> Scenario:
    """Return the scenario as it is to be run, and say what that takes if it takes long."""
    from ccbench import emulate
    from ccbench.run.repetition import repetitions

    engine.check(scenario)
    runs = repetitions(scenario, count)
    if not fresh and all(emulate.DEFAULT_STORE.has(one, engine) for one in runs):
        return scenario
    if is_for_table:
        scenario = _without_large_log(scenario, engine)
    _announce_if_long(scenario, engine, count)
    return scenario


def _without_large_log(scenario: Scenario, engine: Engine) -> Scenario:
    """Return the scenario with a summary in place of a queue log of which only a table is made."""
    if scenario.queue_log is not True:
        return scenario
    from ccbench.emulate.resources import size

    summed_up = replace(scenario, queue_log="summary")
    saved_bytes = engine.needs(scenario).reading_bytes - engine.needs(summed_up).reading_bytes
    if saved_bytes <= _LARGE_LOG_BYTES:
        return scenario
    click.echo(
        f'queue_log = "summary" for this table, as the whole log would take about '
        f"{size(saved_bytes)} of memory: -o FOLDER keeps that",
        err=True,
    )
    return summed_up


def _announce_if_long(scenario: Scenario, engine: Engine, count: int) -> None:
    from ccbench import emulate

    one_s = emulate.expected_s([scenario], engine)
    if one_s is None:
        return
    expected_s = one_s * math.ceil(count / emulate.cores())
    if expected_s > _LONG_S:
        what = "this run takes" if count == 1 else "these runs take"
        click.echo(f"{what} about {expected_s / 60:.0f} minutes", err=True)


def _print_files(
    pairs: Mapping[str, str], kept: str, output: Path | None, plot: Path | None
) -> None:
    files = {kept: output, "plot": plot}
    print_pairs({**pairs, **{what: str(path) for what, path in files.items() if path is not None}})


def _few_rows(summary: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return a row for each flow, or where there are many for each group of them.

    The latter have mean rates and round-trip times, and sums of packets.
    """
    if len(summary) <= _MOST_ROWS:
        return summary
    how = {
        "label": "first",
        "cca": "first",
        "throughput_mbps": "mean",
        "goodput_mbps": "mean",
        "srtt_ms": "mean",
        "retransmits": "sum",
        "drops": "sum",
    }
    group = scenario.flow_table()["group"]
    sizes = group.value_counts(sort=False)
    return summary.groupby(group).agg(how).set_axis([f"mean of {n}" for n in sizes])


def _shown(value: float | Estimate, form: str) -> str:
    mean = value.mean if isinstance(value, Estimate) else value
    return "-" if math.isnan(mean) else format(value, form)


def _print_flows(flows: pd.DataFrame, title: str) -> None:
    """Print a row for each flow or group; numbers may be Estimates."""
    print_table(
        [
            "flow" if flows.index.name == "flow" else "flows",
            "label",
            "cca",
            "throughput\nMbit/s",
            "goodput\nMbit/s",
            "mean srtt\nms",
            "retransmits\npackets",
            "drops\npackets",
        ],
        [
            [
                str(name),
                flow["label"],
                flow["cca"],
                _shown(flow["throughput_mbps"], ".2f"),
                _shown(flow["goodput_mbps"], ".2f"),
                _shown(flow["srtt_ms"], ".1f"),
                _shown(flow["retransmits"], ".0f"),
                _shown(flow["drops"], ".0f"),
            ]
            for name, flow in zip(flows.index, flows.to_dict("records"), strict=True)
        ],
        title=title,
    )


def _print_bottlenecks(bottlenecks: pd.DataFrame) -> None:
    """Print a row for each bottleneck; numbers may be Estimates."""
    print_table(
        [
            "bottleneck",
            "rate\nMbit/s",
            "queue\npackets",
            "qdisc",
            "utilisation",
            "mean queue\npackets",
            "mean delay\nms",
        ],
        [
            [
                str(i),
                f"{row['bandwidth_mbps']:g}",
                str(row["queue_packets"]),
                row["qdisc"],
                _shown(row["utilisation"], ".1%"),
                _shown(row["mean_queue_packets"], ".1f"),
                _shown(row["queueing_delay_ms"], ".1f"),
            ]
            for i, row in enumerate(bottlenecks.to_dict("records"))
        ],
    )
