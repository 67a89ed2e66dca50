# SPDX-License-Identifier: Apache-2.0
"""Loadable modules: what each is compiled from, what it registers, and which others it needs."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ccbench.emulate.kernel.source import c_code, names, objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from typing_extensions import Self

__all__ = ["Compiled", "Module"]

_NEEDS = re.compile(rb"(?<![ -~])depends=([^\0]*)")


@dataclass(frozen=True, kw_only=True)
class Module:
    """A loadable module.

    Parameters
    ----------
    name : str
        Its name in Linux.
    digest : str
        16 hexadecimal digits of the files from which it is compiled, with the headers that they
        include, except for Linux's, and without comments (:func:`.c_code.digest`).
    ccas, qdiscs : tuple of str
        The congestion controls and qdiscs that it registers.
    needs : tuple of str
        The modules with symbols that it uses.
    is_own : bool
        Whether it is one of the user.
    """

    name: str
    digest: str
    ccas: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    is_own: bool = False


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """The compiled modules of a source folder.

    Parameters
    ----------
    inputs : mapping of str to str
        Digests of the folder's files, and of those of other folders that they include, by path.
    modules : tuple of Module
        The modules, sorted by name.
    warnings : tuple of str
        The compiler's warnings about the folder's files, with file and line.
    """

    inputs: Mapping[str, str]
    modules: tuple[Module, ...]
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        folder: str,
        work: Path,
        digests: Mapping[str, str],
        warnings: Iterable[str] = (),
        *,
        is_own: bool,
    ) -> Self:
        """Return the modules of a folder after make.

        Parameters
        ----------
        folder : str
            Name of the source folder.
        work : Path
            The folder in which make has compiled it, with all source folders.
        digests : mapping of str to str
            Digests of all source files by their paths in `work`.
        warnings : iterable of str
            The compiler's warnings about all folders, with paths in `work`.
        is_own : bool
            Whether it is a folder of the user.
        """
        inputs = {path for path in digests if path.startswith(f"{folder}/")}
        kbuilds = {path for path in inputs if path.endswith("/Kbuild")}
        modules = []
        for file in sorted(work.glob(f"{folder}/*.ko")):
            used = set(_sources(file, work)) & digests.keys()
            inputs |= used
            texts = {
                path: (work / path).read_text(encoding="utf-8", errors="replace")
                for path in kbuilds | used
            }
            code = [text for path, text in sorted(texts.items()) if path not in kbuilds]
            needs = _NEEDS.search(file.read_bytes())
            modules.append(
                Module(
                    name=file.stem,
                    digest=c_code.digest(texts),
                    ccas=names.ccas(code),
                    qdiscs=names.qdiscs(code),
                    needs=tuple(needs[1].decode().split(",")) if needs and needs[1] else (),
                    is_own=is_own,
                )
            )
        about = (line for line in warnings if re.search(rf"(^|\W){re.escape(folder)}/", line))
        return cls(
            inputs={path: digests[path] for path in sorted(inputs)},
            modules=tuple(modules),
            warnings=tuple(dict.fromkeys(about)),
        )

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Self:
        """Return the modules of the JSON values of :meth:`described`."""
        modules = [dict[str, Any](each) for each in stored["modules"]]
        for module in modules:
            module |= {name: tuple(module[name]) for name in ("ccas", "qdiscs", "needs")}
        return cls(
            inputs=stored["inputs"],
            modules=tuple(Module(**module) for module in modules),
            warnings=tuple(stored["warnings"]),
        )

    def described(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    def is_current(self, folder: str, digests: Mapping[str, str]) -> bool:
        """Return whether make would compile the same from files with these digests."""
        files = {path for path in digests if path.startswith(f"{folder}/")} | self.inputs.keys()
        return all(digests.get(path) == self.inputs.get(path) for path in files)


def _sources(module: Path, work: Path) -> Iterator[str]:
    """Yield the paths of the files in `work` from which make has compiled a module."""
    for name in module.with_suffix(".mod").read_text(encoding="utf-8").split():
        commands = objects.commands(work / name).read_text(encoding="utf-8")
        for item in objects.inputs(commands):
            yield os.path.relpath(os.path.normpath(work / item), work)
