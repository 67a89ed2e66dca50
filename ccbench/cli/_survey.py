# SPDX-License-Identifier: Apache-2.0
"""Text output of surveys of servers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ccbench.cli._console import print_json, print_pairs, print_table
from ccbench.cli._trace_table import print_traces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["print_plan", "print_rows"]


def print_plan(plan: Mapping[str, Any], output: Path, *, as_json: bool) -> None:
    """Print the plan of a survey (:meth:`ccbench.classify.web.survey.Survey.plan`)."""
    if as_json:
        print_json(plan)
        return
    for server in plan["servers"]:
        stored = f" (has a result in {output})" if server["has_result"] else ""
        click.echo(f"{server['url']}{stored}")
    each = dict(plan["each"])
    words = {"settings": ", ".join(each.pop("settings")), "user_agent": each.pop("user_agent")}
    figures = {name: f"{value:.6g}" for name, value in each.items()}
    click.echo("for each server, after a request for its page (and its redirections):")
    shown = {**words, **figures}
    print_pairs({f"  {name.replace('_', ' ')}": value for name, value in shown.items()})
    click.echo("no request was sent")


def print_rows(rows: Sequence[dict[str, Any]], output: Path, *, asked: int, as_json: bool) -> None:
    """Print the results of a survey, of which `asked` servers were measured now."""
    if as_json:
        print_json({"servers": rows})
        return
    _print(rows, output)
    if stored := len(rows) - asked:
        click.echo(f"{stored} of {len(rows)} were stored: --retry repeats those that failed")


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
    click.echo(f"saved to {output}")


def _print_one(row: dict[str, Any]) -> None:
    if row["label"] is not None:
        print_traces(row["traces"])
    for trace in row["traces"]:
        if trace["error"] is not None:
            click.echo(f"{trace['setting']}: {trace['error']}")
    if row["label"] is None:
        click.echo(f"{row['target']}: not classified: {row['error']}")
        return
    from ccbench.classify.reactions import Opinion
    from ccbench.cli._explanation import describe

    variant = f", {row['variant']}" if row.get("variant") else ""
    seen = row.get("reactions")
    print_pairs(
        {
            **({} if seen is None else {"reactions": describe(Opinion.from_dict(seen))}),
            "server": f"{row['url']} ({row['address']}, {row['rtt_ms']:.1f} ms away)",
            "congestion control": f"{row['label']}{variant} ({row['votes']} votes)",
            "downloaded": f"{row['megabytes']:.1f} MB in {row['seconds']:.0f} s",
        }
    )
