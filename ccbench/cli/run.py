# SPDX-License-Identifier: Apache-2.0
"""``ccbench run``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench._progress import progress
from ccbench.cli._console import made_by, print_json, print_pairs, print_table
from ccbench.cli._options import engine_named, engine_options, json_option

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.run import Run

__all__ = ["run"]

#: With more flows than this, one row stands for a group of them.
_MOST_ROWS = 30
_LATE = (
    "This machine was too busy for real time: the link was not on time ({late}). The run is not "
    "in the store. Run it again when nothing else runs."
)


@click.command()
@click.argument("scenario", metavar="SCENARIO.toml", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to keep the run in.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw throughput and queue over time, as .png, .pdf or .svg.",
)
@click.option("--seed", type=int, metavar="N", help="Another draw of all that is random in it.")
@click.option("--fresh", is_flag=True, help="Run even if the store has this run already.")
@engine_options
@json_option
def run(
    *,
    scenario: Path,
    output: Path | None,
    plot: Path | None,
    seed: int | None,
    fresh: bool,
    engine: str,
    bess_dir: Path | None,
    as_json: bool,
) -> None:
    """Run a scenario and print what each flow got.

    A scenario is a TOML file such as this one. A scenario that was run before comes out of the
    store.

    \b
        rtt_ms = 40
        duration_s = 60
        flows = [{ cca = "bbr" }, { cca = "cubic", count = 2, start_s = 5 }]
        bottlenecks = [{ bandwidth_mbps = 100, queue_bdp = 1.5 }]
    """  # noqa: D301 - click wants this sign itself
    from ccbench import _run_files
    from ccbench.scenario import Scenario

    if output is not None:
        _run_files.check_folder(output)
    if plot is not None:
        from ccbench import plots  # matplotlib is worth it only if something is drawn

        plots.check_path(plot)
    loaded = Scenario.load(scenario)
    if seed is not None:
        loaded = replace(loaded, seed=seed)

    from ccbench import emulate  # pandas is worth it only if something is run

    with progress("{task.completed:.0f} of {task.total:g} s") as bar:
        task = bar.add_task("running", total=loaded.duration_s)
        result = emulate.run(
            loaded,
            engine=engine_named(engine, bess_dir),
            fresh=fresh,
            on_progress=lambda time_s: bar.update(task, completed=time_s),
        )
    if output is not None:
        result.save(output)
    if plot is not None:
        from ccbench import plots

        plots.save(plots.throughput_and_queue(result), plot)
    if as_json:
        document = {
            "scenario": loaded.to_dict(),
            "flows": result.summary().reset_index().to_dict("records"),
            "bottlenecks": _bottlenecks(result),
            "provenance": result.provenance,
        }
        print_json(document)
        return
    _print_flows(result)
    _print_bottlenecks(result)
    kept = {"run kept in": output, "plot": plot}
    files = {what: str(where) for what, where in kept.items() if where is not None}
    print_pairs({"made by": made_by(result.provenance), **files})
    if result.is_late:
        names = ("late_ms_p99", "rate_error")
        late = (
            f"{name} {result.provenance[name]:g}" for name in names if name in result.provenance
        )
        click.echo(_LATE.format(late=", ".join(late)), err=True)


def _print_flows(run: Run) -> None:
    """Print a row for each flow, or for each group where there are many."""
    summary = run.summary()
    first = "flow"
    if len(summary) > _MOST_ROWS:
        first = "flows"
        summary = _by_group(summary, run.scenario.flow_table()["group"])
    print_table(
        [
            first,
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
                f"{flow['throughput_mbps']:.2f}",
                f"{flow['goodput_mbps']:.2f}",
                "-" if math.isnan(flow["srtt_ms"]) else f"{flow['srtt_ms']:.1f}",
                str(flow["retransmits"]),
                str(flow["drops"]),
            ]
            for name, flow in zip(summary.index, summary.to_dict("records"), strict=True)
        ],
        title=run.scenario.name,
    )


def _by_group(summary: pd.DataFrame, group: pd.Series[int]) -> pd.DataFrame:
    """Return a row for each group of flows: mean rates and round-trip times, sums of packets."""
    how = {
        "label": "first",
        "cca": "first",
        "throughput_mbps": "mean",
        "goodput_mbps": "mean",
        "srtt_ms": "mean",
        "retransmits": "sum",
        "drops": "sum",
    }
    sizes = group.value_counts(sort=False)
    return summary.groupby(group).agg(how).set_axis([f"mean of {n}" for n in sizes])


def _bottlenecks(run: Run) -> list[dict[str, Any]]:
    """Return what each bottleneck did; None stands for what only a queue log could tell."""
    last = len(run.scenario.bottlenecks) - 1
    logged = run.scenario.queue_log
    return [
        {
            "bandwidth_mbps": bottleneck.mean_mbps,
            "qdisc": bottleneck.qdisc,
            "queue_packets": bottleneck.queue_packets,
            "utilisation": run.utilisation(i) if logged or i == last else None,
            "mean_queue_packets": _mean_queue_packets(run, i) if logged else None,
            "queueing_delay_ms": run.queueing_delay_ms(i) if logged else None,
        }
        for i, bottleneck in enumerate(run.scenario.bottlenecks)
    ]


def _mean_queue_packets(run: Run, bottleneck: int) -> float:
    shares = run.occupancy_distribution(bottleneck)
    return float((shares * shares.index).sum())


def _print_bottlenecks(run: Run) -> None:
    def shown(value: float | None, form: str) -> str:
        return "-" if value is None or math.isnan(value) else format(value, form)

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
                shown(row["utilisation"], ".1%"),
                shown(row["mean_queue_packets"], ".1f"),
                shown(row["queueing_delay_ms"], ".1f"),
            ]
            for i, row in enumerate(_bottlenecks(run))
        ],
    )
