# SPDX-License-Identifier: Apache-2.0
"""Catalogue of the studies: their descriptions, without importing the studies.

A study's module draws its figure, and makes its scenarios, some of 100,000 flows: seconds, for all
of them. So what a list needs is in ``catalogue.csv``; a test holds the numbers there to what the
studies would run.
"""

from __future__ import annotations

import csv
import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.studies.own import study_in
from ccbench.studies.study_info import StudyInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ccbench.studies.study import SearchStudy, SimulationStudy, Study

__all__ = ["CatalogueEntry", "get", "info", "names"]

_FILE = Path(__file__).with_name("catalogue.csv")


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry(StudyInfo):
    """Description of a study in the catalogue, with the amount of its runs.

    Parameters
    ----------
    runs : int
        Number of different runs; of searches the most that there can be.
    virtual_s : float
        Length of all runs together, in seconds of their own time.

    Examples
    --------
    >>> info("ware-3.2").source, info("ware-3.2").runs
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


def info(name: str) -> CatalogueEntry:
    """Return the catalogue's entry of the study of that name.

    Raises
    ------
    InputError
        If there is none; the message has the closest name that there is.

    Examples
    --------
    >>> info("ware-3.2").runs
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
    module = importlib.import_module(_module(info(name).name))
    study: Study | SearchStudy | SimulationStudy = module.STUDY
    return study


def _module(name: str) -> str:
    """Return the module of a study: ``ware-3.2`` is ``ware_3_2.py`` in its publication's folder."""
    stem = name.replace("-", "_").replace(".", "_")
    (file,) = _FILE.parent.glob(f"*/{stem}.py")
    return f"ccbench.studies.{file.parent.name}.{stem}"


@cache
def _entries() -> Mapping[str, CatalogueEntry]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: CatalogueEntry(
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
