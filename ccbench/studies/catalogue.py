# SPDX-License-Identifier: Apache-2.0
"""Catalogue of the studies: their descriptions, without importing the studies.

Importing all studies takes seconds, as their modules import plotting libraries and create
scenarios, some with 100,000 flows. The data for lists are therefore in ``catalogue.csv``; a test
compares its numbers with the studies.
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

    from ccbench.studies.study import AnyStudy

__all__ = ["CatalogueEntry", "get", "info", "names"]

_FILE = Path(__file__).with_name("catalogue.csv")


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry(StudyInfo):
    """Description of a study in the catalogue, with its number of runs.

    Parameters
    ----------
    runs : int
        Number of distinct runs; for searches, the maximum.
    virtual_s : float
        Total duration of all runs, in seconds of virtual time.

    Examples
    --------
    >>> info("ware-3.2").source, info("ware-3.2").runs
    ('Ware 2024, Figure 3.2', 70)
    """

    runs: int
    virtual_s: float


def names() -> tuple[str, ...]:
    """Return the names of all studies in the order of their publications.

    Examples
    --------
    >>> names()[0]
    'ware-2.4'
    """
    return tuple(_entries())


def info(name: str) -> CatalogueEntry:
    """Return the catalogue's entry for a study.

    Raises
    ------
    InputError
        If there is no such study; the message suggests the closest name.

    Examples
    --------
    >>> info("ware-3.2").runs
    70
    """
    entries = _entries()
    if name not in entries:
        allowed = f"one of the {len(entries)} of `ccbench study list`, or a file of your own, *.py"
        raise validation.bad("study", name, allowed, validation.choice_hint(name, entries))
    return entries[name]


def get(name: str) -> AnyStudy:
    """Return a study by name: ``STUDY`` of ``ware/ware_3_2.py`` for ``ware-3.2``.

    A name that ends in ``.py`` is a file (:func:`ccbench.studies.study_in`).

    Raises
    ------
    InputError
        If there is no such study, or as :func:`~ccbench.studies.study_in`.

    Examples
    --------
    >>> len(get("ware-3.2").scenarios(quick=False))
    70
    """
    if name.endswith(".py"):
        return study_in(name)
    module = importlib.import_module(_module(info(name).name))
    study: AnyStudy = module.STUDY
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
                needs_stacks=row["needs"] == "QUIC stacks",
            )
            for row in csv.DictReader(file)
        }
