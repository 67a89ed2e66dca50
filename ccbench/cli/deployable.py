# SPDX-License-Identifier: Apache-2.0
"""``ccbench deployable``."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ccbench.base import result_folders, safe_json
from ccbench.base.counts import counted
from ccbench.cli._console import (
    made_by,
    print_json,
    print_pairs,
    print_table,
    repeat_more,
)
from ccbench.cli._options import (
    NoiseChoice,
    WorkersChoice,
    alpha_option,
    beta_option,
    check_ccas,
    engine_options,
    json_option,
    noise_options,
    output_option,
    quantity,
    seed_option,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    import pandas as pd

    from ccbench.cli._options import EngineChoice
    from ccbench.harm.deployability import Assessment, Deployability

__all__ = ["deployable"]

#: Counterexamples printed for each threshold; the files have all of them.
_SHOWN = 3


@click.command()
@alpha_option
@beta_option
@click.option(
    "--networks",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file of networks.  [default: four, 10 and 50 Mbit/s]",
)
@click.option(
    "--workloads",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file of workloads.  [default: long, short, video, call]",
)
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    help="Metric of harm, of flows in `ccbench metrics`; may be repeated.  [default: those of each "
    "workload]",
)
@click.option(
    "--leeway",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Tolerance by which harm may exceed its bound.",
)
@click.option(
    "--repeat",
    "repetitions",
    type=click.IntRange(min=1),
    metavar="N",
    default=5,
    show_default=True,
    help="Runs of each scenario before the first verdict, each with its own seed.",
)
@click.option(
    "--max-repeat",
    "max_repetitions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Maximum number of runs of the scenarios of undecided cases.  [default: 20, or that of "
    "--repeat if it is larger]",
)
@click.option(
    "--duration",
    type=quantity("s"),
    metavar="S",
    default=60.0,
    show_default=True,
    help="Length of each run in seconds.",
)
@seed_option
@noise_options
@workers_options
@dry_run_option
@engine_options
@output_option("Folder for all harms and verdicts.")
@json_option
def deployable(
    *,
    alpha: str,
    beta: str,
    networks: Path | None,
    workloads: Path | None,
    metrics: tuple[str, ...],
    leeway: float,
    repetitions: int,
    max_repetitions: int | None,
    duration: float,
    seed: int,
    noise: NoiseChoice,
    workers: WorkersChoice,
    dry_run: bool,
    engine: EngineChoice,
    output: Path | None,
    as_json: bool,
) -> None:
    """Judge whether ALPHA may be deployed alongside BETA.

    In every network, BETA's flows of every workload run alone, against BETA's and against ALPHA's
    flows of every workload. Three thresholds bound the harm that ALPHA may do to BETA: the harm
    that BETA does with ALPHA's workload (equivalent), the harm that BETA does to ALPHA (symmetric),
    and the harm that BETA does with any workload (worst-case).

    Harm is that of whole runs, including slow start. Runs are repeated until the confidence
    intervals decide whether a threshold is broken or respected; those of undecided cases at most
    --max-repeat times. By default, each network has its own noise, or the typical noise if it
    defines none. Finished runs are stored: the same command continues an interrupted assessment.
    """
    from ccbench.emulate.progress import shown
    from ccbench.harm import circumstances
    from ccbench.harm.deployability import (
        MAX_REPETITIONS,
        Assessment,
        assess,
        assessment_plan,
    )

    paths = circumstances.load_networks(networks) if networks else circumstances.NETWORKS
    assessment = Assessment(
        alpha=alpha,
        beta=beta,
        networks=tuple(
            replace(each, path=replace(each.path, noise=noise.over(each.path.noise)))
            for each in paths
        ),
        workloads=circumstances.load_workloads(workloads) if workloads else circumstances.WORKLOADS,
        metrics=metrics or None,
        duration_s=duration,
        repetitions=repetitions,
        max_repetitions=max_repetitions or max(MAX_REPETITIONS, repetitions),
        leeway=leeway,
        seed=seed,
    )
    rivals = (("--alpha", alpha), ("--beta", beta))
    runner = engine.make(lambda engine: check_ccas(*rivals, engine=engine))
    check_ccas(*rivals, engine=runner)
    if dry_run:
        workers.check_local("--dry-run")
        about = {"networks": str(len(assessment.networks))}
        plan = assessment_plan(assessment, engine=runner)
        print_plan(plan, workers.jobs, about, as_json=as_json)
        return
    if output is not None:
        result_folders.prepare(output, "verdict on deployment")
    with workers.connected() as chosen, shown(f"{alpha} against {beta}") as on_progress:
        result = assess(assessment, engine=runner, on_progress=on_progress, **chosen)
    if output is not None:
        _write(result, output)
    if as_json:
        print_json(_document(result))
    else:
        _print(result, output)


def _document(result: Deployability) -> dict[str, object]:
    settings = result.assessment
    return {
        "alpha": settings.alpha,
        "beta": settings.beta,
        "duration_s": settings.duration_s,
        "repetitions": settings.repetitions,
        "max_repetitions": settings.max_repetitions,
        "leeway": settings.leeway,
        "noise": {network.name: network.path.noise.to_dict() for network in settings.networks},
        "verdicts": result.verdicts,
        "cases": result.cases.to_dict("records"),
        "provenance": dict(result.provenance),
    }


def _write(result: Deployability, folder: Path) -> None:
    from ccbench.base import durable

    texts = {
        "harms.csv": result.harms.to_csv(index=False),
        "cases.csv": result.cases.to_csv(index=False),
        "deployable.json": safe_json.text(_document(result)),
    }
    for name, text in texts.items():
        durable.write_text(folder / name, text)


def _print(result: Deployability, output: Path | None) -> None:
    settings = result.assessment
    click.echo(f"May {settings.alpha} be deployed alongside {settings.beta}?\n")
    for threshold, verdict in result.verdicts.items():
        cases = result.cases[result.cases["threshold"] == threshold]
        broken = int((cases["verdict"] == "broken").sum())
        undecided = int((cases["verdict"] == "undecided").sum())
        details = f"{broken} broken, {undecided} undecided of {counted(len(cases), 'case')}"
        click.echo(f"{threshold:<10}  {verdict:<9}  ({details})")
    for threshold in result.verdicts:
        counterexamples = result.counterexamples(threshold)
        if len(counterexamples):
            _print_counterexamples(counterexamples, threshold, settings)
    noises = list(dict.fromkeys(network.path.noise.describe() for network in settings.networks))
    fewest, most = (getattr(result.cases["repetitions"], end)() for end in ("min", "max"))
    runs = f"{fewest} to {most} of each case" if fewest < most else str(most)
    single = " (no intervals: verdicts compare single numbers)"
    pairs = {
        "noise": "; ".join(noises) + (" (by network)" if len(noises) > 1 else ""),
        "repetitions": f"{runs}{single if most == 1 else ''}",
        "made by": made_by(result.provenance),
    }
    doubts = [doubt for doubt in result.cases["doubt"] if doubt]
    if doubts:
        where = f"{len(doubts)} of {len(result.cases)} intervals"
        pairs["caution"] = f"{where}: {repeat_more(doubts[0], most)}"
    if output is not None:
        pairs["all harms"] = str(output / "harms.csv")
        pairs["all verdicts"] = str(output / "cases.csv")
    click.echo()
    print_pairs(pairs)


def _print_counterexamples(cases: pd.DataFrame, threshold: str, settings: Assessment) -> None:
    click.echo()
    print_table(
        [
            "network",
            f"{settings.beta}\nharmed",
            f"{settings.alpha}\nharms",
            "metric",
            "harm",
            "bound",
            "excess",
        ],
        [
            [
                case["network"],
                case["victim"],
                case["attacker"],
                case["metric"],
                f"{case['harm']:.2f}",
                f"{case['bound']:.2f}",
                _with_ci(case["excess"], case["excess_ci"]),
            ]
            for case in cases.head(_SHOWN).to_dict("records")
        ],
        title=f"Largest violations of {threshold} bounded harm:",
    )


def _with_ci(mean: float, half: float) -> str:
    return f"{mean:+.2f}" if math.isnan(half) else f"{mean:+.2f} ± {half:.2f}"
