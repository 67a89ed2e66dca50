# SPDX-License-Identifier: Apache-2.0
"""The part of ``ccbench classify`` that asks servers."""

from __future__ import annotations

import re
from collections import Counter
from typing import IO, TYPE_CHECKING, Any

import click

from ccbench.base import result_folders, validation
from ccbench.base.progress_bars import progress
from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._status import ExitStatus
from ccbench.cli._trace_table import print_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ccbench.classify.filters import Filters
    from ccbench.classify.setting import Setting
    from ccbench.classify.training_set import TrainingSet
    from ccbench.classify.web.download import Recorder
    from ccbench.classify.web.manners import Manners
    from ccbench.classify.web.target import Target
    from ccbench.emulate.engine import Check, Engine
    from ccbench.emulate.realtime.recording import Recording
    from ccbench.experiment.bottleneck import Bottleneck

__all__ = ["classify_servers", "link_checks", "targets_of"]

#: Of files that have records of queues.
_SUFFIXES = (".csv", ".log", ".pcap", ".pcapng", ".parquet", ".json")


def classify_servers(
    targets: Sequence[Target],
    settings: Sequence[Setting],
    load: Callable[[], tuple[TrainingSet, Filters]],
    *,
    output: Path,
    retry: bool,
    engine: str,
    bess_dir: Path | None,
    max_megabytes: float,
    max_connections: int,
    pause: float,
    contact: str,
    min_utilisation: float,
    insecure: bool,
    dry_run: bool,
    as_json: bool,
) -> ExitStatus:
    """Ask servers, and print what they are; see :func:`ccbench.cli.classify.classify`."""
    from ccbench.classify.setting import SETTINGS
    from ccbench.classify.web.download import ASKED_S, check_utilisation
    from ccbench.classify.web.manners import Manners

    settings = list(settings) or list(SETTINGS)
    manners = Manners(
        max_megabytes=max_megabytes,
        max_connections=max_connections,
        pause_s=pause,
        contact=contact,
    )
    manners.check(settings, ASKED_S)
    check_utilisation(min_utilisation)
    recorder = None if dry_run else _recorder(engine, bess_dir, settings)
    from ccbench.classify.web.survey import survey

    known, filters = load()
    for setting in settings:
        known.samples_of(setting)
    if recorder is None:
        _print_intention(targets, settings, manners, output, as_json=as_json)
        return ExitStatus.OK
    record, provenance = recorder
    result_folders.prepare(output, None)
    rows: list[dict[str, Any]] = []
    begun, asked = 0, set()
    with progress("{task.fields[step]}") as bar:
        task = bar.add_task("", total=len(targets) * (len(settings) + 1), step="")

        def show(target: Target, step: str) -> None:
            nonlocal begun
            asked.add(target.url)
            bar.update(task, description=target.name, step=step, completed=begun)
            begun += 1

        for row in survey(
            targets,
            known,
            record,
            output,
            settings=settings,
            manners=manners,
            verify=not insecure,
            filters=filters,
            min_utilisation=min_utilisation,
            retry=retry,
            provenance={**provenance, "training": dict(known.provenance)},
            on_step=show,
        ):
            rows.append(row)
            begun = len(rows) * (len(settings) + 1)
    if as_json:
        print_json({"servers": rows})
    else:
        _print(rows, output)
        if before := len(rows) - len(asked):
            click.echo(f"{before} of {len(rows)} as before: --retry asks those again that failed")
    return ExitStatus.OK if any(row["label"] for row in rows) else ExitStatus.FAILED


def targets_of(names: Sequence[str], hosts: Path | None) -> list[Target]:
    """Return whom to ask, each once.

    Raises
    ------
    InputError
        If there is nobody, or somebody's name cannot be one that a link leads to.
    """
    from ccbench.classify.web.target import INSTEAD_OF_LOOPBACK, Target, read_list

    for name in names:
        _check_not_file(name)
    targets = [Target.named(name) for name in names]
    if hosts is not None:
        targets += read_list(hosts)
    if not targets:
        raise validation.bad("names", [], "a server or a file", "name one, such as example.com")
    for target in targets:
        if target.is_loopback:
            allowed = "one that a link leads to, not this machine's loopback"
            raise validation.bad("server", target.name, allowed, INSTEAD_OF_LOOPBACK)
    return list({target.url: target for target in reversed(targets)}.values())[::-1]


def _check_not_file(name: str) -> None:
    """Refuse what is more likely a file that is not there than a server."""
    host = re.split(r"[/:]", name, maxsplit=1)[0]
    has_dot = "." in host.strip(".") or host == "localhost"
    if "://" not in name and name and (not has_dot or name.endswith(_SUFFIXES)):
        is_path = name.startswith(("/", "."))
        step = "mend the path" if is_path else f"a server of that name is written https://{name}"
        raise validation.bad("file", name, "there", step)


def link_checks(engine: Engine) -> list[Check]:
    """Return what it takes to ask servers through an engine's links, and whether it is there."""
    from ccbench.classify.web import download
    from ccbench.emulate.bess import command as behind_bess
    from ccbench.emulate.bess.engine import BessEngine
    from ccbench.emulate.mahimahi import command as behind_mahimahi

    if isinstance(engine, BessEngine):
        return [*behind_bess.checks(engine.directory), *download.checks()]
    return [*behind_mahimahi.checks(), *download.checks()]


def _recorder(
    engine: str, bess_dir: Path | None, settings: Sequence[Setting]
) -> tuple[Recorder, dict[str, object]]:
    """Return what emulates the link, if this machine can, and what it is."""
    from ccbench.classify.web import download
    from ccbench.cli._options import engine_named
    from ccbench.emulate.bess import command as behind_bess
    from ccbench.emulate.bess.engine import BessEngine
    from ccbench.emulate.bess.pipeline import check_bottleneck, counted_in_places
    from ccbench.emulate.mahimahi import command as behind_mahimahi
    from ccbench.emulate.realtime.host import require

    chosen = engine_named(engine, bess_dir)
    if not isinstance(chosen, BessEngine):
        require(link_checks(chosen))
        return behind_mahimahi.record, chosen.provenance()
    for setting in settings:
        with validation.within(f"setting {setting.name}: "):
            check_bottleneck(counted_in_places(download.link_of(setting)))
    directory = chosen.directory
    require(link_checks(chosen))

    def record(
        words: Sequence[str], link: Bottleneck, rtt_ms: float, *, output: IO[bytes]
    ) -> Recording:
        link = counted_in_places(link)
        return behind_bess.record(words, link, rtt_ms, output=output, directory=directory)

    return record, chosen.provenance()


def _print_intention(
    targets: Sequence[Target],
    settings: Sequence[Setting],
    manners: Manners,
    output: Path,
    *,
    as_json: bool,
) -> None:
    from ccbench.classify.web.download import ASKED_S
    from ccbench.classify.web.folder import RESULT

    each: dict[str, Any] = {
        "settings": [setting.name for setting in settings],
        "seconds_at_least": len(settings) * ASKED_S + (len(settings) - 1) * manners.pause_s,
        "megabytes_at_most": manners.check(settings, ASKED_S),
        "connections_at_most": len(settings) * manners.max_connections,
        "user_agent": manners.user_agent,
    }
    kept = {one.url for one in targets if (output / one.folder_name / RESULT).exists()}
    if as_json:
        servers = [{"url": one.url, "has_result": one.url in kept} for one in targets]
        print_json({"servers": servers, "each": each})
        return
    for target in targets:
        known = f" (has a result in {output})" if target.url in kept else ""
        click.echo(f"{target.url}{known}")
    words = {"settings": ", ".join(each.pop("settings")), "user_agent": each.pop("user_agent")}
    figures = {name: f"{value:.6g}" for name, value in each.items()}
    click.echo("each server, besides the request for its page (and where that redirects to):")
    shown = {**words, **figures}
    print_pairs({f"  {name.replace('_', ' ')}": value for name, value in shown.items()})
    click.echo("nobody was asked")


def _print(rows: Sequence[dict[str, Any]], output: Path) -> None:
    if len(rows) == 1:
        (row,) = rows
        _print_one(row)
    else:
        print_table(
            ["server", "congestion\ncontrol", "votes", "round trip\nms", "data\nMB", "time\ns"],
            [
                [
                    row["target"],
                    row["label"] or "-",
                    row["votes"],
                    "-" if row["rtt_ms"] is None else f"{row['rtt_ms']:.1f}",
                    f"{row['megabytes']:.1f}",
                    f"{row['seconds']:.0f}",
                ]
                for row in rows
            ],
        )
        for row in rows:
            if row["error"] is not None:
                click.echo(f"{row['target']}: {row['error']}")
        counts = Counter(row["label"] or "not classified" for row in rows)
        print_pairs({name: str(count) for name, count in counts.most_common()})
    click.echo(f"kept in {output}")


def _print_one(row: dict[str, Any]) -> None:
    if row["label"] is not None:
        print_traces(row["traces"])
    for trace in row["traces"]:
        if trace["error"] is not None:
            click.echo(f"{trace['setting']}: {trace['error']}")
    if row["label"] is None:
        click.echo(f"{row['target']}: not classified: {row['error']}")
        return
    print_pairs(
        {
            "server": f"{row['url']} ({row['address']}, {row['rtt_ms']:.1f} ms away)",
            "congestion control": f"{row['label']} ({row['votes']} votes)",
            "downloaded": f"{row['megabytes']:.1f} MB in {row['seconds']:.0f} s",
        }
    )
