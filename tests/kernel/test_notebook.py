# SPDX-License-Identifier: Apache-2.0
"""The library in a notebook: a real Jupyter kernel runs its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.kernel,
    # Warnings of Jupyter itself, about event loops, encryption and deprecated folders.
    pytest.mark.filterwarnings("ignore"),
]

#: Without annotations.
v4: Any = nbformat.v4

#: Jupyter's packages are those that the page on notebooks names, so that there are no widgets.
SEARCH = """
import sys, warnings
sys.modules["ipywidgets"] = None
warnings.simplefilter("always")
from ccbench import raygen
result = raygen.search(alpha="bbr", beta="cubic", budget=6, population=4, duration_s=4)
"""


class _Listening(NotebookClient):
    """Records all messages to the notebook."""

    def __init__(self, notebook: Any, **settings: Any) -> None:
        super().__init__(notebook, **settings)
        self.heard: list[str] = []

    def process_message(self, message: dict[str, Any], *rest: Any) -> Any:
        self.heard.append(str(message["content"]))
        return super().process_message(message, *rest)


@pytest.mark.usefixtures("own_store")
def test_search(tmp_path: Path) -> None:
    """A search shows its progress live, then clears it, and shows its tables as tables."""
    cells = [v4.new_code_cell(source) for source in (SEARCH, "result.top_table()")]
    notebook = v4.new_notebook(cells=cells)
    client = _Listening(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    heard = "\n".join(client.heard)
    (line,) = cells[0].outputs  # no warning about widgets, nor anything else
    assert line["data"] == {"text/plain": ""}
    for words in ("generation 1/2", "generation 2/2", "6/6 networks", "confirming the worst"):
        assert words in heard
    (table,) = cells[1].outputs
    assert table["output_type"] == "execute_result"
    assert "<table" in table["data"]["text/html"]
    assert "relative_harm" in table["data"]["text/plain"]
