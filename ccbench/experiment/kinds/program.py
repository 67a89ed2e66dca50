# SPDX-License-Identifier: Apache-2.0
"""Flows between two programs of the host, which run on the virtual kernel."""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ccbench.base import validation
from ccbench.base.checked_fields import checked, document_form, open_table, whole
from ccbench.base.validation import Range
from ccbench.experiment.kinds._descriptor import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KIND", "PLACEHOLDERS", "SENDER", "SERVERS", "command", "words"]

#: Command lines in error messages.
SENDER, RECEIVER = 'sender = "server {port}"', 'receiver = "client {address} {port}"'

#: Ends of a flow; the first is the server by default.
SERVERS = ("sender", "receiver")

#: Names in braces that a command line may contain.
PLACEHOLDERS = ("address", "url_address", "port", "flow", "duration_s", "cca")

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

#: Limits of the words of a command line, as in ``kernel_modules/init/init.c``, and of files.
_MAX_WORDS = 1024
_MAX_FILE_BYTES = 1_000_000

_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


def command(name: str, value: object) -> str:
    """Check a command line: its quotes, words and placeholders."""
    text = validation.one_line(name, value)
    example = SENDER if name == "sender" else RECEIVER
    try:
        parts = shlex.split(text)
    except ValueError as error:
        reason = str(error).rstrip(".").lower()
        raise validation.bad(name, text, "a command line", f"correct it: {reason}") from None
    if not 1 <= len(parts) <= _MAX_WORDS:
        allowed = f"a command line of 1 to {_MAX_WORDS} words"
        raise validation.bad(name, text, allowed, f"write for example {example}")
    for placeholder in _PLACEHOLDER.findall(text):
        if placeholder not in PLACEHOLDERS:
            allowed = f"a command line with {', '.join(f'{{{one}}}' for one in PLACEHOLDERS)}"
            hint = validation.choice_hint(placeholder, PLACEHOLDERS)
            raise validation.bad(name, f"{{{placeholder}}}", allowed, hint)
    return text


def words(command: str, values: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of a command line with the values of placeholders.

    Examples
    --------
    >>> words("nc -l '{address}' {port}", {"address": "10.0.0.1", "port": "8000"})
    ('nc', '-l', '10.0.0.1', '8000')
    """
    return tuple(
        _PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in shlex.split(command)
    )


def _server(name: str, value: object) -> str:
    validation.one_of(name, value, SERVERS)
    return str(value)


def _environment(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    step = 'write for example env = { RUST_LOG = "info" }'
    pairs = {}
    for key, text in validation.pairs(name, value, step).items():
        form = "a name of letters, digits and _"
        variable = validation.text(name, key, _VARIABLE, form, example="RUST_LOG")
        where = f"{name}.{variable}"
        pairs[variable] = validation.text(where, text, r"[^\x00\r\n]*", "a line", example="info")
    return tuple(sorted(pairs.items()))


def _is_inside(path: str) -> bool:
    """Return whether a path, or a pattern of paths, stays within its folder."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts


def _patterns(name: str, value: object) -> tuple[str, ...]:
    allowed = "a list of patterns of files below the program's scratch folder"
    step = 'write for example keep = ["*.sqlog"]'
    patterns = validation.several(name, value, allowed, step)
    for i, pattern in enumerate(patterns):
        where = f"{name}[{i}]"
        if not _is_inside(validation.text(where, pattern, r"[^\x00\r\n]+", allowed, example="*")):
            raise validation.bad(where, pattern, allowed, step)
    return patterns


def _contents(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    step = 'write for example files = ["sender.py"]'
    files = {}
    for key, content in validation.pairs(name, value, step).items():
        form = "a path below the program's scratch folder"
        path = validation.text(name, key, r"[^\x00\r\n]+", form, example="sender.py")
        if not _is_inside(path):
            raise validation.bad(name, path, form, step)
        if not isinstance(content, str) or len(content.encode()) > _MAX_FILE_BYTES:
            shown = content if not isinstance(content, str) else f"{len(content)} characters"
            allowed = f"text of at most {_MAX_FILE_BYTES} bytes"
            raise validation.bad(
                f"{name}.{path}", shown, allowed, "name larger files by their path"
            )
        files[path] = content
    return tuple(sorted(files.items()))


def _read_files(name: str, value: Any, base_dir: Path) -> object:
    """Read files by their names: those of a list become a table with their contents."""
    if not isinstance(value, list | tuple):
        return value
    files = {}
    for i, given in enumerate(value):
        where = f"{name}[{i}]"
        path = base_dir / validation.text(where, given, ".+", "a file's name", example="sender.py")
        files[path.name] = validation.text_file(path, f"file of {where}")
    return files


def _check(*, sender: str, receiver: Any, server: str, cca: str, **_: object) -> None:
    if receiver is None or receiver.program is None:
        raise validation.of_part(f"receiver is missing: write for example {RECEIVER}")
    if cca and server == "receiver":
        allowed = 'left out with server = "receiver", as the sender then connects'
        raise validation.bad("cca", cca, allowed, "let the program choose it")
    for name, line in (("sender", sender), ("receiver", receiver.program)):
        if not cca and "cca" in _PLACEHOLDER.findall(line):
            raise validation.bad(name, line, "one without {cca} unless cca is set", "add cca")


KIND = Kind(
    name="program",
    summary="two programs of this machine, over TCP or UDP",
    settings={"sender": checked(command)},
    optional={
        "server": checked(_server),
        "env": open_table(_environment),
        "files": open_table(_contents, read=_read_files),
        "keep": checked(_patterns),
        "may_exit": checked(validation.flag) | document_form(omits_default=True),
        "memory_mb": whole(Range(16, 1_000_000), example=1000, optional=True),
    },
    is_program=True,
    draws_at_random=True,
    in_real_time=False,
    check=_check,
)
