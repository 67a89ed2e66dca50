# SPDX-License-Identifier: Apache-2.0
"""``ccbench raygen``."""

from __future__ import annotations

import math
import re
import shlex
import textwrap
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ccbench.base.counts import counted
from ccbench.cli._console import (
    made_by,
    print_json,
    print_pairs,
    print_table,
    repeat_more,
)
from ccbench.cli._options import (
    WorkersChoice,
    alpha_option,
    cca,
    cca_names,
    check_ccas,
    completes,
    ecn_option,
    engine_options,
    json_option,
    noise_options,
    output_option,
    qdisc_options,
    quantity,
    seed_option,
    setting,
    workers_options,
)
from ccbench.cli._plan import dry_run_option, print_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from ccbench.cli._options import EngineChoice, NoiseChoice
    from ccbench.emulate import Engine
    from ccbench.raygen import SearchResult
    from ccbench.raygen.config import SearchConfig

__all__ = ["raygen"]


class _Command(click.Command):
    """A command whose help lists the strategies and their options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of strategies."""
        from ccbench.raygen import strategies

        with formatter.section("Strategies"):
            for name in strategies.names():
                strategy = strategies.get(name)
                formatter.write_dl([(name, strategy.summary)])
                with formatter.indentation():
                    for option in strategy.settings:
                        formatter.write_text(option.describe())
        super().format_epilog(ctx, formatter)


def _strategies() -> Iterable[str]:
    from ccbench.raygen import strategies

    return strategies.names()


def _metrics() -> Iterable[str]:
    from ccbench.harm import METRICS

    return ["harm", *METRICS]


def _objectives() -> Iterable[str]:
    from ccbench.raygen.objective import HARM, OBJECTIVES

    return [HARM, *OBJECTIVES]


@click.command(cls=_Command, short_help="Search for networks in which ALPHA harms BETA most.")
@alpha_option
@click.option(
    "--beta",
    type=cca,
    metavar="CCA",
    shell_complete=completes(cca_names),
    help="The deployed CCA, which may be harmed; required for objective harm. For others, the "
    "reference.  [default: cubic]",
)
@click.option(
    "--objective",
    shell_complete=completes(_objectives),
    metavar="O",
    default="harm",
    show_default=True,
    help="What the search maximises: harm; or stall, utilisation or delay: perturbations of a link "
    "on which one flow of ALPHA does worse than one of BETA.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=120,
    show_default=True,
    help="Maximum number of networks; each takes a solo and a competing run.",
)
@click.option(
    "--population",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Networks in the first generation.",
)
@click.option(
    "--strategy",
    shell_complete=completes(_strategies),
    metavar="NAME",
    default="halving",
    show_default=True,
    help="Search strategy (see below).",
)
@click.option(
    "--strategy-option",
    "strategy_options",
    type=setting,
    metavar="NAME=VALUE",
    multiple=True,
    help="Option of the strategy (see below); may be repeated.",
)
@click.option(
    "--space",
    "space_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Search space, such as examples/raygen/space.toml.  [default: as above]",
)
@click.option(
    "--metric",
    shell_complete=completes(_metrics),
    metavar="M",
    default="harm",
    show_default=True,
    help="For objective harm: relative harm, or harm by a metric in `ccbench metrics`, such "
    "as one_way_delay_p99.",
)
@qdisc_options
@ecn_option
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Seeds of each network during the search, which ranks networks by their mean harm.",
)
@click.option(
    "--confirm",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Fresh seeds with which the worst networks are run before they are reported.",
)
@click.option(
    "--duration",
    type=quantity("s"),
    metavar="S",
    help="Length of each run in seconds.  [default: 180; of one flow 20]",
)
@seed_option
@noise_options
@workers_options
@engine_options
@dry_run_option
@output_option(
    "Folder for the results.  [default: raygen-ALPHA-BETA-STRATEGY, or -ALPHA-OBJECTIVE-]"
)
@json_option
def raygen(
    *,
    beta: str | None,
    space_file: Path | None,
    qdisc_settings: tuple[tuple[str, Any], ...],
    duration: float | None,
    noise: NoiseChoice,
    workers: WorkersChoice,
    engine: EngineChoice,
    dry_run: bool,
    output: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Search for the networks in which ALPHA harms BETA most, or does worst on its own.

    The search space is bandwidth (25 to 400 Mbit/s), round-trip time (10 to 320 ms), queue length
    (0.25 to 5 BDP) and number of flows (1 to 5 of each CCA), or that of --space. With another
    objective than harm, it is up to four perturbations of a link of 12 Mbit/s and 40 ms: outages,
    losses, slow times and cross traffic. Finished runs are stored: the same command continues an
    interrupted search.
    """
    if dry_run:
        workers.check_local("--dry-run")
    if beta is None and settings["objective"] == "harm":
        raise click.MissingParameter(param_hint="'--beta'", param_type="option")

    from ccbench import raygen as library
    from ccbench.experiment.noise import NO_NOISE

    given = {
        "beta": beta,
        "duration_s": duration,
        "space": None if space_file is None else library.Space.load(space_file),
    }
    settings |= {name: value for name, value in given.items() if value is not None}
    levels = asdict(NO_NOISE) if noise.is_off else noise.values
    config = library.SearchConfig(
        noise=tuple(levels.items()),
        qdisc_options=qdisc_settings,
        **settings,
    )

    def check(engine: Engine) -> None:
        check_ccas(("--alpha", config.alpha), ("--beta", config.beta), engine=engine)
        config.check(engine)

    if dry_run:
        runner = engine.make(check)
        check(runner)
        plan = library.plan(config, engine=runner)
        about = {"networks": f"{plan.scenarios}, in generations of {_sizes(plan.generations)}"}
        print_plan(plan, workers.jobs, about, as_json=as_json)
        return
    against = config.beta if config.objective == "harm" else config.objective
    names = (re.sub("[:/]", "-", name) for name in (config.alpha, against))
    folder = output or Path("-".join(("raygen", *names, config.strategy)))
    with workers.connected() as chosen:
        runner = engine.make(check)
        check(runner)
        result = library.search(config, engine=runner, output_dir=folder, **chosen)
    if as_json:
        print_json({**result.to_dict(), "output": folder})
        return
    if config.objective == "harm":
        _print_claims(result)
    else:
        _print_findings(result)
    failed = len(result.failed)
    name = "worst" if result.simplest.empty else "simplest"
    print_pairs(
        {
            "made by": made_by(result.provenance),
            **({"failed": f"{counted(failed, 'network')}, see the column error"} if failed else {}),
            "all experiments": str(folder / library.RESULTS_CSV),
            **(
                {
                    "the worst, as a plot": str(folder / library.WORST_PNG),
                    "to rerun the worst": _command("run", folder / f"{name}-1.toml", engine.given),
                }
                if (result.claims["error"] == "").any()
                else {}
            ),
            "to write a report": _command("report", folder),
        }
    )


def _command(name: str, path: Path, options: Mapping[str, object] | None = None) -> str:
    """Return a shell command.

    Examples
    --------
    >>> _command("report", Path("my search"))
    "ccbench report 'my search'"
    >>> _command("run", Path("worst-1.toml"), {"--kernel": "7.3"})
    'ccbench run worst-1.toml --kernel 7.3'
    """
    given = map(str, chain.from_iterable((options or {}).items()))
    return shlex.join(["ccbench", name, str(path), *given])


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
                _if_finite(claim["relative_harm_high"] - claim["relative_harm"], ".3f"),
                f"{claim['found_harm']:+.3f}",
                *(shown(claim[gene.name]) for gene in genes),
                str(claim.get("alpha_flows", 1)),
                str(claim.get("beta_flows", 1)),
                *(_if_finite(claim[f"{of}_mbps"], ".2f") for of in ("competing", "alpha")),
            ]
            for claim in result.claims.to_dict("records")
        ],
        title=f"Networks in which {alpha} harms {beta} most, of {result.networks} tried:",
    )
    if config.confirm == 1:
        seeds, trust = "one seed", "One seed has no interval (±): use --confirm 5.\n"
    else:
        seeds = f"mean of {config.confirm} seeds"
        trust = (
            "The intervals (±) hold simultaneously with 95 % confidence. Networks that share\n"
            "a letter do not differ significantly (Welch's test, Holm's correction, 5 %).\n"
        )
    defined = (
        f"Relative harm is the fraction of its solo throughput that {beta} loses, minus\n"
        "the loss under fair sharing."
    )
    if config.metric != "harm":
        defined = f"Harm: {config.harm_words} to {beta}."
    click.echo(
        f"{defined} Fresh: {seeds} that the search did not use.\n"
        f"Search: harm during the search, biased upwards by selecting the largest.\n{trust}"
        f"Queues: {config.queue_words}.\n"
        f"Noise: {config.noise_words}. Mbit/s are sums over the flows of a CCA.\n"
        f"{_short_runs(result)}"
    )
    _print_doubts(result.claims, config)


def _print_findings(result: SearchResult) -> None:
    config = result.config
    is_shrunk = not result.simplest.empty
    found = (result.simplest if is_shrunk else result.claims).to_dict("records")
    title = f"Worst networks for {config.alpha}, of {result.networks} tried"
    print_table(
        [
            "",
            f"worse than\n{config.beta} by",
            "±\n",
            *(f"{cca}\n" for cca in (config.alpha, config.beta)),
            *(f"{cca}\nMbit/s" for cca in (config.alpha, config.beta)),
        ],
        [
            [
                f"{row['rank']} {row['group']}",
                "failed" if row["error"] else f"{row['relative_harm']:+.3f}",
                _if_finite(row["relative_harm_high"] - row["relative_harm"], ".3f"),
                *(_if_finite(row[f"{of}_harm"], ".3f") for of in ("absolute", "expected")),
                *(_if_finite(row[f"{of}_mbps"], ".2f") for of in ("alpha", "solo")),
            ]
            for row in found
        ],
        title=title + (", simplified:" if is_shrunk else ":"),
    )
    for row in found:
        network = config.describe(config.space.chromosome(row)).partition(", ")[2]
        click.echo(_indented(f"{row['rank']:2}", network))
    click.echo()
    click.echo(
        f"{config.maximised.quantity.capitalize()}, each flow alone on the path:\n"
        f"means of {config.confirm} seeds that the search did not use. The intervals (±) hold\n"
        "simultaneously with 95 % confidence. Findings that share a letter do not differ\n"
        "significantly (Welch's test, Holm's correction, 5 %).\n"
        f"Queues: {config.queue_words}. Noise: {config.noise_words}.\n"
    )
    _print_doubts(result.claims, config)


def _indented(label: str, text: str) -> str:
    """Return text of which further lines stand below the first, after a label.

    Examples
    --------
    >>> _indented(" 1", "the link sends nothing from 2 to 2.5 s")
    ' 1  the link sends nothing from 2 to 2.5 s'
    """
    indent = " " * (len(label) + 2)
    return textwrap.fill(text, 80, initial_indent=f"{label}  ", subsequent_indent=indent)


def _short_runs(result: SearchResult) -> str:
    """Return a line about networks that ran for a part of the duration, if there are any."""
    short = (result.experiments["duration_share"] < 1).sum()
    if not short:
        return ""
    share = result.config.first_share
    return (
        f"Short runs: {counted(short, 'proposal')} of {len(result.experiments)} ran for "
        f"{math.ceil(share * result.config.duration_s)} s only,\n"
        f"all others, and those of this table, for {result.config.duration_s:g} s.\n"
    )


def _print_doubts(claims: pd.DataFrame, config: SearchConfig) -> None:
    """Print a doubt about the intervals of claims, if there is one."""
    doubtful = claims[claims["doubt"] != ""]
    if len(doubtful):
        doubt = repeat_more(doubtful["doubt"].iloc[0], config.confirm, "--confirm")
        click.echo(f"Caution, {len(doubtful)} of {counted(len(claims), 'network')}: {doubt}\n")


def _heading(name: str, unit: str) -> str:
    """Return a gene's short name and, on a second line, its unit.

    Examples
    --------
    >>> _heading("bandwidth_mbps", "Mbit/s").split(chr(10))
    ['link', 'Mbit/s']
    """
    short = {"bandwidth_mbps": "link", "rtt_ms": "RTT"}
    units = {"mbps", "ms", "bdp", "s", "packets"}
    words = " ".join(word for word in name.split("_") if word not in units)
    return f"{short.get(name, words)}\n{unit}"


def _if_finite(value: float, form: str) -> str:
    """Return a formatted number, or an empty string for NaN.

    Examples
    --------
    >>> _if_finite(0.5, ".2f"), _if_finite(float("nan"), ".2f")
    ('0.50', '')
    """
    return "" if math.isnan(value) else f"{value:{form}}"


def _sizes(generations: tuple[int, ...]) -> str:
    """Return the sizes of generations, with equal consecutive sizes counted.

    Examples
    --------
    >>> _sizes((60, 30, 30, 10))
    '60, 2 x 30, 10'
    """
    import itertools

    counted = [(size, len(list(group))) for size, group in itertools.groupby(generations)]
    return ", ".join(f"{n} x {size}" if n > 1 else str(size) for size, n in counted)
