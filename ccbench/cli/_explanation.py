# SPDX-License-Identifier: Apache-2.0
"""Reasons of a classification: distances to all CCAs, and the shape of the window."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from ccbench.classify.vote import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ccbench.classify.reactions import Opinion
    from ccbench.classify.shape import Shape
    from ccbench.classify.verdict import TraceVerdict

__all__ = ["describe", "print_explanations"]

_NO_BREAK = "\N{NO-BREAK SPACE}"


def print_explanations(
    names: Sequence[str],
    traces: Sequence[TraceVerdict],
    shapes: Sequence[Shape],
) -> None:
    """Print a paragraph for each trace.

    Parameters
    ----------
    names : sequence of str
        The file of each trace.
    traces : sequence of TraceVerdict
    shapes : sequence of Shape
        The shape of the window of each trace.
    """
    for name, trace, shape in zip(names, traces, shapes, strict=True):
        listed = ", ".join(
            f"{cca}{_NO_BREAK}{distance:.2f}" for cca, distance in trace.distances.items()
        )
        click.echo(f"{name}, {trace.setting.name}: {_reason(trace)}")
        lines = [f"distances  {listed}"] if listed else []
        for line in (*lines, *_lines(shape)):
            text = textwrap.fill(line, 90, initial_indent=2 * " ", subsequent_indent=13 * " ")
            click.echo(text.replace(_NO_BREAK, " "))
        click.echo()


def describe(reactions: Opinion) -> str:
    """Return a line with the second stage's opinion.

    Examples
    --------
    >>> from ccbench.classify.reactions import Limit, Opinion
    >>> limit = Limit(confidence=0.9, familiarity=0.3)
    >>> seen = {"label": "bic", "second": "cubic", "distance": 4.2, "noise": 0.3, "limit": limit}
    >>> describe(Opinion(confidence=0.95, familiarity=0.2, **seen)).split("; ")
    ['like bic, but unlike known CCAs (confidence 0.950, at least 0.900',
     'familiarity 0.200, at least 0.300', 'distance 4.20', 'noise 0.30)']
    >>> describe(Opinion(confidence=0.8, **seen)).split(" (")[0]
    'like bic or cubic'
    """
    limit = reactions.limit
    like = f"like {reactions.label}"
    if not reactions.is_confident:
        like += f" or {reactions.second}"
    elif not reactions.is_familiar:
        like += ", but unlike known CCAs"
    parts = [f"confidence {reactions.confidence:.3f}, at least {limit.confidence:.3f}"]
    if reactions.familiarity is not None and limit.familiarity is not None:
        parts.append(f"familiarity {reactions.familiarity:.3f}, at least {limit.familiarity:.3f}")
    parts += [f"distance {reactions.distance:.2f}", f"noise {reactions.noise:.2f}"]
    return f"{like} ({'; '.join(parts)}){reactions.doubt and ': ' + reactions.doubt}"


def _reason(trace: TraceVerdict) -> str:
    if trace.threshold is None:
        return f"{trace.label}: by its reactions alone, as no training trace has this view"
    nearest = f"the nearest trace is of {trace.nearest}, {trace.distance:.2f} packets away"
    above = "above" if trace.label == UNKNOWN else "within"
    return f"{trace.label}: {nearest}, {above} the limit of {trace.threshold:.2f}"


def _lines(shape: Shape) -> list[str]:
    """Return a description of a window's shape."""
    lines = [f"decreases  {shape.decreases_per_minute:.0f} per minute"]
    if shape.factor is not None and shape.at_full_queue is not None:
        lines[0] += (
            f", to {shape.factor:.2f} of the window (median); {100 * shape.at_full_queue:.0f} % of "
            "them at a full queue"
        )
    if shape.period_s is not None:
        lines.append(f"period     {shape.period_s:.2g} s between decreases (median)")
    if shape.early_growth is not None:
        growth = f"growth     {shape.early_growth:+.2f} packets per RTT after a decrease"
        later = shape.late_growth
        lines.append(growth if later is None else f"{growth}, {later:+.2f} later")
    return lines
