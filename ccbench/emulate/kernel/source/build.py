# SPDX-License-Identifier: Apache-2.0
"""Building the virtual kernel, and finding what was built.

Two stages, each kept in the cache under what decides its content: the kernel tree (source,
configuration, HZ, changes of the source), which takes minutes, and the guest (our modules and our
init, for one tree), which takes seconds. ::

    <cache>/kernel/
      sources/          tarballs of the kernel's source
      trees/KEY/        compiled kernel trees
      builds/VERSION/   a kernel with its guest: linux, root/init, root/modules/*.ko, debug/*.ko,
                        build.json
      logs/             what make printed
      current           the tree that is in use: a link into trees/

Folders appear complete or not at all, and one build runs at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base import safe_json, validation
from ccbench.base.cache import cache_dir
from ccbench.base.durable import LEFTOVER, new_folder, remove
from ccbench.base.errors import CcbenchError, InputError, MissingRequirement
from ccbench.base.locks import lock_file, locked
from ccbench.emulate.kernel.command import Builder
from ccbench.emulate.kernel.source import descriptions, guest_sources, names, toolchain
from ccbench.emulate.kernel.source import linux as kernel_sources
from ccbench.emulate.kernel.source.descriptions import LINUX_CCAS, Cca, Descriptions
from ccbench.emulate.kernel.source.tree import (
    CFLAGS,
    KernelTree,
    Recipe,
    compile_tree,
    damaged,
    load_tree,
)
from ccbench.experiment.qdiscs import QDISCS, Qdisc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ccbench.emulate.kernel.source.guest_sources import Sources

__all__ = [
    "DESCRIPTION",
    "KernelBuild",
    "build",
    "find",
    "hold",
    "installed",
    "kernels_dir",
    "load_build",
    "only_one",
    "ready",
]

_HZ_RANGE = validation.Range(100, 1000)

#: Kernel trees to keep: the one in use and those used before it.
_TREES_KEPT = 3

#: The part of a build's time that is spent on the kernel tree.
_TREE_PART = 0.95

#: Where kernels are that cannot be built in the cache folder; unlike /tmp, this stays.
_SPARE = Path("/var/tmp")  # noqa: S108 - a folder of our own in it, which is looked at

#: The file in a kernel's folder that says what it is.
DESCRIPTION = "build.json"

#: Descriptors that have the locks of the kernels that this process uses (:func:`hold`).
_held: dict[Path, int] = {}

_TRY_THIS = "run: ccbench kernel build"


@dataclass(frozen=True, kw_only=True)
class KernelBuild:
    """A virtual kernel that is ready to run.

    Parameters
    ----------
    path : Path
        Its folder in the cache.
    release : str
        The kernel's release, as ``uname -r`` says it.
    hz : int
        Timer ticks per second.
    ccas : tuple of str
        Names of the congestion control algorithms, of kernel and modules, sorted.
    qdiscs : tuple of str
        Names of the qdiscs in which packets can wait, of kernel and modules, sorted.
    modules : tuple of str
        Names of our modules, sorted.
    version : str
        16 hexadecimal digits that change with everything that can change results: the kernel's
        source and configuration, HZ, our changes, our modules and our init.
    descriptions : Descriptions, optional
        The qdiscs and congestion controls that modules describe.
    """

    path: Path
    release: str
    hz: int
    ccas: tuple[str, ...]
    qdiscs: tuple[str, ...]
    modules: tuple[str, ...]
    version: str
    descriptions: Descriptions = field(default=Descriptions(), compare=False)

    @property
    def queues(self) -> Mapping[str, Qdisc]:
        """The qdiscs that can be a bottleneck's queue, by the names that scenarios use."""
        described = {**self.descriptions.qdiscs, **QDISCS}
        usable = (name for name, qdisc in described.items() if qdisc.kernel_name in self.qdiscs)
        return {name: described[name] for name in sorted(usable)}

    def queue(self, name: str) -> Qdisc:
        """Return a qdisc that can be a bottleneck's queue.

        Raises
        ------
        InputError
            If there is none of this name.
        """
        queues = self.queues
        if name not in queues:
            hint = validation.choice_hint(name, queues)
            raise InputError(
                f"qdisc = {name!r}: allowed are {', '.join(queues)}: {hint} (one of your own: name "
                f"its folder in {guest_sources.OWN_MODULES}, and describe it in its module)"
            )
        return queues[name]

    def cca(self, name: str) -> Cca:
        """Return the properties of a congestion control; none if nothing describes it."""
        return {**self.descriptions.ccas, **LINUX_CCAS}.get(name) or Cca(name=name)

    @property
    def linux(self) -> Path:
        """The kernel, a program."""
        return self.path / "linux"

    @property
    def root(self) -> Path:
        """The folder that is the guest's root: ``init``, ``modules`` and folders to mount on."""
        return self.path / "root"

    @property
    def init(self) -> Path:
        """The guest's only program."""
        return self.root / "init"

    def debug(self, module: str) -> Path:
        """Return the file of a module with what finds its source lines; it need not exist."""
        return self.path / "debug" / f"{module}.ko"

    def module(self, name: str) -> Path:
        """Return the file of one of our modules.

        Raises
        ------
        InputError
            If there is no such module.
        """
        if name not in self.modules:
            raise InputError(f"module: there is no {name}, but {', '.join(self.modules)}")
        return self.root / "modules" / f"{name}.ko"


def build(
    source: Path | None = None,
    *,
    hz: int = 1000,
    jobs: int | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> KernelBuild:
    """Build the virtual kernel, or what is not built yet of it, and make it the one in use.

    Parameters
    ----------
    source : Path, optional
        A kernel tree or tarball, 6.1 or newer; it is not changed. By default the source of Debian's
        ``linux-source-6.12``, or else the newest ``linux-source-*`` that apt knows.
    hz : int, optional
        Timer ticks per second, 100 to 1000.
    jobs : int, optional
        How many compilers may run at once; by default one for each processor.
    on_progress : callable, optional
        Called with what is being done and which part of the whole has been done, 0 to 1.

    Raises
    ------
    InputError
        If `hz`, `jobs` or the source cannot be used.
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
    toolchain.check()
    sources = guest_sources.find_sources()
    cache = kernels_dir()
    with only_one(cache, report):
        kernel_source = kernel_sources.find(
            source, cache / "sources", lambda what: report(what, 0.0)
        )
        recipe = Recipe.of(kernel_sources.digest(kernel_source), sources.home, hz)
        path = cache / "trees" / recipe.key
        if not path.exists():
            with new_folder(path, replace=False) as folder:
                compile_tree(
                    kernel_source,
                    recipe,
                    folder,
                    _builder(cache, f"kernel-{recipe.key}", processors),
                    lambda what, part: report(what, _TREE_PART * part),
                )
        built = _with_guest(load_tree(path), cache, sources, processors, report)
        _use(path, cache)
    report("done", 1.0)
    return built


def installed() -> KernelBuild:
    """Return the virtual kernel in use.

    If the sources of the modules or the init are others than they were built from, they are built
    again, which takes seconds.

    Raises
    ------
    MissingRequirement
        If there is no kernel, or only one that another version of ccbench has built.
    BuildError
        If the modules or the init do not compile.
    """
    cache, sources = kernels_dir(), guest_sources.find_sources()
    tree = _tree_in_use(cache, sources)
    path = _build_path(tree, cache, sources)
    if path.exists():
        return load_build(path)
    toolchain.check()
    with only_one(cache, _nothing):
        return _with_guest(tree, cache, sources, os.cpu_count() or 1, _nothing)


def ready() -> KernelBuild | None:
    """Return the virtual kernel in use if nothing of it is left to build."""
    try:
        cache, sources = kernels_dir(), guest_sources.find_sources()
        path = _build_path(_tree_in_use(cache, sources), cache, sources)
        return load_build(path) if path.exists() else None
    except CcbenchError:
        return None


def find(version: str) -> KernelBuild | None:
    """Return the virtual kernel of that version if the cache has it, in use or not.

    Parameters
    ----------
    version : str
        A :attr:`KernelBuild.version`. The same source, settings and ccbench give the same one on
        every machine, whatever its compiler.
    """
    path = kernels_dir() / "builds" / version
    is_version = re.fullmatch(r"[0-9a-f]{16}", version)  # and no other path, such as ".."
    return load_build(path) if is_version and path.is_dir() else None


def _tree_in_use(cache: Path, sources: Sources) -> KernelTree:
    try:
        tree = load_tree((cache / "current").resolve())
    except FileNotFoundError:
        raise MissingRequirement(f"the virtual kernel is not built; {_TRY_THIS}") from None
    if Recipe.of(tree.source_digest, sources.home, tree.hz).key != tree.key:
        raise MissingRequirement(
            f"the virtual kernel was built with other settings than this ccbench has; {_TRY_THIS}"
        )
    return tree


def _with_guest(
    tree: KernelTree,
    cache: Path,
    sources: Sources,
    jobs: int,
    report: Callable[[str, float], None],
) -> KernelBuild:
    """Return a kernel tree's build with the guest as its sources are now."""
    path = _build_path(tree, cache, sources)
    if not path.exists():
        report("compiling the modules", _TREE_PART)
        with new_folder(path, replace=False) as folder:
            modules = guest_sources.compile_guest(
                tree.path, sources, folder, _builder(cache, f"modules-{path.name}", jobs)
            )
            ours = list(sources.module_texts())
            made = sorted((folder / "root" / "modules").glob("*.ko"))
            entries = [line for module in made for line in descriptions.lines(module)]
            descriptions.described(entries)  # or an error
            os.link(tree.path / "linux", folder / "linux")
            description = {
                "release": tree.release,
                "hz": tree.hz,
                "ccas": sorted({*tree.ccas, *names.ccas(ours)}),
                "qdiscs": sorted({*tree.qdiscs, *names.qdiscs(ours)}),
                "modules": modules,
                "descriptions": entries,
                "version": path.name,
                "source": tree.source_name,
            }
            (folder / DESCRIPTION).write_text(json.dumps(description, indent=2), encoding="utf-8")
    return load_build(path)


def _build_path(tree: KernelTree, cache: Path, sources: Sources) -> Path:
    text = f"{tree.key} {sources.digest()}"
    return cache / "builds" / hashlib.sha256(text.encode()).hexdigest()[:16]


def hold(kernel: KernelBuild) -> None:
    """Keep a kernel in the cache for as long as this process lives.

    Raises
    ------
    MissingRequirement
        If it is not there any more.
    """
    if kernel.path in _held:
        return
    try:
        descriptor = locked(kernel.path, shared=True)
    except FileNotFoundError:
        descriptor = None
    except OSError:  # no such locks here: then nobody can remove it either
        return
    if descriptor is None or not kernel.linux.exists():  # removed before we had the lock
        if descriptor is not None:
            os.close(descriptor)
        raise MissingRequirement(
            f"the virtual kernel {kernel.version} was removed just now; run the command again"
        )
    _held[kernel.path] = descriptor


def load_build(path: Path) -> KernelBuild:
    """Return the kernel in a folder.

    Raises
    ------
    CcbenchError
        If what is said of it there cannot be read.
    """
    try:
        known = safe_json.loads((path / DESCRIPTION).read_bytes())
        return KernelBuild(
            path=path,
            release=known["release"],
            hz=known["hz"],
            ccas=tuple(known["ccas"]),
            qdiscs=tuple(known["qdiscs"]),
            modules=tuple(known["modules"]),
            version=known["version"],
            descriptions=descriptions.described(known["descriptions"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error


def _use(path: Path, cache: Path) -> None:
    """Make a tree the current one and forget those that have not been it for longest."""
    link = cache / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(path.relative_to(cache))
    link.replace(cache / "current")
    os.utime(path)
    by_age = sorted((cache / "trees").iterdir(), key=lambda tree: tree.stat().st_mtime)
    for old in by_age[:-_TREES_KEPT]:
        remove(old)


def kernels_dir() -> Path:
    """Return the folder of all that is kept of kernels; it need not exist yet."""
    cache = cache_dir() / "kernel"
    return _elsewhere(cache) if re.search(r"[\s:]", str(cache)) else cache


def _elsewhere(cache: Path) -> Path:
    """Return a folder in the place of one whose path make does not take, for spaces or colons.

    Raises
    ------
    InputError
        If somebody else has made it.
    """
    parent = _SPARE / f"ccbench-{os.getuid()}"
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        is_ours = not parent.is_symlink() and parent.stat().st_uid == os.getuid()
    except OSError:
        is_ours = False
    if not is_ours:
        raise InputError(
            f"no kernel can be built in {cache}, as make takes no spaces and colons, nor in "
            f"{parent}, which is not yours: choose another folder, for example: "
            "export CCBENCH_CACHE=/srv/ccbench"
        )
    return parent / hashlib.sha256(str(cache).encode()).hexdigest()[:16]


def _builder(cache: Path, name: str, jobs: int) -> Builder:
    log = cache / "logs" / f"{name}.log"
    log.unlink(missing_ok=True)
    return Builder(log=log, jobs=jobs, cflags=CFLAGS)


@contextmanager
def only_one(cache: Path, report: Callable[[str, float], None]) -> Iterator[None]:
    """Wait until no other process builds, and keep the others waiting.

    Parameters
    ----------
    cache : Path
        What :func:`kernels_dir` returns.
    report : callable
        Is told that this waits, if it does.
    """
    for folder in ("sources", "trees", "builds", "logs"):
        (cache / folder).mkdir(parents=True, exist_ok=True)
    try:
        lock = lock_file(cache / "lock", wait=False)
    except BlockingIOError:
        report("waiting for another build", 0.0)
        lock = lock_file(cache / "lock")
    try:
        # Nobody else builds now, so these are of builds that were killed.
        for folder in ("trees", "builds"):
            for leftover in (cache / folder).glob(LEFTOVER):
                shutil.rmtree(leftover, ignore_errors=True)
        for leftover in (cache / "sources").glob(".download-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def _nothing(_what: str, _part: float) -> None:
    """Report to nobody."""
