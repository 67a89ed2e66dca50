# SPDX-License-Identifier: Apache-2.0
"""Description of a kind of flow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.base.checked_fields import number
from ccbench.base.validation import RATE_MBPS, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ccbench.base.checked_fields import Metadata

__all__ = ["PHASE", "RATE", "Kind", "nanoseconds"]


def _nothing(**_: object) -> None:
    """Accept every combination of settings."""


def _no_fields(**_: object) -> dict[str, object]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of flow.

    Parameters
    ----------
    name : str
        Name in scenarios, and in ``enum ccbench_flow_kind``.
    summary : str
        Description in one line.
    settings : mapping of str to dict
        Settings that are required for this kind, with their metadata (checks, forms in documents);
        other kinds do not allow them.
    optional : mapping of str to dict
        The same for settings that may be left out.
    is_udp : bool
        Whether it is UDP, without congestion control.
    is_program : bool
        Whether programs send and receive, which have the settings of sockets themselves. The flow
        may have a congestion control.
    is_endless : bool
        Whether the application always has data.
    has_size : bool
        Whether the application sends `size_bytes`, and the flow then ends.
    has_rate : bool
        Whether changes can set the rate of the application.
    has_subflows : bool
        Whether the flow may be a connection of Multipath TCP.
    draws_at_random : bool
        Whether the application draws random numbers.
    in_real_time : bool
        Whether engines in real time can run it.
    unreceived : mapping of str to str
        Settings of a :class:`~ccbench.experiment.receiver.Receiver` that it does not allow, with
        the reason.
    check : callable
        Takes its settings, and of programs also `receiver` and `cca`, by their names; raises an
        InputError if they do not fit together.
    guest_fields : callable
        Takes its settings by their names; returns the fields of ``struct ccbench_flow_spec`` that
        only this kind uses.
    """

    name: str
    summary: str
    settings: Mapping[str, Metadata] = field(default_factory=dict)
    optional: Mapping[str, Metadata] = field(default_factory=dict)
    is_udp: bool = False
    is_program: bool = False
    is_endless: bool = False
    has_size: bool = False
    has_rate: bool = False
    has_subflows: bool = False
    draws_at_random: bool = False
    in_real_time: bool = True
    unreceived: Mapping[str, str] = field(default_factory=dict)
    check: Callable[..., None] = _nothing
    guest_fields: Callable[..., Mapping[str, object]] = _no_fields


#: A rate in Mbit/s, and the length of a phase in seconds.
RATE = number(RATE_MBPS, example=5)
PHASE = number(Range(0.001, 1e6), example=5)


def nanoseconds(time_s: float) -> int:
    """Return a time of the guest."""
    return round(time_s * 1e9)
