# SPDX-License-Identifier: Apache-2.0
"""JSON documents that contain their own digest, to detect modification."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from ccbench.base import safe_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ChangedError", "check_files", "file_digest", "sealed", "unsealed"]

_SEAL = "sha256"


class ChangedError(ValueError):
    """A document or file was modified after it was written.

    Attributes
    ----------
    document : dict
        The modified document; empty for a file.
    """

    def __init__(self, message: str, document: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.document = document or {}


def file_digest(data: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of JSON values with a digest of its content.

    Examples
    --------
    >>> unsealed(json.dumps(sealed({"a": 1})).encode())
    {'a': 1}
    """
    return {**document, _SEAL: _digest(document)}


def unsealed(text: bytes) -> dict[str, Any]:
    """Parse a sealed document and return it without its digest.

    Raises
    ------
    ChangedError
        If it does not match its digest.
    ValueError
        If it is not a JSON object with a digest.
    """
    document = safe_json.loads(text)
    if not isinstance(document, dict) or _SEAL not in document:
        raise ValueError("it is not an object with a digest")
    stated = document.pop(_SEAL)
    if stated != _digest(document):
        raise ChangedError("it was changed", document)
    return document


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Check that files in a folder have these digests.

    Raises
    ------
    ChangedError
        If a digest differs.
    OSError
        If a file cannot be read.
    """
    for name, digest in files.items():
        if file_digest((folder / name).read_bytes()) != digest:
            raise ChangedError(f"{name} was changed")


def _digest(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return file_digest(text.encode())
