# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ccbench.base import program_files
from ccbench.base.errors import EngineError
from ccbench.emulate.kernel.boot.outputs import Outputs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """Return the file with the output of a sender."""
    folder = tmp_path / program_files.FOLDER / "0-sender"
    folder.mkdir(parents=True)
    (folder / "words").write_text("cat\0")
    return folder / "output"


def test_new_output(output: Path, tmp_path: Path) -> None:
    """Each byte is passed on once, in order."""
    passed: list[tuple[str, bytes]] = []
    outputs = Outputs(tmp_path, lambda *given: passed.append(given))
    for part in (b"one", b"", b"two"):
        with output.open("ab") as file:
            file.write(part)
        outputs.advance()
    assert [("0-sender", b"one"), ("0-sender", b"two")] == passed


def test_growing(output: Path, tmp_path: Path) -> None:
    """Nothing is read beyond the checked size, as a program may print faster than it is read."""
    output.symlink_to("/proc/self/status")  # its size is 0, but it can be read
    passed: list[bytes] = []
    Outputs(tmp_path, lambda _, new: passed.append(new)).advance()
    assert [] == passed


def test_too_much(output: Path, tmp_path: Path) -> None:
    """More than 100 MB are an error that names the program, before any of it is read."""
    with output.open("wb") as file:
        file.truncate(100_000_001)
    passed: list[bytes] = []
    with pytest.raises(EngineError, match=r"sender of flow 0, 'cat'.*more than 100 MB"):
        Outputs(tmp_path, lambda _, new: passed.append(new)).advance()
    assert [] == passed
