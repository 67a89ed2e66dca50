# SPDX-License-Identifier: Apache-2.0
"""Earlier evaluations, against which changes are named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ccbench.base import safe_json, validation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ccbench.evaluate.criterion import Measure
    from ccbench.evaluate.design import Case

__all__ = ["EVALUATION", "Before", "Earlier", "load_earlier"]

#: Name of an evaluation's file in its folder.
EVALUATION = "evaluation.json"


class Before(NamedTuple):
    """The values of a cell of an earlier evaluation, and whether it failed."""

    values: tuple[float, ...]
    failed: bool


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """The cells of an earlier evaluation.

    Attributes
    ----------
    name : str
        The congestion control that was evaluated.
    cells : mapping
        By the names of criterion, network, metric and object, and the window.
    """

    name: str
    cells: Mapping[tuple[object, ...], Before]

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Earlier:
        """Return the cells of :meth:`.Evaluation.to_dict`."""
        name = str(document["candidate"])
        cells = {
            _key(cell): Before(
                tuple(
                    math.nan if value is None else float(value) for value in cell["values"][name]
                ),
                cell["failure"] is not None,
            )
            for cell in document["cells"]
        }
        return cls(name=name, cells=cells)

    def of(self, case: Case, measure: Measure) -> Before | None:
        """Return the values of a cell, or None if it was not measured."""
        key = (case.criterion.key, case.network.name, measure.metric, measure.of, measure.window_s)
        return self.cells.get(key)


def load_earlier(folder: Path) -> Earlier:
    """Read the evaluation in a folder.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    path = folder / EVALUATION
    text = validation.text_file(path, "evaluation")
    try:
        return Earlier.of_document(safe_json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        allowed = "an evaluation of ccbench evaluate -o"
        raise validation.bad("against", str(path), allowed, "evaluate again") from error


def _key(cell: Mapping[str, Any]) -> tuple[object, ...]:
    window = cell["window_s"]
    return (
        *(cell[name] for name in ("criterion", "network", "metric", "of")),
        None if window is None else tuple(window),
    )
