# SPDX-License-Identifier: Apache-2.0
"""Files of figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import durable
from ccbench.base.errors import InputError

if TYPE_CHECKING:
    from ccbench.base.figures import Figure

__all__ = ["FORMATS", "check_path", "save"]

#: Suffixes of supported file formats.
FORMATS = (".pdf", ".png", ".svg")

#: Settings that make figures reproducible byte by byte; text in an SVG remains text.
_REPRODUCIBLE: Any = {"svg.hashsalt": "ccbench", "svg.fonttype": "none"}
_NO_DATE = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}


def check_path(path: str | Path) -> Path:
    """Return `path` after checking its suffix and folder, to be called before a long run.

    Raises
    ------
    InputError
        If the format is not one of `FORMATS`, or the folder does not exist or cannot be written.

    Examples
    --------
    >>> check_path("run.svg").suffix
    '.svg'
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        allowed = ", ".join(FORMATS)
        step = f"name for example {path.stem or 'run'}.png"
        raise InputError(f"plot file is {path}; its name must end with one of {allowed}: {step}")
    if not path.parent.is_dir():
        raise InputError(f"plot file is {path}; its folder must exist: mkdir -p {path.parent}")
    if not durable.is_possible(path):
        raise InputError(f"plot file is {path}, which cannot be written: name another folder")
    return path


def save(figure: Figure, path: str | Path) -> None:
    """Write `figure` to `path` atomically, in the format of its suffix.

    Equal figures give equal files.

    Raises
    ------
    InputError
        As `check_path`.

    Examples
    --------
    >>> from ccbench import plots
    >>> plots.save(plots.throughput_and_queue(run), "run.pdf")  # doctest: +SKIP
    """
    import matplotlib as mpl  # noqa: PLC0415 - a path is checked without it

    path = check_path(path)
    suffix = path.suffix.lower()
    with durable.new_file(path) as temporary, mpl.rc_context(_REPRODUCIBLE):
        figure.savefig(temporary, format=suffix.lstrip("."), dpi=150, metadata=_NO_DATE[suffix])
