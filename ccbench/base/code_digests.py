# SPDX-License-Identifier: Apache-2.0
"""Digests of ccbench's own code that comments, docstrings and formatting do not change."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["code_digest", "imported", "normal_form"]

_ROOT = Path(__file__).parents[1]


@cache
def code_digest(*modules: str) -> str:
    """Return the SHA-256 in hexadecimal of modules and all of ccbench that they import.

    Comments, docstrings, formatting and imports for types alone do not count, nor does the version
    of Python. Compiled cores have digests of their own.

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
    """Return modules and all of ccbench that they import, one by way of the other, sorted.

    A package counts where something is imported that it defines, not where one of its modules is.

    Examples
    --------
    >>> imported("ccbench.base.arrays")
    ('ccbench.base.arrays', 'ccbench.base.errors', 'ccbench.base.validation')
    """
    return tuple(sorted(_trees(modules)))


def _trees(modules: Iterable[str]) -> dict[str, ast.Module]:
    """Return the code of modules and of all that they import, by name."""
    trees: dict[str, ast.Module] = {}
    pending = list(modules)
    while pending:
        name = pending.pop()
        if name not in trees:
            trees[name] = _stripped(_source(name))
            pending += _imports(trees[name])
    return trees


def normal_form(source: str) -> str:
    """Return Python code as one line that only depends on what it does.

    Examples
    --------
    >>> normal_form("x = 1  # one") == normal_form("x = (1)") != normal_form("x = 2")
    True
    """
    return _text(_stripped(source))


def _source(module: str) -> str:
    """Return the source of a module of ccbench; of a compiled one, which has a stub, nothing."""
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(module)
    return path.read_text(encoding="utf-8") if path.suffix == ".py" else ""


def _path(module: str) -> Path | None:
    """Return a module's file, without importing anything; None if there is no such module."""
    place = _ROOT.joinpath(*module.split(".")[1:])
    files = (place / "__init__.py", place.with_suffix(".py"), place.with_suffix(".pyi"))
    return next((file for file in files if file.is_file()), None)


def _stripped(source: str) -> ast.Module:
    """Return code without docstrings and imports for types alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_ignored(line)]  # type: ignore[attr-defined]
    return tree


def _is_ignored(line: ast.stmt) -> bool:
    if isinstance(line, ast.Expr):
        return isinstance(line.value, ast.Constant)
    return (
        isinstance(line, ast.If)
        and isinstance(line.test, ast.Name)
        and line.test.id == "TYPE_CHECKING"
    )


def _text(node: object) -> str:
    """Return a syntax tree as text, without what is empty: newer versions of Python have more."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
        inside = ",".join(f"{name}={_text(value)}" for name, value in fields)
        return f"{type(node).__name__}({inside})"
    if isinstance(node, list):
        return f"[{','.join(map(_text, node))}]"
    return repr(node)


def _imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of ccbench that code imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.module if _path(name) is None else name


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _ROOT.name
