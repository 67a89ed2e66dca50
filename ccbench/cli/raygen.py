# SPDX-License-Identifier: Apache-2.0
"""``ccbench raygen``."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ccbench.cli._console import made_by, print_json, print_pairs, print_table, progress
from ccbench.cli._options import (
    alpha_option,
    beta_option,
    duration_option,
    jobs_option,
    json_option,
    seed_option,
)
from ccbench.errors import CcbenchError, MissingRequirement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor

    from ccbench.raygen import Evaluation, Progress

__all__ = ["raygen"]


@click.command()
@alpha_option
@beta_option
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Experiments at most; one is a solo and a competing run of one network.",
)
@click.option(
    "--population",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Networks in the first generation; for the genetic search a multiple of 4.",
)
@click.option(
    "--strategy",
    metavar="NAME",
    default="genetic",
    show_default=True,
    help="What chooses the networks: genetic, random, sweep or surrogate.",
)
@duration_option
@seed_option
@jobs_option
@click.option(
    "--scheduler",
    metavar="tcp://HOST:8786",
    help="Run on the dask cluster of this scheduler instead of on this machine.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the results.  [default: raygen-ALPHA-BETA]",
)
@json_option
def raygen(
    *,
    alpha: str,
    beta: str,
    budget: int,
    population: int,
    strategy: str,
    duration: float,
    seed: int,
    jobs: int | None,
    scheduler: str | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Search for the networks in which ALPHA harms BETA most.

    The search goes over bandwidth (25 to 400 Mbit/s), round-trip time (10 to 320 ms), queue length
    (0.25 to 5 BDP) and numbers of flows (1 to 5 of each). Every finished experiment is kept: the
    same command goes on where it was interrupted.

    The networks are chosen by a genetic algorithm, at random, from an exponentially spaced grid, or
    by a model of harm that learns from each generation (surrogate).
    """
    if scheduler is not None and jobs is not None:
        message = "--jobs is for this machine, --scheduler for a cluster: give one of the two"
        raise click.UsageError(message)

    from ccbench import raygen as library

    config = library.SearchConfig(
        alpha=alpha,
        beta=beta,
        budget=budget,
        population=population,
        duration_s=duration,
        seed=seed,
        strategy=cast("Any", strategy),  # which there are, the library knows
    )
    folder = output or Path(f"raygen-{alpha}-{beta}")
    with _executor(scheduler) as executor, progress("{task.fields[state]}") as bar:
        task = bar.add_task("preparing", total=1.0, state="")

        def show(now: Progress) -> None:
            best = "" if now.best is None else f", harm up to {now.best.harm.relative:+.3f}"
            bar.update(
                task,
                completed=now.fraction,
                description=f"generation {now.generation}/{now.generations}",
                state=f"{now.done}/{now.planned} done{best}",
            )

        result = library.search(
            config, executor=executor, jobs=jobs, output_dir=folder, on_progress=show
        )
    if as_json:
        print_json({**result.to_dict(), "output": folder})
        return
    print_table(
        [
            "",
            "relative\nharm",
            "link\nMbit/s",
            "RTT\nms",
            "queue\nBDP",
            f"{alpha}\nflows",
            f"{beta}\nflows",
            f"{beta} alone\nMbit/s",
            f"{beta}\nMbit/s",
            f"{alpha}\nMbit/s",
        ],
        [_row(rank, evaluation) for rank, evaluation in enumerate(result.worst(), start=1)],
        title=f"Networks in which {alpha} harms {beta} most, of {len(result.evaluations)} tried:",
    )
    click.echo(
        f"Relative harm is the part of its solo throughput that {beta} loses, minus what fair\n"
        "sharing would cost it. Mbit/s are sums over the flows of a kind.\n"
    )
    print_pairs(
        {
            "made by": made_by(result.provenance),
            "all experiments": str(folder / library.RESULTS_CSV),
            "the worst, as a plot": str(folder / library.WORST_PNG),
            "to repeat the worst": f"ccbench run {folder / 'worst-1.toml'}",
        }
    )


def _row(rank: int, evaluation: Evaluation) -> list[str]:
    """Return an experiment's row in the table of the worst."""
    harm = evaluation.harm
    scenario = evaluation.experiment.competing
    (bottleneck,) = scenario.bottlenecks
    room = bottleneck.queue_packets or 0
    return [
        str(rank),
        f"{harm.relative:+.3f}",
        f"{bottleneck.mean_mbps:.1f}",
        f"{scenario.rtt_ms:.1f}",
        f"{room / scenario.bdp_packets():.2f}",
        str(harm.n_alpha),
        str(harm.n_beta),
        f"{harm.solo_mbps:.2f}",
        f"{harm.competing_mbps:.2f}",
        f"{harm.alpha_mbps:.2f}",
    ]


@contextmanager
def _executor(scheduler: str | None) -> Iterator[Executor | None]:
    """Connect to a dask scheduler; without one the library makes its own pool."""
    if scheduler is None:
        yield None
        return
    if not re.fullmatch(r"(tcp|tls|ucx)://\S+:\d+", scheduler):
        message = f"{scheduler!r} is not the address of a dask scheduler, such as tcp://host:8786"
        raise click.BadParameter(message, param_hint="--scheduler")
    try:
        from distributed import Client
    except ImportError:
        message = "--scheduler needs dask, which is not installed: pip install 'dask[distributed]'"
        raise MissingRequirement(message) from None
    try:
        client = Client(scheduler, timeout=10)
    except OSError as error:  # a TimeoutError is one
        step = "start one with `dask scheduler`"
        raise CcbenchError(f"no dask scheduler answers at {scheduler} ({error}): {step}") from error
    with client:
        yield client.get_executor()
