# SPDX-License-Identifier: Apache-2.0
"""``ccbench classify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ccbench.base import validation
from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_json, print_pairs
from ccbench.cli._explanation import describe, print_explanations
from ccbench.cli._options import (
    EngineChoice,
    json_option,
    link_engine_options,
    output_option,
    quantity,
)
from ccbench.cli._status import ExitStatus
from ccbench.cli._survey import print_plan, print_rows
from ccbench.cli._trace_table import print_traces
from ccbench.emulate.registry import resolve_link

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ccbench.classify.estimator import Estimator
    from ccbench.classify.files import RecordedQueues
    from ccbench.classify.setting import Setting
    from ccbench.classify.web.survey import Survey
    from ccbench.classify.web.target import Target
    from ccbench.emulate.engine import Engine, LinkEngine
    from ccbench.emulate.progress import CampaignProgress

__all__ = ["classify"]

#: Arguments that apply to recorded queues and to servers.
_OF_BOTH = {
    *("names", "setting_names", "training", "skip", "length", "smooth", "bridge", "as_json"),
}
#: Arguments that apply to recorded queues only, and the next step for servers. All others apply to
#: servers only.
_OF_FILES = {
    "kernel": "name the server's folder, which has the recorded queues",
    "plot": "leave it out; each server's folder has the figure",
    "explain": "name the server's folder, which has the recorded queues",
    "barycentres": "name the server's folder, which has the recorded queues",
    "estimator": "name the server's folder, which has the recorded queues",
}


@click.command(short_help="Identify the CCA of a server.")
@click.argument("names", metavar="SERVER|FILE...", nargs=-1)
@click.option(
    "--setting",
    "setting_names",
    metavar="[FILE=]NAME",
    multiple=True,
    help="Bottleneck in Mbit/s, ms and packets, such as 5bw-85rtt-64q: that of the measurement "
    "(may be repeated), or of all files, or of one. Runs contain it, and so may the name of a "
    "file; captures and logs imply it.  [default: the thesis's four for servers]",
)
@click.option(
    "--training",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Training set (`ccbench classify-train`) instead of the packaged one.",
)
@click.option(
    "--kernel",
    metavar="NAME",
    help="Virtual kernel such as 7.3, whose runs in the settings of the files are the training set "
    "instead. Takes minutes per setting once.",
)
@click.option(
    "--skip",
    type=quantity("s", or_zero=True),
    metavar="SECONDS",
    default=0.0,
    help="Leave out the start of traces, including the training set.",
)
@click.option(
    "--length",
    type=quantity("s"),
    metavar="SECONDS",
    help="Length of the traces.  [default: that of the training set, 20 s]",
)
@click.option(
    "--smooth",
    type=quantity("s"),
    metavar="SECONDS",
    help="Time constant of a moving average that smooths traces, including the training set.",
)
@click.option(
    "--bridge",
    type=quantity("s"),
    metavar="SECONDS",
    help="Interpolate over pauses of the application, in which the queue is empty and no packet "
    "arrives for longer than this. Must exceed a round trip, such as 0.5.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw each recorded queue over its nearest training trace (.png, .svg, .pdf). For "
    "servers, this figure is in the server's folder.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Print the distance of each recorded queue to the nearest trace of each CCA, and the "
    "shape of the sender's window: decreases, growth and period. --plot draws these traces.",
)
@click.option(
    "--barycentres",
    is_flag=True,
    help="Draw the barycentre of each CCA's training traces too, with --explain --plot. Needs "
    "ccbench[barycentres]; takes about a minute per setting.",
)
@click.option(
    "--estimator",
    metavar="MODULE:NAME",
    help="Classify recorded queues with another estimator of scikit-learn's interface, such as "
    "tslearn.neighbors:KNeighborsTimeSeriesClassifier, instead of both stages.",
)
@click.option(
    "--hosts",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="List of servers, one per line, optionally with a comma and a group such as cloudfront.",
)
@output_option(
    "Folder for the results of servers. Servers with a result are not measured again.",
    default=Path("servers"),
    show_default=True,
)
@click.option("--retry", is_flag=True, help="Repeat servers that could not be classified.")
@link_engine_options
@click.option(
    "--max-megabytes",
    type=quantity("MB"),
    default=100.0,
    show_default=True,
    help="Maximum total download from one server.",
)
@click.option(
    "--max-connections",
    type=int,
    default=5,
    show_default=True,
    help="Maximum number of connections of one download.",
)
@click.option(
    "--pause",
    type=quantity("s", or_zero=True),
    metavar="S",
    default=5.0,
    show_default=True,
    help="Pause between two downloads from a server.",
)
@click.option(
    "--contact",
    metavar="ADDRESS",
    default="",
    help="Contact address for operators of servers, sent in the User-Agent.",
)
@click.option(
    "--min-utilisation",
    type=float,
    default=0.8,
    show_default=True,
    help="Minimum utilisation of the link for a trace to be valid.",
)
@click.option(
    "--http3",
    is_flag=True,
    help="Download over QUIC, whose congestion control is the server's, not its kernel's. Needs "
    "ccbench[http3].",
)
@click.option("--insecure", is_flag=True, help="Accept servers without a valid certificate.")
@click.option("--dry-run", is_flag=True, help="Print the planned requests without sending any.")
@json_option
@click.pass_context
def classify(
    context: click.Context,
    /,
    *,
    names: tuple[str, ...],
    setting_names: tuple[str, ...],
    training: Path | None,
    kernel: str | None,
    skip: float,
    length: float | None,
    smooth: float | None,
    bridge: float | None,
    plot: Path | None,
    explain: bool,
    barycentres: bool,
    estimator: str | None,
    hosts: Path | None,
    as_json: bool,
    **survey: Any,
) -> ExitStatus | None:
    """Identify the CCA of a server or of a recorded queue.

    SERVER is a host name or a URL. ccbench requests its page repeatedly, for 20 s in each of four
    settings, through an emulated bottleneck whose queue is recorded (as root).

    FILE is a recording, whose kind is recognised: a capture (tcpdump) at the sender, the receiver
    or between; two captures BEFORE.pcap AFTER.pcap of the data that entered and left the queue; a
    CSV file with the columns time_s and occupancy_packets, or of tshark; a log of `ss -ti`, of the
    trace point tcp_probe, of mm-link or of CCAnalyzer; a qlog; or the folder of a run (`ccbench run
    -o`), a command (`ccbench shell -o`) or a server. All files are assumed to be of one server. The
    evidence of all recordings is combined; the connections of one capture are answered by server.

    \b
        sudo ccbench classify example.com
        ccbench classify run-1 run-2 run-3 run-4
    """  # noqa: D301 - click needs the backslash
    files = [Path(name) for name in names if "://" not in name and Path(name).exists()]
    filters = {"skip_s": skip, "duration_s": length, "smooth_s": smooth, "bridge_s": bridge}
    if not files:
        _reject_options_of_files(context)
        return _classify_servers(
            names,
            hosts,
            setting_names,
            training=training,
            filters=filters,
            as_json=as_json,
            **survey,
        )
    if hosts is not None or len(files) < len(names):
        others = [name for name in names if Path(name) not in files]
        others += [] if hosts is None else [str(hosts)]
        allowed = f"files only, as {files[0]} is a file, or servers only"
        raise validation.bad("names", others, allowed, "use one command for each")
    _reject_options_of_servers(context)
    if barycentres and (plot is None or not explain):
        allowed = "given with --explain and --plot FILE"
        raise validation.bad("--barycentres", "given alone", allowed, "add both")
    settings_of = _settings_of(files, setting_names)
    _classify_files(
        files,
        settings_of,
        _training(training, kernel),
        filters,
        plot=plot,
        explain=explain,
        barycentres=barycentres,
        estimator=None if estimator is None else _estimator(estimator),
        as_json=as_json,
    )
    return None


def _estimator(name: str) -> Estimator:
    """Return an estimator by its module and name: an object, or a class without arguments."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
        made: Estimator = found() if isinstance(found, type) else found
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        allowed = "MODULE:NAME of an estimator, such as sklearn.neighbors:NearestCentroid"
        raise validation.bad("--estimator", name, allowed, f"correct it ({error})") from error
    return made


def _training(file: Path | None, kernel: str | None) -> Path | Engine | None:
    """Return the training set's file, or the engine whose runs are the training set."""
    if kernel is None:
        return file
    if file is not None:
        allowed = "left out with --kernel, whose runs are the training set"
        raise validation.bad("--training", str(file), allowed, "leave out one of them")
    return EngineChoice("kernel", {"--kernel": kernel}).make()


def _settings_of(files: Sequence[Path], given: Sequence[str]) -> dict[Path, Setting]:
    """Return the settings that are given for files."""
    from ccbench.classify.setting import Setting

    of_all = [text for text in given if "=" not in text]
    if len(set(of_all)) > 1:
        step = f"write for example --setting {files[0]}={of_all[0]}"
        raise validation.bad("--setting", of_all, "one setting for all files", step)
    result = {file: Setting.named(text) for file in files for text in of_all}
    for text in given:
        name, is_of_file, setting = text.rpartition("=")
        if is_of_file:
            if Path(name) not in files:
                allowed = f"FILE=NAME with one of {', '.join(map(str, files))}"
                raise validation.bad("--setting", text, allowed, "name the file as it is read")
            result[Path(name)] = Setting.named(setting)
    return result


def _reject_options_of_servers(context: click.Context) -> None:
    """Reject options that apply to servers only, instead of ignoring them."""
    for name, option in _given(context).items():
        if name not in _OF_BOTH and name not in _OF_FILES:
            allowed = "left out for files, as it applies to servers"
            raise validation.bad(option, context.params[name], allowed, "leave it out")


def _reject_options_of_files(context: click.Context) -> None:
    """Reject options that apply to files only, instead of ignoring them."""
    for name, option in _given(context).items():
        if name in _OF_FILES:
            value, step = str(context.params[name]), _OF_FILES[name]
            raise validation.bad(option, value, "left out for servers", step)


def _given(context: click.Context) -> dict[str, str]:
    """Return the arguments that are given on the command line, with their options."""
    return {
        option.name: option.opts[-1]
        for option in context.command.params
        if option.name and context.get_parameter_source(option.name) == ParameterSource.COMMANDLINE
    }


def _classify_servers(
    names: Sequence[str],
    hosts: Path | None,
    setting_names: Sequence[str],
    *,
    training: Path | None,
    filters: Mapping[str, Any],
    output: Path,
    retry: bool,
    engine: EngineChoice,
    max_megabytes: float,
    max_connections: int,
    pause: float,
    contact: str,
    min_utilisation: float,
    http3: bool,
    insecure: bool,
    dry_run: bool,
    as_json: bool,
) -> ExitStatus:
    from ccbench.classify.setting import SETTINGS, Setting
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.target import read_targets

    targets = read_targets(names, hosts)
    settings = [Setting.named(name) for name in dict.fromkeys(setting_names)]
    manners = Manners(
        max_megabytes=max_megabytes,
        max_connections=max_connections,
        pause_s=pause,
        contact=contact,
    )
    # Errors in targets and manners are raised before the slow import of pandas.
    from ccbench.classify.filters import Filters
    from ccbench.classify.web.h2load import H2Load
    from ccbench.classify.web.http3 import Http3
    from ccbench.classify.web.survey import Survey

    survey = Survey(
        targets=targets,
        settings=settings or SETTINGS,
        training=training,
        filters=Filters(**filters),
        manners=manners,
        min_utilisation=min_utilisation,
        client=Http3() if http3 else H2Load(),
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
    """Run a survey; return its rows and the number of servers measured now."""
    rows: list[dict[str, Any]] = []
    steps = len(survey.settings) + 1
    completed, asked = 0, set()
    with progress("{task.fields[step]}") as bar:
        task = bar.add_task("", total=len(survey.targets) * steps, step="")

        def show(target: Target, step: str) -> None:
            nonlocal completed
            asked.add(target.url)
            bar.update(task, description=target.name, step=step, completed=completed)
            completed += 1

        for row in survey.run(output, engine=engine, retry=retry, on_step=show):
            rows.append(row)
            completed = len(rows) * steps
    return rows, len(asked)


def _classify_files(
    files: Sequence[Path],
    settings: Mapping[Path, Setting],
    training: Path | Engine | None,
    filters: Mapping[str, Any],
    *,
    plot: Path | None,
    explain: bool,
    barycentres: bool,
    estimator: Estimator | None,
    as_json: bool,
) -> None:
    from ccbench import plots

    if plot is not None:
        plots.check_path(plot)
    from ccbench.classify.files import RecordedQueues
    from ccbench.classify.filters import Filters
    from ccbench.emulate.progress import shown

    with shown("training for this setting") as update:
        steps = _Steps("training for the settings of the files")

        def show(now: CampaignProgress) -> None:
            update(now)
            if not sys.stderr.isatty():
                steps.show(now.done, now.planned)

        every = RecordedQueues.read(
            files, settings, training=training, filters=Filters(**filters), on_progress=show
        )
    if plot is not None:
        plots.save(every.figure(every_cca=explain, barycentres=barycentres), plot)
    servers = every.by_connection()
    if estimator is not None:
        _print_votes(servers, estimator, as_json=as_json)
        return
    if as_json:
        results = [_as_json(queues, explain=explain) for queues in servers]
        same = {"files": [str(file) for file in files]}
        if len(results) == 1:
            print_json({**same, **results[0]})
        else:
            print_json({**same, "servers": results})
        return
    for queues in servers:
        _print(queues, explain=explain)


def _print_votes(servers: Sequence[RecordedQueues], estimator: Estimator, *, as_json: bool) -> None:
    """Print the labels by an estimator."""
    from ccbench.classify.estimator import judge_with

    for queues in servers:
        label, votes = judge_with(estimator, queues.traces, queues.training_set)
        names = dict(zip(queues.names, votes, strict=True))
        if as_json:
            print_json({"label": label, "votes": names})
        else:
            print_pairs({**names, "congestion control": label})


def _as_json(queues: RecordedQueues, *, explain: bool) -> dict[str, Any]:
    result = queues.verdict.to_dict()
    shapes = queues.shapes() if explain else []
    for trace, recording in zip(result["traces"], queues.recordings, strict=True):
        trace |= {"recording": recording.name, "notes": list(recording.notes)}
        trace["source"] = recording.source
    for trace, shape in zip(result["traces"], shapes, strict=False):
        trace["shape"] = shape.to_dict()
    return result


def _print(queues: RecordedQueues, *, explain: bool) -> None:
    verdict = queues.verdict
    shown = [
        {"file": name, **trace.to_dict()}
        for name, trace in zip(queues.names, verdict.traces, strict=True)
    ]
    print_traces(shown, first="file")
    for recording in queues.recordings:
        remarks = [*([recording.source] if recording.source else []), *recording.notes]
        if remarks:
            click.echo(f"{recording.name}: {'; '.join(remarks)}")
    if explain:
        print_explanations(queues.names, verdict.traces, queues.shapes())
    if verdict.reactions is not None:
        click.echo(f"reactions: {describe(verdict.reactions)}")
    variant = f", {verdict.variant}" if verdict.variant else ""
    click.echo(f"congestion control: {verdict.label}{variant}")


class _Steps:
    """Progress on a line for each tenth, where there is no terminal."""

    def __init__(self, title: str) -> None:
        self._title, self._tenth = title, -1

    def show(self, done: int, total: int) -> None:
        """Print a line if another tenth is complete."""
        tenth = 10 * done // max(total, 1)
        if tenth != self._tenth:
            self._tenth = tenth
            click.echo(f"{self._title}: {done} of {total} runs", err=True)
