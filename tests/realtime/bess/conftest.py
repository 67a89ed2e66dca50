# SPDX-License-Identifier: Apache-2.0
"""A stand-in for BESS's folder, shared by all tests of BESS."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from ccbench.emulate.bess.engine import BessEngine

HERE = Path(__file__).parent

StandIn: TypeAlias = Callable[[Path], Path]


@pytest.fixture(scope="session")
def stand_in() -> StandIn:
    """Give a function that makes a folder such as BESS's, with the stand-in for bessd."""

    def make(folder: Path) -> Path:
        program = folder / "core" / "bessd"
        program.parent.mkdir(parents=True)
        start = f'exec {sys.executable} {HERE / "stand_in.py"} {folder / "protobuf"} "$@"'
        program.write_text(f"#!/bin/sh\n{start}\n", encoding="utf-8")
        program.chmod(0o755)
        (folder / "protobuf").symlink_to(HERE / "protobuf")
        return folder

    return make


@pytest.fixture(scope="session")
def bess(stand_in: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder with the stand-in; skip if this machine cannot run it."""
    folder = stand_in(tmp_path_factory.mktemp("bess"))
    missing = [check.name for check in BessEngine(folder).doctor() if not check.ok]
    if missing:
        pytest.skip(f"`ccbench doctor --engine bess` reports as missing: {', '.join(missing)}")
    return folder
