# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager

from ccbench.base import figures
from ccbench.base.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes

#: Names that matplotlib would draw otherwise: as formulas, an error, or not in the legend.
NAMES = ["$5 to $10", "_b", r"$\frac{a}{$", "a_b^c", "__"]


def shown(name: str, axes: Axes) -> list[str]:
    """Return the texts of a figure with this name in all places, after drawing."""
    axes.plot([1, 2], label=name)
    axes.bar([1, 2], [1, 2], label=name)
    axes.scatter([1, 2], [1, 2], label=name)
    axes.set_xticks([1, 2], [name, "other"])
    axes.set_title(name)
    axes.set_ylabel(name)
    axes.annotate(name, (1, 1))
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.suptitle(name)
    legend = axes.legend()
    for kind in ("svg", "png"):
        figure.savefig(io.BytesIO(), format=kind)
    return [
        *(text.get_text() for text in legend.get_texts()),
        axes.get_xticklabels()[0].get_text().replace(r"\$", "$"),
        axes.get_title(),
        axes.get_ylabel(),
        axes.texts[0].get_text(),
        figure.get_suptitle(),
    ]


@pytest.fixture
def _without_fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave only the fonts of matplotlib."""
    own = [font for font in fontManager.ttflist if font.name.startswith(("DejaVu", "Last Resort"))]
    monkeypatch.setattr(fontManager, "ttflist", own)
    figures._families.cache_clear()
    figures._report.cache_clear()
    yield
    figures._families.cache_clear()


class TestNames:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.filterwarnings("error")
    def test_as_written(self, name: str) -> None:
        """A name is drawn as written in legend, ticks, titles and annotations."""
        assert shown(name, Figure().subplots()) == [name] * 8

    def test_numbers_remain_formulas(self) -> None:
        """The tick labels of a logarithmic axis are drawn as powers."""
        figure = Figure()
        axes = figure.subplots()
        axes.loglog([1, 1000], [1, 1000])
        figure.savefig(io.BytesIO(), format="png")
        assert axes.get_xticklabels()[2].get_text() == r"$\mathdefault{10^{1}}$"
        assert axes.get_xticklabels()[2].get_parse_math()

    def test_internal_labels(self) -> None:
        """Lines without a label, and those that a figure excludes, are not in the legend."""
        axes = Figure().subplots()
        axes.plot([1, 2])
        axes.plot([2, 1], label="_nolegend_")
        axes.plot([2, 2], label="a")
        assert [text.get_text() for text in axes.legend().get_texts()] == ["a"]


class TestCharacters:
    NAME = "\u6f22\u5b57 $x$"

    @pytest.mark.usefixtures("_without_fonts")
    @pytest.mark.filterwarnings("error")
    def test_without_a_font(self, caplog: pytest.LogCaptureFixture) -> None:
        """Characters of no font are drawn as their numbers, and one line says what helps."""
        with caplog.at_level(logging.WARNING):
            texts = shown(self.NAME, Figure().subplots())
        assert texts == ["<U+6F22 U+5B57> $x$"] * 8
        assert len(caplog.messages) == 1
        assert "fonts-noto-cjk" in caplog.messages[0]

    @pytest.mark.usefixtures("_without_fonts")
    @pytest.mark.filterwarnings("error")
    def test_with_a_font(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """Characters of another font of the machine are drawn with it, as written."""
        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        pen.lineTo((0, 900))
        pen.lineTo((900, 0))
        pen.closePath()
        glyph = pen.glyph()
        font = FontBuilder(1000)
        font.setupGlyphOrder([".notdef", "one"])
        font.setupCharacterMap({0x6F22: "one", 0x5B57: "one"})
        font.setupGlyf({".notdef": glyph, "one": glyph})
        font.setupHorizontalMetrics({".notdef": (1000, 0), "one": (1000, 0)})
        font.setupHorizontalHeader(ascent=900, descent=-100)
        font.setupNameTable({"familyName": "Two Signs", "styleName": "Regular"})
        font.setupOS2()
        font.setupPost()
        font.save(tmp_path / "two.ttf")
        fontManager.addfont(tmp_path / "two.ttf")
        assert shown(self.NAME, Figure().subplots()) == [self.NAME] * 8
        assert not caplog.messages
