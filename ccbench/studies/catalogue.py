# SPDX-License-Identifier: Apache-2.0
"""Which studies there are, and what is said of each without importing it.

A study's module draws its figure, and makes its scenarios, some of 100,000 flows: seconds, for all
of them. So what a list needs is in ``catalogue.csv``; a test holds the numbers there to what the
studies would run.
"""

from __future__ import annotations

import csv
import importlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.experiment import trace_library
from ccbench.studies.own import study_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.studies.study import SearchStudy, SimulationStudy, Study

__all__ = ["CELLULAR_LINKS", "About", "Listed", "about", "get", "names"]

#: The recorded links that a study may need: the eight of Goyal et al. 2020, in the order in which
#: figures show them.
CELLULAR_LINKS = tuple(
    f"{link}.{direction}"
    for link in (
        "Verizon-LTE-short",
        "Verizon-LTE-driving",
        "TMobile-LTE-driving",
        "ATT-LTE-driving-2016",
    )
    for direction in ("down", "up")
)

_FILE = Path(__file__).with_name("catalogue.csv")


@dataclass(frozen=True, kw_only=True)
class About:
    """What is said of a study.

    Parameters
    ----------
    name : str
        Such as ``"ware-3.2"``: letters, digits, and ``.``, ``-`` or ``_`` between them, as files
        are named after it.
    title : str
        What is studied, in one line.
    publication : str
        Such as ``"Ware 2024"``.
    part : str
        The figure, table or section of it that is run again; empty if it has none.
    needs_cellular_links : bool
        Whether it runs over some of :data:`CELLULAR_LINKS`.

    Raises
    ------
    InputError
        If no file can have this name.

    Examples
    --------
    >>> About(name="my-1", title="RTT unfairness", publication="my thesis", part="Figure 1").source
    'my thesis, Figure 1'
    """

    name: str
    title: str
    publication: str
    part: str = ""
    needs_cellular_links: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*", self.name):
            allowed = "letters, digits, and one of . - _ between them"
            raise validation.bad("name", self.name, allowed, "for example my-figure-1")

    @property
    def source(self) -> str:
        """Publication and figure."""
        return f"{self.publication}, {self.part}" if self.part else self.publication

    def missing(self) -> str | None:
        """Return what it lacks here and how to get it, or None if it lacks nothing."""
        if not self.needs_cellular_links or trace_library.paths().keys() >= {*CELLULAR_LINKS}:
            return None
        return trace_library.HOW_TO_INSTALL


@dataclass(frozen=True, kw_only=True)
class Listed(About):
    """What the catalogue says of a study: also how much it runs.

    Parameters
    ----------
    runs : int
        Number of different runs; of searches the most that there can be.
    virtual_s : float
        Length of all runs together, in seconds of their own time.

    Examples
    --------
    >>> about("ware-3.2").source, about("ware-3.2").runs
    ('Ware 2024, Figure 3.2', 70)
    """

    runs: int
    virtual_s: float


def names() -> tuple[str, ...]:
    """Return the names of all studies, in the order of their publications.

    Examples
    --------
    >>> names()[0]
    'ware-2.7'
    """
    return tuple(_entries())


def about(name: str) -> Listed:
    """Return what is said of the study of that name.

    Raises
    ------
    InputError
        If there is none; the message has the closest name that there is.

    Examples
    --------
    >>> about("ware-3.2").runs
    70
    """
    known = _entries()
    if name not in known:
        allowed = f"one of {', '.join(known)}, or a file of your own, *.py"
        raise validation.bad("study", name, allowed, validation.choice_hint(name, known))
    return known[name]


def get(name: str) -> Study | SearchStudy | SimulationStudy:
    """Return the study of that name: ``STUDY`` of ``ware/ware_3_2.py`` for ``ware-3.2``.

    Of a name that ends in ``.py`` it is that file's: :func:`ccbench.studies.study_in`.

    Raises
    ------
    InputError
        If there is none; the message has the names that there are. Or as there.

    Examples
    --------
    >>> len(get("ware-3.2").scenarios(quick=False))
    70
    """
    if name.endswith(".py"):
        return study_in(name)
    module = importlib.import_module(_module(about(name).name))
    study: Study | SearchStudy | SimulationStudy = module.STUDY
    return study


def _module(name: str) -> str:
    """Return the module of a study: ``ware-3.2`` is ``ware_3_2.py`` in its publication's folder."""
    stem = name.replace("-", "_").replace(".", "_")
    (file,) = _FILE.parent.glob(f"*/{stem}.py")
    return f"ccbench.studies.{file.parent.name}.{stem}"


@cache
def _entries() -> Mapping[str, Listed]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Listed(
                name=row["name"],
                title=row["title"],
                publication=row["publication"],
                part=row["part"],
                runs=int(row["runs"]),
                virtual_s=float(row["virtual_s"]),
                needs_cellular_links=row["needs"] == "cellular links",
            )
            for row in csv.DictReader(file)
        }
