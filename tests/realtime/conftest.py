# SPDX-License-Identifier: Apache-2.0
"""What tests of runs in real time share: who looks whether anything of a run is left."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE_S = 20.0


@dataclass(frozen=True)
class Alone:
    """A folder for temporary files of the test's own, and the runs at work in it."""

    folder: Path

    def namespaces(self) -> set[str]:
        """Return the process namespaces of the runs."""
        ours = str(Path("/proc/self/ns/pid").readlink())
        return {
            namespace
            for words, namespace in _processes()
            if str(self.folder) in words and namespace != ours
        }

    def wait_for(self, program: str) -> set[str]:
        """Wait until a program is part of a run; return the process namespaces of the runs."""
        deadline = time.monotonic() + _PATIENCE_S
        while not (own := self.namespaces()) or not any(
            namespace in own and program in words.split(" ")[0] for words, namespace in _processes()
        ):
            assert time.monotonic() < deadline, f"{program} did not start"
            time.sleep(0.05)
        return own

    @staticmethod
    def has_ended(own: set[str]) -> bool:
        """Wait a moment until nothing runs in these process namespaces."""
        assert own, "it did not even start"
        deadline = time.monotonic() + 5
        while (left := own & {namespace for _, namespace in _processes()}) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.02)
        return not left

    def workspaces(self) -> list[Path]:
        """Return the folders that runs work in, or have left behind."""
        parent = self.folder / f"ccbench-{os.getuid()}"
        return list(parent.iterdir()) if parent.exists() else []


def _processes() -> list[tuple[str, str]]:
    """Return the command line and the process namespace of everything that runs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            found.append((words.replace("\0", " "), str((process / "ns" / "pid").readlink())))
        except OSError:
            continue  # it has just ended
    return found


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Alone]:
    """Give the test a folder for temporary files of its own, which others can pass through."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    alone = Alone(folder)
    yield alone
    assert not alone.workspaces()
