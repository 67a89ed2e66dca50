# SPDX-License-Identifier: Apache-2.0
"""``ccbench raygen``."""

from __future__ import annotations

import math
import shlex
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.cli._console import in_hours, made_by, print_json, print_pairs, print_table
from ccbench.cli._options import (
    alpha_option,
    beta_option,
    check_ccas,
    completes,
    duration_option,
    jobs_option,
    json_option,
    noise_options,
    scheduler_option,
    seed_option,
    setting,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ccbench.cli._options import NoiseChoice
    from ccbench.raygen import Plan, SearchResult

__all__ = ["raygen"]


class _Command(click.Command):
    """A command whose help ends with the strategies and their settings."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of strategies."""
        from ccbench.raygen import strategies

        with formatter.section("Strategies"):
            for name in strategies.names():
                strategy = strategies.get(name)
                formatter.write_dl([(name, strategy.summary)])
                with formatter.indentation():
                    for one in strategy.settings:
                        formatter.write_text(one.describe())
        super().format_epilog(ctx, formatter)


def _strategies() -> Iterable[str]:
    from ccbench.raygen import strategies

    return strategies.names()


@click.command(cls=_Command)
@alpha_option
@beta_option
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Networks to try at most; each takes a solo and a competing run.",
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
    shell_complete=completes(_strategies),
    metavar="NAME",
    default="genetic",
    show_default=True,
    help="Search strategy, one of those below.",
)
@click.option(
    "--strategy-option",
    "strategy_options",
    type=setting,
    metavar="NAME=VALUE",
    multiple=True,
    help="A setting of the strategy, see below; may be repeated.",
)
@click.option(
    "--space",
    "space_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What to vary, in which ranges: see examples/raygen/space.toml.  [default: as above]",
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Seeds that each network is run with at first; the mean harm counts.",
)
@click.option(
    "--confirm",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Fresh seeds that the worst networks are run with before they are claimed.",
)
@duration_option
@seed_option
@noise_options
@jobs_option
@scheduler_option
@click.option("--dry-run", is_flag=True, help="Say what would be done and how long it would take.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the results.  [default: raygen-ALPHA-BETA-STRATEGY]",
)
@json_option
def raygen(
    *,
    space_file: Path | None,
    duration: float,
    noise: NoiseChoice,
    jobs: int | None,
    scheduler: str | None,
    dry_run: bool,
    output: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Search for the networks in which ALPHA harms BETA most.

    The search goes over bandwidth (25 to 400 Mbit/s), round-trip time (10 to 320 ms), queue length
    (0.25 to 5 BDP) and numbers of flows (1 to 5 of each), or over what --space says. Every finished
    run is kept: the same command goes on where it was interrupted.
    """
    if scheduler is not None and jobs is not None:
        message = "--jobs is for this machine, --scheduler for a cluster: give one of the two"
        raise click.UsageError(message)

    if scheduler is not None and dry_run:
        message = "--dry-run measures this machine, not a cluster: leave --scheduler out"
        raise click.UsageError(message)

    from ccbench import emulate
    from ccbench import raygen as library
    from ccbench.experiment.noise import NO_NOISE

    levels = asdict(NO_NOISE) if noise.is_off else noise.values
    config = library.SearchConfig(
        duration_s=duration,
        space=library.DEFAULT_SPACE if space_file is None else library.Space.load(space_file),
        noise=tuple(levels.items()),
        **settings,
    )
    rivals = (("--alpha", config.alpha), ("--beta", config.beta))
    if dry_run:
        check_ccas(*rivals)
        _print_plan(library.plan(config), jobs, as_json=as_json)
        return
    folder = output or Path(f"raygen-{config.alpha}-{config.beta}-{config.strategy}")
    with nullcontext() if scheduler is None else emulate.cluster(scheduler) as executor:
        check_ccas(*rivals)
        result = library.search(config, executor=executor, jobs=jobs, output_dir=folder)
    if as_json:
        print_json({**result.to_dict(), "output": folder})
        return
    _print_claims(result)
    failed = len(result.failed)
    print_pairs(
        {
            "made by": made_by(result.provenance),
            **({"failed": f"{failed} networks, see the column error"} if failed else {}),
            "all experiments": str(folder / library.RESULTS_CSV),
            **(
                {
                    "the worst, as a plot": str(folder / library.WORST_PNG),
                    "to repeat the worst": _command("run", folder / "worst-1.toml"),
                }
                if (result.claims["error"] == "").any()
                else {}
            ),
            "a report to look at": _command("report", folder),
        }
    )


def _command(name: str, path: Path) -> str:
    """Return what to type into a shell.

    Examples
    --------
    >>> _command("report", Path("my search"))
    "ccbench report 'my search'"
    """
    return shlex.join(["ccbench", name, str(path)])


def _print_claims(result: SearchResult) -> None:
    from ccbench.raygen.gene import shown

    config = result.config
    genes = [gene for gene in config.space.genes if gene.name not in {"alpha_flows", "beta_flows"}]
    alpha, beta = config.alpha, config.beta
    print_table(
        [
            "",
            "fresh\nharm",
            "±\n",
            "search\nharm",
            *(_heading(gene.name, gene.unit) for gene in genes),
            f"{alpha}\nflows",
            f"{beta}\nflows",
            f"{beta}\nMbit/s",
            f"{alpha}\nMbit/s",
        ],
        [
            [
                f"{claim['rank']} {claim['group']}",
                "failed" if claim["error"] else f"{claim['relative_harm']:+.3f}",
                _known(claim["relative_harm_high"] - claim["relative_harm"], ".3f"),
                f"{claim['found_harm']:+.3f}",
                *(shown(claim[gene.name]) for gene in genes),
                str(claim.get("alpha_flows", 1)),
                str(claim.get("beta_flows", 1)),
                *(_known(claim[f"{of}_mbps"], ".2f") for of in ("competing", "alpha")),
            ]
            for claim in result.claims.to_dict("records")
        ],
        title=f"Networks in which {alpha} harms {beta} most, of {result.networks} tried:",
    )
    if config.confirm == 1:
        seeds, trust = "one seed", "It has no interval (±): take --confirm 5.\n"
    else:
        seeds = f"the mean of {config.confirm} seeds"
        trust = (
            "All intervals (±) hold together with 95 %. Networks that share a letter cannot\n"
            "be told apart (Welch's test, Holm's correction, 5 %).\n"
        )
    click.echo(
        f"Relative harm is the part of its throughput alone that {beta} loses, minus what\n"
        f"fair sharing would cost it. Fresh: {seeds} that the search had not seen.\n"
        f"Search: what it saw, which is too much on average, as it picks the largest.\n{trust}"
        f"Noise: {config.noise_words}. Mbit/s are sums over the flows of a kind.\n"
    )


def _heading(name: str, unit: str) -> str:
    """Return a gene's name in two short lines, the unit in the second.

    Examples
    --------
    >>> _heading("bandwidth_mbps", "Mbit/s").split(chr(10))
    ['link', 'Mbit/s']
    """
    short = {"bandwidth_mbps": "link", "rtt_ms": "RTT"}
    units = {"mbps", "ms", "bdp", "s", "packets"}
    words = " ".join(word for word in name.split("_") if word not in units)
    return f"{short.get(name, words)}\n{unit}"


def _known(value: float, form: str) -> str:
    """Return a number as `form` says; nothing if it is NaN.

    Examples
    --------
    >>> _known(0.5, ".2f"), _known(float("nan"), ".2f")
    ('0.50', '')
    """
    return "" if math.isnan(value) else f"{value:{form}}"


def _print_plan(plan: Plan, jobs: int | None, *, as_json: bool) -> None:
    from ccbench.emulate import cores

    if as_json:
        print_json(plan.to_dict())
        return
    side_by_side = jobs or cores()
    hours = plan.core_hours / side_by_side
    print_pairs(
        {
            "networks": f"{plan.scenarios}, in generations of {_sizes(plan.generations)}",
            "runs at most": f"{plan.runs} ({plan.stored} of the first generation are stored)",
            "in real time": f"{plan.virtual_hours:.1f} h",
            "expected here": f"{in_hours(hours)} with {side_by_side} side by side",
        }
    )


def _sizes(generations: tuple[int, ...]) -> str:
    """Return the sizes of generations, equal ones counted.

    Examples
    --------
    >>> _sizes((60, 30, 30, 10))
    '60, 2 x 30, 10'
    """
    import itertools

    counted = [(size, len(list(group))) for size, group in itertools.groupby(generations)]
    return ", ".join(f"{n} x {size}" if n > 1 else str(size) for size, n in counted)
