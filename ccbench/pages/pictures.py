# SPDX-License-Identifier: Apache-2.0
"""Figures of a page, embedded in it and as files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from ccbench import plots
from ccbench.base import validation
from ccbench.base.os_errors import explain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ccbench.base.figures import Figure

__all__ = ["FIGURES", "Picture", "Pictures"]

#: Folder of the figures, beside the page.
FIGURES = "figures"
_FORMATS = (".svg", ".png")


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure embedded in the page, and the name of its files without suffix."""

    name: str
    svg: Markup
    caption: str


class Pictures:
    """Writer of figures, to files and for the page."""

    def __init__(self, folder: Path, formats: Sequence[str] = _FORMATS) -> None:
        self._folder = folder
        self._formats = formats
        self.files: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            allowed = "in a writable folder"
            raise validation.bad("output", str(folder), allowed, explain(error)) from error

    def add(self, name: str, figure: Figure, caption: str) -> Picture:
        """Write a figure to files, and return it for the page."""
        paths = [self._folder / f"{name}{suffix}" for suffix in self._formats]
        for path in paths:
            plots.save(figure, path)
            figure.set_layout_engine(None)  # the layout is computed once
        self.files += paths
        svg = paths[0].read_text(encoding="utf-8")
        svg = svg[svg.index("<svg") :]  # without the XML prologue
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        # Names must be unique within the page.
        svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
        title = Markup.escape(caption.partition(".")[0])
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
        return Picture(name=name, svg=Markup(svg), caption=caption)  # noqa: S704 - matplotlib has escaped it
