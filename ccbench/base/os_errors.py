# SPDX-License-Identifier: Apache-2.0
"""Messages for operating-system errors: path, reason and next step."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NO_ROOM", "explain", "reason", "remedy"]

#: Error numbers of a full disk and of an exceeded quota or size limit.
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
#: Error numbers of a path that cannot be written, whatever its permissions.
_UNFIT = frozenset(
    {
        *(errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
        *(errno.ENAMETOOLONG, errno.ELOOP, errno.EIO),
    }
)
_TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})


def reason(error: OSError) -> str:
    """Return the operating system's description of an error.

    Some C libraries prepend their own text, and some set no error number.

    Examples
    --------
    >>> reason(OSError(errno.ENOSPC, "Error writing bytes to file. Detail: ..."))
    'No space left on device'
    """
    return os.strerror(error.errno) if error.errno else str(error.strerror or error)


def explain(
    error: OSError, path: str | Path | None = None, *, elsewhere: str = "choose another folder"
) -> str:
    """Return the path of an error, its reason, and the next step if there is one.

    Parameters
    ----------
    error : OSError
        The error.
    path : path, optional
        The path as the user gave it; by default the error's file name.
    elsewhere : str
        The step that selects another path.

    Examples
    --------
    >>> explain(OSError(errno.ENOSPC, ""), "results")
    'results: No space left on device: make room there, or choose another folder'
    >>> explain(PermissionError(errno.EACCES, "", "results"))
    'results: Permission denied: get permission for it, or choose another folder'
    """
    path = error.filename if path is None else path
    if path is None:
        return ": ".join(filter(None, (reason(error), remedy(error, ""))))
    return ": ".join(filter(None, (os.fsdecode(path), reason(error), remedy(error, elsewhere))))


def remedy(error: OSError, elsewhere: str) -> str:
    """Return the next step after an error; `elsewhere` is the step that selects another path.

    Examples
    --------
    >>> remedy(OSError(errno.EROFS, ""), "set TMPDIR")
    'set TMPDIR'
    """
    if error.errno in NO_ROOM:
        return f"make room there, or {elsewhere}" if elsewhere else "`df` says which disk is full"
    if error.errno in _TOO_MANY_FILES:
        return "raise `ulimit -n`"
    if error.errno in _FORBIDDEN and elsewhere:
        return f"get permission for it, or {elsewhere}"
    return elsewhere if error.errno in _UNFIT else ""
