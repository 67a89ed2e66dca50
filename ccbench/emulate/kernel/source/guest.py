# SPDX-License-Identifier: Apache-2.0
"""Compilation of the guest: modules and init, against a kernel tree."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ccbench.base.errors import InputError
from ccbench.emulate.kernel.command import BuildError
from ccbench.emulate.kernel.source import objects
from ccbench.emulate.kernel.source.guest_sources import OWN_MODULES
from ccbench.emulate.kernel.source.home import HEADERS
from ccbench.emulate.kernel.source.modules import Compiled

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ccbench.emulate.kernel.command import Builder
    from ccbench.emulate.kernel.source.guest_sources import Sources

__all__ = ["COMPILED_IN", "Exempt", "compile_guest", "module_files"]

#: Name of the temporary build folder in the modules' debugging information.
COMPILED_IN = "/modules"
#: Name of the kernel tree there. Without these names, objects would be of use in one place only.
_LINUX_IN = "/linux"

#: Flags for the user's modules: a hook remains on the stack during its last call, so that messages
#: about crashes in Linux name it, calls of functions outside of hooks are compared (flows/calls.c),
#: what they free, start and lock is checked, and a variable that is never set is an error, one that
#: is not set on some path a warning. Floating point is an error, as in an ordinary kernel, whose
#: registers for it belong to programs.
_OWN_FLAGS = (
    f"-fno-optimize-sibling-calls -finstrument-functions -include $(src)/../{HEADERS}/own_calls.h "
    "-Werror=uninitialized -Wmaybe-uninitialized -Wno-error=maybe-uninitialized "
    "$(call cc-option,-mno-80387)"
)
#: Further ones if unset variables have a pattern. With other optimizations, the compiler takes them
#: for whatever value makes the code shorter.
_FILLING_FLAGS = (
    "-O1 -fno-tree-ccp -fno-tree-fre -Wno-maybe-uninitialized "
    "$(call cc-option,-ftrivial-auto-var-init=pattern)"
)

#: A compiler's warning about a line, and the declaration of its variable: in a macro, the line is
#: in a header of Linux.
_WARNING = re.compile(r"(\S+\.[ch]:\d+:\d+: warning: .*)")
_DECLARED = re.compile(r"(\S+\.[ch]:\d+):\d+: note: .* declared here")

#: Mount points in the guest's root.
_MOUNT_POINTS = ("dev", "host", "proc", "run", "sys", "tmp")

#: The file with the symbols that the modules export: modpost's name for it.
_SYMBOLS = "Module.symvers"


@dataclass(frozen=True, kw_only=True)
class Exempt:
    """Source folders that need not be compiled.

    Parameters
    ----------
    unchanged : mapping of str to (Path, Compiled)
        Those that are compiled already: the output folder of an earlier call for the same tree, and
        the modules. They are linked to.
    optional : collection of str
        Those that are left out if they do not compile.
    init : Path, optional
        The compiled init of an earlier call with the same sources of it. It is linked to.
    objects : tuple of Path, optional
        Output folders of earlier calls, also for other trees, in the order of preference. Their
        objects are copied where they would be compiled from the same inputs.
    """

    unchanged: Mapping[str, tuple[Path, Compiled]]
    optional: Collection[str]
    init: Path | None = None
    objects: tuple[Path, ...] = ()


def compile_guest(
    tree: Path,
    sources: Sources,
    folder: Path,
    builder: Builder,
    exempt: Exempt,
) -> dict[str, Compiled]:
    """Compile the modules and the init, and create the guest's root folder.

    Parameters
    ----------
    tree : Path
        A compiled kernel tree.
    sources : Sources
        The sources; nothing is written to their folders.
    folder : Path
        Output folder: of ``root``, with ``init``, ``modules/*.ko`` and empty mount points; of
        ``debug``, with the modules before ``strip`` removed debugging information; of the modules'
        exported symbols; and of the objects that later calls may copy.
    builder : Builder
        Runs the compilers.
    exempt : Exempt
        Source folders that need not be compiled.

    Returns
    -------
    dict
        The modules of each compiled source folder.

    Raises
    ------
    BuildError
        If something does not compile.
    InputError
        If two source folders have a module of the same name.
    """
    root = folder / "root"
    (folder / "debug").mkdir()
    for name in ("modules", *_MOUNT_POINTS):
        (root / name).mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        work = Path(temporary)
        for target, file in sources.files().items():
            (work / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, work / target)
        for name in sources.own_folders:
            with (work / name / "Kbuild").open("a", encoding="utf-8") as kbuild:
                flags = f"{_OWN_FLAGS} {_FILLING_FLAGS if sources.fills else ''}"
                kbuild.write(f"\nccflags-y += {flags}\n")
        folders = sorted(file.parent.name for file in work.glob("*/Kbuild"))
        linked = {name: exempt.unchanged[name] for name in folders if name in exempt.unchanged}
        for name, (build, earlier) in linked.items():
            _link(name, build, earlier, folder)
        changed = [name for name in folders if name not in linked]
        make = _Make(tree, work, folder / _SYMBOLS, builder)
        place = objects.Place(tree, work)
        # The user's are always compiled, for the compiler's warnings.
        packaged = {*changed} - sources.own_folders
        if packaged:
            stored = (earlier / objects.FILE for earlier in exempt.objects)
            objects.reuse(place, stored, folders=packaged)
        compiled = {name: earlier for name, (_, earlier) in linked.items()}
        digests = sources.digests()
        for name in _compile(make, changed, folder, exempt.optional) if changed else ():
            is_own = name in sources.own_folders
            compiled[name] = Compiled.of(name, work, digests, make.warnings, is_own=is_own)
        objects.save(place, folder / objects.FILE, folders=packaged)
        if exempt.init is not None:
            os.link(exempt.init, root / "init")
        else:
            init = sorted(str(file) for file in work.glob("init/*.c"))
            builder.run(
                ["gcc", "-O2", "-static", "-o", str(root / "init"), f"-I{work / HEADERS}", *init],
                purpose="compiling the guest's init",
                folder=work,
            )
    return compiled


def module_files(name: str) -> tuple[str, str]:
    """Return the files of a module in the output folder: with debugging information, and without.

    Examples
    --------
    >>> module_files("tcp_abc")
    ('debug/tcp_abc.ko', 'root/modules/tcp_abc.ko')
    """
    return f"debug/{name}.ko", f"root/modules/{name}.ko"


def _link(name: str, earlier: Path, compiled: Compiled, folder: Path) -> None:
    """Add the modules of a source folder, and their symbols, from the earlier output folder."""
    for module in compiled.modules:
        for file in module_files(module.name):
            with suppress(FileNotFoundError):  # prebuilt ones have no debugging information
                os.link(earlier / file, folder / file)
    with (folder / _SYMBOLS).open("a", encoding="utf-8") as symbols:
        lines = (earlier / _SYMBOLS).read_text(encoding="utf-8").splitlines(keepends=True)
        symbols.writelines(line for line in lines if line.split("\t")[2].startswith(f"{name}/"))


def _compile(make: _Make, names: list[str], folder: Path, optional: Collection[str]) -> list[str]:
    """Compile source folders and add their modules to the output folder; return those compiled."""
    work = make.work
    make.symbols.touch()
    try:
        make.modules(names)
    except BuildError:
        names = [name for name in names if name not in optional or make.compiles(name)]
        make.modules(names)
    with make.symbols.open("a", encoding="utf-8") as file:
        file.write((work / _SYMBOLS).read_text(encoding="utf-8").replace(f"{work}/", ""))
    for path in sorted(work.glob("*/*.ko")):
        # Linux loads only one of two. Copying the second would change the files of earlier builds,
        # to which the first may be linked.
        if (folder / "debug" / path.name).exists():
            raise InputError(
                f"{OWN_MODULES}: another folder than {path.parent.name} also has a module "
                f"{path.stem}: choose another name in the Kbuild of your own"
            )
        make.builder.run(
            ["strip", "--strip-debug", "-o", str(folder / "root/modules" / path.name), str(path)],
            purpose=f"stripping {path.name}",
            folder=work,
        )
        shutil.copyfile(path, folder / "debug" / path.name)
    return names


@dataclass(frozen=True)
class _Make:
    """Compiles modules in a temporary folder."""

    tree: Path
    work: Path
    symbols: Path
    builder: Builder
    warnings: list[str] = field(default_factory=list)

    def modules(self, names: list[str]) -> None:
        """Compile the modules of these folders.

        A single build resolves symbols between them and starts make only once.

        Raises
        ------
        BuildError
            If something does not compile.
        """
        try:
            self._run(names, "modules")
        except BuildError as error:
            # The errors name copies of the sources in a temporary folder.
            console = (line.replace(f"{self.work}/", "") for line in error.console)
            raise BuildError(error.args[0], console) from error

    def compiles(self, name: str) -> bool:
        """Return whether the files of a folder compile."""
        try:
            self._run([name], f"{name}/")
        except BuildError:
            return False
        return True

    def _run(self, names: list[str], target: str) -> None:
        (self.work / "Kbuild").write_text(
            f"subdir-ccflags-y := -g -ffile-prefix-map={self.work}={COMPILED_IN} "
            f"-ffile-prefix-map={self.tree}/= -fdebug-prefix-map={self.tree}={_LINUX_IN} "
            f"-I{self.work / HEADERS}\n"
            f"obj-m := {' '.join(f'{name}/' for name in names)}\n"
        )
        self.builder.make(
            "--keep-going",  # to report the errors of all files
            f"M={self.work}",
            f"KBUILD_EXTRA_SYMBOLS={self.symbols}",
            target,
            purpose="compiling the kernel modules",
            tree=self.tree,
            on_line=self._keep,
        )

    def _keep(self, line: str) -> None:
        """Keep a warning, with the path in the build folder."""
        line = line.replace(f"{self.work}/", "")
        if (found := _WARNING.search(line)) is not None:
            self.warnings.append(found[1])
        elif self.warnings and (found := _DECLARED.search(line)) is not None:
            self.warnings[-1] += f" (declared in {found[1]})"
