# SPDX-License-Identifier: Apache-2.0
"""Stacks: pairs of programs, such as a QUIC server and client, as congestion controls.

A TOML file describes each stack, those of ccbench in this folder and those of users in the folders
of :data:`OWN_STACKS`. ``quic:ngtcp2/bbr`` is the congestion control ``bbr`` of the stack ``ngtcp2``
of the protocol ``quic``. A flow with it is one of kind ``"program"``, which :func:`expanded`
returns.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ccbench.base import toml_files, validation
from ccbench.base.checked_fields import check_fields, checked, number
from ccbench.base.errors import InputError
from ccbench.base.validation import Range
from ccbench.experiment.flow import Flow
from ccbench.experiment.kinds.program import SERVERS

if TYPE_CHECKING:
    from ccbench.experiment.scenario import Scenario

__all__ = ["OWN_STACKS", "Stack", "expanded", "load", "named", "names", "stacks"]

#: The environment variable with the folders of the user's stacks, separated by colons.
OWN_STACKS = "CCBENCH_STACKS"

#: Files that programs find in their scratch folders: a server's key and certificate, valid from
#: 2000 to 2099 for the addresses of both hosts, and the certificate of its authority.
_CERTIFICATES = ("key.pem", "cert.pem", "ca.pem")

#: Pattern of the qlogs of programs, from which the samples of their flows come.
_QLOGS = "*.sqlog"

#: Memory of the programs of a flow by default, in MB.
_PAIR_MB = 128
#: Qlog per byte that the path can carry. It is in memory, of which files may fill half.
_QLOG_SHARE = 0.6
_FILES_SHARE = 0.5

_RTT_UNIT_MS = Range(1e-6, 1000)

_HERE = Path(__file__).parent


def _word(name: str, value: object) -> str:
    form = "a word of lower-case letters and digits"
    return validation.text(name, value, "[a-z0-9]+", form, example="quic")


def _ccas(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    step = 'write for example ccas = ["bbr", "cubic"] or ccas = { reno = "newreno" }'
    if not isinstance(value, Mapping):
        value = {cca: cca for cca in validation.several(name, value, "a list or a table", step)}
    form = "a name of letters, digits, -, _ and ."
    for cca, own in value.items():
        validation.text(name, cca, r"[A-Za-z0-9._-]+", form, example="bbr")
        validation.text(f"{name}.{cca}", own, r"[^\x00\r\n]+", "a line", example="newreno")
    if not value:
        raise validation.bad(name, value, "those of the stack, one or more", step)
    return tuple(sorted(value.items()))


def _packages(name: str, value: Any) -> tuple[str, ...]:
    step = 'write for example packages = ["aioquic"]'
    return tuple(
        validation.text(f"{name}[{i}]", package, r"\w+", "a module of Python", example="aioquic")
        for i, package in enumerate(validation.several(name, value, "a list", step))
    )


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A pair of programs and its congestion controls.

    Parameters
    ----------
    name : str
        Name within its protocol, that of its file.
    protocol : str
        The protocol, such as ``"quic"``.
    summary : str
        A description in a line.
    install : str
        What to do if its programs are not installed, in a line.
    ccas : tuple of (str, str)
        Its congestion controls and their names in its command lines, which have them in place of
        ``{cca}``. In TOML a table, or a list if the names are the same.
    packages : tuple of str
        Modules of Python that it needs. In command lines, ``{python}`` is the Python of ccbench.
    qlog_rtt_ms : float
        Unit of RTTs in its qlog in milliseconds, 1 in the drafts.
    flow : mapping
        Settings of a flow of kind ``"program"``: ``sender``, ``receiver``, ``server``, ``env``,
        ``files`` and ``memory_mb``. In TOML, they are next to the others.
    folder : Path
        Base of relative paths of files.
    """

    name: str
    protocol: str = field(metadata=checked(_word))
    summary: str = field(metadata=checked(validation.one_line))
    install: str = field(metadata=checked(validation.one_line))
    ccas: tuple[tuple[str, str], ...] = field(metadata=checked(_ccas))
    packages: tuple[str, ...] = field(default=(), metadata=checked(_packages))
    qlog_rtt_ms: float = field(default=1.0, metadata=number(_RTT_UNIT_MS, example=1000))
    flow: Mapping[str, Any] = field(default_factory=dict, compare=False)
    folder: Path = field(default=_HERE, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        for cca, _ in self.ccas:
            self.programs(cca)

    @property
    def title(self) -> str:
        """Protocol and name, such as ``"quic:ngtcp2"``."""
        return f"{self.protocol}:{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its congestion controls in scenarios."""
        return tuple(f"{self.title}/{cca}" for cca, _ in self.ccas)

    @property
    def server(self) -> str:
        """The end whose program is the server."""
        return str(self.flow.get("server", SERVERS[0]))

    def programs(self, cca: str) -> Flow:
        """Return a flow of kind ``"program"`` with one of its congestion controls."""
        own = {"{cca}": dict(self.ccas)[cca], "{python}": shlex.quote(sys.executable)}

        def filled(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {key: filled(part) for key, part in value.items()}
            for name, text in own.items():
                value = value.replace(name, text) if isinstance(value, str) else value
            return value

        settings = {key: filled(value) for key, value in self.flow.items()}
        flow = Flow.from_dict({"kind": "program", "keep": [_QLOGS], **settings}, self.folder)
        files = {name: _certificate(name) for name in _CERTIFICATES} | dict(flow.files)
        return replace(flow, files=tuple(files.items()))


#: The settings of a stack that a file must have, and examples.
_REQUIRED = {
    "protocol": 'protocol = "quic"',
    "summary": 'summary = "server and client of my stack"',
    "install": 'install = "make, then copy both programs to /usr/local/bin"',
    "ccas": 'ccas = ["bbr", "cubic"]',
    "sender": 'sender = "server {address} {port} {cca}"',
    "receiver": 'receiver = "client {address} {port}"',
}


def load(path: str | Path) -> Stack:
    """Read the description of a stack.

    Raises
    ------
    InputError
        If the file is unreadable or its description is invalid. The message names the file.

    Examples
    --------
    >>> load("ccbench/experiment/stacks/ngtcp2.toml").title
    'quic:ngtcp2'
    """
    path = Path(path)
    text = validation.text_file(path, "description of a stack")
    with validation.within(f"{path}: "):
        document = toml_files.loads(text)
        for name, example in _REQUIRED.items():
            if name not in document:
                raise InputError(f"{name} is missing: write for example {example}")
        own = ("protocol", "summary", "install", "ccas", "packages", "qlog_rtt_ms")
        parts = {name: document.pop(name) for name in own if name in document}
        return Stack(name=path.stem, flow=document, folder=path.parent, **parts)


def stacks() -> Mapping[str, Stack]:
    """Return all stacks by their titles, sorted; those of users replace those of ccbench.

    Examples
    --------
    >>> stacks()["quic:ngtcp2"].names[0]
    'quic:ngtcp2/bbr'
    """
    return _loaded(os.environ.get(OWN_STACKS, ""))


@cache
def _loaded(own: str) -> Mapping[str, Stack]:
    folders = [_HERE]
    for name in filter(None, own.split(":")):
        folder = validation.user_path(OWN_STACKS, name)
        if not folder.is_dir():
            raise validation.bad(OWN_STACKS, name, "a folder, or several with : between", "make it")
        folders.append(folder)
    found = (load(path) for folder in folders for path in sorted(folder.glob("*.toml")))
    return dict(sorted((stack.title, stack) for stack in found))


def names() -> tuple[str, ...]:
    """Return the names of the congestion controls of all stacks."""
    return tuple(name for stack in stacks().values() for name in stack.names)


def named(cca: str, field: str = "cca") -> Stack:
    """Return the stack of a congestion control.

    Raises
    ------
    InputError
        About `field`, if there is none of that name.

    Examples
    --------
    >>> named("quic:ngtcp2/bbr").name
    'ngtcp2'
    """
    title, _, _ = cca.partition("/")
    stack = stacks().get(title)
    if stack is None:
        titles = tuple(stacks())
        step = validation.choice_hint(title, titles) + f" (one of your own: {OWN_STACKS})"
        raise validation.bad(field, cca, f"that of a stack: {', '.join(titles)}", step)
    if cca not in stack.names:
        step = validation.choice_hint(cca, stack.names)
        raise validation.bad(field, cca, f"one of {', '.join(stack.names)}", step)
    return stack


def expanded(scenario: Scenario) -> Scenario:
    """Return a scenario with flows between programs in place of those of stacks.

    Examples
    --------
    >>> from ccbench.experiment.scenario import Bottleneck, NetworkPath, Scenario
    >>> path = NetworkPath(bottlenecks=(Bottleneck(bandwidth_mbps=10, queue_bdp=1),), rtt_ms=40)
    >>> scenario = Scenario(flows=(Flow(cca="quic:ngtcp2/bbr"),), path=path, duration_s=60)
    >>> expanded(scenario).flows[0].kind
    'program'
    """
    if not any(flow.is_stack for flow in scenario.flows):
        return scenario
    memory_mb = _PAIR_MB + _qlog_mb(scenario)
    flows = (_expanded(flow, memory_mb) if flow.is_stack else flow for flow in scenario.flows)
    return replace(scenario, flows=tuple(flows))


def _expanded(flow: Flow, memory_mb: int) -> Flow:
    programs = named(flow.cca).programs(flow.cca.partition("/")[2])
    settings = {name: getattr(programs, name) for name in ("kind", "cca", "receiver")}
    settings |= programs.kind_settings
    return replace(flow, **{**settings, "memory_mb": programs.memory_mb or memory_mb})


def _qlog_mb(scenario: Scenario) -> int:
    """Return the memory that the qlog of a flow of a stack may fill, in MB."""
    flows = [flow for flow in scenario.flows if flow.is_stack]
    carried_mb = sum(_carried_mb(flow, scenario) for flow in flows) / len(flows)
    count = sum(flow.flow_count for flow in flows)
    return round(_QLOG_SHARE / _FILES_SHARE * carried_mb / count)


def _carried_mb(flow: Flow, scenario: Scenario) -> float:
    """Return the data that the path can carry during a run."""
    first, last = scenario.path.links_of(flow)
    slowest_mbps = min(scenario.path.highest_mbps(i) for i in range(first, last + 1))
    return slowest_mbps / 8 * scenario.duration_s


@cache
def _certificate(name: str) -> str:
    return (_HERE / "certificates" / name).read_text(encoding="ascii")
