# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from ccbench.base.locks import exclusive, lock_file, locked

if TYPE_CHECKING:
    from pathlib import Path


class TestLocked:
    def test_shared(self, tmp_path: Path) -> None:
        """Shared locks exclude exclusive locks, not each other."""
        first, second = locked(tmp_path, shared=True), locked(tmp_path, shared=True)
        os.close(first)
        with pytest.raises(BlockingIOError):
            locked(tmp_path, wait=False)
        os.close(second)
        os.close(locked(tmp_path, wait=False))

    def test_missing(self, tmp_path: Path) -> None:
        """Only existing files can be locked."""
        with pytest.raises(FileNotFoundError):
            locked(tmp_path / "none")


class TestLockFile:
    def test_alone(self, tmp_path: Path) -> None:
        """A lock file is created and excludes others until it is released."""
        with exclusive(tmp_path / "lock"), pytest.raises(BlockingIOError):
            lock_file(tmp_path / "lock", wait=False)
        os.close(lock_file(tmp_path / "lock", wait=False))

    def test_removed(self, tmp_path: Path) -> None:
        """A waiter gets a lock on a new file if the holder removes the old one."""
        path = tmp_path / "lock"
        held = lock_file(path)
        taken: list[int] = []
        waiting = threading.Thread(target=lambda: taken.append(lock_file(path)))
        waiting.start()
        path.unlink()
        os.close(held)
        waiting.join()
        with pytest.raises(BlockingIOError):
            lock_file(path, wait=False)
        os.close(taken[0])
