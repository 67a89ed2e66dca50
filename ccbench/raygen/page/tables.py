# SPDX-License-Identifier: Apache-2.0
"""Columns of a report's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ccbench.pages import Column
from ccbench.raygen.figures import quantity_name
from ccbench.raygen.gene import VALUE_FORM, Choice, Number
from ccbench.raygen.objective import HARM
from ccbench.raygen.quantities import quantity_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.raygen.config import SearchConfig
    from ccbench.raygen.gene import Gene
    from ccbench.raygen.result import SearchResult

__all__ = ["all_columns", "failure_columns", "gene_column", "title_of", "worst_columns"]


def worst_columns(result: SearchResult, genes: Sequence[Column]) -> list[Column]:
    """Return the columns of the table of the worst networks."""
    config = result.config
    confirmed = [
        Column(name="group", title="group"),
        Column(name="relative_harm", title=config.harm_words, form="+.3f"),
        Column(name="half_width", title="±", form=".3f"),
    ]
    return [
        Column(name="rank", title="", form="d"),
        *([] if result.claims.empty else confirmed),
        Column(name="found_harm", title="harm in the search", form="+.3f"),
        *genes,
        *_throughputs(config),
    ]


def _throughputs(config: SearchConfig) -> list[Column]:
    columns = [
        Column(name="solo_mbps", title=f"{config.beta} alone", unit="Mbit/s", form=".2f"),
        Column(name="competing_mbps", title=config.beta, unit="Mbit/s", form=".2f"),
        Column(name="alpha_mbps", title=config.alpha, unit="Mbit/s", form=".2f"),
    ]
    return columns if config.objective == HARM else [columns[0], columns[2]]


def all_columns(config: SearchConfig, genes: Sequence[Column]) -> list[Column]:
    """Return the columns of the table of all experiments."""
    columns = [
        Column(name="number", title="number", form="d"),
        Column(name="generation", title="generation", form="d"),
        Column(name="relative_harm", title=config.harm_words, form="+.3f"),
        Column(name="repetitions", title="seeds", form="d"),
        *genes,
        Column(name="queue_packets", title="queue", unit="packets", form="d"),
        *_throughputs(config),
        Column(name="jain", title="Jain's index", form=".3f"),
        Column(name="from_s", title="measured from", unit="s", form="g"),
        Column(name="to_s", title="to", unit="s", form="g"),
        Column(name="parents", title="parents"),
        Column(name="error", title="failed"),
    ]
    return list(dict.fromkeys(columns))  # queue_packets may be a gene


def failure_columns(genes: Sequence[Column]) -> list[Column]:
    """Return the columns of the table of failed experiments."""
    return [
        Column(name="number", title="number", form="d"),
        *genes,
        Column(name="error", title="reason"),
    ]


def gene_column(config: SearchConfig, gene: Gene) -> Column:
    """Return the column of a gene."""
    title, unit = title_of(config, gene)
    form = ""
    if isinstance(gene, Number) or (isinstance(gene, Choice) and gene.is_numeric):
        form = "d" if quantity_of(gene.name).whole else VALUE_FORM
    return Column(name=gene.name, title=title, unit=unit, form=form)


def title_of(config: SearchConfig, gene: Gene) -> tuple[str, str]:
    """Return the name and the unit of a gene."""
    name, _, unit = quantity_name(config, gene).partition(" (")
    return name, unit.removesuffix(")")
