# SPDX-License-Identifier: Apache-2.0
"""Description of a study: name, title and publication."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ccbench.base import validation
from ccbench.experiment import trace_library

__all__ = ["CELLULAR_LINKS", "StudyInfo"]

#: Recorded links used by studies: the eight of Goyal et al. 2020, in the order of its figures.
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


@dataclass(frozen=True, kw_only=True)
class StudyInfo:
    """Name, title and publication of a study.

    Parameters
    ----------
    name : str
        Name such as ``"ware-3.2"``: letters, digits, and single ``.``, ``-`` or ``_`` between them,
        as files are named after it.
    title : str
        Subject in one line.
    publication : str
        Publication, such as ``"Ware 2024"``.
    part : str
        The reproduced figure, table or section; may be empty.
    needs_cellular_links : bool
        Whether it uses some of :data:`CELLULAR_LINKS`.
    needs_stacks : bool
        Whether it runs QUIC stacks (:mod:`ccbench.experiment.stacks`), those that are installed.

    Raises
    ------
    InputError
        If the name is not valid for files.

    Examples
    --------
    >>> info = StudyInfo(name="my-1", title="Fairness", publication="my thesis", part="Figure 1")
    >>> info.source
    'my thesis, Figure 1'
    """

    name: str
    title: str
    publication: str
    part: str = ""
    needs_cellular_links: bool = False
    needs_stacks: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*", self.name):
            allowed = "letters, digits, and one of . - _ between them"
            raise validation.bad("name", self.name, allowed, "for example my-figure-1")

    @property
    def source(self) -> str:
        """Publication and figure."""
        return f"{self.publication}, {self.part}" if self.part else self.publication

    def missing(self) -> str | None:
        """Return the missing requirement and how to install it, or None."""
        if self.needs_stacks:
            from ccbench.emulate.kernel.boot import stacks  # noqa: PLC0415 - of few studies

            checks = [] if any(stacks.installed()) else stacks.checks()
            return "; or ".join(check.remedy for check in checks) or None
        if not self.needs_cellular_links or trace_library.paths().keys() >= {*CELLULAR_LINKS}:
            return None
        return trace_library.HOW_TO_INSTALL
