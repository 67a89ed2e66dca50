# SPDX-License-Identifier: Apache-2.0
"""Output of results: text tables, or one JSON document."""

from __future__ import annotations

import math
import os
import shutil
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

import click

from ccbench.base import safe_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ccbench.base.estimate import Estimate

__all__ = [
    "WIDTH",
    "coloured",
    "in_hours",
    "in_mbps",
    "made_by",
    "print_json",
    "print_pairs",
    "print_table",
    "repeat_more",
]

#: Width of a table in columns from which its texts are wrapped, independent of the terminal: most
#: tables fit into 80 columns, and in a narrower terminal wrapped lines are better than wrapped
#: numbers, which have all the width that they need.
WIDTH = 140

#: Width of the console, beyond any table.
_UNLIMITED = 10**6

#: Width to which a word without spaces is wrapped, as a last resort.
_LONG_WORD = 64

#: Minimum width of a value in columns, in however narrow a terminal.
_MIN_VALUE_WIDTH = 30

#: Rate in Mbit/s below which two decimals would not do.
_LOW_MBPS = 0.1

#: Repetitions that show rare events of 14 % of all runs with a probability of 95 %.
_MANY = 20


def print_json(document: Mapping[str, Any]) -> None:
    """Print `document` on standard output; NaN and infinities, absent from JSON, become null."""
    click.echo(safe_json.text(document), nl=False)


def coloured(text: str, colour: str) -> str:
    """Return `text` in a colour, unless NO_COLOR is set (https://no-color.org)."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", words: int = 1
) -> None:
    """Print a table on standard output.

    Parameters
    ----------
    columns : sequence of str
        Headings, with the unit on a second line.
    rows : iterable of sequence of str
        Formatted cells; the last ones of a row may be left out.
    title : str, optional
        A line above the table.
    words : int
        Number of left-aligned text columns; the columns after them are right-aligned.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = list(rows)
    heading = Text(title) if title else None
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=heading, title_justify="left")
    widths = _widths(
        [[column, *(row[i] for row in cells if i < len(row))] for i, column in enumerate(columns)],
        words,
    )
    for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
        justify: Literal["left", "right"] = "left" if i < words else "right"
        table.add_column(Text(column), justify=justify, overflow="fold", width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console(file=sys.stdout, highlight=False, width=_UNLIMITED, color_system=None)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():  # without the padding of the last column
        click.echo(line.rstrip())


def _widths(columns: Sequence[Sequence[str]], words: int) -> list[int]:
    """Return the widths of columns, of which the first `words` may be wrapped to fit WIDTH.

    Examples
    --------
    >>> _widths([["a", "ab cd"], ["n", "1.5 ± 1"]], words=1), _widths([["ab " * 99], ["9" * 99]], 1)
    ([5, 7], [36, 99])
    """
    from rich.cells import cell_len

    natural = [
        max(cell_len(line) for text in own for line in [*text.splitlines(), ""]) for own in columns
    ]
    room = WIDTH - 2 * len(columns) - 1 - sum(natural[words:])
    wanted = sum(natural[:words])
    if wanted <= room:
        return natural
    least = (max(cell_len(word) for text in own for word in [*text.split(), ""]) for own in columns)
    wrapped = [
        max(min(_LONG_WORD, longest), room * width // wanted)
        for longest, width in zip(least, natural[:words], strict=False)
    ]
    return [*wrapped, *natural[words:]]


def print_pairs(pairs: Mapping[str, str], *, err: bool = False, words: bool = False) -> None:
    """Print names and values in two columns on standard output, or with `err` on standard error.

    With `words`, a value that is too long for the terminal is wrapped in its column. Paths and
    commands are not wrapped, so that they can be copied.
    """
    width = max(map(len, pairs), default=0)
    is_wrapped = words and (sys.stderr if err else sys.stdout).isatty()
    value_width = max(shutil.get_terminal_size().columns - width - 2, _MIN_VALUE_WIDTH)
    for name, value in pairs.items():
        lines = [value]
        if is_wrapped:
            lines = wrap(value, value_width, break_long_words=False, break_on_hyphens=False)
        for i, line in enumerate(lines or [""]):
            click.echo(f"{'' if i else name:<{width}}  {line}", err=err)


def made_by(provenance: Mapping[str, Any]) -> str:
    """Return the versions of ccbench, engines and kernels that produced a result."""
    engines = [
        f"engine {engine['engine']}"
        + (f", Linux {engine['kernel_release']}" if "kernel_release" in engine else "")
        + (f" ({engine['kernel_name']})" if "kernel_name" in engine else "")
        for engine in provenance.get("engines", [provenance])
    ]
    return f"ccbench {provenance['ccbench']}, {' and '.join(engines)}"


def in_hours(hours: float) -> str:
    """Return a time in hours as text, in its natural unit.

    Examples
    --------
    >>> in_hours(0.02), in_hours(0.3), in_hours(3)
    ('72 s', '18 min', '3.0 h')
    """
    if hours < 1 / 30:
        return f"{hours * 3600:.0f} s"
    return f"{hours * 60:.0f} min" if hours < 1 else f"{hours:.1f} h"


def in_mbps(rate: float | Estimate) -> str:
    """Return a rate in Mbit/s with two decimals, a low one with four; a dash if it is unknown.

    Examples
    --------
    >>> in_mbps(9.876), in_mbps(0.00567), in_mbps(math.nan)
    ('9.88', '0.0057', '-')
    """
    value = rate if isinstance(rate, float) else rate.value
    if math.isnan(value):
        return "-"
    return format(rate, ".4f" if 0 < value < _LOW_MBPS else ".2f")


def repeat_more(doubt: str, count: int, option: str = "--repeat") -> str:
    """Return a doubt about an interval of `count` repetitions, and the next step.

    Examples
    --------
    >>> repeat_more("6 repetitions are skewed", 6)
    '6 repetitions are skewed; repeat more: --repeat 20'
    """
    return f"{doubt}; repeat more: {option} {max(_MANY, 2 * count)}"
