# SPDX-License-Identifier: Apache-2.0
"""Limits of resources that a shell sets for its programs (``ulimit``)."""

from __future__ import annotations

import resource
from dataclasses import dataclass

from ccbench.base.errors import MissingRequirement

__all__ = ["ADDRESS_SPACE", "FILE_SIZE", "OPEN_FILES", "ProcessLimit"]


@dataclass(frozen=True)
class ProcessLimit:
    """A limit of this process.

    Attributes
    ----------
    name : str
        What is limited.
    flag : str
        The option of ``ulimit`` without its hyphen.
    number : int
        The limit's number in :mod:`resource`.
    step : str
        The value that raises it.
    unit : str
        Unit of messages, with a space before it.
    size : int
        The unit in those of :mod:`resource`.
    """

    name: str
    flag: str
    number: int
    step: str
    unit: str = ""
    size: int = 1

    def allowed(self) -> float | None:
        """Return what is allowed, in the limit's unit; None if it is unlimited."""
        soft, _ = resource.getrlimit(self.number)
        return None if soft == resource.RLIM_INFINITY else soft / self.size

    def check(self, needed: int, user: str) -> None:
        """Check that the limit allows what a user needs.

        Parameters
        ----------
        needed : int
            What is needed, in the limit's unit.
        user : str
            The user in messages.

        Raises
        ------
        MissingRequirement
            If it allows less.
        """
        allowed = self.allowed()
        if allowed is not None and allowed < needed:
            raise MissingRequirement(
                f"the limit of {self.name} (ulimit -{self.flag}) is {allowed:.0f}{self.unit}, and "
                f"{user} needs {needed}{self.unit}: raise it, for example by "
                f"`ulimit -{self.flag} {self.step}`"
            )


_MB = 2**20

ADDRESS_SPACE = ProcessLimit("address space", "v", resource.RLIMIT_AS, "unlimited", " MB", _MB)
FILE_SIZE = ProcessLimit("the size of files", "f", resource.RLIMIT_FSIZE, "unlimited", " MB", _MB)
OPEN_FILES = ProcessLimit("open files", "n", resource.RLIMIT_NOFILE, "1024")
