# SPDX-License-Identifier: Apache-2.0
"""Build and lookup of virtual kernels.

A build has two stages, each stored in the cache by a digest of its input: the kernel tree (source,
configuration, HZ, edits), which takes minutes, and the guest (modules and init for one tree), which
takes seconds. ::

    <cache>/kernel/
      sources/          tarballs of the kernel's source
      trees/KEY/        compiled kernel trees
      builds/VERSION/   a kernel with its guest: linux, root/init, root/modules/*.ko, debug/*.ko,
                        build.json, Module.symvers
      logs/             output of make
      current           link to the tree of the default kernel

Folders appear complete or not at all, and one build runs at a time. Each has the digests of its
files (:mod:`.integrity`).

The first kernel built is the default. Only :func:`use` selects another one; a new build of the
default's package, release and HZ replaces it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import safe_json, validation
from ccbench.base.cache import cache_dir
from ccbench.base.durable import LEFTOVER, new_folder, remove
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.base.locks import lock_file, locked
from ccbench.emulate.kernel import releases
from ccbench.emulate.kernel.command import Builder
from ccbench.emulate.kernel.source import (
    descriptions,
    guest_sources,
    integrity,
    patches,
    toolchain,
    variants,
)
from ccbench.emulate.kernel.source import linux as kernel_sources
from ccbench.emulate.kernel.source.descriptions import LINUX_CCAS, Cca, Descriptions
from ccbench.emulate.kernel.source.guest import Exempt, compile_guest, module_files
from ccbench.emulate.kernel.source.modules import Compiled, Module
from ccbench.emulate.kernel.source.packages import downloaded, fetch, package_of
from ccbench.emulate.kernel.source.tree import (
    CFLAGS,
    KernelTree,
    Material,
    Recipe,
    compile_tree,
    damaged,
    load_tree,
)
from ccbench.emulate.kernel.source.variants import RELEASED, Variant
from ccbench.experiment.qdiscs import EXCLUDED, QDISCS, Qdisc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ccbench.emulate.kernel.source.guest_sources import Sources

__all__ = [
    "DESCRIPTION",
    "KernelBuild",
    "MissingFeature",
    "build",
    "built",
    "check_intact",
    "find",
    "hold",
    "installed",
    "kernels_dir",
    "load_build",
    "log_of",
    "named",
    "of_release",
    "only_one",
    "other_default",
    "ready",
    "released",
    "use",
]

_log = logging.getLogger(__name__)

_HZ_RANGE = validation.Range(100, 1000)
_HZ = 1000  # by default

#: Number of kernel trees in the cache; the least recently used are removed. The default, and the
#: newest of each name of its own, remain until the user removes them.
_MAX_TREES = 6

#: Share of a build's time spent on the kernel tree.
_TREE_SHARE = 0.95

#: Folder for kernels that cannot be built in the cache folder; unlike /tmp, it is persistent.
_SPARE = Path("/var/tmp")  # noqa: S108 - the folder in it is checked for its owner

#: Folders of the modules that every run needs.
_REQUIRED = frozenset({"flows", "link"})

#: The file that describes a build.
DESCRIPTION = "build.json"

#: Descriptors that hold the locks of the kernels in use by this process (:func:`hold`).
_held: dict[Path, int] = {}


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
        >>> installed().title.startswith("Linux ")  # doctest: +SKIP
        True
        """
        return self.variant.title(self.release)

    @property
    def again(self) -> str:
        """The command that builds it again, and repairs it."""
        return _command_of(self.release, self.hz, self.variant)

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


def build(  # noqa: PLR0913 - independent options, all but the source by keyword
    source: Path | None = None,
    *,
    release: str | None = None,
    patch: Sequence[Path] = (),
    name: str | None = None,
    config: Sequence[str] = (),
    hz: int = _HZ,
    jobs: int | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> KernelBuild:
    """Build the missing and the damaged parts of a virtual kernel.

    It becomes the default if there is none, or if it is a new build of the default. Only one
    process builds at a time. If nothing is missing, none is waited for.

    Parameters
    ----------
    source : Path, optional
        A kernel tree or tarball, 6.1 or newer; it is not modified. By default a package of the
        distribution (:func:`ccbench.emulate.kernel.source.packages.fetch`).
    release : str, optional
        The release of that package, such as ``"7.3"``; by default that of the default kernel, at
        first 6.12 if there is one.
    patch : sequence of Path, optional
        Patches, applied in their order (:mod:`ccbench.emulate.kernel.source.patches`).
    name : str, optional
        A name for the kernel, by which :func:`named` finds it; by default the release, or with
        patches release and file names, such as ``"6.12-bbrv3"``.
    config : sequence of str, optional
        Further options of the configuration, such as ``"CONFIG_TCP_CONG_FOO=y"``. Options of
        congestion controls and qdiscs that a patch adds are enabled without them.
    hz : int, optional
        Timer ticks per second, 100 to 1000.
    jobs : int, optional
        Maximum number of parallel compilers; by default the number of processors.
    on_progress : callable, optional
        Called with the current step and the completed share of the build, 0 to 1.

    Raises
    ------
    InputError
        If `hz`, `jobs`, the source, a patch, the name or an option cannot be used.
    MissingRequirement
        If a program is not installed, or the source cannot be downloaded.
    BuildError
        If something does not compile.
    """
    validation.whole("hz", hz, _HZ_RANGE, example=1000)
    if jobs is not None:
        validation.whole("jobs", jobs, validation.Range(1), example=2)
    processors = jobs or os.cpu_count() or 1
    report = on_progress or _nothing
    given = [patches.read(path) for path in patch]
    for option in config:
        variants.check_option(option)
    if name is not None:
        variants.check_name(name)
    toolchain.check()
    sources = guest_sources.find_sources()
    cache = kernels_dir()

    def recipe_of(found: Path) -> Recipe:
        variant = variants.variant_of(found, name, given, config)
        return Recipe.of(kernel_sources.digest(found), sources.home, hz, variant)

    if source is None and release is None:
        release = _default_release(cache)
    present = kernel_sources.find(source) if source else downloaded(cache / "sources", release)
    if present is not None and (built := _finished(recipe_of(present), cache, sources)) is not None:
        report("done", 1.0)
        return built
    with only_one(cache, report):
        if source is None:
            kernel_source = fetch(cache / "sources", lambda step: report(step, 0.0), release)
        else:
            kernel_source = kernel_sources.find(source)
        recipe = recipe_of(kernel_source)
        _check_unique(recipe.variant.name, cache, sources)
        path = cache / "trees" / recipe.key
        if not _is_intact(path):
            with new_folder(path, replace=True) as folder:
                compile_tree(
                    Material(kernel_source, tuple(given), _others(cache, recipe.source_digest)),
                    recipe,
                    folder,
                    _builder(cache, f"kernel-{recipe.key}", processors),
                    lambda step, share: report(step, _TREE_SHARE * share),
                )
                integrity.seal(folder)
        tree = load_tree(path)
        built = _with_guest(tree, cache, sources, processors, report)
        if _is_new_default(tree, cache):
            _select(path, cache)
        _remove_oldest(path, cache)
    report("done", 1.0)
    return built


def _finished(recipe: Recipe, cache: Path, sources: Sources) -> KernelBuild | None:
    """Return the build of a recipe if nothing is left to do, without a lock."""
    path = cache / "trees" / recipe.key
    if not _is_intact(path):
        return None
    tree = load_tree(path)
    build_path = _build_path(tree, cache, sources)
    if _is_new_default(tree, cache) or not _is_intact(build_path):
        return None
    os.utime(path)
    return load_build(build_path)


def _is_intact(path: Path) -> bool:
    """Return whether a tree or a build exists without damage."""
    load = load_tree if path.parent.name == "trees" else load_build
    try:
        load(path)
    except (CcbenchError, FileNotFoundError):
        return False
    return not integrity.damage(path)


def _default_release(cache: Path) -> str | None:
    """Return the first two numbers of the default kernel's release if it is that of a package."""
    try:
        tree = load_tree((cache / "current").resolve())
    except (CcbenchError, FileNotFoundError):
        return None
    return package_of(tree.source_name) and _series(tree.release)


def other_default(kernel: KernelBuild) -> str:
    """Return the title of the default kernel if it is another one than `kernel`, else nothing."""
    try:
        tree = load_tree((kernels_dir() / "current").resolve())
    except (CcbenchError, FileNotFoundError):
        return "one that is damaged"
    is_same = (tree.release, tree.hz, tree.variant) == (kernel.release, kernel.hz, kernel.variant)
    return "" if is_same else tree.title


def _is_new_default(tree: KernelTree, cache: Path) -> bool:
    """Return whether a tree is to be the default: the first one, or a new build of the default."""
    try:
        default = load_tree((cache / "current").resolve())
    except FileNotFoundError:
        return True
    except CcbenchError:  # damaged: unknown which one it is
        return False
    return tree.key != default.key and _line(tree) == _line(default)


def _line(tree: KernelTree) -> tuple[str, str, str, int]:
    """Return what a kernel has in common with earlier and later builds of it."""
    source = package_of(tree.source_name) or tree.source_name
    return tree.variant.name, source, _series(tree.release), tree.hz


def _series(release: str) -> str:
    """Return the first two numbers of a release."""
    return ".".join(map(str, releases.numbers(release)[:2]))


def _check_unique(name: str, cache: Path, sources: Sources) -> None:
    """Check that no kernel as released, such as the user's own tree, has this name."""
    released = {tree.release for tree in _trees(cache, sources) if tree.variant == RELEASED}
    if name in released:
        allowed = "a name that is not the release of a kernel in the cache"
        raise validation.bad("name", name, allowed, "choose another one")


def _others(cache: Path, source_digest: str) -> tuple[Path, ...]:
    """Return the trees of the cache, those of this source and the most recently used first."""
    found = []
    for path in (cache / "trees").glob("[!.]*"):
        with suppress(CcbenchError, FileNotFoundError):
            is_same = load_tree(path).source_digest == source_digest
            found.append((is_same, path.stat().st_mtime, path))
    return tuple(path for _, _, path in sorted(found, reverse=True))


def installed() -> KernelBuild:
    """Return the default virtual kernel.

    Modules and init are rebuilt if their sources have changed, which takes seconds.

    Raises
    ------
    MissingRequirement
        If there is no kernel, or only one built by another version of ccbench.
    BuildError
        If the modules or the init do not compile.
    """
    cache, sources = kernels_dir(), guest_sources.find_sources()
    return _current(_tree_in_use(cache, sources), cache, sources)


def _current(tree: KernelTree, cache: Path, sources: Sources) -> KernelBuild:
    """Return the build of a tree with the current sources of modules and init."""
    path = _build_path(tree, cache, sources)
    if path.exists():
        return load_build(path)
    toolchain.check()
    with only_one(cache, _logged):
        return _with_guest(tree, cache, sources, os.cpu_count() or 1, _nothing)


def ready() -> KernelBuild | None:
    """Return the default virtual kernel if it is completely built, else None."""
    try:
        cache, sources = kernels_dir(), guest_sources.find_sources()
        path = _build_path(_tree_in_use(cache, sources), cache, sources)
        return load_build(path) if path.exists() else None
    except CcbenchError:
        return None


def find(version: str) -> KernelBuild | None:
    """Return the virtual kernel of that version from the cache, or None.

    Parameters
    ----------
    version : str
        A :attr:`KernelBuild.version`. It is the same on all machines for the same source, settings
        and ccbench, whatever the compiler.
    """
    path = kernels_dir() / "builds" / version
    is_version = re.fullmatch(r"[0-9a-f]{16}", version)  # rejects other paths, such as ".."
    return load_build(path) if is_version and path.is_dir() else None


def of_release(release: str) -> KernelBuild | None:
    """Return the newest virtual kernel of a Linux release or name from the cache, or None.

    Parameters
    ----------
    release : str
        A release such as ``"7.3"`` or ``"7.3.4"``, which finds kernels as released only, or the
        name of another kernel, such as ``"6.12-bbrv3"``. Modules and init are rebuilt as in
        :func:`installed`.

    Examples
    --------
    >>> of_release("5.4") is None
    True
    """
    cache, sources = kernels_dir(), guest_sources.find_sources()
    tree = _tree_of_release(release, cache, sources)
    return None if tree is None else _current(tree, cache, sources)


def released() -> Iterator[KernelBuild]:
    """Yield the virtual kernels in the cache of each Linux as released, the newest Linux first.

    Modules and init are rebuilt as in :func:`installed`.
    """
    cache, sources = kernels_dir(), guest_sources.find_sources()
    trees: dict[str, KernelTree] = {}
    for tree in _trees(cache, sources):
        if tree.variant == RELEASED:
            trees.setdefault(tree.release, tree)
    for release in sorted(trees, key=releases.numbers, reverse=True):
        yield _current(trees[release], cache, sources)


def named(name: str) -> KernelBuild:
    """Return the virtual kernel of this version, name or Linux release from the cache.

    Parameters
    ----------
    name : str
        As in :func:`find` or :func:`of_release`.

    Raises
    ------
    InputError
        If there is none.
    """
    kernel = find(name) or of_release(name)
    if kernel is None:
        allowed = "the version, the name or the release of a kernel that this ccbench has built"
        step = f"list them with `ccbench kernel list`, or {_how_to_build(name)}"
        raise validation.bad("kernel", name, allowed, step)
    return kernel


def built() -> list[str]:
    """Return the names of the kernels in the cache for :func:`named`, that in use first.

    Raises
    ------
    MissingRequirement
        If there is none.
    """
    cache, sources = kernels_dir(), guest_sources.find_sources()
    in_use = _tree_in_use(cache, sources).name
    return list(dict.fromkeys([in_use, *sorted(t.name for t in _trees(cache, sources))]))


def log_of(kernel: KernelBuild) -> Path:
    """Return the file with the compilers' output about a build's modules; it may not exist."""
    return _log_path(kernels_dir(), f"modules-{kernel.path.name}")


def use(release: str) -> KernelBuild:
    """Make the newest virtual kernel of a Linux release or name the default.

    Raises
    ------
    InputError
        If there is none in the cache.
    """
    cache, sources = kernels_dir(), guest_sources.find_sources()
    tree = _tree_of_release(release, cache, sources)
    if tree is None:
        built = ", ".join(sorted({tree.name for tree in _trees(cache, sources)})) or "none"
        step = _how_to_build(release)
        raise validation.bad("release", release, f"one that is built ({built})", step)
    with only_one(cache, _logged):
        _select(tree.path, cache)
        _remove_oldest(tree.path, cache)
    return _current(tree, cache, sources)


def _how_to_build(name: str) -> str:
    """Return the command that builds a release that is not built, or one with what exists."""
    tested = releases.NEWEST_TESTED
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", name) and releases.numbers(name) < kernel_sources.OLDEST:
        oldest = ".".join(map(str, kernel_sources.OLDEST))
        return f"build Linux {oldest} or newer, such as `ccbench kernel build {tested}`"
    release = re.match(r"\d+\.\d+", name)
    return f"run `ccbench kernel build {release[0] if release else tested}`"


def _trees(cache: Path, sources: Sources) -> list[KernelTree]:
    """Return the trees that this version of ccbench has built, the most recently used first."""
    trees = []
    for path in (cache / "trees").glob("[!.]*"):
        with suppress(CcbenchError, FileNotFoundError):
            tree = load_tree(path)
            if _is_of_this_version(tree, sources):
                trees.append((path.stat().st_mtime, tree.key, tree))
    return [tree for _, _, tree in sorted(trees, reverse=True)]


def _is_of_this_version(tree: KernelTree, sources: Sources) -> bool:
    """Return whether this version of ccbench would build the same tree."""
    return Recipe.of(tree.source_digest, sources.home, tree.hz, tree.variant).key == tree.key


def _tree_of_release(release: str, cache: Path, sources: Sources) -> KernelTree | None:
    own = (
        tree
        for tree in _trees(cache, sources)
        if tree.name == release
        or (not tree.variant.name and tree.release.startswith(f"{release}."))
    )
    return next(own, None)


def _tree_in_use(cache: Path, sources: Sources) -> KernelTree:
    try:
        tree = load_tree((cache / "current").resolve())
    except FileNotFoundError:
        message = "the virtual kernel is not built; run: ccbench kernel build"
        raise MissingRequirement(message) from None
    if not _is_of_this_version(tree, sources):
        raise MissingRequirement(
            f"the virtual kernel was built by another version of ccbench; "
            f"run: {_command_of(tree.release, tree.hz, tree.variant)}"
        )
    return tree


def _command_of(release: str, hz: int, variant: Variant) -> str:
    """Return the command that builds such a kernel.

    Examples
    --------
    >>> _command_of("6.12.48", 1000, RELEASED)
    'ccbench kernel build 6.12'
    >>> _command_of("6.12.48", 250, Variant(name="own", patches=(("a.patch", "0"),)))
    'ccbench kernel build 6.12 --hz 250 --name own --patch a.patch'
    """
    words = ["ccbench kernel build", _series(release)]
    words += ["--hz", str(hz)] if hz != _HZ else []
    words += ["--name", variant.name] if variant.name else []
    words += ["--patch", *(file for file, _ in variant.patches)] if variant.patches else []
    words += [word for option in variant.options for word in ("--config", option)]
    return " ".join(words)


def _with_guest(
    tree: KernelTree,
    cache: Path,
    sources: Sources,
    jobs: int,
    report: Callable[[str, float], None],
) -> KernelBuild:
    """Return the build of a kernel tree with the guest's current sources."""
    path = _build_path(tree, cache, sources)
    if not _is_intact(path):
        report("compiling the modules", _TREE_SHARE)
        with new_folder(path, replace=True) as folder:
            builder = _builder(cache, f"modules-{path.name}", jobs)
            packaged = sources.folders - sources.own_folders
            # Patches may change what ccbench's modules need.
            optional = packaged - _REQUIRED if tree.variant.patches else ()
            exempt = Exempt(unchanged=_unchanged(tree, cache, sources), optional=optional)
            compiled = compile_guest(tree.path, sources, folder, builder, exempt)
            left_out = sorted(packaged - compiled.keys())
            modules = [module for each in compiled.values() for module in each.modules]
            _check_names(tree, modules)
            files = sorted((folder / "root" / "modules").glob("*.ko"))
            entries = [line for file in files for line in descriptions.lines(file)]
            descriptions.check_distinct(entries)
            own = descriptions.described(entries)
            os.link(tree.path / "linux", folder / "linux")
            description = {
                "release": tree.release,
                "hz": tree.hz,
                "ccas": sorted(
                    {*tree.ccas, *(cca for module in modules for cca in module.ccas)}
                    - own.missing.keys()
                ),
                "qdiscs": sorted(
                    {*tree.qdiscs, *(qdisc for module in modules for qdisc in module.qdiscs)}
                ),
                "folders": {name: each.described() for name, each in sorted(compiled.items())},
                "descriptions": entries,
                "version": path.name,
                "identity": _identity(tree, sources),
                "source": tree.source_name,
            }
            if tree.variant != RELEASED:
                description["variant"] = tree.variant.described()
                description["left_out"] = left_out
            (folder / DESCRIPTION).write_text(json.dumps(description, indent=2), encoding="utf-8")
            integrity.seal(folder)
    return load_build(path)


def _check_names(tree: KernelTree, modules: Sequence[Module]) -> None:
    """Check that the names of the user's modules, and what they register, are not taken."""
    builtin = (tree.path / "modules.builtin").read_text(encoding="utf-8").split()
    taken = {
        "module": {Path(name).stem for name in builtin},
        "congestion control": {*tree.ccas},
        "qdisc": {*tree.qdiscs},
    }
    for module in sorted(modules, key=lambda module: module.is_own):
        named = {
            "module": {module.name},
            "congestion control": {*module.ccas},
            "qdisc": {*module.qdiscs},
        }
        for kind, names in named.items():
            if module.is_own and (clashing := taken[kind] & names):
                raise InputError(
                    f"{guest_sources.OWN_MODULES}: the {kind} {min(clashing)} is also one of "
                    "Linux or ccbench, or of another module of yours, and the kernel accepts only "
                    "one of a name: choose another name for yours"
                )
            taken[kind] |= names


def _unchanged(tree: KernelTree, cache: Path, sources: Sources) -> dict[str, tuple[Path, Compiled]]:
    """Return the folders of ccbench whose modules are intact in an earlier build on the same tree.

    The user's are always compiled, for the compiler's warnings.
    """
    unchanged: dict[str, tuple[Path, Compiled]] = {}
    missing = sources.folders - sources.own_folders
    digests = sources.digests()
    made = (cache / "builds").glob(f"[!.]*/{DESCRIPTION}")
    for description in sorted(made, key=lambda file: file.stat().st_mtime, reverse=True):
        build = description.parent
        # Builds may be damaged, or made by another version of ccbench.
        with suppress(OSError, ValueError, KeyError):
            if not (build / "linux").samefile(tree.path / "linux"):
                continue
            stored = safe_json.loads(description.read_bytes())["folders"]
            for name in missing & stored.keys():
                compiled = Compiled.load(stored[name])
                files = [file for each in compiled.modules for file in module_files(each.name)]
                if compiled.is_current(name, digests) and not integrity.damage(build, files):
                    unchanged[name] = build, compiled
            missing -= unchanged.keys()
        if not missing:
            break
    return unchanged


def _build_path(tree: KernelTree, cache: Path, sources: Sources) -> Path:
    return cache / "builds" / _digest(tree.key, *sources.digests().items())


def _identity(tree: KernelTree, sources: Sources) -> str:
    """Return the :attr:`KernelBuild.identity` of a tree with the init."""
    recipe = Recipe.of(tree.source_digest, sources.home, tree.hz, tree.variant)
    return _digest(recipe.identity, sources.init_digest())


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def hold(kernel: KernelBuild) -> None:
    """Protect a kernel in the cache from removal until this process ends.

    Raises
    ------
    MissingRequirement
        If it has been removed.
    """
    if kernel.path in _held:
        return
    try:
        descriptor = locked(kernel.path, shared=True)
    except FileNotFoundError:
        descriptor = None
    except OSError:  # no locks on this file system: other processes cannot remove it either
        return
    if descriptor is None or not (kernel.path / DESCRIPTION).exists():  # removed before that
        if descriptor is not None:
            os.close(descriptor)
        raise MissingRequirement(
            f"the virtual kernel {kernel.version} was removed just now; run the command again"
        )
    _held[kernel.path] = descriptor


def check_intact(kernel: KernelBuild) -> None:
    """Compare the files of a kernel in the cache with their digests.

    Raises
    ------
    CcbenchError
        If a file is missing or was changed.
    """
    if damage := integrity.damage(kernel.path):
        raise damaged(kernel.path, damage, kernel.again)


def load_build(path: Path) -> KernelBuild:
    """Return the kernel in a folder.

    Raises
    ------
    CcbenchError
        If its description cannot be read.
    """
    try:
        stored = safe_json.loads((path / DESCRIPTION).read_bytes())
        compiled = map(Compiled.load, stored["folders"].values())
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
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error


def _select(path: Path, cache: Path) -> None:
    """Make a tree the default."""
    link = cache / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(path.relative_to(cache))
    link.replace(cache / "current")


def _remove_oldest(used: Path, cache: Path) -> None:
    """Remove the least recently used trees, but not the default and those with names."""
    os.utime(used)
    by_age = sorted((cache / "trees").iterdir(), key=lambda tree: tree.stat().st_mtime)
    kept: dict[str, Path] = {}
    for tree in by_age:
        with suppress(CcbenchError, FileNotFoundError):
            kept[load_tree(tree).variant.name] = tree
    kept[""] = (cache / "trees") / (cache / "current").resolve().name
    for old in by_age[:-_MAX_TREES]:
        if old not in kept.values():
            remove(old)


def kernels_dir() -> Path:
    """Return the folder of kernels, their sources and logs; it may not exist yet."""
    cache = cache_dir() / "kernel"
    return _elsewhere(cache) if re.search(r"[\s:]", str(cache)) else cache


def _elsewhere(cache: Path) -> Path:
    """Return a substitute for a folder whose path contains spaces or colons, unsupported by make.

    Raises
    ------
    InputError
        If another user owns it.
    """
    parent = _SPARE / f"ccbench-{os.getuid()}"
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        is_own = not parent.is_symlink() and parent.stat().st_uid == os.getuid()
    except OSError:
        is_own = False
    if not is_own:
        raise InputError(
            f"no kernel can be built in {cache}, as make does not support spaces and colons, nor "
            f"in {parent}, which is not yours: choose another folder, for example: "
            "export CCBENCH_CACHE=/srv/ccbench"
        )
    return parent / hashlib.sha256(str(cache).encode()).hexdigest()[:16]


def _log_path(cache: Path, name: str) -> Path:
    return cache / "logs" / f"{name}.log"


def _builder(cache: Path, name: str, jobs: int) -> Builder:
    log = _log_path(cache, name)
    log.unlink(missing_ok=True)
    return Builder(log=log, jobs=jobs, cflags=CFLAGS)


@contextmanager
def only_one(cache: Path, report: Callable[[str, float], None]) -> Iterator[None]:
    """Exclude builds by other processes during the block, waiting for a running one to end.

    Parameters
    ----------
    cache : Path
        The result of :func:`kernels_dir`.
    report : callable
        Called before waiting.
    """
    for folder in ("sources", "trees", "builds", "logs"):
        (cache / folder).mkdir(parents=True, exist_ok=True)
    try:
        lock = lock_file(cache / "lock", wait=False)
    except BlockingIOError:
        report("waiting for another build", 0.0)
        lock = lock_file(cache / "lock")
    try:
        # No other build is running, so these were left behind by killed builds.
        for folder in ("trees", "builds"):
            for leftover in (cache / folder).glob(LEFTOVER):
                shutil.rmtree(leftover, ignore_errors=True)
        for leftover in (cache / "sources").glob(".download-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def _logged(step: str, _share: float) -> None:
    """Log a step, where nothing else shows progress."""
    _log.warning("%s", step)


def _nothing(_step: str, _share: float) -> None:
    """Ignore progress."""
