# SPDX-License-Identifier: Apache-2.0
"""The network of ``p4/loop``: hosts, switches, cables and table entries."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base import safe_json, validation
from ccbench.base.errors import InputError
from ccbench.datacenter.p4.implementation import configure
from ccbench.datacenter.switch import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ccbench.datacenter.p4.implementation import ConfigurableTables

__all__ = ["Entry", "Host", "LoopTopology", "Place", "SwitchSetup", "load_topology"]

#: A port of a switch, by the switch's name.
Place = tuple[str, int]


@dataclass(frozen=True)
class Host:
    """A host and the switch port to which it is connected."""

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
    """Configuration of a switch."""

    settings: Settings
    entries: tuple[Entry, ...]

    def configure(self, switch: ConfigurableTables) -> None:
        """Fill the tables of a switch; its driver holds the packets of every port."""
        configure(switch, self.settings)
        for port in range(len(self.settings.speeds_mbps)):
            switch.insert("held_by_driver", (port,), "hold")
        for entry in self.entries:
            switch.insert(entry.table, entry.key, entry.action, entry.data)


@dataclass(frozen=True)
class LoopTopology:
    """A network.

    Attributes
    ----------
    hosts : mapping
        Hosts by name.
    switches : mapping
        Switches by name.
    links : mapping
        For each port connected to a switch, the port at the other end.
    delay_s : float
        Delay of every cable, in networks in virtual time.
    flows : tuple
        Pairs of sender and receiver.
    """

    hosts: Mapping[str, Host]
    switches: Mapping[str, SwitchSetup]
    links: Mapping[Place, Place]
    delay_s: float
    flows: tuple[tuple[str, str], ...]


def load_topology(folder: Path) -> LoopTopology:
    """Read a folder's ``topology.json`` and the file of each switch.

    Raises
    ------
    InputError
        If a file cannot be read, or differs from the description in p4/README.md.
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
        for end_a, end_b in (map(_place, ends) for ends in read["links"]):
            links |= {end_a: end_b, end_b: end_a}
        return LoopTopology(
            hosts={name: _host(name, host) for name, host in read["hosts"].items()},
            switches=switches,
            links=links,
            delay_s=read["delay_ms"] / 1000,
            flows=tuple((sender, receiver) for sender, receiver in read["flows"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} does not have the format of p4/README.md ({error!r})") from error


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
    """Return a number or a MAC address as an integer."""
    return int(value.replace(":", ""), 16) if isinstance(value, str) else value
