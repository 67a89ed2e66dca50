# SPDX-License-Identifier: Apache-2.0
"""Content-addressed store of folders."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ccbench.base import durable
from ccbench.base.cache import cache_dir, unwritable
from ccbench.base.errors import DamagedRun, InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["FolderStore"]

_log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class FolderStore:
    """Folders by key: the SHA-256 of everything that determines a folder's content.

    Any number of processes may use a store at once; if two write the same folder, one is stored.

    Parameters
    ----------
    root : Path, optional
        The store's folder; by default one in the cache folder
        (:func:`ccbench.base.cache.cache_dir`).

    Attributes
    ----------
    noun : str
        Name of an entry in messages; its plural is the name of the folder in the cache.
    """

    noun: ClassVar[str]

    root: Path | None = None

    @property
    def folder(self) -> Path:
        """The store's folder."""
        return self.root if self.root is not None else cache_dir() / f"{self.noun}s"

    def path_for(self, key: str) -> Path:
        """Return the path of the folder with this key."""
        return self.folder / key[:2] / key

    def read(self, key: str, load: Callable[[Path], T]) -> T | None:
        """Load the folder with this key; None if there is none.

        A damaged folder is removed with a warning in the log.
        """
        path = self.path_for(key)
        if not path.is_dir():
            return None
        try:
            return load(path)
        except DamagedRun as error:
            _log.warning("removed a damaged %s from the store: %s", self.noun, error)
            durable.remove(path)
            return None

    def write(self, key: str, save: Callable[[Path], object]) -> Path:
        """Write the folder with this key by calling `save`, and return its path.

        Raises
        ------
        CcbenchError
            If the store cannot be written.
        """
        path = self.path_for(key)
        try:
            save(path)
        except (OSError, InputError) as error:
            raise unwritable(self.folder, error) from error
        return path
