# SPDX-License-Identifier: Apache-2.0
"""The notebooks in examples/ run from the first cell to the last."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient

from ccbench.emulate.kernel.boot import stacks as installation
from ccbench.experiment import stacks, trace_library
from tests.documentation import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NOTEBOOKS = sorted((CHECKOUT / "examples" / "notebooks").glob("*.ipynb"))

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.long,
    # Warnings of Jupyter itself, about event loops, encryption and deprecated folders.
    pytest.mark.filterwarnings("ignore"),
]


def read(path: Path) -> Any:
    """Read a notebook."""
    return nbformat.read(str(path), as_version=4)  # type: ignore[no-untyped-call]


def all_outputs(notebook: Any) -> str:
    """Return all outputs of a notebook's cells."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return "\n".join(str(output.get("text", output.get("data", ""))) for output in outputs)


def _classify(text: str) -> None:
    assert "→ htcp" in text
    for cca in ("reno", "cubic", "bbr", "vegas", "westwood"):
        assert cca in text
    assert "unknown" in text


def _harm(text: str) -> None:
    assert "relative harm +0." in text


def _raygen(text: str) -> None:
    assert "best with fresh seeds" in text


def _http3_cellular(text: str) -> None:
    assert "quic:ngtcp2/bbr" in text
    assert "utilisation" in text
    assert "Verizon-LTE-short.down" in text


def _own_cca(text: str) -> None:
    assert "packets added" in text
    assert "aimd" in text


_CHECKS: dict[str, Callable[[str], None]] = {
    "classify": _classify,
    "harm": _harm,
    "http3-cellular": _http3_cellular,
    "own-cca": _own_cca,
    "raygen": _raygen,
}


def _lacking() -> str:
    """Return what the notebook about HTTP/3 lacks here."""
    if not trace_library.PACKAGE_FOLDER.is_dir():
        return trace_library.HOW_TO_INSTALL
    stack = stacks.stacks()["quic:ngtcp2"]
    return stack.install if installation.lacking(stack) else ""


def test_all() -> None:
    """All notebooks are tested, and stored without outputs, so that none is stale."""
    assert [path.stem for path in _NOTEBOOKS] == sorted(_CHECKS)
    for path in _NOTEBOOKS:
        code = [cell for cell in read(path).cells if cell.cell_type == "code"]
        assert all(not cell.outputs and cell.execution_count is None for cell in code), path


@pytest.mark.parametrize("path", _NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Each notebook runs, and shows the figures and values that its text mentions."""
    if path.stem == "http3-cellular" and (missing := _lacking()):
        pytest.skip(f"not installed: {missing}")
    # A user's own module is built into the cache; the others have the installed kernel.
    request.getfixturevalue("other_cache" if path.stem == "own-cca" else "session_store")
    examples = tmp_path / "examples"
    shutil.copytree(CHECKOUT / "examples", examples)
    notebook = read(path)
    folder = str(examples / "notebooks")
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    text = all_outputs(notebook)
    assert "image/png" in text
    _CHECKS[path.stem](text)
