# SPDX-License-Identifier: Apache-2.0
"""A virtual kernel that is ready to run."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from ccbench.base import safe_json, validation
from ccbench.base.errors import InputError
from ccbench.emulate.kernel import releases
from ccbench.emulate.kernel.source import descriptions, guest_sources, integrity
from ccbench.emulate.kernel.source.descriptions import LINUX_CCAS, Cca, Descriptions
from ccbench.emulate.kernel.source.modules import Compiled, Module
from ccbench.emulate.kernel.source.tree import damaged
from ccbench.emulate.kernel.source.variants import RELEASED, Variant
from ccbench.experiment.qdiscs import EXCLUDED, QDISCS, Qdisc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = [
    "DESCRIPTION",
    "HZ",
    "KernelBuild",
    "MissingFeature",
    "OwnModules",
    "check_intact",
    "command_of",
    "load_build",
    "series",
]

#: Timer ticks per second by default.
HZ = 1000

#: The file that describes a build.
DESCRIPTION = "build.json"


class MissingFeature(Exception):
    """The cause of an InputError: a feature that other releases of Linux have."""


@dataclass(frozen=True, kw_only=True)
class OwnModules:
    """The user's modules in a build.

    Parameters
    ----------
    modules : tuple of str
        Their names.
    ccas, qdiscs : tuple of str
        The congestion controls and qdiscs that they register.
    """

    modules: tuple[str, ...]
    ccas: tuple[str, ...]
    qdiscs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KernelBuild:
    """A virtual kernel that is ready to run.

    Parameters
    ----------
    path : Path
        Its folder in the cache.
    release : str
        The kernel's release as printed by ``uname -r``.
    hz : int
        Timer ticks per second.
    ccas : tuple of str
        Names of the congestion control algorithms of kernel and modules, sorted.
    qdiscs : tuple of str
        Names of the qdiscs with a queue, of kernel and modules, sorted.
    modules : mapping of str to Module
        The loadable modules by their names, sorted. A run loads those that it uses.
    version : str
        16 hexadecimal digits that identify the build: all of its sources, also their comments.
    identity : str
        16 hexadecimal digits that identify what every run executes besides modules: the kernel's
        source, configuration, HZ and edits, and the init, without comments.
    descriptions : Descriptions, optional
        The qdiscs and congestion controls described by modules.
    variant : Variant, optional
        The name, patches and further options of a kernel that is not as released.
    left_out : tuple of str, optional
        Folders of ccbench's modules that do not compile with the patches.
    warnings : tuple of str, optional
        The compiler's warnings about the user's modules, with file and line.
    fills : bool, optional
        Whether the user's modules find a pattern in memory that they have not set, or have freed.
    origin : str, optional
        The distribution that its kernel comes from; empty if it was compiled on this machine.
    """

    path: Path
    release: str
    hz: int
    ccas: tuple[str, ...]
    qdiscs: tuple[str, ...]
    modules: Mapping[str, Module] = field(hash=False)
    version: str
    identity: str
    descriptions: Descriptions = field(default=Descriptions(), compare=False)
    variant: Variant = RELEASED
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=(), compare=False)
    fills: bool = False
    origin: str = field(default="", compare=False)

    @property
    def own(self) -> OwnModules:
        """The user's modules, with what they register."""
        own = [module for module in self.modules.values() if module.is_own]
        return OwnModules(
            modules=tuple(module.name for module in own),
            ccas=tuple(sorted(name for module in own for name in module.ccas)),
            qdiscs=tuple(sorted(name for module in own for name in module.qdiscs)),
        )

    def digests(self, modules: Iterable[str] | None = None) -> dict[str, str]:
        """Return the digests of some modules, by default of all, by their names."""
        names = self.modules if modules is None else modules
        return {name: self.modules[name].digest for name in sorted(names)}

    @property
    def name(self) -> str:
        """The name of its own, or the release."""
        return self.variant.name or self.release

    @property
    def title(self) -> str:
        """The release, with the name of its own if it has one.

        Examples
        --------
        >>> from ccbench.emulate.kernel.source.lookup import installed
        >>> installed().title.startswith("Linux ")  # doctest: +SKIP
        True
        """
        return self.variant.title(self.release)

    @property
    def again(self) -> str:
        """The command that builds it again, and repairs it."""
        return command_of(self.release, self.hz, self.variant)

    @property
    def queues(self) -> Mapping[str, Qdisc]:
        """The qdiscs available for bottlenecks, by their names in scenarios."""
        described = {**self.descriptions.qdiscs, **QDISCS}
        usable = (name for name, qdisc in described.items() if qdisc.kernel_name in self.qdiscs)
        return {name: described[name] for name in sorted(usable)}

    def queue(self, name: str) -> Qdisc:
        """Return the bottleneck qdisc of this name.

        Raises
        ------
        InputError
            If there is none.
        """
        queues = self.queues
        if name in QDISCS and name not in queues and (since := QDISCS[name].since):
            newest = releases.NEWEST_TESTED
            raise InputError(
                f"qdisc = {name!r}: Linux {self.release} has none, Linux {since} and newer have: "
                f"run `ccbench kernel build {newest}` and use --kernel {newest}"
            ) from MissingFeature(f"the qdisc {name}")
        if name in EXCLUDED:
            message = f"qdisc = {name!r}: cannot be the queue of a link, as it {EXCLUDED[name]}"
            raise InputError(f"{message} (allowed are {', '.join(queues)})")
        if name not in queues:
            hint = validation.choice_hint(name, queues)
            raise InputError(
                f"qdisc = {name!r}: allowed are {', '.join(queues)}: {hint} (one of your own: name "
                f"its folder in {guest_sources.OWN_MODULES}, and describe it in its module)"
            )
        return queues[name]

    def cca(self, name: str) -> Cca:
        """Return the properties of a congestion control; the defaults if it has no description."""
        return {**self.descriptions.ccas, **LINUX_CCAS}.get(name) or Cca(name=name)

    @property
    def linux(self) -> Path:
        """The kernel, an executable program."""
        return self.path / "linux"

    @property
    def root(self) -> Path:
        """The guest's root folder with ``init``, ``modules`` and mount points."""
        return self.path / "root"

    @property
    def init(self) -> Path:
        """The guest's only program."""
        return self.root / "init"

    def debug(self, module: str) -> Path:
        """Return the file of a module with debugging information; it may not exist."""
        return self.path / "debug" / f"{module}.ko"

    def module(self, name: str) -> Path:
        """Return the file of a loadable module.

        Raises
        ------
        InputError
            If there is no such module.
        """
        if name not in self.modules:
            raise InputError(f"module: there is no {name}, but {', '.join(self.modules)}")
        return self.root / "modules" / f"{name}.ko"


def load_build(path: Path) -> KernelBuild:
    """Return the kernel in a folder.

    Raises
    ------
    CcbenchError
        If its description cannot be read.
    """
    try:
        stored = safe_json.loads((path / DESCRIPTION).read_bytes())
        compiled = [Compiled.load(folder) for folder in stored["folders"].values()]
        modules = [module for each in compiled for module in each.modules]
        return KernelBuild(
            path=path,
            release=stored["release"],
            hz=stored["hz"],
            ccas=tuple(stored["ccas"]),
            qdiscs=tuple(stored["qdiscs"]),
            modules={module.name: module for module in sorted(modules, key=attrgetter("name"))},
            version=stored["version"],
            identity=stored["identity"],
            descriptions=descriptions.described(stored["descriptions"]),
            variant=Variant.load(stored["variant"]) if "variant" in stored else RELEASED,
            left_out=tuple(stored.get("left_out", ())),
            warnings=tuple(
                warning
                for folder in compiled
                for warning in folder.warnings
                if any(module.is_own for module in folder.modules)
            ),
            fills=stored.get("fills", False),
            origin=stored.get("origin", ""),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error


def check_intact(kernel: KernelBuild) -> None:
    """Compare the files of a kernel in the cache with their digests.

    Raises
    ------
    CcbenchError
        If a file is missing or was changed.
    """
    if damage := integrity.damage(kernel.path):
        raise damaged(kernel.path, damage, kernel.again)


def command_of(release: str, hz: int, variant: Variant) -> str:
    """Return the command that builds such a kernel.

    Examples
    --------
    >>> command_of("6.12.48", 1000, RELEASED)
    'ccbench kernel build 6.12'
    >>> command_of("6.12.48", 250, Variant(name="own", patches=(("a.patch", "0"),)))
    'ccbench kernel build 6.12 --hz 250 --name own --patch a.patch'
    """
    words = ["ccbench kernel build", series(release)]
    words += ["--hz", str(hz)] if hz != HZ else []
    words += ["--name", variant.name] if variant.name else []
    words += ["--patch", *(file for file, _ in variant.patches)] if variant.patches else []
    words += [word for option in variant.options for word in ("--config", option)]
    return " ".join(words)


def series(release: str) -> str:
    """Return the first two numbers of a release."""
    return ".".join(map(str, releases.numbers(release)[:2]))
