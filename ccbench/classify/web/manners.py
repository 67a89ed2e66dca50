# SPDX-License-Identifier: Apache-2.0
"""Limits on requests to servers: rate, concurrency and identification."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.cache import cache_dir
from ccbench.base.locks import exclusive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ccbench.classify.setting import Setting

__all__ = ["Manners", "visit"]


@dataclass(frozen=True, kw_only=True)
class Manners:
    """Limits on the load of one server.

    Parameters
    ----------
    max_megabytes : float
        Maximum total size of all downloads from one server, at the rates of their links.
    max_connections : int
        Maximum number of TCP connections of one download. One is enough unless the server closes
        it.
    pause_s : float
        Pause between two downloads from a server in seconds.
    contact : str
        Contact address for operators of servers, part of the User-Agent.

    Raises
    ------
    InputError
        If a value is out of range.

    Examples
    --------
    >>> Manners(contact="mail@example.com").user_agent
    'ccbench/... (measures congestion control; mail@example.com)'
    """

    max_megabytes: float = 100.0
    max_connections: int = 5
    pause_s: float = 5.0
    contact: str = ""

    def __post_init__(self) -> None:
        above_0 = validation.Range(0, low_open=True)
        validation.number("max_megabytes", self.max_megabytes, above_0, example=100)
        some = validation.Range(1, 1000)
        validation.whole("max_connections", self.max_connections, some, example=5)
        validation.number("pause_s", self.pause_s, validation.Range(0, 86_400), example=5)
        if not (self.contact.isascii() and (self.contact.isprintable() or not self.contact)):
            allowed = "one line of ASCII"
            step = "write a mail or web address"
            raise validation.bad("contact", self.contact, allowed, step)

    @property
    def user_agent(self) -> str:
        """User-Agent header of requests."""
        words = ["measures congestion control", *([self.contact] if self.contact else [])]
        return f"ccbench/{version('ccbench')} ({'; '.join(words)})"

    def check(self, settings: Sequence[Setting], seconds: float) -> float:
        """Return the maximum size of the downloads in megabytes: the capacity of the links.

        Raises
        ------
        InputError
            If it exceeds `max_megabytes`.
        """
        megabytes = sum(setting.bandwidth_mbps for setting in settings) / 8 * seconds
        if megabytes > self.max_megabytes:
            least = math.ceil(megabytes)
            allowed = f"{least} or more for {len(settings)} downloads of {seconds:g} s"
            step = f"write {least} (--max-megabytes {least}), or choose fewer settings"
            raise validation.bad("max_megabytes", self.max_megabytes, allowed, step)
        return megabytes


@contextmanager
def visit(address: str, pause_s: float = 0.0) -> Iterator[None]:
    """Hold exclusive access to a server on this machine, after a pause since the last visit.

    Parameters
    ----------
    address : str
        IP address of the server, as several names may belong to one server.
    pause_s : float
        Minimum time since the end of the last visit, in seconds; a shorter time is waited out.
    """
    folder = cache_dir() / "servers"
    folder.mkdir(parents=True, exist_ok=True)
    last = folder / address
    with exclusive(folder / f"{address}.lock"):
        if last.exists():
            time.sleep(min(pause_s, max(0.0, last.stat().st_mtime + pause_s - time.time())))
        try:
            yield
        finally:
            last.touch()
