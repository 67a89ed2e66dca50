# SPDX-License-Identifier: Apache-2.0
"""Receivers of TCP flows that differ from Linux's: limited, slow, sparing of ACKs, or dishonest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.checked_fields import (
    check_fields,
    checked,
    document_form,
    number,
    set_field,
    whole,
)
from ccbench.base.dataclass_dicts import Document
from ccbench.base.validation import Range
from ccbench.experiment.kinds.program import command

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["COMMAND_FORM", "EXAMPLE", "WINDOW_BYTES", "Receiver"]

#: A receiver in TOML.
EXAMPLE = "{window_bytes = 100_000}"

#: Limits of the receive window.
WINDOW_BYTES = Range(1500, 250_000_000)

#: Shortest time between two reads by default.
_SHORTEST_INTERVAL_MS = 1.0

#: Largest window of an application that reads slowly, by default.
_WINDOW_BYTES = 3_000_000

#: Longest delay of an ACK by default, Linux's shortest one.
_ACK_DELAY_MS = 40.0

#: Ways to deceive the sender about the data; at most one of them.
_DECEPTIONS = ("optimistic_mbps", "ack_parts", "duplicate_acks")

#: Values that turn settings off, which are absent then, as in Bottleneck.
_OFF = {"ack_parts": 1, "duplicate_acks": 0, "hides_ecn": False}

#: Settings that require another one.
_PARTS = {"read_interval_ms": "read_mbps", "ack_delay_ms": "packets_per_ack"}


def _program(_: str, value: object) -> str:
    return command("receiver", value)


@dataclass(frozen=True, kw_only=True)
class Receiver(Document):
    """The receiver of a TCP flow, where it differs from Linux's.

    Evaluations of congestion controls include receivers that misbehave (RFC 9743, section 7.6).
    `optimistic_mbps`, `ack_parts` and `duplicate_acks` are the three attacks of Savage, Cardwell,
    Wetherall and Anderson (1999), "TCP congestion control with a misbehaving receiver". They and
    `packets_per_ack` change the ACKs of the receiving host before the first bottleneck on their
    way, so that flows with any congestion control meet them.

    Parameters
    ----------
    window_bytes : int, optional
        Maximum receive window in bytes, from 1500 to 250 million, from the SYN-ACK on. By default,
        Linux tunes the window so that it limits no flow; with `read_mbps` it is 3 MB, about half of
        Linux's usual largest buffer.
    read_mbps : float, optional
        Payload that the application reads, in Mbit/s; 0.001 to 10,000. Data that it has not read
        fill the receive buffer, so that the window closes. By default, it reads at once.
    read_interval_ms : float, optional
        With `read_mbps`: time between two reads in milliseconds, 0.1 to 1000. Default: 1 ms, or the
        time of a full packet if it is longer.
    packets_per_ack : int, optional
        Number of packets that one ACK acknowledges, 1 to 1000. Packets that are out of order are
        acknowledged immediately (RFC 5681, section 4.2), and so is a change of the echo of ECN.
    ack_delay_ms : float, optional
        With `packets_per_ack`: longest delay of an ACK in milliseconds, 0.1 to 500 (RFC 5681's
        limit). Default: 40, as in Linux.
    optimistic_mbps : float, optional
        Optimistic ACKs: from its first ACK on, the receiver acknowledges data that have been sent
        at this rate of IP bytes, in Mbit/s, whether they have arrived or not. Lost data are never
        sent again, and missing in the goodput.
    ack_parts : int, optional
        ACK division: each ACK is divided into so many ACKs for equal parts of the bytes, 1 (it is
        not divided) to 1000. A sender that counts bytes does not grow faster (RFC 3465).
    duplicate_acks : int, optional
        Spoofing of duplicate ACKs: each ACK is followed by so many copies, 0 to 1000.
    program : str, optional
        Command line of the program that receives, for flows of kind ``"program"`` only, which have
        no other settings. In TOML, the command line stands for the table:
        ``receiver = "client {address} {port}"``.
    hides_ecn : bool
        Whether the receiver denies congestion marks in every echo, classic and accurate.

    Raises
    ------
    InputError
        If a setting is out of range, nothing is set, or settings exclude each other.

    Examples
    --------
    >>> Receiver(window_bytes=100_000, packets_per_ack=4).longest_ack_delay_ms
    40.0
    """

    window_bytes: int | None = field(
        default=None, metadata=whole(WINDOW_BYTES, example=100_000, optional=True)
    )
    read_mbps: float | None = field(
        default=None, metadata=number(Range(0.001, 10_000), example=5, optional=True)
    )
    read_interval_ms: float | None = field(
        default=None, metadata=number(Range(0.1, 1000), example=10, optional=True)
    )
    packets_per_ack: int | None = field(
        default=None, metadata=whole(Range(1, 1000), example=4, optional=True)
    )
    ack_delay_ms: float | None = field(
        default=None, metadata=number(Range(0.1, 500), example=25, optional=True)
    )
    optimistic_mbps: float | None = field(
        default=None, metadata=number(Range(0.001, 10_000), example=20, optional=True)
    )
    ack_parts: int | None = field(
        default=None, metadata=whole(Range(1, 1000), example=10, optional=True)
    )
    duplicate_acks: int | None = field(
        default=None, metadata=whole(Range(0, 1000), example=10, optional=True)
    )
    hides_ecn: bool | None = field(default=None, metadata=checked(validation.flag, optional=True))
    program: str | None = field(default=None, metadata=checked(_program, optional=True))

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.to_dict():
            raise validation.of_part(f"nothing is set: write for example receiver = {EXAMPLE}")
        for name, off in _OFF.items():
            if getattr(self, name) == off:
                set_field(self, name, None)
        given = self.to_dict()
        self._check_program(given)
        for name, other in _PARTS.items():
            if name in given and other not in given:
                step = f"remove it, or add {other}"
                raise validation.bad(name, given[name], f"left out without {other}", step)
        deceptions = [name for name in _DECEPTIONS if name in given]
        if len(deceptions) > 1:
            step = "keep one of them"
            raise validation.bad(
                deceptions[1], given[deceptions[1]], f"left out with {deceptions[0]}", step
            )
        if self.optimistic_mbps is not None:
            for name in ("read_mbps", "packets_per_ack"):
                if name in given:
                    allowed, step = "left out with optimistic_mbps", "remove one of them"
                    raise validation.bad(name, given[name], allowed, step)

    @staticmethod
    def _check_program(given: Mapping[str, object]) -> None:
        """Check that a program has no settings of receivers in the kernel."""
        for name, value in given.items():
            if "program" in given and name != "program":
                step = "let the program do it"
                raise validation.bad(name, value, "left out with a program", step)

    @property
    def largest_window_bytes(self) -> int:
        """Maximum receive window in bytes; 0 if Linux tunes it."""
        return self.window_bytes or (0 if self.read_mbps is None else _WINDOW_BYTES)

    def interval_ms(self, mss_bytes: int) -> float:
        """Return the time between two reads in milliseconds; 0 if the application reads at once.

        Parameters
        ----------
        mss_bytes : int
            Payload of a full packet.
        """
        if self.read_mbps is None:
            return 0.0
        packet_ms = mss_bytes * 8e-3 / self.read_mbps
        return self.read_interval_ms or max(_SHORTEST_INTERVAL_MS, packet_ms)

    @property
    def longest_ack_delay_ms(self) -> float:
        """Longest delay of an ACK in milliseconds; 0 without `packets_per_ack`."""
        return 0.0 if self.packets_per_ack is None else self.ack_delay_ms or _ACK_DELAY_MS

    @property
    def extra_acks(self) -> int:
        """Maximum number of additional ACKs per ACK."""
        return max(self.ack_parts or 0, self.duplicate_acks or 0)


def _read(name: str, value: object, base_dir: Path) -> object:
    if isinstance(value, str):
        return Receiver(program=value)
    if not isinstance(value, Mapping):
        step = f"write for example {name} = {EXAMPLE}"
        raise validation.bad(name, value, "a table, or a command line", step)
    with validation.within(f"{name}."):
        return Receiver.from_dict(value, base_dir)


def _written(receiver: Receiver) -> object:
    return receiver.program or receiver.to_dict()


#: Metadata of a field with a receiver, in documents a table, or the command line of a program.
COMMAND_FORM = document_form(read=_read, write=_written)
