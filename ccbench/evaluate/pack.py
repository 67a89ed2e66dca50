# SPDX-License-Identifier: Apache-2.0
"""Packs: folders of criteria with one source, such as an RFC.

A pack is a folder with ``pack.toml``, which has its title and source, and a TOML file for each
criterion. Those of ccbench are folders of :data:`PACKS`; a user's own may be anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ccbench.base import toml_files, validation
from ccbench.base.checked_fields import check_fields, checked
from ccbench.base.dataclass_dicts import Document
from ccbench.evaluate.criterion import Criterion, load_criterion

__all__ = ["DEFAULT_PACK", "Pack", "load_pack", "pack_names"]

#: Folder of the packs of ccbench.
PACKS = Path(__file__).parent / "packs"

DEFAULT_PACK = "rfc9743"

_ABOUT = "pack.toml"


@dataclass(frozen=True, kw_only=True)
class _About(Document):
    """The contents of ``pack.toml``."""

    title: str = field(metadata=checked(validation.one_line))
    source: str = field(metadata=checked(validation.one_line))
    url: str = field(default="", metadata=checked(validation.one_line))

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Criteria of one source.

    Attributes
    ----------
    name : str
        Name of its folder.
    title, source, url : str
    criteria : tuple of Criterion
        In the order of their sections.
    folder : Path
    """

    name: str
    title: str
    source: str
    url: str
    criteria: tuple[Criterion, ...]
    folder: Path

    @property
    def reference(self) -> str:
        """Name of the pack for ``--pack``: that of one of ccbench, or the folder."""
        return self.name if self.folder.parent == PACKS else str(self.folder)


def pack_names() -> tuple[str, ...]:
    """Return the names of ccbench's packs.

    Examples
    --------
    >>> "rfc9743" in pack_names()
    True
    """
    return tuple(sorted(about.parent.name for about in PACKS.glob(f"*/{_ABOUT}")))


def load_pack(name: str | Path) -> Pack:
    """Read a pack of ccbench by its name, or one of a user's by its folder.

    Raises
    ------
    InputError
        If there is no such pack, or one of its files is invalid. The message names the file.

    Examples
    --------
    >>> load_pack("rfc9743").criteria[0].section
    '5.1.1'
    """
    folder = PACKS / name if str(name) in pack_names() else Path(name)
    about_file = folder / _ABOUT
    if not about_file.is_file():
        allowed = f"one of {', '.join(pack_names())}, or a folder with {_ABOUT}"
        raise validation.bad(
            "pack", str(name), allowed, validation.choice_hint(str(name), pack_names())
        )
    with validation.within(f"{about_file}: "):
        about = _About.from_dict(toml_files.loads(validation.text_file(about_file, "pack")))
    files = [path for path in folder.glob("*.toml") if path.name != _ABOUT]
    criteria = sorted(map(load_criterion, files), key=lambda one: (_order(one.section), one.name))
    if not criteria:
        step = "add a scenario file with a table [criterion]"
        raise validation.bad("pack", str(name), "a folder with criteria", step)
    return Pack(
        name=folder.name,
        title=about.title,
        source=about.source,
        url=about.url,
        criteria=tuple(criteria),
        folder=folder,
    )


def _order(section: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts 5.9 before 5.10."""
    return tuple((int(part) if part.isdecimal() else 0, part) for part in section.split("."))
