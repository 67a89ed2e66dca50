# SPDX-License-Identifier: Apache-2.0
"""``ccbench run``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.base.estimate import Estimate
from ccbench.base.progress_bars import progress
from ccbench.cli._console import (
    in_mbps,
    made_by,
    print_json,
    print_pairs,
    print_table,
    repeat_more,
)
from ccbench.cli._options import (
    NoiseChoice,
    WorkersChoice,
    engine_options,
    json_option,
    noise_options,
    output_option,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from ccbench.cli._options import EngineChoice
    from ccbench.emulate import Engine
    from ccbench.experiment.scenario import Scenario
    from ccbench.harm import Drift
    from ccbench.metrics import Metric
    from ccbench.run.run import Run

__all__ = ["run"]

#: Maximum number of flows with a row each; more flows are shown by group.
_MOST_ROWS = 30
#: Maximum number of flows that a warning names.
_MOST_NAMED = 10
#: Maximum number of flows whose trend is printed.
_MOST_TRENDS = 2
_LATE = (
    "This machine was too busy for real time: the link was late ({late}). The run is not stored. "
    "Run it again on an idle machine."
)
_EXACT = (
    "Nothing in this scenario is random: all {count} repetitions would be identical byte for byte, "
    "so one was run. Add noise with --jitter MS or --noise NAME=VALUE."
)


@click.command()
@click.argument("scenario", metavar="SCENARIO.toml|FOLDER|-", type=click.Path(path_type=Path))
@output_option("Folder to save the run in; with --repeat, it has a folder for each repetition.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw throughput and queue over time as .png, .pdf or .svg; with --repeat, of the first "
    "repetition.",
)
@click.option(
    "--pcap",
    type=click.Path(path_type=Path),
    metavar="FILE.pcapng|FOLDER",
    help="Write the headers of all packets at both hosts and before and after each bottleneck: to "
    "one file, or to a folder with a file for each of these points.",
)
@click.option("--seed", type=int, metavar="N", help="Seed of all random numbers.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Repetitions, each with its own seed; prints medians and their 95 % intervals.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="M",
    help="Print a metric of `ccbench metrics` too, such as fct_p95 or sojourn_time_p99; may be "
    "repeated.",
)
@noise_options
@click.option("--fresh", is_flag=True, help="Run again although the run is stored.")
@workers_options
@dry_run_option
@engine_options
@json_option
def run(
    *,
    scenario: Path,
    output: Path | None,
    plot: Path | None,
    pcap: Path | None,
    seed: int | None,
    repeat: int,
    metrics: tuple[str, ...],
    noise: NoiseChoice,
    fresh: bool,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Run a scenario and print the result of each flow.

    A scenario is a TOML file such as the one below, `-` for standard input, or the folder of a
    saved run, which is repeated. A scenario that was run before is loaded from
    the store, except with --pcap. Without -o and --plot, a large queue log is only summarised.

    \b
        rtt_ms = 40
        duration_s = 60
        flows = [{ cca = "bbr" }, { cca = "cubic", count = 2, start_s = 5 }]
        bottlenecks = [{ bandwidth_mbps = 100, queue_bdp = 1.5 }]
    """  # noqa: D301 - click needs the backslash
    from ccbench.run import run_files, scenario_sources

    if output is not None and repeat > 1:
        from ccbench.run import repetition  # imports pandas

        repetition.check_folder(output, repeat)
    elif output is not None:
        run_files.check_folder(output)
    if plot is not None:
        from ccbench import plots

        plots.check_path(plot)
    if pcap is not None and repeat > 1:
        raise InputError(
            f"--pcap captures one run, not {repeat}: leave out --repeat, or choose a --seed instead"
        )
    if repeat == 1 and workers != WorkersChoice():
        message = "--jobs and --scheduler are for several runs: add --repeat, or leave them out"
        raise click.UsageError(message)
    loaded = scenario_sources.read(scenario).scenario()
    if seed is not None:
        loaded = replace(loaded, seed=seed)
    loaded = replace(loaded, path=replace(loaded.path, noise=noise.over(loaded.path.noise)))
    loaded, extra = _recording(loaded, metrics)
    chosen = engine.make(lambda engine: _check(loaded, scenario, engine))
    loaded = _feasible(
        loaded,
        scenario,
        chosen,
        repeat,
        is_for_table=output is None and plot is None and True not in [m.queue_log for m in extra],
        fresh=fresh or pcap is not None,
    )
    if dry_run:
        workers.check_local("--dry-run")
        _print_plan(loaded, repeat, chosen, workers.jobs, as_json=as_json)
    elif repeat > 1:
        _repeat(
            loaded,
            repeat,
            chosen,
            output,
            plot,
            metrics=extra,
            workers=workers,
            fresh=fresh,
            as_json=as_json,
        )
    else:
        if pcap is not None:
            from ccbench.emulate import outlook

            _announce(outlook.size_of_capture(loaded, chosen, pcap))
        _run_once(loaded, chosen, output, plot, pcap, metrics=extra, fresh=fresh, as_json=as_json)


def _print_plan(
    scenario: Scenario, count: int, engine: Engine, jobs: int | None, *, as_json: bool
) -> None:
    from ccbench.emulate import Campaign
    from ccbench.run.repetition import repetitions

    seeds = [each.seed for each in repetitions(scenario, count)]
    campaign = Campaign(engine=engine)
    needs = campaign.seeded({"": lambda seed: (replace(scenario, seed=seed),)}, {"": seeds})
    print_plan(campaign.plan(needs), jobs, {"scenario": scenario.name}, as_json=as_json)


def _run_once(
    scenario: Scenario,
    engine: Engine,
    output: Path | None,
    plot: Path | None,
    pcap: Path | None,
    *,
    metrics: Sequence[Metric],
    fresh: bool,
    as_json: bool,
) -> None:
    from ccbench import emulate
    from ccbench.harm import Drift
    from ccbench.run.outcomes import OUTCOMES
    from ccbench.run.queue_analysis import summary_rows

    with progress("{task.completed:.0f} of {task.total:g} s") as bar:
        task = bar.add_task("running", total=scenario.duration_s)
        result = emulate.run(
            scenario,
            engine=engine,
            fresh=fresh,
            capture=pcap,
            on_progress=lambda time_s: bar.update(task, completed=time_s),
        )
    if output is not None:
        result.save(output)
    _draw(result, plot)
    drift = Drift.of(result)
    bottlenecks, extra = summary_rows(result), _measured(result, metrics)
    outcomes = {each.name: each.table(result) for each in OUTCOMES if each.is_in(result)}
    if as_json:
        document: dict[str, Any] = {
            "scenario": scenario.to_dict(),
            "flows": result.summary().reset_index().to_dict("records"),
            "bottlenecks": bottlenecks,
            "queues": result.l4s_summary().reset_index().to_dict("records"),
            **{name: table.reset_index().to_dict("records") for name, table in outcomes.items()},
            **({"metrics": extra} if extra else {}),
            "provenance": result.provenance,
        }
        if drift is not None:
            document["trend"] = drift.to_dict()
        if len(result.stored("connections")):
            summary = result.connection_summary()
            document["connections"] = summary.reset_index().to_dict("records")
        if len(result.stored("ecn")):
            document["ecn"] = result.ecn.to_dict("records")
            document["ecn_fallbacks"] = result.ecn_fallbacks()
        if len(result.stored("changes")):
            document["changes"] = result.changes.to_dict("records")
        print_json(document)
        return
    _print_flows(_flows(result), scenario.name)
    _print_outcomes(outcomes, [outcomes])
    _print_bottlenecks(bottlenecks, scenario)
    if any(link.queues for link in scenario.path.links):
        _print_queues(result.l4s_summary())
    _print_metrics(extra)
    pairs = {"made by": made_by(result.provenance), **_trend([drift])}
    _print_files(pairs, output, plot, pcap)
    _print_fallbacks(result)
    for line in _events(result):
        click.echo(line)
    _warn_if_late(result)


def _flows(run: Run) -> dict[str, dict[str, Any]]:
    """Return the results of each flow, or of each group if there are many, by its name."""
    from ccbench.run.flow_analysis import summary_columns

    if run.scenario.flow_count > _MOST_ROWS:
        return _by_name(_few_rows(run.summary(), run.scenario))
    columns = summary_columns(run)
    rows = zip(*columns.values(), strict=True)
    return {str(i): dict(zip(columns, row, strict=True)) for i, row in enumerate(rows)}


def _by_name(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the rows of a table by their names."""
    rows: list[dict[str, Any]] = [*table.to_dict("records")]  # type: ignore[list-item]
    return dict(zip(map(str, table.index), rows, strict=True))


def _measured(run: Run, metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Return the values of the metrics that were asked for."""
    if not metrics:
        return []
    from ccbench.metrics import measured
    from ccbench.run import repetition

    return repetition.records(repetition.estimates([measured(run, metrics)]))


def _repeat(
    scenario: Scenario,
    count: int,
    engine: Engine,
    output: Path | None,
    plot: Path | None,
    *,
    metrics: Sequence[Metric],
    workers: WorkersChoice,
    fresh: bool,
    as_json: bool,
) -> None:
    from ccbench import emulate
    from ccbench.emulate.progress import shown
    from ccbench.harm import Drift
    from ccbench.metrics import measured
    from ccbench.run import repetition

    with shown("running") as on_progress:
        events: list[str] = []
        drifts: list[Drift | None] = [None] * count
        values: dict[int, pd.DataFrame] = {}

        def on_run(i: int, run: Run) -> None:
            if output is not None:
                run.save(repetition.folders(output, count)[i])
            if i == 0:
                _draw(run, plot)
                _print_fallbacks(run)
                events.extend(_events(run))
            drifts[i] = Drift.of(run)
            values[i] = measured(run, metrics)
            _warn_if_late(run)

        with workers.connected() as where:
            result = emulate.repeat(
                scenario,
                count,
                engine=engine,
                fresh=fresh,
                on_run=on_run,
                on_progress=on_progress,
                **where,
            )
    seeds = range(1 if result.is_exact else count)
    extra = repetition.estimates(values[i] for i in seeds)
    if as_json:
        trends = [drift and drift.to_dict() for drift in drifts]
        document = result.to_dict()
        document |= {"metrics": repetition.records(extra)} if len(extra) else {}
        print_json(document | ({"trends": trends} if any(trends) else {}))
        return
    flows = result.estimates(lambda repetition: _few_rows(repetition.flows, scenario))
    _print_flows(_by_name(flows), scenario.name)
    _print_outcomes(result.outcomes(), [run.outcomes for run in result.repetitions])
    bottlenecks = result.estimates(lambda repetition: repetition.bottlenecks)
    _print_bottlenecks([*_by_name(bottlenecks).values()], scenario)
    _print_queues(result.estimates(lambda repetition: repetition.queues))
    _print_metrics(extra.to_dict("records"))
    form = "1 (exact)" if result.is_exact else f"{count} (median, 95 % interval)"
    versions = made_by(result.repetitions[0].provenance)
    pairs = {"noise": scenario.path.noise.describe(), "repetitions": form, "made by": versions}
    if result.doubts:
        flow, doubt = next(iter(result.doubts.items()))
        more = len(result.doubts) - 1
        others = f" and {_more_flows(more)}" if more else ""
        pairs["caution"] = repeat_more(f"flow {flow}{others}: {doubt}", count)
    pairs |= _trend(drifts[:1] if result.is_exact else drifts)
    _print_files(pairs, output, plot)
    if events:
        click.echo("\n".join([f"with seed {scenario.seed}:", *events]))
    if result.is_exact:
        click.echo(_EXACT.format(count=count))


def _recording(scenario: Scenario, names: Sequence[str]) -> tuple[Scenario, tuple[Metric, ...]]:
    """Return a scenario that records enough for metrics besides the tables, and the metrics."""
    if not names:
        return scenario, ()
    from ccbench.metrics import least_log, named

    metrics = named(names)
    return replace(scenario, queue_log=least_log(metrics, least=scenario.queue_log)), metrics


def _print_metrics(values: Sequence[Mapping[Any, Any]]) -> None:
    """Print a row for each value of the metrics that were asked for."""
    if values:
        print_table(
            ["metric", "of", "unit", "value"],
            [
                [row["metric"], row["of"], row["unit"], _shown(row["value"], ".4g")]
                for row in values
            ],
            words=3,
        )


def _trend(drifts: Sequence[Drift | None]) -> dict[str, str]:
    """Return a line if the throughput of flows still changes, in one or several repetitions."""
    found = [drift for drift in drifts if drift is not None]
    if not found:
        return {}
    first = found[0]
    changes = sorted(first.changes_mbps.items(), key=lambda change: -abs(change[1]))
    shown = ", ".join(f"{mbps:+.2g} Mbit/s of flow {flow}" for flow, mbps in changes[:_MOST_TRENDS])
    more = len(changes) - _MOST_TRENDS
    others = f" (and {_more_flows(more)})" if more > 0 else ""
    where = "" if len(drifts) == 1 else f" in {len(found)} of {len(drifts)} repetitions"
    return {
        "trend": f"remains{where}: {shown}{others} from {first.from_s:g} to {first.to_s:g} s; "
        "a longer duration_s would change the result"
    }


def _more_flows(count: int) -> str:
    return f"{count} more flow{'s' if count > 1 else ''}"


def _draw(run: Run, plot: Path | None) -> None:
    if plot is not None:
        from ccbench import plots

        plots.save(plots.throughput_and_queue(run), plot)


def _print_fallbacks(run: Run) -> None:
    flows: dict[str, list[str]] = {}
    for flow, reason in run.ecn_fallbacks().items():
        flows.setdefault(reason, []).append(str(flow))
    for reason, numbers in flows.items():
        more = len(numbers) - _MOST_NAMED
        shown = ", ".join(numbers[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        click.echo(f"flow{'s' if len(numbers) > 1 else ''} {shown}: {reason}")


def _events(run: Run) -> Iterator[str]:
    """Yield a line for each change after an event and each connection of Multipath TCP."""
    for i, change in enumerate(run.scenario.path.changes):
        if change.when is None:
            continue
        times_ns = run.changes.loc[run.changes["change"] == i, "time_ns"]
        shown = [f"{time_ns / 1e9:.6g} s" for time_ns in times_ns[:_MOST_NAMED]]
        more = len(times_ns) - _MOST_NAMED
        when = f"at {', '.join(shown)}" + (f" and {more} more" if more > 0 else "")
        yield f"changes[{i}]: {when if shown else 'never'}"
    if not len(run.stored("connections")):
        return
    summary = run.connection_summary()
    for first, subflows, mbps in zip(
        summary.index, summary["subflows"], summary["goodput_mbps"], strict=True
    ):
        last = first + subflows - 1
        numbers = f"flow{'s' if subflows > 1 else ''} {first}"
        numbers += f" to {last}" if subflows > 1 else ""
        yield f"{numbers}: connection with a goodput of {in_mbps(mbps)} Mbit/s"


def _warn_if_late(run: Run) -> None:
    if run.is_late:
        names = ("late_ms_p99", "rate_error", "switch_waited_share")
        late = (f"{name} {run.provenance[name]:g}" for name in names if name in run.provenance)
        click.echo(_LATE.format(late=", ".join(late)), err=True)


def _check(scenario: Scenario, path: Path, engine: Engine) -> None:
    """Check whether an engine can run the scenario of a file, which errors name."""
    with validation.within(f"{path}: "):
        engine.check(scenario)


def _feasible(
    scenario: Scenario, path: Path, engine: Engine, count: int, *, is_for_table: bool, fresh: bool
) -> Scenario:
    """Return the scenario of a file to run, and announce a long run."""
    from ccbench.emulate import DEFAULT_STORE, outlook
    from ccbench.run.repetition import repetitions

    _check(scenario, path, engine)
    runs = repetitions(scenario, count)
    if not fresh and all(DEFAULT_STORE.has(run, engine) for run in runs):
        return scenario
    if is_for_table:
        scenario, words = outlook.summarised_log(scenario, engine)
        _announce(words)
    _announce(outlook.duration(scenario, engine, count))
    return scenario


def _announce(words: str) -> None:
    if words:
        click.echo(words, err=True)


def _print_files(
    pairs: Mapping[str, str],
    output: Path | None,
    plot: Path | None,
    pcap: Path | None = None,
) -> None:
    files = {"saved to": output, "plot": plot, "packets": pcap}
    print_pairs({**pairs, **{name: str(path) for name, path in files.items() if path is not None}})


def _few_rows(summary: pd.DataFrame, scenario: Scenario) -> pd.DataFrame:
    """Return a row for each flow, or for each group if there are many flows.

    A group's rates and round-trip times are means, its packet counts are sums.
    """
    if len(summary) <= _MOST_ROWS:
        return summary
    aggregations = {
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
    return summary.groupby(group).agg(aggregations).set_axis([f"mean of {n}" for n in sizes])


def _limit(packets: float) -> str:
    """Return the limit of a queue in words."""
    return "no limit" if math.isinf(packets) else f"{packets:.0f}"


def _shown(value: float | Estimate, form: str) -> str:
    median = value.value if isinstance(value, Estimate) else value
    return "-" if math.isnan(median) else format(value, form)


def _print_flows(flows: Mapping[str, Mapping[str, Any]], title: str) -> None:
    """Print a row for each flow or group; values are numbers or Estimates."""
    print_table(
        [
            "flow" if all(map(str.isdecimal, flows)) else "flows",
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
                name,
                flow["label"],
                flow["cca"],
                in_mbps(flow["throughput_mbps"]),
                in_mbps(flow["goodput_mbps"]),
                _shown(flow["srtt_ms"], ".1f"),
                _shown(flow["retransmits"], ".0f"),
                _shown(flow["drops"], ".0f"),
            ]
            for name, flow in flows.items()
        ],
        title=title,
    )


def _print_outcomes(
    tables: Mapping[str, pd.DataFrame], runs: Sequence[Mapping[str, pd.DataFrame]]
) -> None:
    """Print the tables of outcomes, and remarks on those of single runs."""
    from ccbench.run.outcomes import OUTCOMES

    for outcome in OUTCOMES:
        if outcome.name not in tables:
            continue
        table = tables[outcome.name]
        print_table(
            ["flows", "label", *(column.heading for column in outcome.columns)],
            [
                [
                    str(name),
                    row["label"],
                    *(_shown(row[column.name], column.form) for column in outcome.columns),
                ]
                for name, row in zip(table.index, table.to_dict("records"), strict=True)
            ],
            words=2,
        )
        for remark in outcome.remarks([run[outcome.name] for run in runs]):
            click.echo(remark)


def _print_bottlenecks(bottlenecks: Sequence[Mapping[str, Any]], scenario: Scenario) -> None:
    """Print a row for each bottleneck; values are numbers or Estimates."""
    has_losses = any(map(scenario.path.loses, range(len(scenario.path.links))))
    print_table(
        [
            "bottleneck",
            "rate\nMbit/s",
            "queue\npackets",
            "qdisc",
            "utilisation",
            "mean queue\npackets",
            "mean delay\nms",
            *(["losses\npackets"] if has_losses else []),
        ],
        [
            [
                f"{i} (reverse)" if i >= len(scenario.path.bottlenecks) else str(i),
                f"{row['bandwidth_mbps']:g}",
                _limit(row["queue_packets"]),
                row["qdisc"],
                _shown(row["utilisation"], ".1%"),
                _shown(row["mean_queue_packets"], ".1f"),
                _shown(row["queueing_delay_ms"], ".1f"),
                *([_shown(row["losses"], ".0f")] if has_losses else []),
            ]
            for i, row in enumerate(bottlenecks)
        ],
    )


def _print_queues(queues: pd.DataFrame) -> None:
    """Print a row for each queue of a qdisc for L4S; values are numbers or Estimates."""
    if queues.empty:
        return
    print_table(
        [
            "bottleneck",
            "queue",
            "packets",
            "marks\npackets",
            "drops\npackets",
            "mean queue\npackets",
            "mean delay\nms",
            "median delay\nms",
            "p99 delay\nms",
        ],
        [
            [
                str(row["bottleneck"]),
                row["queue"],
                _shown(row["carried_packets"], ".0f"),
                _shown(row["marks"], ".0f"),
                _shown(row["drops"], ".0f"),
                _shown(row["mean_queue_packets"], ".1f"),
                _shown(row["queueing_delay_ms"], ".2f"),
                _shown(row["queueing_delay_p50_ms"], ".2f"),
                _shown(row["queueing_delay_p99_ms"], ".2f"),
            ]
            for row in queues.reset_index().to_dict("records")
        ],
        words=2,
    )
