# SPDX-License-Identifier: Apache-2.0
"""How results are shown: on standard output, tables for people, one JSON document for machines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

__all__ = ["WIDTH", "json_text", "made_by", "plain", "print_json", "print_pairs", "print_table"]

#: Tables are no wider than this. They do not ask how wide the terminal is: most of ours fit into 80
#: columns, and of one that does not a terminal breaks lines, which is better than broken numbers.
WIDTH = 140


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

    console = Console(file=sys.stdout, highlight=False, width=WIDTH)
    heading = Text(title) if title else None
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=heading, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def print_pairs(pairs: Mapping[str, str], *, err: bool = False) -> None:
    """Print names and values in two columns on standard output, or on standard error."""
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        click.echo(f"{name:<{width}}  {value}", err=err)


def made_by(provenance: Mapping[str, Any]) -> str:
    """Return what made a result, for people: numbers differ a little from kernel to kernel."""
    engines = [
        f"engine {one['engine']}"
        + (f", Linux {one['kernel_release']}" if "kernel_release" in one else "")
        for one in provenance.get("engines", [provenance])
    ]
    return f"ccbench {provenance['ccbench']}, {' and '.join(engines)}"
