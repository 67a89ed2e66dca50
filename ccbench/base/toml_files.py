# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of TOML."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from ccbench.base.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["dumps", "loads"]


def loads(text: str) -> dict[str, Any]:
    """Parse TOML; an :class:`InputError` locates a syntax error."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is not valid TOML ({error}): correct it there") from None
    except ValueError:  # Python parses integers of up to 4300 digits
        raise InputError("a number has more than 4300 digits: write a shorter one") from None
    except RecursionError:
        raise InputError("this is nested too deeply for a scenario: write it flat") from None


def dumps(document: Mapping[str, Any]) -> str:
    """Return a document of values, tables and lists of tables as TOML.

    Existing TOML writers put each number of an array on its own line, which is unreadable for
    traces and lists of arrivals with a hundred thousand numbers.
    """
    lines = [f"{_key(k)} = {_value(v)}" for k, v in document.items() if not _is_tables(v)]
    for name, tables in document.items():
        if _is_tables(tables):
            for table in tables:
                lines += [
                    "",
                    f"[[{_key(name)}]]",
                    *(f"{_key(k)} = {_value(v)}" for k, v in table.items()),
                ]
    return "\n".join(lines) + "\n"


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML string except for DEL, which TOML requires to be escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _key(name: str) -> str:
    return (
        name
        if name.isascii() and name.replace("_", "").replace("-", "").isalnum()
        else _value(name)
    )
