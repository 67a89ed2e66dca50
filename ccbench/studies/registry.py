# SPDX-License-Identifier: Apache-2.0
"""Which studies there are, and where."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ccbench import _validate

if TYPE_CHECKING:
    from ccbench.studies.study import SearchStudy, SimulationStudy, Study

__all__ = ["get", "names"]

#: In the order of the publications. The study ``ware-3.2`` is ``STUDY`` in ``ware_3_2.py``; it is
#: imported when it is asked for.
_NAMES = (
    "ware-2.7",
    "ware-2.11",
    "ware-2.13",
    "ware-2.15",
    "ware-3.2",
    "ware-3.4",
    "ware-3.5",
    "ware-3.8",
    "ware-3.9",
    "ware-3.10",
    "ware-5.2",
    "ware-5.3",
    "ware-5.5",
    "ware-5.8",
    "ware-5.9",
    "ware-5.10",
    "ware-5.12",
    "ware-5.13",
    "ware-5.14",
    "ware-5.15",
    "ware-5.17",
    "ware-5.18",
    "abc-1",
    "abc-2",
    "abc-3",
    "abc-4",
    "abc-7",
    "abc-9",
    "abc-10",
    "abc-11",
    "abc-12",
    "abc-13",
    "abc-15",
    "abc-19",
    "abc-20",
    "abc-21",
    "abc-pk",
    "rapid-t1",
    "rapid-1",
    "rapid-2",
    "rapid-3",
    "rapid-4",
    "rapid-fairness",
    "rapid-others",
    "rapid-buffers",
    "rapid-acks",
    "nimbus-2",
    "nimbus-3",
    "nimbus-5",
    "nimbus-z",
    "nimbus-7",
    "nimbus-t2",
    "nimbus-8",
    "nimbus-10",
    "nimbus-rtts",
    "nimbus-11",
    "nimbus-12",
    "nimbus-13",
    "nimbus-14",
    "nimbus-15",
    "nimbus-20",
    "nimbus-21",
    "nimbus-23",
    "nimbus-d1",
    "nimbus-d2",
    "nimbus-26",
    "nimbus-d4",
    "nimbus-d5",
    "bfc-t3.1",
    "bfc-3.4",
    "bfc-3.9",
    "bfc-3.10",
    "bfc-3.11",
    "bfc-3.12",
    "bfc-3.13",
    "bfc-3.14",
    "bfc-3.21",
    "bfc-3.22",
    "engines-agree",
)


def names() -> tuple[str, ...]:
    """Return the names of all studies, in the order of their publications.

    Examples
    --------
    >>> names()[0]
    'ware-2.7'
    """
    return _NAMES


def get(name: str) -> Study | SearchStudy | SimulationStudy:
    """Return the study of that name.

    Raises
    ------
    InputError
        If there is none; the message has the names that there are.

    Examples
    --------
    >>> get("ware-3.2").name
    'ware-3.2'
    """
    if name not in _NAMES:
        allowed = f"one of {', '.join(_NAMES)}"
        raise _validate.bad("study", name, allowed, _validate.choice_hint(name, _NAMES))
    module = name.replace("-", "_").replace(".", "_")
    study: Study | SearchStudy | SimulationStudy = importlib.import_module(
        f"ccbench.studies.{module}"
    ).STUDY
    return study
