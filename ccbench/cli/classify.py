# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ccbench.base import validation
from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_json
from ccbench.cli._options import json_option, link_engine_options, quantity
from ccbench.cli._status import ExitStatus
from ccbench.cli._survey import print_plan, print_rows
from ccbench.cli._trace_table import print_traces
from ccbench.emulate.registry import resolve_link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.classify.setting import Setting
    from ccbench.classify.web.survey import Survey
    from ccbench.classify.web.target import Target
    from ccbench.cli._options import EngineChoice
    from ccbench.emulate.engine import LinkEngine

__all__ = ["classify"]

#: Arguments that recorded queues have; all others are about servers.
_OF_FILES = {"names", "setting_names", "training", "smooth", "bridge", "plot", "as_json"}


@click.command(short_help="Say which congestion control a server runs.")
@click.argument("names", metavar="SERVER|FILE...", nargs=-1)
@click.option(
    "--setting",
    "setting_names",
    metavar="NAME",
    multiple=True,
    help="Mbit/s, ms and packets, such as 5bw-85rtt-64q: where to observe servers (may be "
    "repeated), or where the files were recorded, if they do not know it themselves.  [default: "
    "the thesis's four for servers]",
)
@click.option(
    "--training",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A training set of one's own (`ccbench classify-train`).",
)
@click.option(
    "--smooth",
    type=quantity("s"),
    metavar="SECONDS",
    help="Smooth traces, also those of the training set: time constant of a moving average.",
)
@click.option(
    "--bridge",
    type=quantity("s"),
    metavar="SECONDS",
    help="Draw straight lines over pauses of the application: where the queue is empty and nothing "
    "arrives for longer than this. Must be longer than a round trip, such as 0.5.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw each recorded queue over its nearest training trace (.png, .svg, .pdf). Servers "
    "have such a figure in their folders.",
)
@click.option(
    "--hosts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A list of servers, one on a line; after a comma a group such as cloudfront.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("servers"),
    show_default=True,
    help="Folder for what servers are found to be. What is in there is not asked again.",
)
@click.option("--retry", is_flag=True, help="Ask those again that could not be classified.")
@link_engine_options
@click.option(
    "--max-megabytes",
    type=quantity("MB"),
    default=100.0,
    show_default=True,
    help="What one server may be asked for in all.",
)
@click.option(
    "--max-connections",
    type=int,
    default=5,
    show_default=True,
    help="How many connections one download may open.",
)
@click.option(
    "--pause",
    type=quantity("s", or_zero=True),
    metavar="S",
    default=5.0,
    show_default=True,
    help="How long a server is left alone between two downloads.",
)
@click.option(
    "--contact",
    metavar="ADDRESS",
    default="",
    help="How the owners of servers reach you: part of the User-Agent.",
)
@click.option(
    "--min-utilisation",
    type=float,
    default=0.8,
    show_default=True,
    help="What part of a link a server must use for its trace to count.",
)
@click.option("--insecure", is_flag=True, help="Ask servers without a valid certificate too.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked, and ask nobody.")
@json_option
@click.pass_context
def classify(
    context: click.Context,
    /,
    *,
    names: tuple[str, ...],
    setting_names: tuple[str, ...],
    training: Path | None,
    smooth: float | None,
    bridge: float | None,
    plot: Path | None,
    hosts: Path | None,
    as_json: bool,
    **asking: Any,
) -> ExitStatus | None:
    """Say which congestion control a server runs, or made a recorded queue.

    SERVER is a host or a URL: it is asked for its page again and again, for 20 s in each of four
    settings, through an emulated bottleneck whose queue is recorded (as root).

    FILE is a record of such a queue: the folder of a run (`ccbench run -o`), of a command
    (`ccbench shell -o`) or of a server, a log of mm-link, a CSV file with the columns time_s and
    occupancy_packets, or two captures, BEFORE.pcap AFTER.pcap, of what arrived at the queue and
    what left it. All are taken for one server's, and each has a vote.

    \b
        sudo ccbench classify example.com
        ccbench classify run-1 run-2 run-3 run-4
    """  # noqa: D301 - click wants this sign itself
    from ccbench.classify.setting import Setting

    settings = [Setting.named(name) for name in dict.fromkeys(setting_names)]
    files = [Path(name) for name in names if "://" not in name and Path(name).exists()]
    filters = {"smooth_s": smooth, "bridge_s": bridge}
    if not files:
        if plot is not None:
            allowed = "left out for servers, whose figures are in their folders"
            raise validation.bad("--plot", str(plot), allowed, "leave it out")
        return _classify_servers(
            names, hosts, settings, training=training, filters=filters, as_json=as_json, **asking
        )
    if hosts is not None or len(files) < len(names):
        others = [name for name in names if Path(name) not in files]
        others += [] if hosts is None else [str(hosts)]
        allowed = f"files only, as {files[0]} is one, or servers only"
        raise validation.bad("names", others, allowed, "ask one after the other")
    _refuse_options_of_servers(context)
    _classify_files(files, settings, training, filters, plot=plot, as_json=as_json)
    return None


def _refuse_options_of_servers(context: click.Context) -> None:
    """Refuse options that only servers have, rather than do nothing about them."""
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") == ParameterSource.COMMANDLINE
        if is_given and option.name not in _OF_FILES:
            allowed = "left out for files, as it is about servers"
            raise validation.bad(
                option.opts[-1], context.params[option.name or ""], allowed, "leave it out"
            )


def _classify_servers(
    names: Sequence[str],
    hosts: Path | None,
    settings: Sequence[Setting],
    *,
    training: Path | None,
    filters: Mapping[str, float | None],
    output: Path,
    retry: bool,
    engine: EngineChoice,
    max_megabytes: float,
    max_connections: int,
    pause: float,
    contact: str,
    min_utilisation: float,
    insecure: bool,
    dry_run: bool,
    as_json: bool,
) -> ExitStatus:
    from ccbench.classify.setting import SETTINGS
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.target import read_targets

    targets = read_targets(names, hosts)
    manners = Manners(
        max_megabytes=max_megabytes,
        max_connections=max_connections,
        pause_s=pause,
        contact=contact,
    )
    # What is wrong with names and manners is said at once; pandas takes a while to import.
    from ccbench.classify.filters import Filters
    from ccbench.classify.web.survey import Survey

    survey = Survey(
        targets=targets,
        settings=settings or SETTINGS,
        training=training,
        filters=Filters(**filters),
        manners=manners,
        min_utilisation=min_utilisation,
        verify=not insecure,
    )
    links = resolve_link(engine.make())
    if dry_run:
        print_plan(survey.plan(output), output, as_json=as_json)
        return ExitStatus.OK
    rows, asked = _observe(survey, links, output, retry=retry)
    print_rows(rows, output, asked=asked, as_json=as_json)
    return ExitStatus.OK if any(row["label"] for row in rows) else ExitStatus.FAILED


def _observe(
    survey: Survey, engine: LinkEngine, output: Path, *, retry: bool
) -> tuple[list[dict[str, Any]], int]:
    """Run a survey; return its rows, and how many servers were asked."""
    rows: list[dict[str, Any]] = []
    steps = len(survey.settings) + 1
    begun, asked = 0, set()
    with progress("{task.fields[step]}") as bar:
        task = bar.add_task("", total=len(survey.targets) * steps, step="")

        def show(target: Target, step: str) -> None:
            nonlocal begun
            asked.add(target.url)
            bar.update(task, description=target.name, step=step, completed=begun)
            begun += 1

        for row in survey.run(output, engine=engine, retry=retry, on_step=show):
            rows.append(row)
            begun = len(rows) * steps
    return rows, len(asked)


def _classify_files(
    files: Sequence[Path],
    settings: Sequence[Setting],
    training: Path | None,
    filters: Mapping[str, float | None],
    *,
    plot: Path | None,
    as_json: bool,
) -> None:
    from ccbench.run import plots

    if len(settings) > 1:
        given = [setting.name for setting in settings]
        raise validation.bad("--setting", given, "one, for all files", "ask one after the other")
    if plot is not None:
        plots.check_path(plot)
    from ccbench.classify.files import RecordedQueues
    from ccbench.classify.filters import Filters

    queues = RecordedQueues.read(
        files, next(iter(settings), None), training=training, filters=Filters(**filters)
    )
    if plot is not None:
        plots.save(queues.figure(), plot)
    verdict = queues.verdict
    if as_json:
        print_json({"files": [str(file) for file in files], **verdict.to_dict()})
        return
    shown = [
        {"file": name, **trace.to_dict()}
        for name, trace in zip(queues.names, verdict.traces, strict=True)
    ]
    print_traces(shown, first="file")
    click.echo(f"congestion control: {verdict.label}")
