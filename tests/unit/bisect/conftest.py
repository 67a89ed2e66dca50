# SPDX-License-Identifier: Apache-2.0
"""A repository with versions of a module."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Contents of the module's file in each commit.
VERSIONS = ("even 1", "even 2", "broken", "even 3", "greedy 4", "greedy 5", "greedy 6")


def git_in(folder: Path) -> Callable[..., str]:
    """Return a function that runs git in a folder."""

    def run(*arguments: str) -> str:
        identity = ["-c", "user.name=A. Author", "-c", "user.email=author@example.org"]
        command = ["git", *identity, "-C", str(folder), *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return run


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a repository with a commit for each version of a module, each with one for its page."""
    repository = tmp_path_factory.mktemp("repository")
    git = git_in(repository)
    git("init", "-q", "-b", "main")
    folder = repository / "modules" / "tcp_mine"
    folder.mkdir(parents=True)
    (folder / "Kbuild").write_text("obj-m := tcp_mine.o\n")
    for i, text in enumerate(VERSIONS):
        (folder / "tcp_mine.c").write_text(f"{text}\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"Version {i}: {text}")
        (repository / "README").write_text(f"after {text}\n")
        git("add", "-A")
        git("commit", "-q", "-m", f"Read me after {i}")
    return repository


@pytest.fixture
def module(tmp_path: Path, repository: Path) -> Path:
    """Give the folder of the module in a copy of the repository."""
    shutil.copytree(repository, tmp_path / "repository")
    return tmp_path / "repository" / "modules" / "tcp_mine"


@pytest.fixture
def git(module: Path) -> Callable[..., str]:
    """Give a function that runs git in the copy."""
    return git_in(module.parents[1])
