# SPDX-License-Identifier: Apache-2.0
"""Kernel trees: copies of Linux's source, edited, configured and compiled for user mode."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ccbench.base import safe_json
from ccbench.base.errors import CcbenchError, InputError
from ccbench.emulate.kernel.source import c_code, kconfig, linux, names, objects
from ccbench.emulate.kernel.source.edits import ADDITIONS, EDITS, Edit, apply_edits
from ccbench.emulate.kernel.source.patches import apply_patches
from ccbench.emulate.kernel.source.tcp_edits import TCP_EDITS
from ccbench.emulate.kernel.source.variants import RELEASED, Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.command import Builder
    from ccbench.emulate.kernel.source.patches import Patch

__all__ = [
    "CFLAGS",
    "DESCRIPTION",
    "KernelTree",
    "Material",
    "Recipe",
    "compile_tree",
    "damaged",
    "load_tree",
]

#: Additional compiler flags for the kernel and the modules, such as "-O3". Processor-specific flags
#: are not allowed, as machines share caches.
CFLAGS = ""

#: Approximate number of lines that make prints for a kernel, for the progress bar.
_MAKE_LINES = 1080

#: The folders of a compiled tree that are needed to compile modules; the others are removed.
_MODULE_FOLDERS = ("arch", "include", "scripts")

_FRAGMENT = "ccbench.config"

#: The file that describes a tree.
DESCRIPTION = "kernel.json"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Complete input of a kernel tree's build.

    Parameters
    ----------
    source_digest : str
        Digest of the source.
    fragment : str
        The options of the configuration, the text of ``um.config``.
    hz : int
        Timer ticks per second.
    edits : tuple of Edit
        Edits of the source.
    tcp_edits : tuple of Edit
        Edits of TCP, all or, where a patch changes the same places, none.
    additions : dict
        Files added to the source: paths and texts.
    cflags : str
        Additional compiler flags.
    variant : Variant, optional
        The patches, further options and name of a kernel that is not as released.
    """

    source_digest: str
    fragment: str
    hz: int
    edits: tuple[Edit, ...]
    tcp_edits: tuple[Edit, ...]
    additions: dict[str, str]
    cflags: str
    variant: Variant = RELEASED

    @classmethod
    def of(cls, source_digest: str, sources: Path, hz: int, variant: Variant = RELEASED) -> Recipe:
        """Return the recipe of this version of ccbench for a source, a HZ and a variant."""
        return cls(
            source_digest=source_digest,
            fragment=(sources / "um.config").read_text(encoding="utf-8"),
            hz=hz,
            edits=EDITS,
            tcp_edits=TCP_EDITS,
            additions={
                target: (sources / file).read_text(encoding="utf-8")
                for target, file in ADDITIONS.items()
            },
            cflags=CFLAGS,
            variant=variant,
        )

    @property
    def key(self) -> str:
        """Name of the tree: a digest of the recipe, 16 hexadecimal digits."""
        inputs = asdict(self)
        del inputs["variant"]
        if self.variant != RELEASED:
            inputs["variant"] = self.variant.identity()
        return _digest(inputs)

    @property
    def identity(self) -> str:
        """Digest of the part that determines what the kernel does: comments do not.

        Trees with the same identity give the same runs.
        """
        return _digest(
            {
                "source": self.source_digest,
                "options": c_code.without_comments(self.fragment),
                "hz": self.hz,
                "edits": [edit.identity() for edit in (*self.edits, *self.tcp_edits)],
                "additions": c_code.digest(self.additions),
                "cflags": self.cflags,
                "variant": None if self.variant == RELEASED else self.variant.identity(),
            }
        )


def _digest(inputs: object) -> str:
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Material:
    """What a kernel tree is made from.

    Parameters
    ----------
    source : Path
        A tarball or a tree.
    patches : tuple of Patch, optional
        The patches of the recipe, which are applied before its edits.
    others : tuple of Path, optional
        Compiled trees whose objects may be equal, in the order of preference.
    """

    source: Path
    patches: tuple[Patch, ...] = ()
    others: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KernelTree:
    """A compiled kernel tree in the cache.

    Parameters
    ----------
    path : Path
        The tree; ``linux`` in it is the kernel as a program.
    key : str
        The key of its recipe.
    source_digest : str
        Digest of the source.
    source_name : str
        The name of the source's tarball or folder.
    release : str
        The kernel's release as printed by ``uname -r``.
    hz : int
        Timer ticks per second.
    ccas, qdiscs : tuple of str
        Built-in congestion control algorithms and qdiscs.
    variant : Variant, optional
        The patches, further options and name of a kernel that is not as released.
    origin : str, optional
        The distribution that it comes from, such as ``"ccbench-kernel 0.1.0"``; empty if it was
        compiled on this machine.
    """

    path: Path
    key: str
    source_digest: str
    source_name: str
    release: str
    hz: int
    ccas: tuple[str, ...]
    qdiscs: tuple[str, ...]
    variant: Variant = RELEASED
    origin: str = ""

    @property
    def name(self) -> str:
        """The name of its own, or the release."""
        return self.variant.name or self.release

    @property
    def title(self) -> str:
        """The release, with the name of its own if it has one."""
        return self.variant.title(self.release)


def load_tree(path: Path) -> KernelTree:
    """Return the tree in a folder, compiled by :func:`compile_tree`.

    Raises
    ------
    FileNotFoundError
        If there is none.
    CcbenchError
        If its description cannot be read.
    """
    if not path.is_dir():
        raise FileNotFoundError(path)
    try:
        stored = safe_json.loads((path / DESCRIPTION).read_bytes())
        for name in ("ccas", "qdiscs"):
            stored[name] = tuple(stored[name])
        if "variant" in stored:
            stored["variant"] = Variant.load(stored["variant"])
        return KernelTree(path=path, **stored)
    except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: object, again: str = "ccbench kernel build") -> CcbenchError:
    """Return the error for a damaged kernel in the cache, with the command that builds it again."""
    return CcbenchError(f"the virtual kernel in {path} is damaged ({error}); run: {again}")


def compile_tree(
    material: Material,
    recipe: Recipe,
    tree: Path,
    builder: Builder,
    on_progress: Callable[[str, float], None],
) -> None:
    """Compile a kernel tree in an empty folder.

    Parameters
    ----------
    material : Material
        The source and its patches.
    recipe : Recipe
        The input of the build.
    tree : Path
        The folder. It may be moved afterwards.
    builder : Builder
        Runs the compilers.
    on_progress : callable
        Called with the current step and the completed share of the build, 0 to 1.

    Raises
    ------
    InputError
        If the source cannot be used, or a patch does not apply.
    BuildError
        If it does not compile.
    """
    patches = material.patches
    on_progress("unpacking the kernel's source", 0.0)
    added: tuple[str, ...] = ()
    linux.unpack(material.source, tree)
    if patches:
        on_progress("applying the patches", 0.05)
        added = apply_patches(tree, patches, _release(tree))
    _edit(tree, recipe, patches)
    apply_edits(tree, (), recipe.additions, hz=recipe.hz)

    on_progress("configuring the kernel", 0.06)
    own = "".join(f"{option}\n" for option in (*added, *recipe.variant.options))
    (tree / _FRAGMENT).write_text(f"{recipe.fragment}\n{own}", encoding="utf-8")
    # The fragment overrides "allnoconfig", so all other options are off.
    builder.make(
        f"KCONFIG_ALLCONFIG={_FRAGMENT}", "allnoconfig", purpose="configuring the kernel", tree=tree
    )
    _check_config(tree, recipe, own)
    compiled_before = [other / objects.FILE for other in material.others]
    if any(file.exists() for file in compiled_before):
        builder.make("prepare", purpose="configuring the kernel", tree=tree)
        objects.reuse(objects.Place(tree), compiled_before)

    lines = 0

    def count(_: str) -> None:
        nonlocal lines
        lines += 1
        on_progress("compiling the kernel", 0.1 + 0.9 * min(1.0, lines / _MAKE_LINES))

    builder.make(purpose="compiling the kernel", tree=tree, on_line=count)

    compiled = list(_compiled(tree / "net"))
    release = (tree / "include/config/kernel.release").read_text(encoding="utf-8").strip()
    description = {
        "key": recipe.key,
        "source_digest": recipe.source_digest,
        "source_name": material.source.name,
        "release": release,
        "hz": recipe.hz,
        "ccas": names.ccas(compiled),
        "qdiscs": names.qdiscs(compiled),
    }
    if recipe.variant != RELEASED:
        description["variant"] = recipe.variant.described()
    objects.save(objects.Place(tree), tree / objects.FILE)
    _prune(tree)
    (tree / DESCRIPTION).write_text(json.dumps(description, indent=2), encoding="utf-8")


def _release(tree: Path) -> str:
    return ".".join(map(str, linux.version((tree / "Makefile").read_text(encoding="utf-8"))))


def _edit(tree: Path, recipe: Recipe, patches: Sequence[Patch]) -> None:
    """Apply the edits; if one does not match because of a patch, name the patch."""
    changed = {path: patch for patch in patches for path in patch.paths}
    for edit in recipe.edits:
        try:
            apply_edits(tree, [edit], {}, hz=recipe.hz)
        except InputError as error:
            if edit.file not in changed:
                raise
            raise changed[edit.file].error(
                f"changes {edit.file} where ccbench has to edit it ({edit.reason}): "
                "remove this change from the patch"
            ) from error
    try:
        apply_edits(tree, recipe.tcp_edits, {}, hz=recipe.hz)
    except InputError:
        # Patches may change the same places of TCP; modules that need the edits are left out then.
        if not changed.keys() & {edit.file for edit in recipe.tcp_edits}:
            raise


def _check_config(tree: Path, recipe: Recipe, own: str) -> None:
    """Check that the options of ccbench, and those of the patches and the user, are in effect."""
    config = (tree / ".config").read_text(encoding="utf-8")
    chosen = kconfig.parse_config(own)
    wanted = f"{recipe.fragment}\nCONFIG_HZ={recipe.hz}\n"
    ignored = [name for name in kconfig.not_in_effect(wanted, config) if name not in chosen]
    if ignored:
        raise InputError(
            f"source: this kernel does not support the options {', '.join(ignored)} of um.config; "
            "use Linux 6.1, 6.12 or 7.3"
        )
    ignored = kconfig.not_in_effect(own, config)
    if ignored:
        raise InputError(
            f"config: {', '.join(ignored)} cannot have the wanted value in this kernel: it has no "
            "such option, or the option depends on others, which --config CONFIG_NAME=y enables"
        )


def _compiled(folder: Path) -> Iterator[str]:
    """Yield the contents of the compiled C files."""
    for compiled in sorted(folder.rglob("*.o")):
        file = compiled.with_suffix(".c")
        if file.is_file():
            yield file.read_text(encoding="utf-8", errors="replace")


def _prune(tree: Path) -> None:
    """Remove the files that are not needed to run the kernel or compile modules, which are most."""
    for path in tree.iterdir():
        if path.is_dir() and path.name not in _MODULE_FOLDERS:
            shutil.rmtree(path)
        elif path.suffix in {".a", ".o"}:
            path.unlink()
