# SPDX-License-Identifier: Apache-2.0
"""Digests of ccbench's source code, independent of comments, docstrings and formatting."""

from __future__ import annotations

import ast
import hashlib
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["code_digest", "imported", "normal_form"]

_ROOT = Path(__file__).parents[1]

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
    digest = hashlib.sha256()
    for name, tree in sorted(_trees(modules).items()):
        digest.update(f"{name} {_text(tree)}\n".encode())
    return digest.hexdigest()


def imported(*modules: str) -> tuple[str, ...]:
    """Return modules and all ccbench modules that they import, directly or indirectly, sorted.

    A package is included only if a name defined in its ``__init__.py`` is imported.

    Examples
    --------
    >>> imported("ccbench.base.arrays")
    ('ccbench.base.arrays', 'ccbench.base.errors', 'ccbench.base.validation')
    """
    return tuple(sorted(_trees(modules)))


def _trees(modules: Iterable[str]) -> dict[str, ast.Module]:
    """Return the syntax trees of modules and of all their imports, by name."""
    trees: dict[str, ast.Module] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name not in trees:
            trees[name] = _stripped(_source(name))
            pending += _imports(trees[name])
    return trees


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


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the ccbench modules that code imports at any level."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_in_ccbench(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_in_ccbench(node.module):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.module if _path(name) is None else name


def _is_in_ccbench(module: str) -> bool:
    return module.partition(".")[0] == _ROOT.name
