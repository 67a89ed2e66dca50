# SPDX-License-Identifier: Apache-2.0
"""Digests of ccbench's source code, independent of comments, docstrings and formatting.

Parsing takes longer than a stored run. The cache folder therefore has the digest of each module's
code and its imports, by the SHA-256 of its source.
"""

from __future__ import annotations

import ast
import hashlib
import json
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ccbench.base.cache import cache_dir
from ccbench.base.durable import write_text
from ccbench.base.sealed import sealed, unsealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["code_digest", "imported", "normal_form"]

_ROOT = Path(__file__).parents[1]

#: Number of modules in the cache: some versions of all.
_MOST_KNOWN = 4096

#: Python 3.11 may fail if several threads parse at the same time (CPython issue 106905).
_PARSING = threading.Lock()


@cache
def code_digest(*modules: str) -> str:
    """Return the SHA-256 in hexadecimal of modules and of all ccbench modules they import.

    Comments, docstrings, formatting, type-only imports and the version of Python do not affect it.
    Compiled cores have their own digests.

    Examples
    --------
    >>> len(code_digest("ccbench.base.code_digests"))
    64
    """
    known = _read()
    count = len(known)
    digest = hashlib.sha256()
    for name, facts in sorted(_facts(modules, known).items()):
        digest.update(f"{name} {facts.digest}\n".encode())
    if len(known) > count:
        _write(known)
    return digest.hexdigest()


def imported(*modules: str) -> tuple[str, ...]:
    """Return modules and all ccbench modules that they import, directly or indirectly, sorted.

    A package is included only if a name defined in its ``__init__.py`` is imported.

    Examples
    --------
    >>> imported("ccbench.base.arrays")
    ('ccbench.base.arrays', 'ccbench.base.errors', 'ccbench.base.validation')
    """
    return tuple(sorted(_facts(modules, {})))


class _Facts(NamedTuple):
    """The digest of a module's code, and its imports: modules with a name or nothing."""

    digest: str
    imports: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, source: str) -> _Facts:
        tree = _stripped(source)
        digest = hashlib.sha256(_text(tree).encode()).hexdigest()
        return cls(digest, tuple(dict.fromkeys(_imports(tree))))


def _facts(modules: Iterable[str], known: dict[str, _Facts]) -> dict[str, _Facts]:
    """Return the facts about modules and all their imports, by name; new ones become known."""
    facts: dict[str, _Facts] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name in facts:
            continue
        source = _source(name)
        key = hashlib.sha256(source.encode()).hexdigest()
        if key not in known:
            known[key] = _Facts.of(source)
        facts[name] = known[key]
        for module, own in known[key].imports:
            inner = f"{module}.{own}"
            pending.append(inner if own and _path(inner) is not None else module)
    return facts


def _file() -> Path:
    # By the code that determines the facts.
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return cache_dir() / "code" / f"{own[:16]}.json"


def _read() -> dict[str, _Facts]:
    """Return the known facts by the SHA-256 of a module's source; none if they are damaged."""
    try:
        modules = unsealed(_file().read_bytes())["modules"]
        return {
            key: _Facts(digest, tuple((module, own) for module, own in imports))
            for key, (digest, imports) in modules.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write(known: Mapping[str, _Facts]) -> None:
    modules = dict([*known.items()][-_MOST_KNOWN:])
    with suppress(OSError):  # an unwritable cache only costs time
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_text(_file(), json.dumps(sealed({"modules": modules})))


def normal_form(source: str) -> str:
    """Return Python code as one line that depends only on its behaviour.

    Examples
    --------
    >>> normal_form("x = 1  # one") == normal_form("x = (1)") != normal_form("x = 2")
    True
    """
    return _text(_stripped(source))


def _source(module: str) -> str:
    """Return the source of a ccbench module; empty for a compiled module, which has a stub."""
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(module)
    return path.read_text(encoding="utf-8") if path.suffix == ".py" else ""


@cache
def _path(module: str) -> Path | None:
    """Return a module's file without importing anything; None if there is no such module."""
    stem = _ROOT.joinpath(*module.split(".")[1:])
    files = (stem / "__init__.py", stem.with_suffix(".py"), stem.with_suffix(".pyi"))
    return next((file for file in files if file.is_file()), None)


def _stripped(source: str) -> ast.Module:
    """Return the syntax tree of code without docstrings and type-only imports."""
    with _PARSING:
        tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [item for item in body if not _is_ignored(item)]  # type: ignore[attr-defined]
    return tree


def _is_ignored(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Name)
        and statement.test.id == "TYPE_CHECKING"
    )


def _text(node: object) -> str:
    """Return a syntax tree as text without empty fields, which newer versions of Python add."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
        content = ",".join(f"{name}={_text(value)}" for name, value in fields)
        return f"{type(node).__name__}({content})"
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    return repr(node)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the ccbench modules that code imports at any level, and the names from each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if _is_in_ccbench(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_in_ccbench(node.module):
            yield from ((node.module, alias.name) for alias in node.names)


def _is_in_ccbench(module: str) -> bool:
    return module.partition(".")[0] == _ROOT.name
