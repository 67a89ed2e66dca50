# SPDX-License-Identifier: Apache-2.0
"""The network of ``p4/loop``: hosts, switches, cables, and the entries of each switch's tables."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base import safe_json, validation
from ccbench.base.errors import InputError
from ccbench.datacenter.p4.form import configure
from ccbench.datacenter.switch import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Protocol

    class Tables(Protocol):
        """A switch whose tables can be filled, in the interpreter or on BMv2."""

        def insert(
            self, table: str, key: Sequence[int], action: str, data: Sequence[int] = ()
        ) -> None:
            """Put an entry into a table."""

        def set_default(self, table: str, action: str, data: Sequence[int] = ()) -> None:
            """Set what a table does with packets that match no entry."""

        def write(self, register: str, index: int, value: int) -> None:
            """Set a cell of a register."""


__all__ = ["Entry", "Host", "Place", "SwitchSetup", "Topology", "load_topology"]

#: A port of a switch, by the switch's name.
Place = tuple[str, int]


@dataclass(frozen=True)
class Host:
    """A host and the port that it is connected to."""

    name: str
    mac: int
    address: int
    place: Place


@dataclass(frozen=True)
class Entry:
    """An entry of a table."""

    table: str
    key: tuple[int, ...]
    action: str
    data: tuple[int, ...]


@dataclass(frozen=True)
class SwitchSetup:
    """What one switch is configured with."""

    settings: Settings
    entries: tuple[Entry, ...]

    def configure(self, switch: Tables) -> None:
        """Fill the tables of a switch; its driver keeps the queues of every port."""
        configure(switch, self.settings)
        for port in range(len(self.settings.speeds_mbps)):
            switch.insert("held_by_driver", (port,), "hold")
        for entry in self.entries:
            switch.insert(entry.table, entry.key, entry.action, entry.data)


@dataclass(frozen=True)
class Topology:
    """A network.

    Attributes
    ----------
    hosts : mapping
        Hosts by name.
    switches : mapping
        Switches by name.
    links : mapping
        Of each port that is connected to a switch the port at the other end.
    delay_s : float
        The delay of every cable, in networks in virtual time.
    flows : tuple
        Pairs of sender and receiver.
    """

    hosts: Mapping[str, Host]
    switches: Mapping[str, SwitchSetup]
    links: Mapping[Place, Place]
    delay_s: float
    flows: tuple[tuple[str, str], ...]

    def host_at(self, place: Place) -> Host | None:
        """Return the host at a port, or None."""
        return next((host for host in self.hosts.values() if host.place == place), None)


def load_topology(folder: Path) -> Topology:
    """Read ``topology.json`` of a folder, and the file of each switch beside it.

    Raises
    ------
    InputError
        If a file cannot be read, or is not what p4/README.md describes.
    """
    path = folder / "topology.json"
    try:
        read = safe_json.loads(validation.text_file(path, "topology"))
        switches = {}
        for name in read["switches"]:
            path = folder / f"{name}.json"
            switches[name] = _switch(safe_json.loads(validation.text_file(path, "switch")))
        path = folder / "topology.json"
        links: dict[Place, Place] = {}
        for one, other in (map(_place, ends) for ends in read["links"]):
            links |= {one: other, other: one}
        return Topology(
            hosts={name: _host(name, host) for name, host in read["hosts"].items()},
            switches=switches,
            links=links,
            delay_s=read["delay_ms"] / 1000,
            flows=tuple((sender, receiver) for sender, receiver in read["flows"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not what p4/README.md describes ({error!r})") from error


def _switch(read: Mapping[str, Any]) -> SwitchSetup:
    settings = read["settings"]
    return SwitchSetup(
        Settings(**{**settings, "speeds_mbps": tuple(settings["speeds_mbps"])}),
        tuple(
            Entry(
                entry["table"], tuple(map(_number, entry["key"])), entry["action"],
                tuple(entry["data"]),
            )
            for entry in read["entries"]
        ),
    )  # fmt: skip


def _host(name: str, read: Mapping[str, Any]) -> Host:
    address = int(ipaddress.IPv4Address(read["ip"]))
    return Host(name, _number(read["mac"]), address, _place(read["at"]))


def _place(read: Sequence[Any]) -> Place:
    switch, port = read
    return str(switch), int(port)


def _number(value: int | str) -> int:
    """Return a number, or that of a MAC address."""
    return int(value.replace(":", ""), 16) if isinstance(value, str) else value
