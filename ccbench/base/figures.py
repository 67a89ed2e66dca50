# SPDX-License-Identifier: Apache-2.0
"""Figures that show names and labels of users as written.

For matplotlib, ``$`` begins a formula, a label that begins with ``_`` has no place in the legend,
and a character that its font lacks is a box.
"""

from __future__ import annotations

import logging
import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from matplotlib import figure as mpl_figure
from matplotlib.axes import Axes
from matplotlib.font_manager import findfont, fontManager, get_font
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axis import Axis
    from matplotlib.backend_bases import RendererBase
    from matplotlib.ticker import Formatter

__all__ = ["Figure"]

_log = logging.getLogger(__name__)


class _HasLabel(Protocol):
    """An artist, or a container of artists."""

    def get_label(self) -> object: ...
    def set_label(self, s: object) -> None: ...


_Labelled = TypeVar("_Labelled", bound=_HasLabel)

#: Labels by which matplotlib excludes artists from legends.
_INTERNAL = re.compile(r"_(?:child\d+|container\d+|nolegend_?)?")

#: matplotlib's font with a box for each script.
_BOXES = "Last Resort"

#: An invisible character before labels that begin with ``_``; it is not drawn.
_MARK = "\u200b"


class Figure(mpl_figure.Figure):
    """A matplotlib figure whose texts are drawn as written, without formulas.

    Tick labels of numbers, which matplotlib writes as formulas, remain. A character that no font of
    this machine has is drawn as its number, such as ``<U+4E00>``.

    Examples
    --------
    >>> figure = Figure()
    >>> axes = figure.subplots()
    >>> _ = axes.plot([1, 2], label="_$5 to $10")
    >>> figure.draw_without_rendering()
    >>> [text.get_text() for text in axes.legend().get_texts()][0][1:]
    '_$5 to $10'
    """

    def add_subplot(self, *args: Any, **settings: Any) -> Any:
        """Add axes whose legend has all labels."""
        if not settings.keys() & {"projection", "polar", "axes_class"}:
            settings["axes_class"] = _Axes
        return super().add_subplot(*args, **settings)

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure."""
        ticks: set[Text] = set()
        for axis in chain.from_iterable((axes.xaxis, axes.yaxis) for axes in self.axes):
            ticks.update(_named_ticks(axis))
        for text in self.findobj(Text):
            assert isinstance(text, Text)
            if text not in ticks:
                text.set_parse_math(False)
                text.set_text(_drawable(text.get_text().replace(_MARK, ""), text))
        super().draw(renderer)


class _Axes(Axes):
    """Axes with labels that begin with ``_`` in the legend."""

    def add_line(self, line: Any) -> Any:
        return super().add_line(_marked(line))

    def add_patch(self, p: Any) -> Any:
        return super().add_patch(_marked(p))

    def add_collection(self, collection: Any, *args: Any, **settings: Any) -> Any:
        return super().add_collection(_marked(collection), *args, **settings)

    def add_container(self, container: Any) -> Any:
        return super().add_container(_marked(container))


def _marked(labelled: _Labelled) -> _Labelled:
    """Mark a label that begins with ``_``, unless it is one of matplotlib's."""
    label = labelled.get_label()
    if isinstance(label, str) and label.startswith("_") and not _INTERNAL.fullmatch(label):
        labelled.set_label(f"{_MARK}{label}")
    return labelled


class _Names(FuncFormatter):
    """The formatter of tick labels that are names."""

    def __init__(self, names: Formatter, axis: Axis) -> None:
        def named(value: float, position: int | None = None) -> str:
            (tick, *_) = axis.get_major_ticks(1)
            text = _drawable(names(value, position), tick.label1)
            return text.replace("$", r"\$")

        super().__init__(named)


def _named_ticks(axis: Axis) -> Iterable[Text]:
    """Make tick labels that are names drawable, and return all tick labels of an axis."""
    formatter = axis.get_major_formatter()
    if isinstance(formatter, FixedFormatter | FuncFormatter) and not isinstance(formatter, _Names):
        axis.set_major_formatter(_Names(formatter, axis))
    texts = [*axis.get_majorticklabels(), *axis.get_minorticklabels()]
    for text in texts:
        _drawable(text.get_text(), text)  # selects the fonts
    ticks = (*axis.get_major_ticks(), *axis.get_minor_ticks())
    return [
        *texts,
        axis.get_offset_text(),
        *(label for t in ticks for label in (t.label1, t.label2)),
    ]


def _drawable(words: str, text: Text) -> str:
    """Return the words with numbers in the place of characters without a font.

    Further fonts are given to the text where they are needed.
    """
    own = findfont(text.get_fontproperties())
    lacking = frozenset(words) - _characters(own) - {"\n", "\r", "\t"}
    if not lacking:
        return words
    families, absent = _families(lacking)
    text.set_fontfamily([*text.get_fontfamily(), *families])
    if absent:
        _report()
    return re.sub(
        f"[{re.escape(''.join(sorted(absent)))}]+" if absent else r"(?!)",
        lambda found: f"<{' '.join(f'U+{ord(sign):04X}' for sign in found[0])}>",
        words,
    )


@cache
def _families(lacking: frozenset[str]) -> tuple[list[str], frozenset[str]]:
    """Return fonts of this machine with these characters, and the characters that none has."""
    families = []
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.name, entry.fname)):
        if not lacking:
            break
        is_usable = entry.style == "normal" and not entry.name.startswith(_BOXES)
        if is_usable and (found := lacking & _characters(entry.fname)):
            families.append(entry.name)
            lacking -= found
    return families, lacking


@cache
def _characters(path: str) -> frozenset[str]:
    """Return the characters that a font has; none if it cannot be read."""
    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()


@cache
def _report() -> None:
    """Say once why characters are drawn as numbers."""
    _log.warning(
        "no font of this machine has some characters of the figure, which are drawn as numbers "
        "such as <U+4E00>: install one, for example sudo apt-get install fonts-noto-cjk"
    )
