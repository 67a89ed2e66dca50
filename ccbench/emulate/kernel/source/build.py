# SPDX-License-Identifier: Apache-2.0
"""Build of virtual kernels.

A build has two stages, each stored in the cache by a digest of its input: the kernel tree (source,
configuration, HZ, edits), which takes minutes, and the guest (modules and init for one tree), which
takes seconds. ::

    <cache>/kernel/
      sources/          tarballs of the kernel's source
      trees/KEY/        compiled kernel trees
      builds/VERSION/   a kernel with its guest: linux, root/init, root/modules/*.ko, debug/*.ko,
                        build.json, Module.symvers, objects.zip
      logs/             output of make
      current           link to the tree of the default kernel

Folders appear complete or not at all, and one build runs at a time. Each has the digests of its
files (:mod:`.integrity`).

Trees and builds also have the objects of the compiler, of which later ones take those that would
be equal (:mod:`.objects`): another patch of Linux or edit of a module compiles little.

Without a source, patches and options, a prebuilt kernel (:mod:`.prebuilt`) is not built again.

The first kernel built is the default. Only :func:`.lookup.use` selects another one; a new build of
the default's package, release and HZ replaces it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ccbench.base import validation
from ccbench.base.durable import new_folder
from ccbench.emulate.kernel.source import (
    guest_sources,
    integrity,
    patches,
    prebuilt,
    toolchain,
    variants,
)
from ccbench.emulate.kernel.source import linux as kernel_sources
from ccbench.emulate.kernel.source.cached_trees import (
    default_release,
    is_new_default,
    others,
    remove_oldest,
    select,
    trees,
)
from ccbench.emulate.kernel.source.guest_build import (
    TREE_SHARE,
    builder_of,
    is_intact,
    path_of_build,
    with_guest,
)
from ccbench.emulate.kernel.source.kernel_build import HZ, load_build, series
from ccbench.emulate.kernel.source.locks import nothing, only_one
from ccbench.emulate.kernel.source.packages import downloaded, fetch
from ccbench.emulate.kernel.source.paths import kernels_dir
from ccbench.emulate.kernel.source.tree import Material, Recipe, compile_tree, load_tree
from ccbench.emulate.kernel.source.variants import RELEASED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.guest_sources import Sources
    from ccbench.emulate.kernel.source.kernel_build import KernelBuild
    from ccbench.emulate.kernel.source.tree import KernelTree

__all__ = [
    "build",
]

_HZ_RANGE = validation.Range(100, 1000)


def build(  # noqa: PLR0913 - independent options, all but the source by keyword
    source: Path | None = None,
    *,
    release: str | None = None,
    patch: Sequence[Path] = (),
    name: str | None = None,
    config: Sequence[str] = (),
    hz: int = HZ,
    jobs: int | None = None,
    on_progress: Callable[[str, float], None] | None = None,
) -> KernelBuild:
    """Build the missing and the damaged parts of a virtual kernel.

    It becomes the default if there is none, or if it is a new build of the default. Only one
    process builds at a time. If nothing is missing, none is waited for.

    Parameters
    ----------
    source : Path, optional
        A kernel tree or tarball, 6.1 or newer; it is not modified. By default a prebuilt kernel,
        or a package of the distribution (:func:`ccbench.emulate.kernel.source.packages.fetch`).
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
    given = [patches.read(path) for path in patch]
    _check(hz, jobs, config, name)
    processors = jobs or os.cpu_count() or 1
    report = on_progress or nothing
    sources = guest_sources.find_sources()
    cache = kernels_dir()
    is_released = source is None and not (given or name or config)
    if is_released:
        prebuilt.provide(cache, sources, repair=True)

    def recipe_of(found: Path) -> Recipe:
        variant = variants.variant_of(found, name, given, config)
        return Recipe.of(kernel_sources.digest(found), sources.home, hz, variant)

    if source is None and release is None:
        release = default_release(cache)
    present = kernel_sources.find(source) if source else downloaded(cache / "sources", release)
    if present is not None and (built := _finished(recipe_of(present), cache, sources)) is not None:
        report("done", 1.0)
        return built
    is_prebuilt = present is None and is_released
    if is_prebuilt and (tree := _prebuilt(release, hz, cache, sources)) is not None:
        return _on_prebuilt(tree, cache, sources, processors, report)
    toolchain.check()
    with only_one(cache, report):
        if source is None:
            kernel_source = fetch(cache / "sources", lambda step: report(step, 0.0), release)
        else:
            kernel_source = kernel_sources.find(source)
        recipe = recipe_of(kernel_source)
        _check_unique(recipe.variant.name, cache, sources)
        path = cache / "trees" / recipe.key
        if not is_intact(path):
            with new_folder(path, replace=True) as folder:
                compile_tree(
                    Material(kernel_source, tuple(given), others(cache, recipe.source_digest)),
                    recipe,
                    folder,
                    builder_of(cache, f"kernel-{recipe.key}", processors),
                    lambda step, share: report(step, TREE_SHARE * share),
                )
                integrity.seal(folder)
        tree = load_tree(path)
        built = with_guest(tree, cache, sources, processors, report)
        if is_new_default(tree, cache):
            select(path, cache)
        remove_oldest(path, cache)
    report("done", 1.0)
    return built


def _check(hz: int, jobs: int | None, config: Sequence[str], name: str | None) -> None:
    """Check the settings of a build."""
    validation.whole("hz", hz, _HZ_RANGE, example=1000)
    if jobs is not None:
        validation.whole("jobs", jobs, validation.Range(1), example=2)
    for option in config:
        variants.check_option(option)
    if name is not None:
        variants.check_name(name)


def _prebuilt(release: str | None, hz: int, cache: Path, sources: Sources) -> KernelTree | None:
    """Return the prebuilt tree of a release and a HZ; None if there is none in the cache."""
    for tree in trees(cache, sources):
        is_wanted = tree.hz == hz and release in {None, series(tree.release)}
        if tree.origin and tree.variant == RELEASED and is_wanted:
            return tree
    return None


def _on_prebuilt(
    tree: KernelTree,
    cache: Path,
    sources: Sources,
    jobs: int,
    report: Callable[[str, float], None],
) -> KernelBuild:
    """Return the build of a prebuilt tree, compiled only if modules have changed."""
    path = path_of_build(tree, cache, sources)
    if not is_intact(path):
        toolchain.check(modules_only=True)
        with only_one(cache, report):
            with_guest(tree, cache, sources, jobs, report)
    report("done", 1.0)
    return load_build(path)


def _finished(recipe: Recipe, cache: Path, sources: Sources) -> KernelBuild | None:
    """Return the build of a recipe if nothing is left to do, without a lock."""
    path = cache / "trees" / recipe.key
    if not is_intact(path):
        return None
    tree = load_tree(path)
    build_path = path_of_build(tree, cache, sources)
    if is_new_default(tree, cache) or not is_intact(build_path):
        return None
    os.utime(path)
    return load_build(build_path)


def _check_unique(name: str, cache: Path, sources: Sources) -> None:
    """Check that no kernel as released, such as the user's own tree, has this name."""
    released = {tree.release for tree in trees(cache, sources) if tree.variant == RELEASED}
    if name in released:
        allowed = "a name that is not the release of a kernel in the cache"
        raise validation.bad("name", name, allowed, "choose another one")
