# SPDX-License-Identifier: Apache-2.0
"""Output of results: tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

import click

__all__ = [
    "WIDTH",
    "coloured",
    "in_hours",
    "json_text",
    "made_by",
    "plain",
    "print_json",
    "print_pairs",
    "print_table",
]

#: Tables are no wider than this. They do not ask how wide the terminal is: most of ours fit into 80
#: columns, and of one that does not a terminal breaks lines, which is better than broken numbers.
WIDTH = 140

#: Values have as many columns as this, however narrow the terminal is.
_NARROWEST = 30


def print_json(document: Mapping[str, Any]) -> None:
    """Print `document` on standard output; NaN and infinities, unknown to JSON, become null."""
    click.echo(json_text(document), nl=False)


def json_text(document: Mapping[str, Any]) -> str:
    """Return `document` as :func:`print_json` prints it: for files."""
    return json.dumps(plain(document), indent=2, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Turn `value` into what JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a number of numpy's
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)


def coloured(text: str, colour: str) -> str:
    """Return `text` in a colour, unless the user wants none (https://no-color.org)."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", words: int = 1
) -> None:
    """Print a table on standard output; the first column holds text, the others are aligned right.

    Parameters
    ----------
    columns : sequence of str
        Headings; a second line has the unit, so that tables fit into 80 columns.
    rows : iterable of sequence of str
        Cells, ready to print.
    title : str, optional
        A line above the table.
    words : int
        Number of columns from the left that hold text.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, width=WIDTH, color_system=None)
    heading = Text(title) if title else None
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=heading, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():  # without the blanks that fill the last column
        click.echo(line.rstrip())


def print_pairs(pairs: Mapping[str, str], *, err: bool = False, words: bool = False) -> None:
    """Print names and values in two columns on standard output, or on standard error.

    With `words`, a value that is too long for a terminal goes on below itself. Paths and commands
    are no such values: they are there to be copied.
    """
    width = max(map(len, pairs), default=0)
    is_wrapped = words and (sys.stderr if err else sys.stdout).isatty()
    room = max(shutil.get_terminal_size().columns - width - 2, _NARROWEST)
    for name, value in pairs.items():
        lines = [value]
        if is_wrapped:
            lines = wrap(value, room, break_long_words=False, break_on_hyphens=False)
        for i, line in enumerate(lines or [""]):
            click.echo(f"{'' if i else name:<{width}}  {line}", err=err)


def made_by(provenance: Mapping[str, Any]) -> str:
    """Return what made a result, for people: numbers differ a little from kernel to kernel."""
    engines = [
        f"engine {one['engine']}"
        + (f", Linux {one['kernel_release']}" if "kernel_release" in one else "")
        for one in provenance.get("engines", [provenance])
    ]
    return f"ccbench {provenance['ccbench']}, {' and '.join(engines)}"


def in_hours(hours: float) -> str:
    """Return a time in hours for people.

    Examples
    --------
    >>> in_hours(0.02), in_hours(0.3), in_hours(3)
    ('72 s', '18 min', '3.0 h')
    """
    if hours < 1 / 30:
        return f"{hours * 3600:.0f} s"
    return f"{hours * 60:.0f} min" if hours < 1 else f"{hours:.1f} h"
