# SPDX-License-Identifier: Apache-2.0
"""Kernels with names of their own: patched ones, and those with further options."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.errors import InputError
from ccbench.emulate.kernel.source.linux import check_version, version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ccbench.emulate.kernel.source.patches import Patch

__all__ = ["RELEASED", "Variant", "check_name", "check_option", "variant_of"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}"
_NAME_ALLOWED = "1 to 64 letters, digits, dots, -, _ and +, not a release or a version of a build"
_NAME_EXAMPLE = "write for example --name 6.12-bbrv3"

#: Names that `--kernel` finds otherwise: releases, and versions of builds.
_TAKEN = re.compile(r"\d+(\.\d+)*|[0-9a-f]{16}")

#: A name of a patch's file without number and suffix, as of `git format-patch`.
_STEM = re.compile(r"(?:\d+-)?(.*?)(?:\.(?:patch|diff|txt))*", re.IGNORECASE)
_MAX_STEMS = 2

_OPTION = re.compile(r'CONFIG_\w+=([yn]|\d+|"[^"\\]*")')


@dataclass(frozen=True, kw_only=True)
class Variant:
    """What a kernel with a name of its own has beyond its release.

    Parameters
    ----------
    name : str
        Its name; empty for a kernel as released.
    patches : tuple of (str, str)
        The file names and SHA-256 digests of its patches in their order.
    options : tuple of str
        Options of the configuration, such as ``"CONFIG_TCP_CONG_FOO=y"``.
    """

    name: str = ""
    patches: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> Variant:
        """Return the variant of the JSON values of :meth:`described`."""
        return cls(
            name=stored["name"],
            patches=tuple((file, digest) for file, digest in stored["patches"]),
            options=tuple(stored["options"]),
        )

    def described(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)

    def identity(self) -> dict[str, Any]:
        """Return the part that determines the kernel: patches' file names do not matter."""
        return {**asdict(self), "patches": [digest for _, digest in self.patches]}

    def title(self, release: str) -> str:
        """Return the title of a kernel of this release.

        Examples
        --------
        >>> Variant(name="own").title("6.12.3"), RELEASED.title("6.12.3")
        ('Linux 6.12.3 (own)', 'Linux 6.12.3')
        """
        return f"Linux {release} ({self.name})" if self.name else f"Linux {release}"

    def provenance(self) -> dict[str, object]:
        """Describe the variant by JSON values for files of results; empty if it is a release."""
        if self == RELEASED:
            return {}
        patches = [{"file": file, "sha256": digest} for file, digest in self.patches]
        found = {"name": self.name, "patches": patches, "options": list(self.options)}
        return {f"kernel_{key}": value for key, value in found.items() if value}


#: A kernel as released.
RELEASED = Variant()


def check_name(name: str) -> None:
    """Check the name of a kernel.

    Raises
    ------
    InputError
        If it is not valid, or the name of a release or build.
    """
    if not re.fullmatch(_NAME, name) or _TAKEN.fullmatch(name):
        raise validation.bad("name", name, _NAME_ALLOWED, _NAME_EXAMPLE)


def check_option(option: str) -> None:
    """Check an option of the configuration.

    Raises
    ------
    InputError
        If it is not an assignment.
    """
    if not _OPTION.fullmatch(option):
        allowed = 'an assignment of y, n, a number or a "text" to a CONFIG_ option'
        raise validation.bad("config", option, allowed, "write --config CONFIG_TCP_CONG_FOO=y")


def variant_of(
    source: Path, name: str | None, patches: Sequence[Patch], options: Sequence[str]
) -> Variant:
    """Return the variant with these settings of a source.

    Raises
    ------
    InputError
        If it needs a name that cannot be derived from the source and the patches, or the source is
        not Linux.
    """
    if name is None and patches:
        name = _default_name(source, patches)
    if name is None and options:
        raise InputError(f"config: a kernel with further options needs a name: {_NAME_EXAMPLE}")
    if name is None:
        return RELEASED
    return Variant(
        name=name,
        patches=tuple((patch.name, patch.digest) for patch in patches),
        options=tuple(options),
    )


def _default_name(source: Path, patches: Sequence[Patch]) -> str:
    """Return a name of the release and the patches, such as 6.12-bbrv3."""
    stems = [_stem(patch.name) for patch in patches]
    if len(stems) > _MAX_STEMS:
        stems = [stems[0], f"and-{len(stems) - 1}-more"]
    name = "-".join([_release(source), *stems])
    if not all(stems) or not re.fullmatch(_NAME, name):
        raise InputError(
            f"name: there is no valid one in the names of the patches ({name}); {_NAME_EXAMPLE}"
        )
    return name


def _stem(name: str) -> str:
    match = _STEM.fullmatch(name)
    words = re.findall(r"[A-Za-z0-9._+]+", match[1] if match else name)
    return "-".join(words)


def _release(source: Path) -> str:
    """Return the first two numbers of the release of a source."""
    if source.is_dir():
        check_version(source, source)
        numbers = version((source / "Makefile").read_text(encoding="utf-8"))
        return ".".join(map(str, numbers[:2]))
    match = re.match(r"linux-(?:source-)?(\d+\.\d+)", source.name)
    if match is None:
        raise InputError(
            f"name: the name of {source.name} does not state the release; {_NAME_EXAMPLE}"
        )
    return match[1]
