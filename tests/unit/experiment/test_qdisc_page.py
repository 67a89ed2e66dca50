# SPDX-License-Identifier: Apache-2.0
"""The page of qdiscs has the tables of their descriptors; CCBENCH_REWRITE_PAGES=1 writes them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ccbench.experiment.qdiscs import QDISCS
from tests.documentation import DOCS

if TYPE_CHECKING:
    from ccbench.experiment.qdiscs import Option, Qdisc

PAGE = DOCS / "qdiscs.md"
START = "## All qdiscs\n"


def value(option: Option) -> str:
    """Return an option's default as the page shows it."""
    if option.is_required:
        return "required"
    default = option.default
    return (
        "" if default is None else f"{default:.10g}" if isinstance(default, float) else f"{default}"
    )


def tables() -> str:
    """Return the part of the page that descriptors decide."""
    rows = [
        f"| `{qdisc.name}` | {qdisc.summary} | {limit(qdisc)} | {qdisc.drops.value} "
        f"| {'yes' if qdisc.marks else ''} |\n"
        for qdisc in QDISCS.values()
    ]
    text = f"{START}\n| qdisc | | limit | drops at an arrival | marks |\n|---|---|---|---|---|\n"
    return text + "".join(rows) + "".join(options(qdisc) for qdisc in QDISCS.values())


def limit(qdisc: Qdisc) -> str:
    """Return what limits a queue, an option in code."""
    return f"`{qdisc.limit}`" if qdisc.limit in qdisc.options else qdisc.limit


def options(qdisc: Qdisc) -> str:
    """Return the section of a qdisc with its options; nothing if it has none."""
    if not qdisc.options:
        return ""
    rows = [
        f"| `{name}` | {option.summary} | {option.unit} | {option.allowed} | {value(option)} |\n"
        for name, option in qdisc.options.items()
    ]
    head = "| option | | unit | values | default |\n|---|---|---|---|---|\n"
    return f"\n### {qdisc.name}\n\n{head}{''.join(rows)}"


def test_tables() -> None:
    """Every qdisc and every option is on the page, as its descriptor says it."""
    page = PAGE.read_text(encoding="utf-8")
    expected = re.sub(rf"{START}.*", lambda _: tables(), page, flags=re.DOTALL)
    if os.environ.get("CCBENCH_REWRITE_PAGES"):
        PAGE.write_text(expected, encoding="utf-8")
    assert page == expected
